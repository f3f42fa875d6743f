"""Safe text: the one place where text from models, tools, files and variables becomes something that may be shown.

`visible` makes every character show, `exact` also those that are a regular part of a word or an emoji, `escape` is for
HTML, `markdown` for an answer that is Markdown.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any
from unicodedata import category
from urllib.parse import urlsplit

from nbagent.redact import redact
from nbagent.views.tex import PROCESS, is_formula

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MARKDOWN_LIMIT = 20_000
"""Characters; longer Markdown is shown as plain text, since parsing hostile Markdown takes more than linear time."""

_NESTING = 20
"""Where markdown-it's preset stops to nest, and drops what lies deeper without a word."""

_UNSEEN = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\uffa0"  # joiners and fillers
    "\ufe00-\ufe0f\U000e0100-\U000e01ef"  # variation selectors
)
"""What Unicode calls printable and nobody sees."""

_IS_UNSEEN = re.compile(f"[{_UNSEEN}]")
_RUN = re.compile(r"([^\t\n -~])\1*")
_TAGS = re.compile("[\U000e0000-\U000e007f]+")
_JOINERS = "\u200c\u200d"
_BRAILLE_BLANK = "\u2800"
"""A blank in pictures that are drawn with braille; elsewhere it hides."""
_EMOJI_SELECTORS = "\ufe0e\ufe0f"
_ARABIC_SIGNS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u0890\u0891\u08e2"
"""Format characters that have a shape of their own."""

_TAG_LIST = frozenset(
    {"p", "br", "hr", "h4", "h5", "h6", "strong", "em", "s", "small", "code", "pre", "a", "blockquote"}
    | {"ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"}
)


def visible(text: str) -> str:
    """The text with its secrets masked, and a marker such as ⟦U+202E⟧ for each character that is not seen or that
    changes what is seen.

    These are controls (but newline and tab; `\\r\\n` becomes a newline), terminal codes, direction, zero-width
    and tag characters, lone surrogates, private and unassigned code points. Joiners inside words and emoji stay.
    """
    text = redact(text).replace("\r\n", "\n")
    if text.replace("\n", "").replace("\t", "").isprintable() and not _IS_UNSEEN.search(text):
        return text
    return _RUN.sub(_shown, _TAGS.sub(_spelled, text))


def exact(text: str) -> str:
    """`visible` for a text that somebody decides about, without its exceptions: joiners, selectors, `\\r`, and every
    blank but the space, the tab and the newline have a marker wherever they stand."""
    return _RUN.sub(_marked, _TAGS.sub(_spelled, redact(text)))


def inline(text: str) -> str:
    """The text, visible, on one line."""
    return visible(text).replace("\n", "⟦U+000A⟧").replace("\t", "⟦U+0009⟧")


def escape(text: str) -> str:
    """The text, visible, for the content of an HTML element. It never goes into an attribute."""
    from markupsafe import escape as escaped

    return str(escaped(visible(text)))


def markdown(text: str, *, math: bool = False) -> str:
    """Markdown from a model as HTML of a few harmless elements, without classes, ids, images and outside content.

    Links stay only where they are plain https; of the others, and of images, the address is shown as text. What is
    longer than MARKDOWN_LIMIT or nested too deeply is shown as it is, in a `<pre>`. `math`: the front end typesets the
    paragraphs `$$…$$` that `is_formula` knows; all else stays text.
    """
    source = visible(text)
    tokens = _parser().parse(source) if len(text) <= MARKDOWN_LIMIT else None
    if tokens is None or any(token.level >= _NESTING - 1 for token in tokens):
        return f"<pre>{escape(source)}</pre>"
    import nh3

    if math:
        tokens = _with_formulas(tokens)

    # A second time: an entity such as &#x202e; is a character only now.
    rendered = visible(_parser().renderer.render(_tamed(tokens), _parser().options, {}))
    return nh3.clean(
        rendered,
        tags={*_TAG_LIST, "div"},
        attributes={"*": set(), "a": {"href"}, "ol": {"start"}},
        allowed_classes={"div": set(PROCESS)},
        url_schemes={"https"},
        generic_attribute_prefixes=set(),
        link_rel="noopener noreferrer",
    ).strip()


def _spelled(match: re.Match[str]) -> str:
    tags = [chr(ord(char) - 0xE0000) for char in match[0]]
    letters = "".join(char if char.isprintable() else "·" for char in tags)
    return f"⟦{len(tags)} tag characters: {letters}⟧"


