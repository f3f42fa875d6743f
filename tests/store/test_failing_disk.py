"""A disk that fails at each thing that is asked of it: a clear error, a file that can be read, nothing half written."""

from __future__ import annotations

import errno
import itertools
import os
from tempfile import TemporaryDirectory

import pytest
from journals import DISK_CALLS, QuickDisk, times

from nbagent.errors import StoreError, StoreFailed
from nbagent.events import Noted, RunFinished
from nbagent.store.disk import Disk
from nbagent.store.header import Header
from nbagent.store.run_store import RunStore

KINDS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS)
END = RunFinished("interrupted")
NEW = Noted(99, "there is room again")
EVENTS = tuple(Noted(turn, "x" * 100) for turn in range(12))


class FailingDisk(QuickDisk):
    """Fails once, at the call of this number; `half`: a write takes half of the bytes before; `still`: from then on."""

    def __init__(self, at, number=errno.EIO, half=False, still=False, only=DISK_CALLS):
        self.at, self.number, self.half, self.still, self.only = at, number, half, still, only
        self.calls = []

    def _called(self, name):
        if name not in self.only:
            return
        self.calls.append(name)
        if len(self.calls) == self.at or (self.still and len(self.calls) > self.at):
            raise OSError(self.number, os.strerror(self.number))

    def write(self, fd, data):
        try:
            self._called("write")
        except OSError:
            if self.half:
                super().write(fd, data[: len(data) // 2])
            raise
        return super().write(fd, data)


for _name in set(DISK_CALLS) - {"write"}:

    def _checked(self, *args, _name=_name, **more):
        self._called(_name)
        return getattr(QuickDisk, _name)(self, *args, **more)

    setattr(FailingDisk, _name, _checked)


class Life:
    """A run that is begun, put down, opened again, gone on with and ended."""

    def __init__(self, store):
        self.store = store
        self.sure: list = []
        """The events of the run, as far as its file has taken them."""
        self.asked: list = []
        """What the run is if the file takes what it is asked to take just now."""
        self.cut: list | None = None
        """What the run is without its end."""

    def live(self):
        with self.store.create("bot-1", Header("bot")) as file:
            for number, event in enumerate(EVENTS[:6]):
                self.take([*self.sure, event], lambda event=event, number=number: file.keep(event, number % 2 == 0))
            settled = [EVENTS[place] for place in (0, 1, 3, 2, 5, 4)]
            self.take(settled, lambda: file.settle(2, settled[2:]))
            self.take([*settled, END], lambda: file.keep(END, True))
        with self.store.open("bot-1") as file:
            begun = self.cut = list(file.go_on())
            for event in begun:
                file.keep(event, True)
            for event in EVENTS[6:]:  # its end is left out when the first of these is added
                begun = [*begun, event]
                self.take(begun, lambda event=event: file.keep(event, True))

    def take(self, events, call):
        self.asked = events
        call()
        self.sure = events


def cases():
    """What is called, and the numbers of calls with the ways to fail at them."""
    probe = FailingDisk(0)
    with TemporaryDirectory() as folder:
        Life(RunStore(f"{folder}/runs", disk=probe)).live()
    places = range(1, len(probe.calls) + 1)
    every = list(itertools.product(places, KINDS, (False, True), (False, True)))
    step = len(every) // times(len(every), 250)
    return probe.calls, every[:: step | 1]  # an odd one, which leaves out none of the ways


def what_it_says(life, number):
    """What is said of an error; empty where it is of no consequence."""
    try:
        life.live()
    except StoreFailed as error:
        said = str(error)
        assert os.strerror(number) in said or "nothing more can be written" in said
        assert str(life.store.folder) in said
        return said
    return ""


def test_whatever_fails_the_run_can_be_read_and_holds_what_it_has_taken_and_nothing_else(tmp_path):
    calls, every = cases()
    assert set(calls) == set(DISK_CALLS) - {"truncate", "names"}
    failed = told = unsure = went_on = 0
    for number, (at, kind, half, still) in enumerate(every):
        folder = tmp_path / f"{number}"
        disk = FailingDisk(at, kind, half, still)
        life = Life(RunStore(folder, disk=disk))
        told += bool(what_it_says(life, kind))
        failed += len(disk.calls) >= at
        if not (folder / "bot-1.jsonl").exists():
            assert life.sure == []
            continue
        store = RunStore(folder)
        there = list(store.read("bot-1").events)
        if there not in (
            life.sure,
            life.cut,
        ):  # written whole, then neither synced nor taken back, as the disk has failed for good
            assert (there, calls[at - 1], still) == (life.asked, "sync", True)
            unsure += 1
        if store.read("bot-1").header is not None:
            with store.open("bot-1") as file:  # there is room again
                left = file.go_on()
                for event in (*left, NEW):
                    file.keep(event, True)
            assert list(left) == [event for event in there if event != END]
            assert store.read("bot-1").events == (*left, NEW)
            went_on += 1
    print(
        f"{failed} errors at {len(set(calls))} kinds of calls, {told} of them told: 0 unreadable, 0 lost, 0 taken back "
        f"and still there; {unsure} whole at the end of a disk that failed for good; {went_on} gone on with"
    )
    assert 0 < unsure < went_on
    assert {one[1:] for one in every} == set(itertools.product(KINDS, (False, True), (False, True)))
    assert failed >= 200


@pytest.mark.parametrize("still", [False, True])
def test_a_line_that_was_written_in_half_is_taken_back(still, tmp_path):
    disk = FailingDisk(4, errno.ENOSPC, half=True, still=still, only=("write",))
    with RunStore(tmp_path, disk=disk).create("bot-1", Header("bot")) as file:
        file.keep(EVENTS[0], True)
        with pytest.raises(
            StoreFailed, match=r"bot-1\.jsonl cannot be written: No space left on device\. The run stops before"
        ):
            file.keep(EVENTS[1], True)
        disk.at, disk.still = 0, False
        file.keep(EVENTS[2], True)  # there is room again
    stored = RunStore(tmp_path).read("bot-1")
    assert (stored.events, stored.torn) == ((EVENTS[0], EVENTS[2]), "")


def test_behind_a_line_that_cannot_be_taken_back_nothing_is_written(tmp_path):
    disk = FailingDisk(4, half=True, still=True, only=("write", "truncate"))
    with RunStore(tmp_path, disk=disk).create("bot-1", Header("bot")) as file:
        file.keep(EVENTS[0], True)
        with pytest.raises(StoreFailed, match="cannot be written"):
            file.keep(EVENTS[1], True)
        disk.still = False
        with pytest.raises(StoreFailed, match=r"nothing more can be written to .*; open it again"):
            file.keep(EVENTS[2], True)
    with RunStore(tmp_path).open("bot-1") as file:
        assert file.stored.torn
        assert file.go_on() == EVENTS[:1]


def test_after_a_sync_that_failed_nothing_is_believed(tmp_path):
    disk = FailingDisk(3, only=("sync",))
    with RunStore(tmp_path, disk=disk).create("bot-1", Header("bot")) as file:
        file.keep(EVENTS[0], True)
        with pytest.raises(StoreFailed, match="Input/output error"):
            file.keep(EVENTS[1], True)
        with pytest.raises(StoreFailed, match="the disk could not make sure of what was written; open it again"):
            file.keep(EVENTS[2], True)
    assert RunStore(tmp_path).read("bot-1").events == EVENTS[:1]


def test_an_interrupt_while_a_line_is_written_leaves_no_half_of_it(tmp_path):
    class Stopped(Disk):
        stop = False

        def write(self, fd, data):
            if self.stop:
                self.stop = False
                super().write(fd, data[:20])
                raise KeyboardInterrupt
            return super().write(fd, data)

    disk = Stopped()
    with RunStore(tmp_path, disk=disk).create("bot-1", Header("bot")) as file:
        disk.stop = True
        with pytest.raises(KeyboardInterrupt):
            file.keep(EVENTS[0], True)
        file.keep(EVENTS[1], True)
    stored = RunStore(tmp_path).read("bot-1")
    assert (stored.events, stored.torn) == (EVENTS[1:2], "")


def test_a_disk_that_takes_a_few_bytes_at_a_time_gets_all_of_them(tmp_path):
    class Slow(Disk):
        def write(self, fd, data):
            return super().write(fd, data[:7])

    with RunStore(tmp_path, disk=Slow()).create("bot-1", Header("bot")) as file:
        for event in EVENTS:
            file.keep(event, False)
    assert RunStore(tmp_path).read("bot-1").events == EVENTS


@pytest.mark.parametrize("name", ["create", "sync", "sync_folder", "make_folder"])
def test_a_run_that_cannot_begin_leaves_nothing(name, tmp_path):
    disk = FailingDisk(1, errno.EROFS, only=(name,))
    store = RunStore(tmp_path / "runs", disk=disk)
    with pytest.raises(
        StoreFailed, match=r"no run can be begun in .*runs: Read-only file system\. Make room, or name a folder"
    ):
        store.create("bot-1", Header("bot"))
    assert list(tmp_path.rglob("*.jsonl")) == []
    assert store.create("bot-1", Header("bot")).run_id == "bot-1"


def test_a_file_in_the_way_of_the_folder_is_named(tmp_path):
    (tmp_path / "runs").write_text("in the way")
    store = RunStore(tmp_path / "runs")
    with pytest.raises((StoreFailed, StoreError), match=r"no run can be begun in .*runs"):
        store.create("bot-1", Header("bot"))


def test_the_holder_is_for_people_and_no_run_fails_for_want_of_it(tmp_path):
    disk = FailingDisk(1, errno.ENOSPC, still=True, only=("replace",))
    with RunStore(tmp_path, disk=disk).create("bot-1", Header("bot")) as file:
        file.keep(EVENTS[0], True)
        with pytest.raises(StoreError, match="is being written by another process; wait until it has ended"):
            RunStore(tmp_path).open("bot-1")
    assert RunStore(tmp_path).read("bot-1").events == EVENTS[:1]
