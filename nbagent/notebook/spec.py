"""Spec: what a cell says about its agent, each value typed by its field and not by how it is written."""

from __future__ import annotations

import builtins
import json
import keyword
import re
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field

from nbagent.errors import KINDS, CellError
from nbagent.notebook.header import Items, Node, Scalar, Table, as_json, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

MOST_TURNS = 10_000
# fmt: off
RESERVED = frozenset({
    "list", "show", "reset", "help", "undo", "fork", "approve", "reject", "resume", "pending", "runs", "view",
    "compare", "freeze", "verify", "chaos", "export", "lint", "doctor", "status", "next",
})
# fmt: on
"""Subcommands of `%agent`, now or later; no agent has such a name."""


@dataclass(frozen=True, slots=True)
class ScriptText:
    """A scripted reply that is text."""

    text: str


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """A scripted tool call."""

    name: str
    arguments: str = "{}"
    """JSON text, or whatever `raw:` says."""
    id: str | None = None


@dataclass(frozen=True, slots=True)
class ScriptCalls:
    """A scripted reply that asks for tools."""

    calls: tuple[ScriptCall, ...]
    content: str = ""


@dataclass(frozen=True, slots=True)
class ScriptError:
    """A model call that fails with this message."""

    message: str
    kind: str = "error"


ScriptEntry: TypeAlias = ScriptText | ScriptCalls | ScriptError


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may use: one of the two."""

    tokens: int | None = None
    cost: Decimal | None = None
    """US dollars."""


@dataclass(frozen=True, slots=True)
class Written:
    """How a field is written in a cell."""

    read: Callable[[Node, str], Any]
    """From a node to the value; the second argument says where it stands, for errors."""
    placeholder: str | None
    """What the help shows for the option's value; None where the option is a flag."""
    short: str | None = None
    alias: str | None = None


def _read_text(node: Node, where: str) -> str:
    if isinstance(node, Scalar):
        return node.text
    raise CellError(f"{where} must be text, not {_shown(node)}.")


def _read_model(node: Node, where: str) -> str:
    text = _read_text(node, where).strip()
    if not text or len(text.splitlines()) > 1:
        raise CellError(f"{where} must be the name of a model or of a notebook variable, not {_shown(node)}.")
    return text


def _read_variable(node: Node, where: str) -> str:
    text = _read_text(node, where)
    if not text.isidentifier():
        raise CellError(f"{where} must be a Python name such as `weather`, not {_shown(node)}.")
    if keyword.iskeyword(text) or hasattr(builtins, text):
        raise CellError(f"{where} must be a name of your own, and `{text}` is a name of Python.")
    return text


def _read_name(node: Node, where: str) -> str:
    text = _read_variable(node, where)
    if text in RESERVED:
        raise CellError(f"{where} must be a name of your own, and `{text}` is a subcommand of `%agent`.")
    return text


def _read_tools(node: Node, where: str) -> tuple[str, ...]:
    match node:
        case Scalar(text):
            names = [name.strip() for name in text.split(",")] if text.strip() else []
        case Items(nodes):
            names = [_read_text(item, f"Cell line {item.line}: a tool's name").strip() for item in nodes]
        case Table():
            raise CellError(f"{where} must be names such as `[search, add]`, not {_shown(node)}.")
    for i, name in enumerate(names):
        if not is_path(name):
            raise CellError(f"{where} must be names such as `search, maths.add`, and {_quoted(name)} is not a name.")
        if name in names[:i]:
            raise CellError(f"{where} names `{name}` twice; keep one.")
    return tuple(names)


def _read_turns(node: Node, where: str) -> int:
    expected = f"{where} must be a whole number from 1 to {MOST_TURNS:,}"
    if isinstance(node, Scalar) and node.quoted:
        raise CellError(f"{expected}, without quotes; got {_shown(node)}.")
    text = _read_text(node, expected)
    if not re.fullmatch("[1-9][0-9]{0,5}", text) or int(text) > MOST_TURNS:
        raise CellError(f"{expected}; got {_shown(node)}.")
    return int(text)


def _read_count(node: Node, where: str) -> int:
    text = _read_text(node, where).replace("_", "").replace(",", "")
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise CellError(f"{where} must be a whole number from 1, such as 2000; got {_shown(node)}.")
    return int(text)


def _read_seconds(node: Node, where: str) -> float:
    text = _read_text(node, where).strip().removesuffix("s").rstrip()
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", text) or float(text) == 0:
        raise CellError(f"{where} must be seconds, such as 90 or 2.5; got {_shown(node)}.")
    return float(text)