def _shown(match: re.Match[str]) -> str:
    run, char = match[0], match[1]
    if _is_seen(char) or (len(run) == 1 and _belongs(char, match)):
        return run
    return _marker(match)


def _marked(match: re.Match[str]) -> str:
    char = match[1]
    return match[0] if char.isprintable() and char != _BRAILLE_BLANK and not _IS_UNSEEN.match(char) else _marker(match)


def _marker(match: re.Match[str]) -> str:
    times = f" ×{len(match[0])}" if len(match[0]) > 1 else ""
    return f"⟦U+{ord(match[1]):04X}{times}⟧"


def _is_seen(char: str) -> bool:
    if char.isprintable():
        return not _IS_UNSEEN.match(char)
    return category(char) == "Zs" or char in _ARABIC_SIGNS


def _belongs(char: str, match: re.Match[str]) -> bool:
    """Whether an unseen character is a regular part of the word or the emoji around it."""
    before = match.string[match.start() - 1 : match.start()]
    after = match.string[match.end() : match.end() + 1]
    if char in _JOINERS:
        return _is_letter(before.replace("\ufe0f", "☺")) and _is_letter(after)
    if char in _EMOJI_SELECTORS:
        keycap = before in set("0123456789#*") and after == "\u20e3"
        return keycap or (before > "\x7f" and (before == "ℹ" or category(before) in {"So", "Sm", "Sk", "Po", "Pd"}))
    return False


def _is_letter(char: str) -> bool:
    return char > "\x7f" and category(char)[0] in "LMS" and not _IS_UNSEEN.match(char)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Reference definitions never show, so that a reader would not see what is in them.
    return MarkdownIt("js-default", {"html": False, "linkify": False, "maxNesting": _NESTING}).disable("reference")


def _with_formulas(tokens: Sequence[Token]) -> list[Token]:
    """A paragraph that is a formula is an element that MathJax looks into, with its text as it was written."""
    made = list(tokens)
    for number, token in enumerate(tokens):
        if token.type == "inline" and tokens[number - 1].type == "paragraph_open" and is_formula(token.content):
            opens = _token("formula_open", "div", 1, block=True, attrs={"class": " ".join(PROCESS)})
            text = _token("inline", children=[_text(token.content)])
            made[number - 1 : number + 2] = [opens, text, _token("formula_close", "div", -1, block=True)]
    return made


def _tamed(tokens: Sequence[Token]) -> list[Token]:
    tamed: list[Token] = []
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1]) + 3, 6)}"
        if token.type == "fence" and token.info.strip():
            tamed += _note(token.info.strip())
        token.children = _tamed_inline(token.children) if token.children else token.children
        tamed.append(token)
    return tamed


def _tamed_inline(tokens: Sequence[Token]) -> list[Token]:
    tamed: list[Token] = []
    link: Token | None = None
    for token in tokens:
        match token.type:
            case "image":
                tamed.append(_text(f"{token.content} ({_address(token, 'src')})"))
            case "link_open":
                link = token
                tamed += [token] if _is_plain_https(token) else []
            case "link_close" if link:
                tamed += _closed(link, token)
            case _:
                tamed.append(token)
    return tamed


def _closed(link: Token, close: Token) -> list[Token]:
    if not _is_plain_https(link):
        return [_text(f" ({_address(link, 'href')})")]
    title = link.attrs.get("title")
    return [close, _text(f" ({title})")] if title else [close]


def _address(token: Token, name: str) -> str:
    return " ".join(str(token.attrs[key]) for key in (name, "title") if token.attrs.get(key))


def _is_plain_https(link: Token) -> bool:
    try:
        parts = urlsplit(str(link.attrs.get("href", "")))
    except ValueError:
        return False
    return parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc


def _text(content: str) -> Token:
    return _token("text", content=content)


def _note(content: str) -> list[Token]:
    small = [_token("small_open", "small", 1), _text(content), _token("small_close", "small", -1)]
    return [_token("paragraph_open", "p", 1), _token("inline", children=small), _token("paragraph_close", "p", -1)]


def _token(kind: str, tag: str = "", nesting: Any = 0, **more: Any) -> Token:
    from markdown_it.token import Token

    return Token(kind, tag, nesting, **more)
