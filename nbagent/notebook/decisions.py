"""Decisions: what a cell decides beforehand about tool calls that will wait, and who decides about the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from nbagent.approvals.asking import Listed, Written
from nbagent.approvals.decision import read_decision
from nbagent.approvals.decisions_file import read_decisions as read_file
from nbagent.errors import CellError, DecisionError
from nbagent.notebook.fields import read_word, strict_json
from nbagent.notebook.header import Items, Node, Scalar, Table, as_json

OnApproval = Literal["wait", "suspend", "input", "deny"]

_SUCH_AS = 'such as `[approve, reject: "too risky"]`, or a file of JSON, such as `decisions.json`'


@dataclass(frozen=True, slots=True)
class CellDecisions:
    """Decisions in the order in which they are needed, or the file that holds them."""

    listed: tuple[Any, ...] = ()
    file: str = ""
    where: str = ""

    def written(self) -> Written:
        """The decisions, for one run. Raises CellError for a file that holds none."""
        if not self.file:
            return Listed(self.listed)
        try:
            return read_file(self.file)
        except DecisionError as error:
            raise CellError(f"{self.where}: {error}") from None


def read_decisions(node: Node, where: str) -> CellDecisions:
    """A list of decisions, in YAML or as JSON text; words with commas between them; or the path of a file."""
    match node:
        case Items(nodes):
            found = [(_value(one), f"Cell line {one.line}: a decision") for one in nodes]
        case Scalar(text) if text.strip().endswith(".json"):
            return CellDecisions(file=text.strip(), where=where)
        case Scalar(text) if text.strip().startswith("["):
            found = [(one, where) for one in _json(text, where)]
        case Scalar(text) if text.strip():
            found = [(word.strip(), where) for word in text.split(",")]
        case _:
            found = []
    if not found:
        raise CellError(f"{where} must be a list of decisions, {_SUCH_AS}.")
    return CellDecisions(tuple([_decision(said, place) for said, place in found]))


def _decision(said: Any, where: str) -> Any:
    try:
        return read_decision(said)
    except DecisionError as error:
        raise CellError(f"{where}: {error}") from None


def _value(node: Node) -> Any:
    """What a node says; the value of `reject`, `answer`, `stop` and of a note is text, however it is written."""
    if isinstance(node, Table):
        return {key: one.text if isinstance(one, Scalar) else as_json(one) for key, one in node.entries.items()}
    return as_json(node)


def _json(text: str, where: str) -> list[Any]:
    try:
        return cast("list[Any]", strict_json(text))
    except (ValueError, RecursionError) as error:
        raise CellError(f"{where} must be a list of decisions, {_SUCH_AS}; this is not JSON: {error}.") from None


def read_on_approval(node: Node, where: str) -> OnApproval:
    text = read_word(node, where)
    if text not in get_args(OnApproval):
        raise CellError(f"{where} must be `wait`, `suspend`, `input` or `deny`; got `{text}`.")
    return cast("OnApproval", text)
