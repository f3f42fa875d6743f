"""Place: a run where it is shown, at the top of an output or inside a call of another run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nbagent.views import step_words, words
from nbagent.views.block import Name, Title, behind
from nbagent.views.budget import FULL, Budget, Near
from nbagent.views.checklist import Checklist, Several
from nbagent.views.own import Own
from nbagent.views.pending import Waiting, waiting
from nbagent.views.rounds import Round, Rounds
from nbagent.views.verdict import with_decisions
from nbagent.views.ways import Ways, ways

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nbagent.messages import Prompt
    from nbagent.views.trace import Step, Trace, Turn

_CRITIC = "of the first critique"
"""Where the tools and the system text of a critic are shown."""
_NAMES = 3
"""So many tools are named of turns that are not whole."""


@dataclass(frozen=True, slots=True)
class Place:
    """A run, what of it is shown, and how to reach it from Python."""

    trace: Trace
    budget: Budget
    prompts: Mapping[int, Own]
    """The prompt of each step and each run as it is shown, by the id of the object."""
    checklist: Checklist
    rounds: Rounds
    positions: Mapping[int, int]
    """Where each turn stands among all those of the run, by the id of the object."""
    waiting: tuple[Waiting, ...]
    """The calls that it waits for, with those of runs inside."""
    path: str
    """`solver.last`; empty where that is no Python."""
    observed: str | None = None
    """Of a run inside: what the run around it got to see."""
    depth: int = 0
    """How many runs it is inside of."""
    is_live: bool = False
    """Whether it goes on, and is shown by widgets."""

    @classmethod
    def of(cls, trace: Trace, near: Near = FULL, *, is_live: bool = False) -> Place:
        """`near`: how much of it is shown whole."""
        budget = Budget.of(trace, near)
        # As an agent of the notebook is called.
        path = f"{trace.agent}.last" if trace.agent.isidentifier() else ""
        return cls(trace, budget, dict(_prompts(trace, budget, {})), *_parts(trace), path, is_live=is_live)

    def inside(self, turn: Turn, index: int, run: Trace) -> Place:
        """The run inside the call of this index."""
        at = f"turns[{self.positions[id(turn)]}].tool_calls[{index}].run"
        path = f"{self.path}.{at}" if self.path else ""
        observation = turn.calls[index].observation
        observed = observation.text if observation else None
        return Place(run, self.budget, self.prompts, *_parts(run), path, observed, self.depth + 1, self.is_live)

    @property
    def asks(self) -> tuple[Waiting, ...]:
        """The calls that it waits for, to be shown where it ends; those of a run inside belong to the run around it."""
        return () if self.depth else self.waiting

    @property
    def pause(self) -> str:
        """The title of what it waits for."""
        number = len(self.asks)
        decisions = "a decision" if number == 1 else words.count(number, "decision")
        return f"The run {'waits' if self.trace.status is None else 'is paused: it waits'} for {decisions}."

    @property
    def ways(self) -> Ways:
        """How to go on; nothing while it still runs: who decides is being asked."""
        return () if self.trace.status is None else ways(self.trace.agent, self.asks)

    @property
    def status(self) -> str:
        return "waits for a decision" if self.waiting else words.status(self.trace)

    @property
    def reason(self) -> str:
        """What stands beside the status: the tools that wait, else the stop reason where it is short."""
        names = list(dict.fromkeys(each.tool_name for each in self.waiting))
        return ", ".join(names[:_NAMES]) + (" …" if names[_NAMES:] else "") or words.short_reason(self.trace)

    @property
    def own(self) -> Own | None:
        """The run's prompt as it is shown."""
        return self.prompts.get(id(self.trace))

    def own_of(self, step: Step) -> Own | None:
        return self.prompts.get(id(step))

    @property
    def numbers(self) -> str:
        """`2 of 3 steps · 5 turns · 1 tool call · 68 tokens`."""
        progress = [each for each in (self.checklist.progress, self.rounds.progress) if each]
        return " · ".join([*progress, words.numbers(self.trace, inside=self.depth > 0)])

    def where(self, part: str) -> Name:
        """How to see what is left out."""
        return Name(f"{self.path}.{part}" if self.path else f"{part} of its result")

    def where_turn(self, turn: Turn, part: str = "") -> Title:
        """How to see a turn, or a part of it: `solver.last.turns[3].content`."""
        at = f"turns[{self.positions[id(turn)]}]"
        return (self.where(f"{at}.{part}" if part else at),) if id(turn) in self.positions else ()

    @property
    def where_events(self) -> Title:
        """How to see what a result has in its events alone: reasoning, notes, messages of failures, reasons."""
        return (self.where("events"),)

    def where_call(self, turn: Turn, index: int) -> Title:
        """How to see what came back: `solver.last.turns[3].tool_calls[0].observation`."""
        return self.where_turn(turn, f"tool_calls[{index}].observation")

    def shown_elsewhere(self, turn: Turn) -> str:
        """Where the reply of this turn is shown anyway: `the answer below`. Empty where it is not."""
        if words.is_answer(turn, self.trace):
            return "the observation below" if self.is_observed else "the answer below"
        return "the critique above" if id(turn) in self.rounds.saying else ""

    @property
    def is_observed(self) -> bool:
        """Whether the answer of a run inside is what the run around it got to see."""
        return self.observed is not None and words.answered(self.trace) == self.observed

    def about(self, step: Step) -> str:
        """What became of a step that writes, and how the plan that it has made differs from the one before."""
        revision = self.checklist.revision_of(step)
        return step_words.about(step, self.trace) + (f", {revision.line}" if revision else "")

    def step_title(self, step: Step, call: str = "") -> Title:
        """The title of a step that writes: `plan, version 2: 3 steps, 1 new`. `call`: what follows on its name."""
        said = self.about(step)
        named = f"{step_words.step_name(step)}{call}{said and ': '}{said}"
        return (named, *behind(": ", step_words.failure(step)))

    def note(self) -> Title:
        """What of the output is left out; empty where nothing is."""
        budget = self.budget
        if budget.whole == budget.turns or self.is_live:  # the output that stays says so of itself
            return ()
        said = f"{budget.whole:,} of {budget.turns:,} turns are shown whole: those nearest to the ends, and errors. "
        return (said, self.where("turns"), " has all of them.")

    def left_out(self, turns: Sequence[Turn]) -> Title:
        """Turns that are not whole: `turns 9 to 12: get_weather ×4, left out: solver.last.turns[8:12]`."""
        first, last = turns[0], turns[-1]
        at = self.positions[id(first)]
        span = f"turn {first.number}" if first is last else f"turns {first.number} to {last.number}"
        part = f"turns[{at}]" if first is last else f"turns[{at}:{at + len(turns)}]"
        called = tuple(_tally(Counter(call.asked.name for turn in turns for call in turn.calls)))
        figures = sum(len(call.observation.images) for turn in turns for call in turn.calls if call.observation)
        more = (
            words.with_errors(turns)
            + with_decisions(turns)
            + (f", {words.count(figures, 'figure')}" if figures else "")
        )
        return (f"{span}: ", *called, f"{more}, left out: " if called else "left out: ", self.where(part))

    def several(self, steps: Several) -> Title:
        """Steps that are not whole: `9 to 12: 4 steps done, left out: solver.last.plan[8:12]`."""
        first, last = steps.items[0].number, steps.items[-1].number
        span = f"{first:,}" if first == last else f"{first:,} to {last:,}"
        return (f"{span}: {steps.line}, left out: ", self.where(f"plan[{first - 1}:{last}]"))

    def rounds_left_out(self, rounds: Sequence[Round]) -> Title:
        first, last = rounds[0].number, rounds[-1].number
        span = f"round {first}" if first == last else f"rounds {first} to {last}"
        return (f"{span}: {words.count(len(rounds), 'round')}, left out: ", self.where(f"rounds[{first - 1}:{last}]"))