def _read_budget(node: Node, where: str) -> Budget:
    """`20_000` or `20000 tokens`, `$0.05` or `0.05 USD`."""
    text = _read_text(node, where).strip()
    money = re.fullmatch(r"\$\s*(\d{1,9}(?:\.\d{1,9})?)|(\d{1,9}(?:\.\d{1,9})?)\s*(?i:usd|dollars?)", text)
    if money and (amount := Decimal(money[1] or money[2])) > 0:
        return Budget(cost=amount)
    tokens = re.fullmatch(r"([1-9][\d_,]{0,14})(?:\s*tokens)?", text)
    if tokens:
        return Budget(tokens=int(re.sub("[_,]", "", tokens[1])))
    raise CellError(f"{where} must be tokens or money, such as `20_000` or `$0.05`; got {_shown(node)}.")


def _read_word(node: Node, where: str) -> str:
    text = _read_text(node, where).strip()
    if not text or re.search(r"\s", text):
        raise CellError(f"{where} must be one word; got {_shown(node)}.")
    return text


def _read_environment(node: Node, where: str) -> str:
    text = _read_word(node, where)
    if _SECRET.search(text):
        raise _credential(where.partition(":")[0])
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,99}", text):
        raise CellError(f"{where} must be the name of an environment variable, such as OPENAI_API_KEY.")
    return text


def _read_api(node: Node, where: str) -> str:
    text = _read_word(node, where)
    if text not in ("chat", "responses"):
        raise CellError(f"{where} must be `chat` or `responses`; got {_shown(node)}.")
    return text


def _read_params(node: Node, where: str) -> dict[str, Any]:
    """A mapping, or its JSON text (`--params '{"seed": 1}'`)."""
    expected = f"{where} must be a mapping such as `{{seed: 1}}`"
    if isinstance(node, Table):
        found: Any = as_json(node)
    else:
        try:
            found = json.loads(_read_text(node, expected))
        except ValueError as error:
            raise CellError(f"{expected} or its JSON text ({error}); got {_shown(node)}.") from None
    if not isinstance(found, dict):
        raise CellError(f"{expected}; got {_shown(node)}.")
    return cast("dict[str, Any]", found)


def _read_images(node: Node, where: str) -> tuple[str, ...]:
    match node:
        case Scalar(text):
            names = [name.strip() for name in text.split(",")]
        case Items(nodes):
            names = [_read_text(item, f"Cell line {item.line}: an image").strip() for item in nodes]
        case Table():
            names = []
    if not names or not all(names):
        raise CellError(f"{where} must be paths of PNG or JPEG files, or notebook variables; got {_shown(node)}.")
    return tuple(names)


def _read_switch(node: Node, where: str) -> bool:
    values = {"yes": True, "true": True, "no": False, "false": False}
    if isinstance(node, Scalar) and not node.quoted and node.text.lower() in values:
        return values[node.text.lower()]
    raise CellError(f"{where} must be yes or no, without quotes; got {_shown(node)}.")


def _read_script(node: Node, where: str) -> tuple[ScriptEntry, ...] | str:
    match node:
        case Items(()):
            raise CellError(f"{where} is empty: an agent makes at least one model call; write a reply, `- text`.")
        case Items(nodes):
            return tuple(_entry(item) for item in nodes)
        case Scalar(text, quoted) if not quoted and is_path(text):
            return text
        case _:
            raise CellError(f"{where} must be a list of replies (`- text`), or the name of a notebook variable.")


