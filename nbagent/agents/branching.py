"""Branching: how an agent, or one of its runs, is forked."""

from __future__ import annotations

from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, overload

from msgspec import structs
from typing_extensions import Unpack

from nbagent.agents.branch import Branch
from nbagent.agents.checks import name_of
from nbagent.agents.edit import Edit, Edits
from nbagent.agents.recorded import after, started_of
from nbagent.agents.resuming import Resuming
from nbagent.agents.stored import created
from nbagent.errors import ConfigError, StoreError
from nbagent.events import Forked, innermost
from nbagent.runtime.drivers import adrive, drive
from nbagent.runtime.result import RunResult

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Mapping, Sequence

    from nbagent.agents.forks import Forks
    from nbagent.approvals.asking import Asked
    from nbagent.events import Event, StreamEvent
    from nbagent.runtime.run import Run


class ForkOptions(Edits, total=False):
    """The options of `fork`, for those that take the same."""

    at: int
    decide: Asked | None
    output_schema: Any


class Branching(Resuming):
    """An agent that can be forked, and its runs."""

    @overload
    def fork(self, name: str | None = None) -> Self: ...
    @overload
    def fork(
        self, name: RunResult | str, /, *, at: int, call: int = 0, observation: Any = ...,
        arguments: Mapping[str, Any] | str = ..., reply: Any = ..., system: str = ..., user: str = ...,
        decide: Asked | None = None, output_schema: Any = None,
    ) -> RunResult: ...  # fmt: skip
    def fork(self, name: Any = None, *, at: Any = None, **options: Any) -> Any:
        """Without `at`: another agent. With it: another run.

        `fork(name)`: another agent like this one, that goes on from here on its own: with the same conversations,
        attributes and history memories, and a script that stands where this one's does; and so the agents that are its
        tools. name: its name, by default the same; in a session store it has to be another. An agent inside that has a
        session store is then `NAME.INSIDE` there. Functions, retrievers and other objects of yours are the same ones in
        both.

        `fork(run, at=turn, …)`: a run of its own that begins as `run` did and goes on from that turn, with one thing
        edited. What came before is not done again: no model call, no tool call. run: a result of this agent, or the id
        of a run, also of one in its store (then a new process can do it, with the agent built anew). at: which turn, in
        the order of `result.turns`, from 1; of a plan or a reflection these are the turns of all its steps.

        observation: what the call number `call` (from 0) of that turn gave, anything that a tool may return; it does
        not run. arguments: what this call runs with, a dict; it runs again, alone of its turn, and asks again whom it
        has to ask. reply: what the model said, in the form of a script entry; its calls run. system, user: the prompt
        of the turn's conversation (of its step, where that has one) as it is sent from this turn on; the replies before
        stay as they were. Without any of them the model is asked anew. decide, output_schema: as in `run`.

        The run is on its own: it works with a copy of the agent, whose script stands where the run's stood then, so
        conversations, attributes, memories and the place in the script stay as they are, and so does the run that is
        forked. The result is the newest of `results` (and `last`); its RunStarted says which run it was `forked` from.
        Where it waits for a decision, `resume` goes on with it as with any other.

        Raises ConfigError for a turn or a call that the run has not, edits that do not fit together, and a run of
        another agent; StoreError where a secret is masked in what is kept of a stored run; DriftError where the tools
        are not those of the run any more.
        """
        if at is None:
            return self._copied(name, options)
        with self._branched(name, at, options) as run:
            for _ in drive(run):
                pass
        return run.result

    async def afork(self, run: RunResult | str, **options: Unpack[ForkOptions]) -> RunResult:
        """`fork(run, at=…)` for `await`."""
        with self._branched(run, options.pop("at", None), options, awaited=True) as made:
            async with aclosing(adrive(made)) as events:
                async for _ in events:
                    pass
        return made.result

    def stream_fork(self, run: RunResult | str, **options: Unpack[ForkOptions]) -> Generator[StreamEvent]:
        """`fork(run, at=…)`, yielding what happens; what is kept of the run that is forked comes again."""
        with self._branched(run, options.pop("at", None), options) as made:
            yield from drive(made)

    async def astream_fork(self, run: RunResult | str, **options: Unpack[ForkOptions]) -> AsyncGenerator[StreamEvent]:
        """The same for `async for`."""
        with self._branched(run, options.pop("at", None), options, awaited=True) as made:
            async with aclosing(adrive(made)) as events:
                async for event in events:
                    yield event

    def forked(self, forks: Forks, name: str) -> Self:
        """The copy of this agent that belongs to a fork, under this name."""
        raise NotImplementedError

    def on_its_own(self) -> Self:
        from nbagent.agents.forks import Forks

        return self.forked(Forks(self.name, is_kept=False), self.name)

    def check_forked(self, run_id: str, events: Sequence[Event]) -> None:
        """Raises ConfigError for a run that cannot be forked as one of this agent."""

    def _copied(self, name: Any, options: Mapping[str, Any]) -> Self:
        from nbagent.agents.forks import Forks

        if isinstance(name, RunResult) or options:
            raise ConfigError("fork: from which turn on? Say at=…, from 1; a name alone makes another agent")
        given = self.name if name is None else name_of("name", name)
        return self.forked(Forks(given), given)

    @contextmanager
    def _branched(self, run: Any, at: Any, options: Any, *, awaited: bool = False) -> Generator[Run]:
        """A run that begins as another one has begun, on a copy of this agent."""
        if at is None:
            raise ConfigError("fork: from which turn on? Say at=…, from 1")
        given = dict(options)
        decide, output_schema = given.pop("decide", None), given.pop("output_schema", None)
        edit = Edit.of(given)  # pyright: ignore[reportArgumentType]  # which checks it
        run_id, events, masked = self._events_of(run)
        self.check_forked(run_id, events)
        branch = Branch(run_id, events, at, edit, self._permitted(None, ()))
        if any(id(event) in masked for event in branch.made_of):
            raise StoreError(f"store: {run_id} cannot be forked: a secret is masked in its file; run it anew")
        begun = branch.events
        copy, started = self.on_its_own(), started_of(begun)
        task = copy._stored_task(started, None, output_schema)  # noqa: SLF001
        task = replace(task.decided(None, decide), key=object(), adopts=edit.of_prompt)
        file = created(self, self.store)
        number = self._runs.begin()
        made_id = f"{self.name}-{number}" if file is None else file.run_id
        forked = Forked(run_id, at, edit.kinds, edit.call if edit.of_call else None)
        begun = (structs.replace(started, run_id=made_id, forked=forked), *begun[1:])
        after(copy, begun).go()
        going_on = None
        try:
            with copy._running(  # noqa: SLF001 - it is one of its own class
                task, awaited=awaited, begun=begun, goes_on=True, file=file
            ) as going_on:
                yield going_on
        finally:
            if going_on is not None:
                self._keep_of(copy, going_on, task, number)

    def _events_of(self, run: Any) -> tuple[str, Sequence[Event], set[int]]:
        """The id and the events of a run, and the ids of the objects among these that are not what happened."""
        if isinstance(run, str):
            return self._found(run)
        if not isinstance(run, RunResult):
            raise ConfigError(f"fork: expected a result of {self.name}, or the id of one of its runs; got {run!r}")
        self._check_own(run.run_id, run.events)
        is_here = any(one is run for one in self.results.values())
        if not is_here and self.store is not None and run.run_id in self.store:
            return self._found(run.run_id)  # its file says what is masked in it, and whether it is sound
        return run.run_id, run.events, set()

    def _found(self, run: str) -> tuple[str, Sequence[Event], set[int]]:
        """What is known of a run of this id: in this process, or in the store."""
        known = next((one for one in reversed(self.results.values()) if one.run_id == run), None)
        if known is not None:
            return run, known.events, set()
        if self.store is None or run not in self.store:
            ids = ", ".join([one.run_id for one in self.results.values()]) or "none"
            where = "" if self.store is None else f", nor in {self.store.folder}"
            raise ConfigError(f"fork: {self.name} has no run {run!r} here{where}; here it has {ids}")
        stored = self.store.read(run)
        self._check_own(run, stored.events)
        shown = ("ToolReturned", "StepFinished", "RunFinished")
        masked = [stored.events[place] for place in stored.masked]
        return run, stored.events, {id(one) for one in masked if type(innermost(one)).__name__ not in shown}

    def _check_own(self, run: str, events: Sequence[Event]) -> None:
        if not events:
            raise ConfigError(f"fork: {run or 'the run'} has not begun, so there is nothing to fork")
        if (agent := started_of(events).agent) != self.name:
            raise ConfigError(f"fork: {run} is a run of the agent {agent!r}, and this one is {self.name!r}")

    @property
    def results(self) -> dict[int, RunResult]:
        """The results of the newest runs by their number, from 1; at most `KEPT` of them."""
        return self._runs.results
