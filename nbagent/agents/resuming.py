"""Resuming: how a run that waits for a decision is gone on with."""

from __future__ import annotations

from collections.abc import Hashable, Iterable  # noqa: TC003  of a TypedDict
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

from msgspec import structs
from typing_extensions import TypedDict, Unpack

from nbagent.agents.recorded import after, inputs_of, started_of
from nbagent.agents.runner import Runner
from nbagent.agents.stored import left_by, opened, resumed, waiting_in
from nbagent.approvals.asking import Decided, asked_of
from nbagent.approvals.standing import revoked
from nbagent.errors import ConfigError, DriftError
from nbagent.runtime.drivers import adrive, drive
from nbagent.store.codec import alike
from nbagent.store.open_places import open_places

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from nbagent.agents.task import Task
    from nbagent.agents.waiting import Paused
    from nbagent.approvals.asking import Asked
    from nbagent.events import Event, RunStarted, StreamEvent
    from nbagent.runtime.result import Interrupt, RunResult
    from nbagent.runtime.run import Run
    from nbagent.store.run_file import RunFile
    from nbagent.store.run_store import Listed


class ResumeOptions(TypedDict, total=False):
    """The options of `resume`, for those that take the same."""

    run: str | None
    scope: Hashable
    decide: Asked | None
    output_schema: Any
    revoke: str | Iterable[str] | bool | None