class CellSpec(BaseModel):
    """What a cell says about its agent. None means that it does not say."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Written(_read_name, "NAME")] = Field(
        default="agent", description="the agent, and the notebook variable that holds it (default: agent)"
    )
    model: Annotated[str | None, Written(_read_model, "MODEL", short="-m", alias="llm")] = Field(
        default=None, description="provider:model, test, or a notebook variable that holds a model"
    )
    base_url: Annotated[str | None, Written(_read_word, "URL", alias="api_base")] = Field(
        default=None, description="where the model's server is: http://127.0.0.1:8000/v1"
    )
    api: Annotated[str | None, Written(_read_api, "NAME")] = Field(
        default=None, description="OpenAI's API: chat or responses"
    )
    api_key_env: Annotated[str | None, Written(_read_environment, "NAME", alias="api_key_name")] = Field(
        default=None, description="the environment variable that holds the key"
    )
    params: Annotated[dict[str, Any] | None, Written(_read_params, "JSON")] = Field(
        default=None, description="more parameters of the request: '{\"seed\": 1}'"
    )
    tools: Annotated[tuple[str, ...] | None, Written(_read_tools, "NAMES")] = Field(
        default=None, description="functions of the notebook that the agent may call: search,maths.add"
    )
    script: Annotated[tuple[ScriptEntry, ...] | str | None, Written(_read_script, "NAME")] = Field(
        default=None, description="replies written by hand, or the notebook variable that holds them"
    )
    system: Annotated[str | None, Written(_read_text, "TEXT", alias="system_prompt")] = Field(
        default=None, description="the system prompt"
    )
    max_turns: Annotated[int | None, Written(_read_turns, "N")] = Field(
        default=None, ge=1, le=MOST_TURNS, strict=True, description=f"model calls a run may make, 1 to {MOST_TURNS:,}"
    )
    max_tokens: Annotated[int | None, Written(_read_count, "N")] = Field(
        default=None, description="how long one reply may be"
    )
    budget: Annotated[Budget | None, Written(_read_budget, "AMOUNT")] = Field(
        default=None, description="what a run may use: 20_000 (tokens) or $0.05"
    )
    timeout: Annotated[float | None, Written(_read_seconds, "SECONDS")] = Field(
        default=None, description="how long a run may take"
    )
    images: Annotated[tuple[str, ...] | None, Written(_read_images, "PATHS")] = Field(
        default=None, description="pictures shown with the task: files, or figures of the notebook"
    )
    out: Annotated[str | None, Written(_read_variable, "NAME")] = Field(
        default=None, description="a notebook variable that receives the result"
    )
    skip_without_key: Annotated[bool | None, Written(_read_switch, None)] = Field(
        default=None, strict=True, description="where the model's key is missing, show a note in place of an error"
    )
    quiet: Annotated[bool | None, Written(_read_switch, None)] = Field(
        default=None, strict=True, description="show nothing; the result is in NAME.last"
    )


def written(field: str) -> Written:
    """How this field of CellSpec is written."""
    return next(item for item in CellSpec.model_fields[field].metadata if isinstance(item, Written))


ALIASES: Mapping[str, str] = {alias: field for field in CellSpec.model_fields if (alias := written(field).alias)}
"""Other words for a field: `system_prompt` is `system`."""


def read_spec(header: Mapping[str, Node], options: Mapping[str, str]) -> tuple[CellSpec, Mapping[str, str]]:
    """The spec, and the origin of each value that was said (`cell line 3`, `option --tools`). Options win.

    `header` is what `read_header` gives; `options` maps fields to what stands on the magic line.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for key, node in header.items():
        field = ALIASES.get(key, key)
        if field not in CellSpec.model_fields:
            raise unknown("key", key, CellSpec.model_fields, f"Cell line {node.line}")
        if field in origins:
            raise CellError(f"Cell line {node.line}: `{key}` is the same as `{field}` on {origins[field]}; keep one.")
        if isinstance(node, Scalar) and not node.text and not node.quoted:
            raise CellError(f"Cell line {node.line}: `{key}` has no value; write one, or delete the line.")
        _refuse_secret(field, node, f"Cell line {node.line}")
        values[field] = written(field).read(node, f"Cell line {node.line}: `{key}`")
        origins[field] = f"cell line {node.line}"
    for field, text in options.items():
        what = "the agent's name" if field == "name" else f"`{flag(field)}`"
        node = Scalar(text, quoted=False, line=1)
        _refuse_secret(field, node, "Magic line")
        values[field] = written(field).read(node, f"Magic line: {what}")
        origins[field] = f"option {flag(field)}"
    return CellSpec(**values), origins


def flag(field: str) -> str:
    """The option of a field."""
    return f"--{field.replace('_', '-')}"


def is_path(text: str) -> bool:
    """Whether a text is a name, or names with dots between them."""
    return all(part.isidentifier() and not keyword.iskeyword(part) for part in text.split("."))


_CREDENTIAL = re.compile(r"(?<![a-z])keys?(?![a-z])|apikey|token(?!s)|secret|passw|passphrase|credential")
_SECRET = re.compile(r"(?i)(?<![a-z0-9])(?:sk|pk|rk)-|gh[opsu]_|github_pat|AKIA|AIza")


