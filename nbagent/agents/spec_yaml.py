"""Spec YAML: what is written of an agent's spec, as YAML that a cell reads as it was; and what cannot be read so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from nbagent.agents.spec_no_text import NoText
from nbagent.agents.spec_words import DEEP, DEEPEST, JSON_WORD, OF_A_SECRET, holds_a_key, looks_like_a_key
from nbagent.redact import redact
from nbagent.text import texts_in

_SHORT = 60
"""Characters; a list of names that is shorter stands on one line."""
A_KEY = "a text with what looks like a key or a password"


def written(said: Mapping[str, Any]) -> str:
    """The YAML."""
    import yaml

    return yaml.dump(
        dict(said), Dumper=_dumper(), sort_keys=False, allow_unicode=True, default_flow_style=False, width=10**9
    )


@cache
def _dumper() -> Any:
    import yaml

    class Dumper(yaml.SafeDumper):
        def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:  # noqa: ARG002
            return super().increase_indent(flow, False)

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True  # a cell has none; what comes twice is written twice

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=_style(value))

    def sequence(dumper: Any, value: list[Any]) -> Any:
        is_short = all(isinstance(one, str) and "\n" not in one for one in value) and len(str(value)) < _SHORT
        return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=is_short)

    Dumper.add_representer(str, text)
    Dumper.add_representer(list, sequence)
    return Dumper


def _style(text: str) -> str | None:
    if text.isprintable():
        return "'" if JSON_WORD.fullmatch(text) else None
    return "|" if _fits_a_block(text) else '"'


def _fits_a_block(text: str) -> bool:
    """Whether YAML reads it from a block as it is, and no line of it means something to a cell."""
    lines = text.split("\n")
    is_plain = all(line.isprintable() and not _MEANS.fullmatch(line) for line in lines)
    return is_plain and bool(lines[0].strip()) and not text.endswith("\n\n")


_MEANS = re.compile(r"\s*---\s*|\s*#+\s*NBVAL_.*")


def check(key: str, value: Any) -> None:
    """Raises NoText for what a cell does not take under this key, or reads as something else; and for secrets."""
    if _depth(value) >= DEEPEST:
        raise NoText(f"more than {DEEPEST} levels")
    texts = list(texts_in(value))
    if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
        raise NoText("a text with half a character")
    if looks_like_a_key(key, texts if key in DEEP else _names(value)) or any(
        redact(text) is not text for text in texts
    ):
        raise NoText(A_KEY)
    if key in DEEP and _names_a_secret(value):
        raise NoText(A_KEY)
    if holds_a_key(as_yaml := written({key: value})) or redact(as_yaml) is not as_yaml:
        raise NoText(A_KEY)


def _names_a_secret(value: Any) -> bool:
    """Whether a text in it is called what a secret is called."""
    if isinstance(value, list):
        return any(map(_names_a_secret, cast("list[Any]", value)))
    if not isinstance(value, Mapping):
        return False
    entries = cast("Mapping[str, Any]", value).items()
    return any(
        (isinstance(one, str) and bool(OF_A_SECRET.search(name))) or _names_a_secret(one) for name, one in entries
    )


def _names(value: Any) -> list[str]:
    """The text that it is, or the texts of a list."""
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [one for one in items if isinstance(one, str)]


def _depth(value: Any) -> int:
    """How many levels it has."""
    if isinstance(value, Mapping):
        value = list(cast("Mapping[str, Any]", value).values())
    return 1 + max(map(_depth, cast("list[Any]", value)), default=0) if isinstance(value, list) else 1
