"""Lives: runs whose processes are killed at each thing that they ask of the disk, and go on in the next process.

`python lives.py kills FOLDER SHARE` and `python lives.py boundaries FOLDER SHARE` print counts as JSON. It is a program
of its own, so that what it forks is small and has no threads.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import sys
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
from journals import DISK_CALLS, QuickDisk, call, same

from nbagent import Agent, AgentTool, Answer, ApprovalPolicy, PlanAgent, ReflectionAgent, RunStore, ScriptedLLM, tool
from nbagent.events import ApprovalDecided, ModelReplied, ToolReturned, innermost

TEARS = {"nothing": lambda size: 0, "half": lambda size: size // 2, "all but one byte": lambda size: size - 1}


class Killed(QuickDisk):
    """Ends its process at the call of this number, from 1; of a write only a part is done then, of another call all or
    nothing."""

    def __init__(self, at, tear):
        self.at, self.tear, self.calls = at, tear, 0

    def _is_last(self):
        self.calls += 1
        return self.calls == self.at

    def write(self, fd, data):
        if self._is_last():
            if part := TEARS[self.tear](len(data)):
                os.write(fd, data[:part])
            os.kill(os.getpid(), signal.SIGKILL)
        return super().write(fd, data)


def _counted(name):
    def method(self, *args, **more):
        is_last = self._is_last()
        if is_last and self.tear == "nothing":
            os.kill(os.getpid(), signal.SIGKILL)
        done = getattr(QuickDisk, name)(self, *args, **more)
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    return method


for _name in set(DISK_CALLS) - {"write"}:
    setattr(Killed, _name, _counted(_name))


class Watched(RunStore):
    """Says of each event that it was taken, as soon as it was: `acknowledge` is called with the event and how many
    there are now."""

    acknowledge = None

    def create(self, *args):
        return self._watched(super().create(*args))

    def open(self, *args):
        return self._watched(super().open(*args))

    def _watched(self, file):
        keep = file.keep

        def watched(event, durable):
            keep(event, durable)
            self.acknowledge(event, len(file._order.numbers))

        file.keep = watched
        return file


class World:
    """What is outside of a process, and outlives it: what tools have done, and what was acknowledged."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def add(self, name, line):
        with (self.folder / name).open("a") as file:
            file.write(f"{line}\n")

    def lines(self, name):
        with suppress(FileNotFoundError):
            return (self.folder / name).read_text().splitlines()
        return []

    def pay_tool(self, **options):
        @tool(**options)
        def pay(amount: int) -> str:
            """Pays."""
            self.add("effects", amount)
            return f"paid {amount}"

        return pay

    def decide(self, pendings, *, most):
        """A person who approves, and who looks whether a call took effect where nobody knows. `most`: how many calls
        are decided about at a time."""
        decided = {}
        acknowledged = self.lines("decided")
        for one in pendings[:most]:
            if one.digest in acknowledged and one.kind == "approval":
                self.add("asked again", one.digest)
            amount = str(json.loads(one.arguments)["amount"])
            is_done = one.kind == "unknown" and amount in self.lines("effects")
            decided[one.digest] = Answer(f"paid {amount}") if is_done else True
        return decided

    def acknowledge(self, event, length):
        self.add("length", length)
        inner = innermost(event)
        if isinstance(inner, ApprovalDecided):
            self.add("decided", inner.digest)


def payments(count, start=1, tools=1):
    """Replies with so many calls each."""
    amounts = iter(range(start, start + count * tools))
    return [[call("pay", {"amount": next(amounts)}) for _ in range(tools)] for _ in range(count)]


APPROVED = {"approvals": ApprovalPolicy(approve=["pay"])}


def chat(world, store, count=26, kind=Agent, **options):
    script = [*payments(count), "Done."]
    return kind("bot", ScriptedLLM(script), tools=[world.pay_tool()], store=store, max_turns=99, **APPROVED, **options)


def side_by_side(world, store):
    script = [*payments(8, tools=3), "Done."]
    pay = world.pay_tool(parallel=True)
    return Agent("bot", ScriptedLLM(script), tools=[pay], store=store, max_turns=99, **APPROVED)


def nested(world, store, count=4):
    inner = [*[one for n in range(count) for one in (*payments(2, 10 * n + 1), f"part {n}")]]
    worker = Agent("worker", ScriptedLLM(inner), tools=[world.pay_tool()], **APPROVED)
    script = [*[call("worker", {"task": f"part {n}"}) for n in range(count)], "Done."]
    return Agent("bot", ScriptedLLM(script), tools=[AgentTool(worker)], store=store, max_turns=99)


