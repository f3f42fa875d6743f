"""RunFile and RunStore: a run on disk, written line by line, read as it was, gone on with."""

from __future__ import annotations

import base64
import json
import os
import socket
import stat
import sys
import threading

import pytest
from journals import QuickDisk, agent_of, all_agents, ended, thirty_turns, times

from nbagent import ScriptedLLM, __version__, tool
from nbagent.errors import ConfigError, RunHeld, StoreError, StoreFailed
from nbagent.events import ModelRequested, Noted, RunFinished
from nbagent.store.header import Header, digest_of
from nbagent.store.line import Place, framed, unframed
from nbagent.store.run_store import RunStore

HEADER = Header("bot", {"prompt": digest_of("Be brief."), "tool add": digest_of("def add")})
NOTES = tuple(Noted(turn, f"note {turn}") for turn in range(1, 6))


def put(store, events, run_id="bot-1", header=HEADER):
    """A run with these events, closed; its id."""
    with store.create(run_id, header) as file:
        for event in events:
            file.keep(event, False)
        return file.run_id


def path_of(store, run_id="bot-1"):
    return store.folder / f"{run_id}.jsonl"


def test_a_run_is_read_as_it_was_written(tmp_path):
    store = RunStore(tmp_path / "runs")
    for number, (_, agent, task) in enumerate(all_agents(), 1):
        events = ended(agent, task).events
        run_id = put(store, events)
        assert run_id == f"bot-{number}"
        again = store.read(run_id)
        assert len(again.events) == len(events)
        assert (again.torn, again.damage, again.masked, again.finished) == ("", "", (), again.events[-1])
        assert (again.header.agent, again.header.digests, again.header.run) == ("bot", HEADER.digests, run_id)


def test_each_line_is_json_with_its_number_its_sum_and_that_of_the_line_before(tmp_path):
    store = RunStore(tmp_path)
    put(store, NOTES)
    lines = [json.loads(line) for line in path_of(store).read_text().splitlines()]
    assert [line["seq"] for line in lines] == list(range(6))
    assert [line["prev"] for line in lines] == ["0" * 32, *[line["sum"] for line in lines[:-1]]]
    assert lines[0].items() >= {"agent": "bot", "format": 1, "nbagent": __version__, "run": "bot-1"}.items()
    assert [line["kind"] for line in lines[1:]] == ["Noted"] * 5


@pytest.mark.skipif(os.name == "nt", reason="Windows has other rights")
def test_folders_and_files_are_for_the_user_alone(tmp_path):
    before = os.umask(0)
    try:
        store = RunStore(tmp_path / "a" / "b")
        with store.create("bot-1", HEADER) as file:
            file.keep(NOTES[0], True)
            made = [path for path in tmp_path.rglob("*") if path.name != "bot-1.lock"]
            rights = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in made}
    finally:
        os.umask(before)
    assert rights == {(True, 0o700), (False, 0o600)}
    assert {path.name for path in made} == {"a", "b", ".locks", ".begun", "bot-1.jsonl", "bot-1.holder"}


def test_nothing_is_made_before_a_run_is_put_down(tmp_path):
    store = RunStore(tmp_path / "runs")
    assert store.list() == ()
    with pytest.raises(StoreError, match="there is no run 'bot-1' in"):
        store.read("bot-1")
    assert not (tmp_path / "runs").exists()


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_folder_or_a_file_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(StoreError, match="is a link; name the folder that it leads to"):
        RunStore(tmp_path / "link").create("bot-1", HEADER)
    store = RunStore(tmp_path / "real")
    put(store, NOTES)
    path_of(store).rename(tmp_path / "elsewhere")
    path_of(store).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Exception, match="cannot be read"):
        store.read("bot-1")


# ids


def test_ids_are_those_that_were_asked_for_where_they_are_free(tmp_path):
    store = RunStore(tmp_path)
    assert [put(store, (), wanted) for wanted in ("bot-1", "bot-2", "bot-1", "other-1", "bot-1", "bot-9", "bot-1")] == [
        "bot-1", "bot-2", "bot-3", "other-1", "bot-4", "bot-9", "bot-10",
    ]  # fmt: skip
    assert [put(store, (), wanted) for wanted in ("plain", "plain")] == ["plain", "plain-1"]


