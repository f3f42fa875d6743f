"""Pack: the texts of one language, with those that an agent words differently."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from nbagent.errors import ConfigError
from nbagent.messages import Piece, Source
from nbagent.texts.english import ENGLISH
from nbagent.texts.phrase import Phrase
from nbagent.texts.template import Slot, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbagent.texts.template import Template

LANGUAGES = {"english": "ENGLISH", "chinese": "CHINESE"}
Filling = str | Piece | Phrase | tuple[str | Piece | Phrase, ...]
"""What a place is filled with: a text of ours, a piece that knows where it comes from, a phrase; or several of them."""


class Texts:
    """What nbagent itself says to a model.

    language: `english` (the default) or `chinese`. overrides: texts by their key, such as `plan.plan`, with the same
    places (`{question}`) as ours. Raises ConfigError for an unknown language, key or place, and for a place that is
    missing. Immutable.

    Source: agentmaker's `PromptRegistry`.
    """

    __slots__ = ("_parsed", "language", "overrides")

    def __init__(self, language: str = "english", overrides: Mapping[str, str] | None = None) -> None:
        if language not in LANGUAGES:
            raise ConfigError(f"texts: expected the language {' or '.join(LANGUAGES)}, got {language!r}")
        self.language = language
        self.overrides = dict(overrides or {})
        for key, text in self.overrides.items():
            _check(key, text)
        self._parsed: dict[str, Template] = {}

    def __getitem__(self, key: str) -> str:
        """The text as it is written, with its places."""
        return self.overrides.get(key) or _pack(self.language)[key]

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys; each is the source of what is said with it: `framework plan.plan`."""
        return tuple(ENGLISH)

    def pieces(self, key: str, /, **places: Filling) -> tuple[Piece, ...]:
        """The text with its places filled, each part with its source."""
        return _joined(list(self._pieces(key, places)))

    def text(self, key: str, /, **places: Filling) -> str:
        return "".join([piece.text for piece in self._pieces(key, places)])

    def said(self, words: Filling) -> str:
        """The text of what would fill a place."""
        return "".join([piece.text for piece in self._filled(words, Source("framework"))])

    def _pieces(self, key: str, places: Mapping[str, Filling]) -> Iterator[Piece]:
        source = Source("framework", key)
        for part in self._template(key):
            if isinstance(part, Slot):
                yield from self._filled(places[part.name], source)
            else:
                yield Piece(part.text, source)

    def _filled(self, value: Filling, source: Source) -> Iterator[Piece]:
        """`source`: of a text that does not know where it comes from."""
        match value:
            case str():
                yield Piece(value, source)
            case Piece():
                yield value
            case Phrase(key=key, places=places):
                yield from self._pieces(key, places)
            case _:
                for one in value:
                    yield from self._filled(one, source)

    def _template(self, key: str) -> Template:
        found = self._parsed.get(key)
        if found is None:
            self._parsed[key] = found = parse(self[key], key)
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Texts) and (self.language, self.overrides) == (other.language, other.overrides)

    def __hash__(self) -> int:
        return hash((self.language, *sorted(self.overrides.items())))

    def __repr__(self) -> str:
        more = f", {self.overrides!r}" if self.overrides else ""
        return f"Texts({self.language!r}{more})"


def texts_of(given: object) -> Texts:
    """Texts; those of a language; or the English ones with others in their place. Raises ConfigError."""
    if given is None:
        return DEFAULT
    if isinstance(given, Texts):
        return given
    if isinstance(given, str):
        return Texts(given)
    if not isinstance(given, Mapping):
        raise ConfigError(f"texts: expected a language, or texts by their key; got {type(given).__name__}: {given!r}")
    said = dict(cast("Mapping[str, Any]", given))
    return Texts(said.pop("language", "english"), said)


DEFAULT = Texts()


def _pack(language: str) -> Mapping[str, str]:
    return getattr(import_module(f"nbagent.texts.{language}"), LANGUAGES[language])


def _places(text: str) -> set[str]:
    return {part.name for part in parse(text, "") if isinstance(part, Slot)}


def _check(key: Any, text: Any) -> None:
    if key not in ENGLISH:
        near = get_close_matches(str(key), ENGLISH, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "`Texts().keys` has them all"
        raise ConfigError(f"texts: there is no text {key!r}; {hint}")
    if not isinstance(text, str) or not text.strip():
        raise ConfigError(f"texts: {key}: expected a text that is not empty, got {text!r}")
    wanted, found = _places(ENGLISH[key]), _places(text)
    if missing := sorted(wanted - found):
        raise ConfigError(f"texts: {key}: the place {{{missing[0]}}} is missing; it has {_listed(wanted)}")
    if unknown := sorted(found - wanted):
        there = f"it has {_listed(wanted)}" if wanted else "it has none"
        raise ConfigError(f"texts: {key}: there is no place {{{unknown[0]}}}; {there} (a brace as text is doubled)")


def _listed(places: set[str]) -> str:
    return ", ".join(f"{{{place}}}" for place in sorted(places))


def _joined(pieces: list[Piece]) -> tuple[Piece, ...]:
    """Pieces that follow each other from one source as one; none that is empty."""
    made: list[Piece] = []
    for piece in pieces:
        if made and made[-1].source == piece.source:
            made[-1] = Piece(made[-1].text + piece.text, piece.source)
        elif piece.text:
            made.append(piece)
    return tuple(made)