def plan(world, store):
    steps = [f"step {n}" for n in range(4)]
    script = [json.dumps(steps)]
    for n in range(4):
        script += [*payments(2, 10 * n + 1), f"done {n}"]
    return PlanAgent("bot", ScriptedLLM([*script, "All."]), tools=[world.pay_tool()], store=store, **APPROVED)


def reflection(world, store):
    script = ["Draft.", *payments(2), "Too short.", "Longer.", *payments(2, 11), "GOOD ENOUGH"]
    return ReflectionAgent("bot", ScriptedLLM(script), tools=[world.pay_tool()], store=store, max_turns=9, **APPROVED)


LIVES = {
    "a chat": (chat, 99), "a chat that waits each time": (partial(chat, count=5), 0),
    "calls side by side": (side_by_side, 99), "calls side by side, decided one by one": (side_by_side, 1),
    "an agent inside": (nested, 99), "an agent inside that waits": (partial(nested, count=2), 0),
    "a plan": (plan, 99), "a reflection": (reflection, 99),
}  # fmt: skip
"""How an agent is made, and how many calls a process decides about at a time; 0 for the first of a new process only."""
RUN = "bot-1"
MOST_PROCESSES = 60
_SOON = 29
"""Calls of the disk after which a process that goes on is killed, too, at most."""


def process(world, name, at=0, tear="nothing"):
    """One process of a life: how it ended, and how many calls of the disk it made (0 where it was killed)."""
    make, most = LIVES[name]
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            live(world, make, most, Killed(at, tear), write)
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    os.close(write)
    _, code = os.waitpid(pid, 0)
    with os.fdopen(read) as file:
        said = file.read()
    if os.WIFSIGNALED(code):
        return "killed", 0
    assert os.WEXITSTATUS(code) == 0, f"{name}, killed at {at} ({tear})"
    status, calls = said.split()
    return status, int(calls)


def live(world, make, most, disk, write):
    store = Watched(world.folder / "runs", disk=disk)
    store.acknowledge = world.acknowledge
    agent = make(world, store)
    decide = partial(world.decide, most=most)
    if has_begun(world):
        numbers = itertools.chain([max(most, 1)], itertools.repeat(most))
        result = agent.resume(run=RUN, decide=lambda pendings: world.decide(pendings, most=next(numbers)))
    else:
        result = agent.run("go", decide=decide)
    os.write(write, f"{result.status} {disk.calls}".encode())


def has_begun(world):
    with suppress(Exception):
        return bool(RunStore(world.folder / "runs").look(RUN).events)
    return False


def has_ended(world):
    with suppress(Exception):
        return RunStore(world.folder / "runs").look(RUN).finished.status == "completed"
    return False


def remove_what_never_began(world):
    """A file without an event is one of a run that has not begun: what it was to do is done anew, under another id."""
    for path in (world.folder / "runs").glob("*.jsonl"):
        if not RunStore(world.folder / "runs").look(path.stem).events:
            path.unlink()


def lived(world, name, at=0, tear="nothing", check=None):
    """A life to its end; killed at that call of the disk, and soon after in the process that goes on. How many calls
    there were, how many processes, and how often it was killed."""
    total, kills, soon = 0, 0, at % _SOON + 1
    for number in range(1, MOST_PROCESSES):
        (world.folder / "length").unlink(missing_ok=True)
        status, calls = process(world, name, max(0, at - total), tear)
        total += calls
        if status == "killed":
            kills += 1
            check(world)
            remove_what_never_began(world)
            if has_ended(world):  # killed when all was done
                return total, number, kills
            total, at = 0, soon if kills == 1 else 0
        elif status == "completed":
            return total, number, kills
    raise AssertionError(f"{name}, killed at {at} ({tear}): it comes to no end")


def events_of(world):
    return RunStore(world.folder / "runs").read(RUN).events


def said_in(events):
    """What the model has said, and what it has read: the turns."""
    inner = [innermost(event) for event in events]
    return [
        one.reply if isinstance(one, ModelReplied) else one.observation.text
        for one in inner
        if isinstance(one, ModelReplied | ToolReturned)
    ]


def check_what_is_left(counts, world):
    """Right after the kill: the file can be read, and has all events that were acknowledged."""
    store = RunStore(world.folder / "runs")
    lengths = world.lines("length")
    if not (store.folder / f"{RUN}.jsonl").exists():
        counts["vanished"] += bool(lengths)
        return
    stored = store.look(RUN)
    counts["unreadable"] += bool(stored.damage)
    counts["torn"] += bool(stored.torn)
    counts["vanished"] += bool(lengths) and len(stored.events) < int(lengths[-1])