class CountingDisk(QuickDisk):
    """How often a folder was looked through, and a file tried to make."""

    def __init__(self):
        self.looked = self.tried = 0

    def names(self, folder, suffix):
        self.looked += 1
        return super().names(folder, suffix)

    def create(self, path):
        self.tried += 1
        return super().create(path)


@pytest.mark.parametrize("is_one", [True, False], ids=["one store", "two that take turns"])
def test_a_folder_is_looked_through_once_however_many_runs_begin(is_one, tmp_path):
    """The ids that an agent asks for, which counts its own runs, are taken by those of an earlier process."""
    before, count = 5, times(1_000, 60)
    for _ in range(before):
        put(RunStore(tmp_path), (), "bot-1")
    disks = [CountingDisk() for _ in range(1 if is_one else 2)]
    stores = [RunStore(tmp_path, disk=disk) for disk in disks]
    ids = [store.create(f"bot-{number}", HEADER) for number in range(1, count + 1) for store in stores]
    for file in ids:
        file.close()
    assert [file.run_id for file in ids] == [f"bot-{number}" for number in range(before + 1, before + 1 + len(ids))]
    looked, tried = sum(disk.looked for disk in disks), sum(disk.tried for disk in disks)
    print(f"{len(ids)} runs begun by {len(disks)}: the folder looked through {looked} times, {tried} files tried")
    assert looked == len(disks)
    assert tried <= 3 * len(ids)


@pytest.mark.parametrize("name", ["../x", "a/b", "Bot", "Ä", ".", "CON", "a b", "日本", ".begun", "x" * 150])
def test_any_id_is_a_file_in_the_folder(name, tmp_path):
    store = RunStore(tmp_path / "runs")
    assert put(store, NOTES, f"{name}-1") == f"{name}-1"
    assert store.read(f"{name}-1").events == NOTES
    assert [one.run_id for one in store.list()] == [f"{name}-1"]
    assert all(path.is_relative_to(tmp_path / "runs") for path in tmp_path.rglob("*.jsonl"))
    assert len(list((tmp_path / "runs").glob("*.jsonl"))) == 1


def test_an_id_that_is_too_long_is_refused(tmp_path):
    with pytest.raises(StoreError, match="at most 200 characters"):
        RunStore(tmp_path).create("x" * 201, HEADER)


def test_a_list_has_the_runs_in_the_order_in_which_they_began(tmp_path):
    store = RunStore(tmp_path)
    ends = {"b-1": "completed", "a-1": "failed", "c-1": "interrupted"}
    for run_id, status in ends.items():
        put(store, (*NOTES, RunFinished(status)), run_id, Header(run_id[0]))
    put(store, NOTES, "a-2", Header("a"))
    file = store.create("a-3", Header("a"))
    file.keep(NOTES[0], False)
    path_of(store, "a-4").touch()  # its process ended before it had written anything
    put(store, NOTES, "d-1", Header("d"))
    data = path_of(store, "d-1").read_bytes()
    path_of(store, "d-1").write_bytes(data.replace(b"note 5", b"note 6"))
    listed = store.list()
    assert [(one.run_id, one.agent, one.status) for one in listed] == [
        ("b-1", "b", "completed"), ("a-1", "a", "failed"), ("c-1", "c", "interrupted"), ("a-2", "a", "unfinished"),
        ("a-3", "a", "running"), ("d-1", "", "damaged"), ("a-4", "", "unfinished"),
    ]  # fmt: skip
    assert [bool(one.holder) for one in listed] == [False] * 4 + [True] + [False] * 2
    file.close()
    (tmp_path / ".begun").unlink()  # it is made of what can be found out again, as far as that goes
    assert [one.run_id for one in store.list()] == ["a-1", "a-2", "a-3", "a-4", "b-1", "c-1", "d-1"]


