"""Help: what `%%agent --help` shows, and the same for the magics that mean another strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.notebook.spec import CellSpec, flag, written

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_OF_A_PLAN = ("replan", "propose", "run")
"""What only a plan has."""
_NOT_OF: Mapping[str, Collection[str]] = {"agent": (), "plan": ("strategy",), "reflect": ("strategy", *_OF_A_PLAN)}
"""What a magic refuses."""
_MEANS: Mapping[str, Mapping[str, str]] = {
    "agent": {
        "max_turns": "{} (default: 10, react 5; of a plan for each step, 3; of a reflection its rounds, 3)",
        "replan": "{} (plans only)",
        "propose": "{} (plans only)",
        "run": "{} (plans only)",
    },
    "plan": {
        "max_turns": "model calls each step may make, 1 to 10,000 (default: 3)",
        "tools": "what the steps may call: functions of the notebook, agents: search,agent:translator",
        "output": "the fields of the last answer, a description or a type each, or a pydantic model",
    },
    "reflect": {
        "max_turns": "rounds of critique and refinement, 1 to 10,000 (default: 3); each takes two model calls or more",
        "tools": "what the critic may call, and nobody else: search,agent:translator",
    },
}
"""What a field is for under a magic; `{}` is what is said of it in general."""


def help_text(magic: str = "agent") -> str:
    """The same text with every version of Python and every width of terminal."""
    lines = [f"  {'-h, --help':<24}this text"]
    for field, info in CellSpec.model_fields.items():
        if field in _NOT_OF[magic]:
            continue
        how = written(field)
        spellings = ", ".join(word for word in (how.short, flag(field)) if word)
        if how.placeholder:
            spellings += f" {how.placeholder}"
        lines.append(f"  {spellings:<24}{_MEANS[magic].get(field, '{}').format(info.description)}")
    head = _HEAD.replace("%agent", f"%{magic}") + _MORE[magic]
    return head + "\n" + "\n".join(lines)


_HEAD = """\
%%agent [NAME] [OPTIONS]
header: YAML, with the names of the options as keys (max_turns: 5)
---
task; {{name}} inserts a variable of the notebook

"""
_WITHOUT = "Without the line --- the whole cell is the task. Options win over the header.\n"
_MORE: Mapping[str, str] = {
    "agent": (
        "%agent [OPTIONS] NAME TASK… runs one turn, %agent reset NAME starts over, %agent approve NAME goes on with "
        f"what waits.\n{_WITHOUT}"
    ),
    "plan": (
        f"%plan [OPTIONS] NAME TASK… runs once, %agent reset NAME starts over.\n{_WITHOUT}"
        "A plan is made, its steps are done, each with turns of its own, and an answer is put together: k steps take\n"
        "k + 2 model calls or more. The strategy is plan; `strategy` with another one is refused.\n"
    ),
    "reflect": (
        f"%reflect [OPTIONS] NAME TASK… runs once, %agent reset NAME starts over.\n{_WITHOUT}"
        "A draft is written, criticised and written anew, round by round, until the critique passes: n rounds take at\n"
        "most 1 + 2n model calls, more where the critic calls tools. The strategy is reflection; `strategy` with\n"
        "another one is refused, and so are `replan`, `propose` and `run`, which are of plans.\n"
    ),
}