def kills(folder, share):
    counts = Counter()
    chosen = []
    whole, tried = {}, {}
    for name in LIVES:
        world = World(f"{folder}/whole/{name}")
        calls, *_ = lived(world, name)
        whole[name] = said_in(events_of(world)), sorted(map(int, world.lines("effects")))
        points = some_of(range(1, calls + 1), share)
        tried[name] = len(points), calls
        chosen += [(name, at) for at in points]
    for number, (name, at) in enumerate(chosen):
        for tear in TEARS:
            world = World(f"{folder}/{number}/{tear}")
            _, processes, killed = lived(world, name, at, tear, partial(check_what_is_left, counts))
            counts["lives"] += 1
            counts["killed"] += killed
            counts["processes"] += processes
            checked(counts, world, *whole[name])
    return {"kill points": len(chosen), "of each life": tried, **counts}


def some_of(all_, share, least=2):
    """So many of them, and never fewer than `least`: one out of each of as many stretches of the same length, at
    another place in each, as what is done comes round again and a fixed step would meet the same part of it."""
    count = min(len(all_), max(least, round(len(all_) * share)))
    edges = [len(all_) * number // count for number in range(count + 1)]
    chance = random.Random(1)
    return [all_[chance.randrange(start, end)] for start, end in itertools.pairwise(edges)]


def checked(counts, world, said, effects):
    """What has come of a life that was killed once."""
    done = sorted(map(int, world.lines("effects")))
    counts["effects twice"] += len(done) - len(set(done))
    counts["effects missing"] += len(set(effects) - set(done))
    events = events_of(world)
    decided = {one.digest for one in map(innermost, events) if isinstance(one, ApprovalDecided)}
    counts["approvals"] += len(decided)
    counts["approvals lost"] += len(set(world.lines("decided")) - decided) + len(world.lines("asked again"))
    counts["other turns"] += said_in(events) != said


# boundaries


def repeatable(make):
    """The same agent, whose calls may run again; what it asks of its model is written down."""

    def made(world, store):
        world.pay_tool = partial(World.pay_tool, world, idempotent=True)
        return make(world, store)

    return made


def requests_of(agent):
    """What each model of an agent was asked, to the byte."""

    def text(request):
        return msgspec.json.encode([request.messages.digest, *request.messages, *request.tools]).decode()

    return [[text(request) for request in model.requests] for model in agent.models]


def boundaries(folder, share):
    """A life is cut behind each line of its file, and goes on in a process of its own."""
    counts = Counter()
    for number, (make, _) in enumerate(LIVES.values()):
        world = World(f"{folder}/{number}/whole")
        agent = repeatable(make)(world, RunStore(world.folder / "runs", disk=QuickDisk()))
        agent.run("go", decide=lambda pendings: True)
        asked, whole = requests_of(agent), events_of(world)
        lines = (world.folder / "runs" / f"{RUN}.jsonl").read_bytes().splitlines(keepends=True)
        for cut in some_of(range(2, len(lines)), share):
            here = World(f"{folder}/{number}/{cut}")
            (here.folder / "runs").mkdir(mode=0o700)
            (here.folder / "runs" / f"{RUN}.jsonl").write_bytes(b"".join(lines[:cut]))
            told = sum(isinstance(innermost(event), ModelReplied) for event in events_of(here))
            rest = elsewhere(partial(went_on, here, make))
            counts["boundaries"] += 1
            counts["other transcripts"] += not same(events_of(here), whole)
            is_rest = all(one == all_[len(all_) - len(one) :] for one, all_ in zip(rest, asked, strict=True))
            counts["other prompts"] += not is_rest or told + sum(map(len, rest)) != sum(map(len, asked))
            counts["prompts"] += sum(map(len, rest))
    return counts


def went_on(world, make):
    agent = repeatable(make)(world, RunStore(world.folder / "runs", disk=QuickDisk()))
    result = agent.resume(run=RUN, decide=lambda pendings: True)
    assert result.status == "completed", result.stop_reason
    return requests_of(agent)


def elsewhere(work):
    """What it gives in a process of its own."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.close(read)
            with os.fdopen(write, "w") as file:
                json.dump(work(), file)
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    os.close(write)
    with os.fdopen(read) as file:
        said = file.read()
    _, code = os.waitpid(pid, 0)
    assert code == 0
    return json.loads(said)


if __name__ == "__main__":
    what, where, part = sys.argv[1:]
    print(json.dumps({"kills": kills, "boundaries": boundaries}[what](where, float(part))))
