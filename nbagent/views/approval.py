"""Approval: what somebody is shown who decides about calls that wait, before they decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbagent.views.text import blocks_text
from nbagent.views.transcript_question import questions_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbagent.views.pending import Pending


def approval_text(pendings: Sequence[Pending]) -> str:
    """The questions as plain text: whose call of which tool, why it waits, all arguments laid out and as they came, the
    digest. Nothing is cut, and what is not seen has a marker.

    pendings: the calls, such as `result.interrupt.pendings`.
    """
    return blocks_text(questions_blocks(pendings, 0, raw=True))
