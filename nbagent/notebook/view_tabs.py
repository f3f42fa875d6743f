"""View tabs: what there is to see of a run at one of its events, each as HTML that is made when it is looked at."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from nbagent.errors import FOREIGN
from nbagent.notebook.dry import wires
from nbagent.runtime.sent import sent_in
from nbagent.views.bundle import bundle
from nbagent.views.html_moment import changes_html, messages_html, nothing_html, whole_reply_html, wires_html
from nbagent.views.moments import moments_of
from nbagent.views.trace import Trace

if TYPE_CHECKING:
    from nbagent.agents.base import BaseAgent
    from nbagent.request import ModelRequest
    from nbagent.runtime.result import RunResult
    from nbagent.runtime.sent import Sent
    from nbagent.views.moments import Moment
    from nbagent.views.trace import Turn

_EXACT = "exactly as they were sent"
_MADE = "put together from the events; whether they were sent so is not known"
_REQUEST = "The request, exactly as it was sent."
_REQUEST_NOW = "The messages as they were sent, with the settings that the agent has now."
_NO_TURN = "No turn has begun yet at this event."
_NOT_SENT = "This request was never sent."
_NO_REPLY = "The model has not replied yet at this event."


class ViewTabs:
    """Of one run."""

    def __init__(self, agent: BaseAgent, result: RunResult) -> None:
        self._agent = agent
        self._events = result.events
        self.moments: tuple[Moment, ...] = moments_of(result.events)

    @cached_property
    def sent(self) -> tuple[Sent, ...]:
        """What each turn has sent."""
        return sent_in(self._events)

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        return Trace.of(self._events).all_turns

    def run_html(self, number: int) -> str:
        """The run as it was after so many events."""
        return bundle(self._events[:number])["text/html"]

    def _sent(self, moment: Moment) -> Sent | str:
        """What the turn of this event has sent, or why there is nothing."""
        if not moment.turn:
            return _NO_TURN
        return self.sent[moment.turn - 1] if moment.turn <= len(self.sent) else _NOT_SENT

    def prompt_html(self, moment: Moment) -> str:
        if isinstance(sent := self._sent(moment), str):
            return nothing_html(sent)
        return messages_html(tuple(sent.messages), sent.prompt.tools, _EXACT if sent.is_exact else _MADE)

    def request_html(self, moment: Moment) -> str:
        if isinstance(sent := self._sent(moment), str):
            return nothing_html(sent)
        request = self._request(sent)
        note = _REQUEST if request.fingerprint() == sent.fingerprint else _REQUEST_NOW
        try:
            return wires_html(tuple(wires(self._agent, request)), note)
        except FOREIGN as error:  # a model of the user's, or one that cannot write such a message any more
            return nothing_html(f"It cannot be written in the form of its model: {type(error).__name__}.")

    def _request(self, sent: Sent) -> ModelRequest:
        """With what the agent adds to its requests; the first of these that is the one that was sent."""
        own = replace(self._agent.request(sent.prompt), messages=sent.messages)
        others: list[dict[str, Any]] = [{}, {"output_schema": None}, {"max_tokens": None}]
        tried = [replace(own, **changes) for changes in (*others, {"output_schema": None, "max_tokens": None})]
        return next((one for one in tried if one.fingerprint() == sent.fingerprint), own)

    def reply_html(self, moment: Moment) -> str:
        turns = Trace.of(self._events[: moment.number]).all_turns
        reply = turns[moment.turn - 1].reply if 0 < moment.turn <= len(turns) else None
        return nothing_html(_NO_REPLY) if reply is None else whole_reply_html(reply)

    def changes_html(self, turn: int, other: int) -> str:
        """How the request of one turn differs from that of another before it."""
        if not turn or not self.sent:
            return nothing_html(_NO_TURN)
        if not 0 < other <= len(self.sent):
            return nothing_html("There is no turn before this one.")
        one, two = (tuple(self.sent[number - 1].messages) for number in (other, turn))
        return changes_html(one, two, (f"turn {other}", f"turn {turn}"))