def test_a_list_reads_little_of_each_run(tmp_path):
    store = RunStore(tmp_path)
    put(store, [Noted(1, "x" * 3_000) for _ in range(1_000)] + [RunFinished("completed")])
    read = []
    store._disk.read = lambda path, start=0, size=-1: (
        read.append(d := type(store._disk).read(store._disk, path, start, size)) or d
    )
    assert store.list()[0].status == "completed"
    assert sum(map(len, read)) < 200_000 < path_of(store).stat().st_size


# one writer


def test_a_run_has_one_writer_who_is_named(tmp_path):
    store = RunStore(tmp_path)
    with store.create("bot-1", HEADER) as file:
        file.keep(NOTES[0], True)
        with pytest.raises(RunHeld, match=r"the run bot-1 is being written by this process since 2\d\d\d-") as held:
            RunStore(tmp_path).open("bot-1")
        assert held.value.holder.startswith("this process since ")
        assert store.read("bot-1").events == NOTES[:1]  # whoever reads needs no lease
        file.keep(NOTES[1], True)
    with store.open("bot-1") as again:
        assert again.stored.events == NOTES[:2]
    with pytest.raises(Exception, match=r"nothing more can be written to .*bot-1\.jsonl: it is closed"):
        file.keep(NOTES[2], True)
    file.close()
    assert store.read("bot-1").events == NOTES[:2]


def test_another_process_is_named_by_its_number_and_its_machine(tmp_path):
    import subprocess

    store = RunStore(tmp_path)
    put(store, NOTES)
    program = (
        "import sys; from nbagent.store.run_store import RunStore\n"
        "file = RunStore(sys.argv[1]).open('bot-1'); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdin=-1, stdout=-1, text=True) as other:
        hung = threading.Timer(60, other.kill)
        hung.start()
        assert other.stdout.readline() == "open\n"
        hung.cancel()
        with pytest.raises(RunHeld, match=f"by process {other.pid} on .+ since 2"):
            store.open("bot-1")
        assert store.list()[0].status == "running"
        other.kill()
        other.wait()
    assert store.list()[0].status == "unfinished"  # what it has left lying about is no holder
    store.open("bot-1").close()


def test_what_one_process_writes_another_one_cannot_open_and_can_when_it_is_closed(tmp_path):
    import subprocess

    store = RunStore(tmp_path)
    program = (
        "import sys\nfrom nbagent.errors import RunHeld\nfrom nbagent.events import Noted\n"
        "from nbagent.store.run_store import RunStore\n"
        "try:\n    with RunStore(sys.argv[1]).open('bot-1') as file:\n        file.keep(Noted(9, 'theirs'), True)\n"
        "except RunHeld as held:\n    print(held)\n"
    )

    def elsewhere():
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
        )
        return done.stdout

    with store.create("bot-1", HEADER) as file:
        file.keep(NOTES[0], True)
        before = path_of(store).read_bytes()
        for _ in range(2):  # to be refused takes nothing away from whoever has it
            assert f"the run bot-1 is being written by process {os.getpid()} on " in elsewhere()
        assert path_of(store).read_bytes() == before
        file.keep(NOTES[1], True)
    assert elsewhere() == ""
    assert store.read("bot-1").events == (*NOTES[:2], Noted(9, "theirs"))


@pytest.mark.parametrize(
    "note",
    [
        '{"pid":1,"host":"old-container","since":"2020"}',
        json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": "2020"}),
        "{",
    ],
    ids=["of another machine", "of a number that is another process by now", "of nobody"],
)
def test_a_note_that_was_left_lying_about_is_no_holder(note, tmp_path):
    store = RunStore(tmp_path)
    put(store, NOTES)
    note_of = tmp_path / ".locks" / "bot-1.holder"
    note_of.write_text(note)
    assert [(one.status, one.holder) for one in store.list()] == [("unfinished", "")]
    with store.open("bot-1"):
        note_of.unlink()  # the lock holds without it
        assert [(one.status, one.holder) for one in store.list()] == [("running", "another process")]
    assert store.list()[0].status == "unfinished"


def test_whoever_lists_the_runs_keeps_nobody_from_one(tmp_path):
    import threading

    store, count = RunStore(tmp_path), times(200, 40)
    put(store, NOTES)
    done = threading.Event()

    def look():
        while not done.is_set():
            store.list()

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(count):
            RunStore(tmp_path).open("bot-1").close()
    finally:
        done.set()
        looking.join()


