"""Ways: how a run that waits for a decision is gone on with, as one types it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views.pending import handle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbagent.views.pending import Pending

Ways = tuple[tuple[str, tuple[str, ...]], ...]
"""Where one types, and what."""


def ways(agent: str, pendings: Sequence[Pending]) -> Ways:
    """`agent`: whose run it is. Nothing where its name is no Python: the notebook does not know it by that."""
    if not agent.isidentifier():
        return ()
    call = handle(pendings[0], pendings) if len(pendings) > 1 else ""
    name = f"{agent} {call}".rstrip()
    lines = [f"%agent approve {name}", f'%agent reject {name} --reason "…"']
    lines += [f'%agent answer {name} "…"'] if any(each.kind == "unknown" for each in pendings) else []
    one = f'{agent}.resume({{"{call}": Reject("…")}})' if call else f'{agent}.resume(Reject("…"))'
    calls = [f"{agent}.resume(True)"]
    if not call or call == pendings[0].call_id:
        calls.append(one)
    return (("in a cell", tuple(lines)), ("in Python", tuple(calls)))
