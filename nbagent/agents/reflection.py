"""Reflection: a loop that writes a draft, has it criticised, and writes it anew until the critic has nothing to say.

Source: Reflexion (Shinn et al. 2023) and Self-Refine (Madaan et al. 2023), as in agentmaker's `ReflectionAgent`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from nbagent.agents.loop import attempted, take_turns
from nbagent.agents.plan import writing
from nbagent.agents.thread import Thread, whole
from nbagent.agents.verdict import passes
from nbagent.events import StepFinished, StepStarted
from nbagent.messages import Piece, Source
from nbagent.request import Messages
from nbagent.runtime.effects import Assemble, Mark, Outcome
from nbagent.texts.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Generator

    from nbagent.agents.loop import Setup
    from nbagent.messages import Prompt
    from nbagent.runtime.effects import Effect, Loop

CRITIC_TURNS = 5
"""How many turns a critic with tools may take for one critique."""


def reflect_and_refine(setup: Setup) -> Loop:
    """Draft, then critique and refinement until the critique passes or `setup.max_turns` rounds are over.

    At most 1 + 2n model calls for n rounds where the critic calls no tools. Only the critic has tools.
    """
    yield Mark(StepStarted("draft", 0))
    prompt: Prompt = yield Assemble(setup.assembled, ())
    reflection = _Reflection(setup, prompt)
    end = yield from reflection.draft()
    for number in range(1, setup.max_turns + 1):
        end = end or (yield from reflection.critique(number)) or (yield from reflection.refine(number))
    rounds = "1 round" if setup.max_turns == 1 else f"{setup.max_turns} rounds"
    return end or reflection.ended(f"not passed after {rounds}")


class _Reflection:
    """An answer while it is reviewed. What its methods give is the end of the run, None where it goes on."""

    def __init__(self, setup: Setup, prompt: Prompt) -> None:
        self._texts = setup.texts
        self._writing = writing(setup)
        self._judging = replace(setup, max_turns=CRITIC_TURNS, is_aside=True, read=None, schema=None)
        self._prompt = prompt
        self._answer = Outcome("failed")
        self._critique = ""

    def ended(self, reason: str) -> Outcome:
        """The end of the run, with the newest answer."""
        return Outcome("completed", self._answer.final_output, reason, self._answer.said)

    def draft(self) -> Generator[Effect, Any, Outcome | None]:
        outcome = yield from take_turns(self._writing, self._prompt, Messages(self._prompt.messages))
        return (yield from self._written("draft", 0, outcome))

    def critique(self, number: int) -> Generator[Effect, Any, Outcome | None]:
        texts, signal = self._texts, self._texts["reflection.signal"]
        yield Mark(StepStarted("critique", number))
        critic = Thread(self._prompt, system=texts.pieces("reflection.critic"))
        answer = (Piece(self._answer.said, _ANSWER),)
        said = texts.pieces(
            "reflection.critique", question=whole(self._prompt), answer=answer, signal=Phrase("reflection.signal")
        )
        outcome = yield from attempted(critic.ask(self._judging, "critique", said))
        if outcome.status != "completed":
            yield Mark(StepFinished("critique", number, "failed", None, outcome.stop_reason))
            return self.ended(f"no critique in round {number}: {outcome.stop_reason}")
        self._critique = outcome.said
        if passes(self._critique, (signal,)):
            yield Mark(StepFinished("critique", number, "passed", self._critique))
            return self.ended(f"passed in round {number}")
        yield Mark(StepFinished("critique", number, "done", self._critique))
        return None

    def refine(self, number: int) -> Generator[Effect, Any, Outcome | None]:
        yield Mark(StepStarted("refine", number))
        author = Thread(self._prompt)
        author.keep(whole(self._prompt), self._answer.said)
        said = self._texts.pieces("reflection.refine", critique=(Piece(self._critique, _CRITIQUE),))
        outcome = yield from attempted(author.ask(self._writing, "refine", said))
        return (yield from self._written("refine", number, outcome))

    def _written(
        self, kind: Literal["draft", "refine"], number: int, outcome: Outcome
    ) -> Generator[Effect, Any, Outcome | None]:
        """Takes over what was written. Where that came to nothing, the answer before it stays."""
        if outcome.status == "completed":
            self._answer = outcome
            yield Mark(StepFinished(kind, number, "done", outcome.said))
            return None
        yield Mark(StepFinished(kind, number, "failed", None, outcome.stop_reason))
        return outcome if kind == "draft" else self.ended(f"not refined in round {number}: {outcome.stop_reason}")


_ANSWER, _CRITIQUE = Source("history", "answer"), Source("history", "critique")