def test_a_lock_that_cannot_be_made_is_an_error_of_the_store(tmp_path):
    store = RunStore(tmp_path)
    put(store, NOTES)
    (tmp_path / ".locks" / "bot-1.lock").unlink(missing_ok=True)
    (tmp_path / ".locks" / "bot-1.lock").mkdir()
    with pytest.raises(StoreFailed, match=r"bot-1\.jsonl cannot be opened for writing: "):
        store.open("bot-1")
    assert store.list()[0].status == "unfinished"


# going on


def test_a_run_goes_on_where_it_ended_and_its_interruption_is_left_out(tmp_path):
    store = RunStore(tmp_path)
    put(store, (*NOTES[:3], RunFinished("interrupted", None, "waits")))
    with store.open("bot-1") as file:
        events = file.go_on()
        assert events == NOTES[:3]
        for event in (*events, *NOTES[3:], RunFinished("completed", "x")):
            file.keep(event, True)
    assert store.read("bot-1").events == (*NOTES, RunFinished("completed", "x"))
    assert len(path_of(store).read_text().splitlines()) == 1 + 4 + 1 + 3  # what was there was not written again


def test_events_that_are_there_are_not_written_again_in_whatever_order_they_come(tmp_path):
    store = RunStore(tmp_path)
    put(store, NOTES[:3])
    with store.open("bot-1") as file:
        file.go_on()
        for event in (NOTES[1], NOTES[3], NOTES[0], NOTES[2], NOTES[2]):
            file.keep(event, False)
        file.settle(0, (NOTES[1], NOTES[3]))  # not all of them: nothing to be said yet
    assert store.read("bot-1").events == (*NOTES[:4], NOTES[2])


def test_a_file_that_was_only_opened_to_go_on_is_as_it_was(tmp_path):
    store = RunStore(tmp_path)
    put(store, (*NOTES[:3], RunFinished("interrupted")))
    before = path_of(store).read_bytes()
    with store.open("bot-1") as file:
        place = file.place
        for event in file.go_on():
            file.keep(event, True)
    assert (path_of(store).read_bytes(), file.place) == (before, place)
    with store.open("bot-1") as file:
        assert file.place == place
        file.go_on()
        file.keep(NOTES[3], True)
    assert store.read("bot-1").events == (*NOTES[:3], NOTES[3])


def test_what_ran_side_by_side_is_in_the_order_of_its_calls(tmp_path):
    store = RunStore(tmp_path)
    with store.create("bot-1", HEADER) as file:
        for event in NOTES:
            file.keep(event, False)
        file.settle(1, (NOTES[4], NOTES[3], NOTES[1], NOTES[2]))
        file.settle(3, (NOTES[1], NOTES[2]))
    settled = (NOTES[0], NOTES[4], NOTES[3], NOTES[1], NOTES[2])
    assert store.read("bot-1").events == settled
    assert len(path_of(store).read_text().splitlines()) == 1 + 5 + 1  # what is in its order is not said
    with store.open("bot-1") as file:
        for event in file.go_on():
            file.keep(event, False)
        file.keep(RunFinished("completed"), True)
    assert store.read("bot-1").events == (*settled, RunFinished("completed"))


def test_what_has_changed_since_is_named():
    assert HEADER.changed(dict(HEADER.digests)) == ()
    for now, named in [
        ({**HEADER.digests, "tool add": digest_of("def add2")}, ("tool add",)),
        ({"prompt": HEADER.digests["prompt"]}, ("tool add",)),
        ({**HEADER.digests, "tool b": "", "prompt": ""}, ("prompt", "tool b")),
    ]:
        assert HEADER.changed(now) == named