def unknown(what: str, word: str, known: Collection[str], where: str) -> CellError:
    """The error about a key or an option that does not exist. Never shows a value."""
    if _SECRET.search(word) or _CREDENTIAL.search(re.sub("([a-z])(?=[A-Z])", r"\1_", word).lower()):
        return _credential(where)
    meant = word[:100].lower().lstrip("-")
    # `script` is in `description`, and nobody who writes the one means the other.
    bare = {name: each for each in known if abs(len(name := each.lstrip("-")) - len(meant)) < 5}
    near = get_close_matches(meant, bare, n=1)
    hint = f"; did you mean `{bare[near[0]]}`?" if near else "."
    if " " in word:
        hint = " in the header; to send a task that contains a line `---`, begin the cell with a line `---`."
    return CellError(f"{where}: unknown {what} {_quoted(word)}{hint} Known: {', '.join(known)}.")


def _credential(where: str) -> CellError:
    return CellError(
        f"{where}: a cell takes no keys, tokens or passwords. This one is in the notebook and in IPython's history "
        "now: rotate it, and set the new one as an environment variable (OPENAI_API_KEY, ANTHROPIC_API_KEY, …)."
    )


_TAKES_ANYTHING = ("system",)
"""What may be any text; all other fields take names and numbers."""


def _refuse_secret(field: str, node: Node, where: str) -> None:
    """A key in the place of a name would be shown by the error that the name does not exist."""
    looks_like_one = _SECRET.search if field in ("params", "base_url") else _SECRET.match
    if field not in _TAKES_ANYTHING and any(looks_like_one(text) for text in _texts(node, deep=field == "params")):
        raise _credential(where)


def _texts(node: Node, *, deep: bool) -> Iterator[str]:
    match node:
        case Scalar(text):
            yield text
        case Items(nodes):
            for one in nodes:
                if deep or isinstance(one, Scalar):
                    yield from _texts(one, deep=deep)
        case Table(entries):
            for one in entries.values() if deep else ():
                yield from _texts(one, deep=deep)


def _shown(node: Node) -> str:
    match node:
        case Scalar(text, quoted):
            return f"the text {_quoted(text)} in quotes" if quoted else _quoted(text)
        case Items():
            return "a list"
        case Table():
            return "a mapping (a text that contains `: ` or begins with `{` needs quotes)"


def _quoted(text: str) -> str:
    if _SECRET.search(text):
        return "a text that looks like a key"
    return f"`{shorten(text)}`" if text else "nothing"


_FORMS = (
    "`- text`, `- call: tool` (with args, raw, id, content), `- calls: [{call: tool}, …]` (with content), "
    "`- error: message` (with kind); a text that contains `: ` needs quotes"
)


def _entry(node: Node) -> ScriptEntry:
    match node:
        case Scalar(text, quoted) if text or quoted:
            return ScriptText(text)
        case Items(nodes) if nodes:
            return ScriptCalls(tuple(_call(item, _CALL) for item in nodes))
        case Table(entries) if "call" in entries:
            return ScriptCalls((_call(node, (*_CALL, "content")),), _part(node, "content") or "")
        case Table({"calls": Items(nodes)} as entries) if nodes and entries.keys() <= {"calls", "content"}:
            return ScriptCalls(tuple(_call(item, _CALL) for item in nodes), _part(node, "content") or "")
        case Table({"error": Scalar(text)} as entries) if entries.keys() <= {"error", "kind"}:
            return ScriptError(text, _kind(node))
        case _:
            raise CellError(f"Cell line {node.line}: this is not a scripted reply. Its forms: {_FORMS}.")


def _kind(entry: Table) -> str:
    kind = _part(entry, "kind") or "error"
    if kind not in KINDS:
        line = entry.entries["kind"].line
        raise CellError(f"Cell line {line}: `kind` must be one of {', '.join(KINDS)}; got {_quoted(kind)}.")
    return kind


_CALL = ("call", "args", "raw", "id")


def _call(node: Node, allowed: Collection[str]) -> ScriptCall:
    if not isinstance(node, Table) or not (name := _part(node, "call")):
        raise CellError(f"Cell line {node.line}: expected a tool call such as `{{call: tool, args: {{city: Paris}}}}`.")
    for key, value in node.entries.items():
        if key not in allowed:
            raise unknown("key of a tool call", key, allowed, f"Cell line {value.line}")
    args, raw = node.entries.get("args", Table({}, node.line)), _part(node, "raw")
    if not isinstance(args, Table) or (raw is not None and "args" in node.entries):
        raise CellError(f"Cell line {args.line}: `args` must be a mapping such as `{{city: Paris}}`, without `raw`.")
    arguments = json.dumps(as_json(args), ensure_ascii=False) if raw is None else raw
    return ScriptCall(name, arguments, _part(node, "id") or None)


def _part(table: Table, key: str) -> str | None:
    node = table.entries.get(key)
    return None if node is None else _read_text(node, f"Cell line {node.line}: `{key}`")