def _parts(trace: Trace) -> tuple[Checklist, Rounds, Mapping[int, int], tuple[Waiting, ...]]:
    positions = {id(turn): number for number, turn in enumerate(trace.all_turns)}
    return Checklist.of(trace), Rounds.of(trace), positions, tuple(waiting(trace))


def _tally(names: Counter[str]) -> Iterator[str | Name]:
    """`get_weather ×4, search ×2 and 3 more calls`."""
    shown = list(names.items())[:_NAMES]
    for number, (name, times) in enumerate(shown):
        yield ", " if number else ""
        yield Name(name)
        yield f" ×{times:,}" if times > 1 else ""
    if more := sum(names.values()) - sum(times for _, times in shown):
        yield f" and {words.count(more, 'more call')}"


def _prompts(trace: Trace, budget: Budget, known: dict[str, Prompt]) -> Iterator[tuple[int, Own]]:
    """The prompts of a run and of all that is shown in it. `known`: the first one of each agent."""
    if trace.prompt is not None:
        yield id(trace), Own.of(trace.prompt, known.get(trace.agent), "of its first run", "of its runs before")
        if trace.assembled:
            known.setdefault(trace.agent, trace.prompt)
    yield from _prompts_inside(trace.turns, budget, known)
    critic: Prompt | None = None
    for step in filter(budget.holds, trace.steps):
        if step.prompt is not None:
            prompt = _unnamed(step.prompt)
            is_again = step.kind == "critique" and critic is not None
            base = None if step.kind == "compact" else trace.prompt
            yield id(step), Own.of(prompt, critic, _CRITIC) if is_again else Own.of(prompt, base)
            critic = prompt if step.kind == "critique" and critic is None else critic
        yield from _prompts_inside(step.turns, budget, known)


def _unnamed(prompt: Prompt) -> Prompt:
    """Without the label that a workflow gives to what it says: the step has it already."""
    return replace(prompt, segments=tuple(replace(s, label="") if s.role == "user" else s for s in prompt.segments))


def _prompts_inside(turns: Sequence[Turn], budget: Budget, known: dict[str, Prompt]) -> Iterator[tuple[int, Own]]:
    for turn in turns:
        for call in turn.calls if budget.holds(turn) else ():
            if call.run is not None:
                yield from _prompts(call.run, budget, known)
