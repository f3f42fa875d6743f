"""Fields: how the value of each field is read from what stands in a cell."""

from __future__ import annotations

import builtins
import json
import keyword
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from nbagent.agents.spec_words import SECRET, is_environment
from nbagent.errors import CellError
from nbagent.notebook.credentials import credential, quote
from nbagent.notebook.header import Items, Node, Scalar, Table, as_json

MOST_TURNS = 10_000


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may use: one of the two."""

    tokens: int | None = None
    cost: Decimal | None = None
    """US dollars."""


def read_text(node: Node, where: str) -> str:
    if isinstance(node, Scalar):
        return node.text
    raise CellError(f"{where} must be text, not {_shown(node)}.")


def read_model(node: Node, where: str) -> str:
    text = read_text(node, where).strip()
    if not text or len(text.splitlines()) > 1:
        raise CellError(f"{where} must be the name of a model or of a notebook variable, not {_shown(node)}.")
    return text


def read_variable(node: Node, where: str) -> str:
    text = read_text(node, where)
    if not text.isidentifier():
        raise CellError(f"{where} must be a Python name such as `weather`, not {_shown(node)}.")
    if keyword.iskeyword(text) or hasattr(builtins, text):
        raise CellError(f"{where} must be a name of your own, and `{text}` is a name of Python.")
    return text


def read_tools(node: Node, where: str) -> tuple[str, ...]:
    """Names of variables; `agent:NAME` for an agent."""
    return read_names(node, where, prefix=AGENT)


AGENT = "agent:"
"""What stands before the name of an agent that is a tool."""


def read_names(node: Node, where: str, *, prefix: str = "") -> tuple[str, ...]:
    """Names of variables, some with this prefix."""
    match node:
        case Scalar(text):
            names = [name.strip() for name in text.split(",")] if text.strip() else []
        case Items(nodes):
            names = [read_text(item, f"Cell line {item.line}: a tool's name").strip() for item in nodes]
        case Table():
            raise CellError(f"{where} must be names such as `[search, add]`, not {_shown(node)}.")
    for i, name in enumerate(names):
        if not is_path(name.removeprefix(prefix)):
            raise CellError(f"{where} must be names such as `search, maths.add`, and {quote(name)} is not a name.")
        if name in names[:i]:
            raise CellError(f"{where} names `{name}` twice; keep one.")
    return tuple(names)


def read_words(node: Node, where: str) -> tuple[str, ...]:
    """Names of tools, as the model knows them."""
    match node:
        case Scalar(text):
            names = [name.strip() for name in text.split(",")]
        case Items(nodes):
            names = [read_text(item, f"Cell line {item.line}: a name").strip() for item in nodes]
        case Table():
            names = []
    if not names or not all(names):
        raise CellError(f"{where} must be names such as `[search, add]`; got {_shown(node)}.")
    return tuple(names)


def read_turns(node: Node, where: str) -> int:
    expected = f"{where} must be a whole number from 1 to {MOST_TURNS:,}"
    if isinstance(node, Scalar) and node.quoted:
        raise CellError(f"{expected}, without quotes; got {_shown(node)}.")
    text = read_text(node, expected)
    if not re.fullmatch("[1-9][0-9]{0,5}", text) or int(text) > MOST_TURNS:
        raise CellError(f"{expected}; got {_shown(node)}.")
    return int(text)


def read_count(node: Node, where: str) -> int:
    text = read_text(node, where).replace("_", "").replace(",", "")
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise CellError(f"{where} must be a whole number from 1, such as 2000; got {_shown(node)}.")
    return int(text)


def read_seconds(node: Node, where: str) -> float:
    text = read_text(node, where).strip().removesuffix("s").rstrip()
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,17})?", text) or float(text) == 0:
        raise CellError(f"{where} must be seconds, such as 90 or 2.5; got {_shown(node)}.")
    return float(text)


def read_budget(node: Node, where: str) -> Budget:
    """`20_000` or `20000 tokens`, `$0.05` or `0.05 USD`."""
    text = read_text(node, where).strip()
    money = re.fullmatch(r"\$\s*(\d{1,9}(?:\.\d{1,9})?)|(\d{1,9}(?:\.\d{1,9})?)\s*(?i:usd|dollars?)", text)
    if money and (amount := Decimal(money[1] or money[2])) > 0:
        return Budget(cost=amount)
    tokens = re.fullmatch(r"([1-9][\d_,]{0,14})(?:\s*tokens)?", text)
    if tokens:
        return Budget(tokens=int(re.sub("[_,]", "", tokens[1])))
    raise CellError(f"{where} must be tokens or money, such as `20_000` or `$0.05`; got {_shown(node)}.")


def read_word(node: Node, where: str) -> str:
    text = read_text(node, where).strip()
    if not text or re.search(r"\s", text):
        raise CellError(f"{where} must be one word; got {_shown(node)}.")
    return text


def read_environment(node: Node, where: str) -> str:
    text = read_word(node, where)
    if SECRET.search(text):
        raise credential(where.partition(":")[0])
    if not is_environment(text):
        raise CellError(f"{where} must be the name of an environment variable, such as OPENAI_API_KEY.")
    return text


def read_api(node: Node, where: str) -> str:
    text = read_word(node, where)
    if text not in ("chat", "responses"):
        raise CellError(f"{where} must be `chat` or `responses`; got {_shown(node)}.")
    return text


def read_strategy(node: Node, where: str) -> str:
    text = read_word(node, where)
    if text not in ("chat", "react", "plan", "reflection"):
        raise CellError(f"{where} must be `chat`, `react`, `plan` or `reflection`; got {_shown(node)}.")
    return text


def read_language(node: Node, where: str) -> str:
    text = read_word(node, where).lower()
    if text not in ("english", "chinese"):
        raise CellError(f"{where} must be `english` or `chinese`; got {_shown(node)}.")
    return text


def read_texts(node: Node, where: str) -> dict[str, str]:
    """Texts by their key, or their JSON (`--texts '{"reflection.signal": "OK"}'`)."""
    if isinstance(node, Scalar) and node.text.strip().startswith("{"):
        found: Any = read_params(node, where)
        node = Table({key: Scalar(str(one), True, node.line) for key, one in found.items()}, node.line)
    if not isinstance(node, Table):
        raise CellError(f"{where} must be a mapping such as `{{reflection.signal: OK}}`; got {_shown(node)}.")
    return {key: read_text(one, f"Cell line {one.line}: `{key}`") for key, one in node.entries.items()}


def read_whole(node: Node, where: str) -> int:
    """A whole number from 0."""
    text = read_text(node, where).replace("_", "").replace(",", "")
    if not re.fullmatch("0|[1-9][0-9]{0,8}", text):
        raise CellError(f"{where} must be a whole number from 0, such as 3; got {_shown(node)}.")
    return int(text)


def read_params(node: Node, where: str) -> dict[str, Any]:
    """A mapping, or its JSON text (`--params '{"seed": 1}'`)."""
    expected = f"{where} must be a mapping such as `{{seed: 1}}`"
    if isinstance(node, Table):
        found: Any = as_json(node)
    else:
        try:
            found = strict_json(read_text(node, expected))
        except ValueError as error:
            raise CellError(f"{expected} or its JSON text ({error}); got {_shown(node)}.") from None
    if not isinstance(found, dict):
        raise CellError(f"{expected}; got {_shown(node)}.")
    return cast("dict[str, Any]", found)


def strict_json(text: str) -> Any:
    """JSON without NaN, Infinity and keys that come twice. Raises ValueError."""
    return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_doubles)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key comes twice")
    return found


def read_images(node: Node, where: str) -> tuple[str, ...]:
    match node:
        case Scalar(text):
            names = [name.strip() for name in text.split(",")]
        case Items(nodes):
            names = [read_text(item, f"Cell line {item.line}: an image").strip() for item in nodes]
        case Table():
            names = []
    if not names or not all(names):
        raise CellError(f"{where} must be paths of PNG or JPEG files, or notebook variables; got {_shown(node)}.")
    return tuple(names)


def read_switch(node: Node, where: str) -> bool:
    values = {"yes": True, "true": True, "no": False, "false": False}
    if isinstance(node, Scalar) and not node.quoted and node.text.lower() in values:
        return values[node.text.lower()]
    raise CellError(f"{where} must be yes or no, without quotes; got {_shown(node)}.")


def read_compact(node: Node, where: str) -> int | bool:
    """Tokens, or yes and no."""
    if isinstance(node, Scalar) and node.text[:1].isdigit():
        return read_count(node, where)
    return read_switch(node, f"{where} is a number of tokens; else it")


def read_store(node: Node, where: str) -> str | bool:
    """A folder; the usual one for yes, False for no."""
    if isinstance(node, Scalar) and not node.quoted and node.text.lower() in ("yes", "true", "no", "false"):
        return read_switch(node, where) and USUAL_STORE
    text = node.text if isinstance(node, Scalar) else ""
    if not text.strip() or len(text.splitlines()) > 1:
        raise CellError(f"{where} must be a folder, or yes for `{USUAL_STORE}`, or no; got {_shown(node)}.")
    return text


USUAL_STORE = ".nbagent/runs"
"""The folder of stored runs, beside the notebook."""


def is_path(text: str) -> bool:
    """Whether a text is a name, or names with dots between them."""
    return all(part.isidentifier() and not keyword.iskeyword(part) for part in text.split("."))


def _shown(node: Node) -> str:
    match node:
        case Scalar(text, quoted):
            return f"the text {quote(text)} in quotes" if quoted else quote(text)
        case Items():
            return "a list"
        case Table():
            return "a mapping (a text that contains `: ` or begins with `{` needs quotes)"
