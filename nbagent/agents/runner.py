"""Runner: how the runs of an agent begin and end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from nbagent.agents.compaction import shortened, summary_of, told
from nbagent.agents.conversation import Conversation
from nbagent.agents.hooks import RunHooks
from nbagent.agents.loop import Setup
from nbagent.agents.parts import Parts
from nbagent.agents.recorded import after, scripts_at, started_of
from nbagent.agents.recorded import inputs_of as recorded_inputs
from nbagent.agents.stored import created, left_by
from nbagent.agents.waiting import Paused
from nbagent.approvals.asking import check_used
from nbagent.events import Event, RunFinished, RunStarted
from nbagent.messages import Message, Segment
from nbagent.models.model import position
from nbagent.runtime.gate import Gate
from nbagent.runtime.interrupts import interrupts
from nbagent.runtime.pendings import pendings_of
from nbagent.runtime.run import Run

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Generator, Hashable, Sequence

    from nbagent.agents.exchange import OpenExchange
    from nbagent.agents.task import Task
    from nbagent.messages import Prompt
    from nbagent.request import ModelRequest
    from nbagent.runtime.effects import Loop
    from nbagent.runtime.nested import Nest, Unknown
    from nbagent.runtime.result import RunResult
    from nbagent.store.run_file import RunFile


class Runner(Parts, ABC):
    """An agent without a strategy: a subclass says in `_loop` how it works on a task."""

    strategy: ClassVar[str]
    """`chat`, `plan` or `reflection`."""

    @property
    def next_run(self) -> int:
        """The number of the run that begins next."""
        return self._runs.count + 1

    @abstractmethod
    def _loop(self, setup: Setup) -> Loop:
        """How the agent works on a task, whose prompt `setup.observe` gives."""

    @contextmanager
    def _running(
        self, task: Task, *, awaited: bool = False, nest: Nest | None = None, begun: Sequence[Event] = (),
        loop: Callable[[Setup], Loop] | None = None, goes_on: bool = False, unknown: Unknown = "ask",
        file: RunFile | None = None,
    ) -> Generator[Run]:  # fmt: skip
        """A run of this task; when the body is left, however that is, the conversation and `last` know of it.

        `begun`: what of it has been done already. `loop`: how it is worked on, if not as always. `goes_on`: whether it
        belongs to the exchange that has begun with it. `unknown`: as in `replay`. `file`: where one that has begun is
        written, open; None where it has no file. A run inside another one is in the file of that.
        """
        replaced = None if begun or task.is_alone else self._runs.waiting.check_free(task.scope, task.key)
        with self._runs.waiting.claimed(replaced):
            if file is None and nest is None and not begun:
                file = created(self, self.store)
            try:
                with self._under_way(task, file, awaited, nest, begun, loop, goes_on=goes_on, unknown=unknown) as run:
                    yield run
            finally:
                if file is not None:
                    file.drop()

    @contextmanager
    def _under_way(  # noqa: PLR0917
        self, task: Task, file: RunFile | None, awaited: bool, nest: Nest | None, begun: Sequence[Event],
        loop: Callable[[Setup], Loop] | None, *, goes_on: bool, unknown: Unknown,
    ) -> Generator[Run]:  # fmt: skip
        name = task.key if task.key is not None or nest else object()
        prompting = task.prompting
        self.prompting.observed = task.draft
        conversation = Conversation() if task.is_alone else self._conversation(task.scope)
        with interrupts(awaited=awaited):  # a memory may fail, and then no run has begun
            history = prompting.context.newest(conversation.told(task.key))
        around = cast("OpenExchange | None", nest.around.exchange) if nest else None
        exchange = around
        if not task.is_alone:
            models = () if nest else self.models
            start = after(self, begun[:1]) if begun and goes_on else None
            exchange = conversation.open(task.key, models, goes_on=goes_on, around=around, name=name, start=start)
        is_kept = nest is None or not nest.around.is_replay
        number = self._runs.begin() if is_kept else 0
        run = self._run(
            task, history, nest, begun, loop or self._loop, exchange=exchange, name=name, unknown=unknown,
            run_id="" if file is None else file.run_id,
        )  # fmt: skip
        if file is not None:
            run.journal.keeper = file
        try:
            yield run
        finally:
            if nest is not None:
                run.abandon()
            result = run.result
            waits = self._waits(run, goes_on=goes_on)
            if is_kept and result.events:
                self._runs.keep(result, number)
            if nest is None and not task.is_alone:
                named = replace(task, key=name)
                self._runs.waiting.ended(named, Paused(named, result, left_by(run)) if waits else None)
            if self.compact is not None and (summary := summary_of(result.events)):
                conversation.shorten(task.key, self.compact.keep, told(self.texts, summary))
            try:
                if exchange is not None and not task.is_alone:
                    rewind = result.status == "cancelled" and not waits
                    if waits and result.status == "cancelled":
                        after(self, result.events).go()  # a reply that was cut off is asked for again
                    exchange.close(result.new_messages, rewind=rewind, waits=waits)
            finally:
                if is_kept and not (begun and started_of(begun).forked):  # a fork is told to nobody
                    with interrupts(awaited=awaited):
                        self._remember(result)
        if nest is None and result.status == "completed":
            check_used(task.deciders)

    def _run(
        self, task: Task, history: tuple[Message, ...], nest: Nest | None, begun: Sequence[Event],
        work: Callable[[Setup], Loop], *, exchange: OpenExchange | None, name: Hashable, unknown: Unknown,
        run_id: str = "",
    ) -> Run:  # fmt: skip
        recorded = nest.recorded if nest else begun
        started = started_of(recorded) if recorded else self._started(task, history, nest, run_id)
        loop = self._between_checks(work, task, started, recorded, self._runs.requests)
        key = name if nest is None else None
        hooks = self._asked(task.scope)
        unknown = nest.unknown if nest else unknown
        return Run(
            started, loop, recorded, unknown, limits=self.limits, retry=self.retry, nest=nest, key=key, hooks=hooks,
            exchange=exchange, gate=self._gate(task, started, nest), adopts=task.adopts,
        )  # fmt: skip

    @staticmethod
    def _waits(run: Run, *, goes_on: bool) -> bool:
        """Whether it can be gone on with: it waits for a decision, or was cancelled while it did, or afterwards."""
        result = run.result
        if result.status != "cancelled" or run.is_stopped:
            return result.interrupted
        return goes_on or any(one.kind == "approval" for one in pendings_of(result.events))

    @contextmanager
    def _rerun(self, events: tuple[Event, ...], unknown: Unknown, output_schema: Any) -> Generator[Run]:
        """A run over recorded events, with the scripts where they leave them; afterwards they are where they were."""
        if unknown == "run_again" and isinstance(events[-1], RunFinished) and events[-1].status == "interrupted":
            events = events[:-1]  # what it waited for is decided
        started = started_of(events)
        task = self._task(recorded_inputs(started), output_schema=output_schema, retries=started.retries)
        with scripts_at(self, events):
            loop = self._between_checks(self._loop, task, started, events)
            hooks = self._asked(task.scope)
            gate = self._gate(task, started)
            yield Run(
                started, loop, events, unknown, limits=self.limits, retry=self.retry, hooks=hooks, gate=gate,
                is_replay=True,
            )  # fmt: skip

    def _gate(self, task: Task, started: RunStarted, nest: Nest | None = None) -> Gate:
        """What the tool calls of a run have to pass."""
        around = nest.around.gate if nest else None
        return Gate(self.approvals, self.texts, self.name, started.run_id, task.deciders, around, task.revoked)

    def _asked(self, scope: Hashable) -> RunHooks | None:
        """The hooks of a run; None without any, which costs nothing."""
        return RunHooks(self.hooks, scope, self._runs.requests, self.texts) if self.hooks else None

    def _between_checks(
        self, work: Callable[[Setup], Loop], task: Task, started: RunStarted, recorded: Sequence[Event],
        requests: deque[ModelRequest] | None = None,
    ) -> Loop:  # fmt: skip
        """The loop of a run. `requests`: where its requests are kept; None in a replay."""
        compact = self.compact

        def worked(checked: Task) -> Loop:
            if checked is not task and requests is not None:
                self.prompting.observed = checked.draft
            setup = self._setup(checked, started, recorded, requests)
            return work(setup) if compact is None else shortened(setup, compact, work)

        return self.guardrails.around(task, self.model, worked)

    def _setup(
        self, task: Task, started: RunStarted, recorded: Sequence[Event], requests: deque[ModelRequest] | None
    ) -> Setup:
        prompting, history = task.prompting, started.history
        tools = self._tools(lambda: task.draft, history, recorded)

        def observe(history: tuple[Message, ...]) -> Prompt:
            return prompting.prompt(task.draft, history, self._prompt_tools(tools), started.images)

        return Setup(
            observe, history, self.model, tools, started.max_turns, self.max_tokens, prompting.read, requests,
            self.texts, task.retries, prompting.schema,
        )  # fmt: skip

    def _started(
        self, task: Task, history: tuple[Message, ...], nest: Nest | None = None, run_id: str = ""
    ) -> RunStarted:
        """How a run begins. `run_id`: its id, if its file has one."""
        run_id = nest.run_id if nest else run_id or f"{self.name}-{self._runs.count}"
        model, asked = self.model, task.inputs
        said = tuple([Segment("user", "task", piece.text, piece.source) for piece in asked.task])
        return RunStarted(
            run_id, self.name, model.name, model.mode, self.max_turns, said, history, task.images, position(model),
            asked.fields, tuple([position(inner) for inner in self.models[1:]]), task.retries, task.scope,
            math=self.math,
        )  # fmt: skip

    def _remember(self, result: RunResult) -> None:
        """Writes a completed run's fields and answer to where they are kept."""
        if result.status != "completed":
            return
        for name in self.prompting.blueprint.pushed:
            self.prompting.attributes[name] = result[name]
        if self.prompting.context.providers:
            self.prompting.context.remember(result.new_messages)