class Resuming(Runner):
    """An agent whose runs may wait for a decision, and go on with it."""

    def resume(
        self, decision: Any = None, *, run: str | None = None, scope: Hashable = None, decide: Asked | None = None,
        output_schema: Any = None, revoke: str | Iterable[str] | bool | None = None,
    ) -> RunResult:  # fmt: skip
        """Goes on with the run that waits for a decision; what it has done is not done again.

        decision: `True` or `False` for all calls that wait, `Approve(…)`, `Reject(reason)`, `Answer(text)`,
        `Stop()`, or a dict of these by call id (or digest), which may leave calls out: they wait on. Which wait says
        `last.interrupt.pendings`. scope: whose conversation, default that of the agent. decide: who decides about
        further calls.

        A run that was stopped while it waited, or after it had waited, goes on in the same way; without a decision
        where no call waits any more.

        run: the id of a run in the agent's store, also one of an earlier process, whichever way that ended; a
        completed one is refused. It goes on in its file, which then has both parts, and in the conversation that it
        belonged to. Without a decision it does what it can; a call that was started and has no result waits, unless
        its tool may run again. output_schema: that of the run, if it was given one.

        revoke: a tool, several, or True for all of which `Approve(always=…)` has said that later calls run without a
        question: from here on they wait again, in runs inside as well. `result.standing` names them.

        Raises ConfigError where no run waits, where several do and it is not said which (`run`, or a call of it), and
        where somebody goes on with it already; DecisionError (which is one) for what is no decision: the run waits on.
        Raises StoreError (which is one, too) where a stored run is damaged, or its tools, prompts or model are not as
        they were when it began, and RunHeld where another process writes it. Events, turns and usage of the result are
        those of both parts.
        """
        with self._resumed(
            decision, run=run, scope=scope, decide=decide, output_schema=output_schema, revoke=revoke
        ) as rest:  # fmt: skip
            for _ in drive(rest):
                pass
        return rest.result

    async def aresume(self, decision: Any = None, **options: Unpack[ResumeOptions]) -> RunResult:
        """`resume` for `await`."""
        with self._resumed(decision, **options, awaited=True) as rest:
            async with aclosing(adrive(rest)) as events:
                async for _ in events:
                    pass
        return rest.result

    def stream_resume(self, decision: Any = None, **options: Unpack[ResumeOptions]) -> Generator[StreamEvent]:
        """`resume`, yielding what happens; what the first part has done comes again."""
        with self._resumed(decision, **options) as rest:
            yield from drive(rest)

    async def astream_resume(
        self, decision: Any = None, **options: Unpack[ResumeOptions]
    ) -> AsyncGenerator[StreamEvent]:
        """The same for `async for`."""
        with self._resumed(decision, **options, awaited=True) as rest:
            async with aclosing(adrive(rest)) as events:
                async for event in events:
                    yield event

    def stored(self) -> tuple[Listed, ...]:
        """Its runs that are in its store, in the order in which they began; none without one."""
        return () if self.store is None else tuple([one for one in self.store.list() if one.agent == self.name])

    @property
    def waiting(self) -> dict[Hashable, Interrupt]:
        """What runs wait for, by the scope of their conversation; of several in one, all of it."""
        return self._runs.waiting.interrupts

    def check_free(self, scope: Hashable = None, key: Hashable = None) -> None:
        """Raises ConfigError where a run of a scope, by default the agent's, waits for a decision, so that no other can
        begin there. `key`: of the run that is to begin; it may take the place of the one with the same key."""
        self._runs.waiting.check_free(self.scope if scope is None else scope, key)

    def discard(self, scope: Hashable = None, *, run: str | None = None) -> RunResult | None:
        """Drops what waits for a decision in a scope, by default that of the agent, and returns it; its calls do not
        run. Of several runs it returns the newest. Nothing if none waits.

        run: the id of the only one that is dropped. Raises ConfigError where somebody goes on with one just now.
        """
        waiting = self._runs.waiting
        in_scope = self.scope if scope is None else scope
        found = waiting.in_scope(in_scope) if run is None else self._here(run, scope)
        waiting.drop(found)
        return found[-1].result if found else None

    @contextmanager
    def _resumed(
        self, decision: Any, *, run: str | None = None, scope: Hashable = None, decide: Asked | None = None,
        output_schema: Any = None, revoke: str | Iterable[str] | bool | None = None, awaited: bool = False,
    ) -> Generator[Run]:  # fmt: skip
        """The run that waits, or one in the store, gone on with."""
        asked_of("decide", decide)
        paused = self._paused(decision, run, scope)
        if paused is not None and paused.pendings and run is not None and decision is None:
            decision = {}  # as far as it can
        with self._runs.waiting.claimed(paused):
            if paused is not None and paused.on is not None:
                with self._on_copy(paused, decision, decide, revoke, awaited=awaited) as going_on:
                    yield going_on
                return
            if paused is None and run is not None:
                rest = self._stored(run, decision, scope, output_schema, revoke)
                if started_of(rest.begun).forked is not None:
                    with self._fork_on_copy(rest, decide, awaited=awaited) as going_on:
                        yield going_on
                    return
            else:
                rest = self._waited(paused, decision, scope, revoke)
            going_on = None
            try:
                with self._running(
                    rest.task.decided(None, decide), awaited=awaited, begun=rest.begun, goes_on=True, file=rest.file
                ) as going_on:
                    yield going_on
            except DriftError:
                if paused is not None and going_on is not None:  # it can go on when all is as it was
                    self._runs.waiting.ended(paused.task, replace(paused, left=left_by(going_on)))
                raise

    @contextmanager
    def _on_copy(
        self, paused: Paused, decision: Any, decide: Asked | None, revoke: Any, *, awaited: bool
    ) -> Generator[Run]:
        """The fork of a run, gone on with by the copy of the agent that began it."""
        copy, going_on = cast("Resuming", paused.on), None
        try:
            with copy._resumed(  # noqa: SLF001 - it is one of its own class
                decision, scope=paused.task.scope, decide=decide, revoke=revoke, awaited=awaited
            ) as going_on:
                yield going_on
        finally:
            if going_on is not None:
                self._keep_of(copy, going_on, paused.task, self._runs.number_of(paused.result))

    @contextmanager
    def _fork_on_copy(self, rest: _Rest, decide: Asked | None, *, awaited: bool) -> Generator[Run]:
        """A fork of a process before this one, gone on with by a copy of the agent."""
        copy, number, going_on = self.on_its_own(), self._runs.begin(), None
        task = replace(rest.task.decided(None, decide), key=object())
        after(copy, rest.begun).go()
        try:
            with copy._running(  # noqa: SLF001 - it is one of its own class
                task, awaited=awaited, begun=rest.begun, goes_on=True, file=rest.file
            ) as going_on:
                yield going_on
        finally:
            if going_on is not None:
                self._keep_of(copy, going_on, task, number)

    def on_its_own(self) -> Self:
        """A copy of this agent, for a run that changes nothing of it."""
        raise NotImplementedError

    def _keep_of(self, copy: Resuming, run: Run, task: Task, number: int) -> None:
        """Keeps what a copy has done, as one of the runs of this agent; also that it waits, where it does."""
        result = run.result
        self._runs.keep(result, number)
        waits = copy._runs.waiting.of(result)
        self._runs.waiting.ended(task, None if waits is None else replace(waits, task=task, on=copy))

    def _paused(self, decision: Any, run: str | None, scope: Hashable) -> Paused | None:
        """The run that waits in a scope, or that has this id; None where none does here."""
        waiting = self._runs.waiting
        if run is not None:
            return waiting.one_of(self._here(run, scope), decision)
        return waiting.one_of(waiting.in_scope(self.scope if scope is None else scope), decision)

    def _here(self, run: str, scope: Hashable) -> list[Paused]:
        """What waits here under this id. A run in the store is another one, unless it is the file of this."""
        found = [one for one in self._runs.waiting.all() if one.result.run_id == run and self._is_mine(one)]
        for one in found:
            if scope not in (None, one.task.scope):
                raise _elsewhere(run, one.task.scope, scope)
        return found

    def _is_mine(self, one: Paused) -> bool:
        """Whether the id of a run that waits here means this one, and not one in the store."""
        if (store := self.store) is None:
            return True
        return one.result.run_id not in store if one.left is None else one.left.store.folder == store.folder

    def _waited(self, paused: Paused | None, decision: Any, scope: Hashable, revoke: object) -> _Rest:
        """The rest of a run that has waited in this process."""
        if paused is None:
            raise ConfigError(f"no run of {self.name} waits for a decision{'' if scope is None else f' in {scope!r}'}")
        events, pendings = paused.result.events, paused.pendings
        given = Decided(decision, pendings) if pendings or decision is not None else None
        begun = tuple([events[place] for place in open_places(events)])
        task = replace(_decided(paused.task, given), revoked=revoked(revoke, begun))
        places = after(self, begun)
        file = resumed(self, begun, paused.left)
        try:
            places.catch_up()
        except BaseException:
            if file is not None:
                file.close()
            raise
        return _Rest(task, begun, file)

    def _stored(self, run: str, decision: Any, scope: Hashable, output_schema: Any, revoke: object) -> _Rest:
        """The rest of a run that is in the store."""
        file = opened(self, run)
        try:
            events = file.stored.events
            begun = tuple([events[place] for place in open_places(events)])
            given = None if decision is None else Decided(decision, waiting_in(file.stored))
            task = self._stored_task(started_of(begun), scope, output_schema)
            task = replace(_decided(task, given), revoked=revoked(revoke, begun))
            is_fork = started_of(begun).forked is not None
            if not is_fork:
                self._runs.waiting.check_free(task.scope, None)
            file.go_on()
            if not is_fork:
                after(self, begun).go()
        except BaseException:
            file.close()
            raise
        return _Rest(task, begun, file)

    def _stored_task(self, started: RunStarted, scope: Hashable, output_schema: Any) -> Task:
        """What a stored run was asked for. Raises ConfigError where it cannot be told in which conversation."""
        known: Any = started.scope
        if scope is None and not _is_hashable(known):
            raise ConfigError(f"scope: {started.run_id} belongs to {known!r}, which was an object; say which: scope=…")
        if scope is not None and not alike(started, structs.replace(started, scope=scope)):
            raise _elsewhere(started.run_id, known, scope)
        belongs = known if scope is None else scope
        return self._task(
            inputs_of(started), images=started.images, scope=belongs, output_schema=output_schema,
            retries=started.retries,
        )  # fmt: skip


class _Rest(NamedTuple):
    """What is to be done of a run that has begun."""

    task: Task
    begun: tuple[Event, ...]
    file: RunFile | None


def _decided(task: Task, given: Decided | None) -> Task:
    """`given`: in place of what was decided when it went on before."""
    others = [one for one in task.deciders if not isinstance(one, Decided)]
    return replace(task, deciders=(*([] if given is None else [given]), *others))


def _elsewhere(run: str, known: Hashable, scope: Hashable) -> ConfigError:
    return ConfigError(f"scope: {run} belongs to the conversation {known!r}, not to {scope!r}")


def _is_hashable(value: object) -> bool:
    """Also of what is in it."""
    try:
        hash(value)
    except TypeError:
        return False
    return True