def test_a_later_version_is_refused_and_its_file_left_alone(tmp_path):
    store = RunStore(tmp_path)
    put(store, NOTES)
    _, *events = path_of(store).read_bytes().splitlines(keepends=True)
    for header in (
        framed(b'{"format":99,"agent":"bot","nbagent":"9.0.0"}', Place())[0],
        b'{"format":99,"nbagent":"9.0.0","checked":"in another way"}\n',
    ):
        data = header + b"".join(events)
        path_of(store).write_bytes(data)
        for use in (store.read, store.open):
            with pytest.raises(
                StoreError, match=r"line 1: .* by a later nbagent \(9.0.0\), in format 99; this one"
            ) as raised:
                use("bot-1")
            assert raised.value.line == 1
        assert "format 99" in store.look("bot-1").damage
        about = "bot" if b'"agent"' in header else ""
        assert [(one.run_id, one.agent, one.status) for one in store.list()] == [("bot-1", about, "later format")]
        assert path_of(store).read_bytes() == data


def test_a_file_of_another_run_is_refused(tmp_path):
    store = RunStore(tmp_path)
    put(store, NOTES)
    path_of(store, "bot-2").write_bytes(path_of(store).read_bytes())
    with pytest.raises(StoreError, match=r"bot-2\.jsonl cannot go on: it is that of bot-1"):
        store.open("bot-2")


def test_an_event_that_nobody_knows_is_refused_with_its_line(tmp_path):
    store = RunStore(tmp_path)
    put(store, NOTES[:1])
    data = path_of(store).read_bytes()
    place = Place()
    for line in data.splitlines():
        _, place = unframed(line, place)
    for body in (
        b'{"kind":"Thought","event":{}}',
        b'{"keep":9}',
        b'{"from":0,"order":[1]}',
        b'{"from":0,"order":"0"}',
        b'{"x":1}',
    ):
        path_of(store).write_bytes(data + framed(body, place)[0])
        with pytest.raises(StoreError, match=r"bot-1\.jsonl, line 3: it cannot be read: "):
            store.read("bot-1")
        assert store.look("bot-1").events == NOTES[:1]


def test_an_event_that_cannot_be_put_down_is_an_error_and_leaves_no_trace(tmp_path):
    store = RunStore(tmp_path)
    with store.create("bot-1", HEADER) as file:
        with pytest.raises(StoreError, match=r"bot-1: this cannot be put down: Noted: Expected `str`, got `int`"):
            file.keep(Noted(1, 7), True)
        file.keep(NOTES[0], True)
    assert store.read("bot-1").events == NOTES[:1]


# secrets


@pytest.fixture
def secret():
    from nbagent.redact import forget, know

    value = "sk-proj-" + "a1B2c3D4" * 5
    know(value, "KEY")
    yield value
    forget()


def test_a_secret_is_masked_wherever_it_is_and_that_is_said(secret, tmp_path):
    @tool
    def look(key: str) -> dict:
        """Look."""
        return {"key": key, key: [key.encode()]}

    looking = ScriptedLLM.tool_call("look", {"key": secret})
    result = agent_of(looking, f"{secret}!", tools=[look]).run(f"use {secret}")
    store = RunStore(tmp_path)
    put(store, result.events)
    data = path_of(store).read_text()
    assert secret not in data
    assert base64.b64encode(secret.encode()).decode() not in data
    again = store.read("bot-1")
    assert {type(again.events[place]).__name__ for place in again.masked} >= {
        "RunStarted",
        "ModelReplied",
        "ToolStarted",
    }
    assert not any(isinstance(again.events[place], ModelRequested) for place in again.masked)
    with store.open("bot-1") as file:  # what is masked is known again
        for event in (*file.go_on(), result.events[-1]):
            file.keep(event, False)
    assert len(path_of(store).read_text().splitlines()) == 1 + len(result.events) + 2  # its end, anew


def test_a_word_of_the_format_is_no_secret(tmp_path):
    from nbagent.redact import forget, know

    for word in ("assistant", "tool_calls", "completed", "interrupted", "RunFinished", "final_output"):
        know(word, "PASSWORD")
    try:
        store = RunStore(tmp_path)
        events = thirty_turns()[-8:]
        put(store, events)
        assert store.read("bot-1").events[-1].status == "completed"
        assert len(store.read("bot-1").events) == len(events)
    finally:
        forget()


def test_errors_of_the_store_are_errors_of_configuration():
    assert issubclass(RunHeld, StoreError)
    assert issubclass(StoreError, ConfigError)
    assert (StoreError("x").line, RunHeld("x").holder) == (0, "")
