"""Damage: what is cut off is dropped and said; what is changed, missing, repeated or moved is refused with its line."""

from __future__ import annotations

import random

import pytest
from journals import SCALE, thirty_turns, times

from nbagent.errors import StoreError
from nbagent.events import ModelReplied, Noted
from nbagent.store.header import Header
from nbagent.store.reading import Reading
from nbagent.store.run_store import RunStore


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    """The events of a run of thirty turns, and the bytes of its file."""
    store = RunStore(tmp_path_factory.mktemp("runs"))
    events = thirty_turns()
    with store.create("bot-1", Header("bot", {"prompt": "x" * 32})) as file:
        for event in events:
            file.keep(event, False)
    assert sum(isinstance(event, ModelReplied) for event in events) == 30
    return events, (store.folder / "bot-1.jsonl").read_bytes()


def starts_of(data):
    """Where each line starts, and where the file ends."""
    return [0, *[at + 1 for at, byte in enumerate(data) if byte == 10]]


def test_every_prefix_is_so_many_whole_events_and_what_is_torn_is_said(journal):
    events, data = journal
    starts = starts_of(data)
    step = max(1, round(1 / SCALE))
    sizes = sorted(
        {*range(0, len(data) + 1, step), *[at + more for at in starts for more in (-1, 0, 1)]}
        & set(range(len(data) + 1))
    )
    for size in sizes:
        reading = Reading(data[:size])
        stored = reading.stored
        whole = sum(at <= size for at in starts) - 1  # lines, the header among them
        assert stored.damage == ""
        assert (stored.header is None) == (whole == 0)
        assert stored.events == events[: max(0, whole - 1)]
        assert bool(stored.torn) == (size not in starts)
        assert reading.place.size == starts[whole]
    print(f"{len(sizes)} of {len(data) + 1} prefixes: 0 wrong, 0 torn ends unsaid")
    assert len(sizes) == len(data) + 1 if SCALE >= 1 else len(sizes) >= SCALE * len(data)


def test_every_flipped_bit_is_found(journal):
    events, data = journal
    count = times(25_000, 500)
    total = len(data) * 8
    bits = random.Random(1).sample(range(total), count) + [total - 8 + bit for bit in range(8)]
    unfound = 0
    for bit in bits:
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        stored = Reading(bytes(changed)).stored
        line = data.count(b"\n", 0, bit // 8) + 1
        unfound += not stored.damage
        assert stored.events == events[: max(0, line - 2)], bit
        assert stored.damage.startswith(f"line {line}: "), bit
    print(f"{len(bits)} of {total} bits flipped: {unfound} unfound")
    assert len(bits) >= 25_000 * min(1, SCALE)
    assert unfound == 0


def test_every_flipped_bit_of_one_line_and_its_neighbours_is_found(journal):
    _, data = journal
    starts = starts_of(data)
    changed = bytearray(data)
    bits = range(starts[-4] * 8, starts[-1] * 8, round(1 / SCALE) | 1)  # an odd step: each bit of a byte has its turn
    for bit in bits:
        changed[bit // 8] ^= 1 << bit % 8
        assert Reading(bytes(changed)).stored.damage
        changed[bit // 8] ^= 1 << bit % 8
    print(f"{len(bits)} of {8 * (starts[-1] - starts[-4])} bits of three lines flipped: 0 unfound")
    assert {bit % 8 for bit in bits} == set(range(8))


def broken(data, kind, at):
    lines = data.splitlines(keepends=True)
    match kind:
        case "missing":
            del lines[at]
        case "repeated":
            lines.insert(at, lines[at])
        case "swapped":
            lines[at : at + 2] = reversed(lines[at : at + 2])
        case "empty":
            lines.insert(at, b"\n")
        case "CRLF":
            lines[at] = lines[at].replace(b"\n", b"\r\n")
        case "joined":
            lines[at] = lines[at].rstrip(b"\n")
        case "zeros":
            lines[at] = b"\0" * (len(lines[at]) - 1) + b"\n"
        case "foreign":
            lines.insert(at, b'{"seq":0}\n')
    return b"".join(lines)


@pytest.mark.parametrize("kind", ["missing", "repeated", "swapped", "empty", "CRLF", "joined", "zeros", "foreign"])
def test_a_line_that_is_not_in_its_place_is_refused(kind, journal):
    events, data = journal
    count = data.count(b"\n")
    for at in range(count - 1):
        reading = Reading(broken(data, kind, at))
        line = at + 2 if kind == "repeated" else at + 1
        assert reading.error.line == line
        assert reading.stored.events == events[: max(0, line - 2)]


def test_a_line_of_another_run_is_refused(journal, tmp_path):
    _, data = journal
    store = RunStore(tmp_path)
    with store.create("bot-1", Header("bot")) as file:
        for event in thirty_turns():
            file.keep(event, False)
    other = (tmp_path / "bot-1.jsonl").read_bytes()
    mine, theirs = data.splitlines(keepends=True), other.splitlines(keepends=True)
    for at in range(1, len(mine)):
        reading = Reading(b"".join([*mine[:at], theirs[at], *mine[at + 1 :]]))
        assert "put there from elsewhere" in str(reading.error)
        assert reading.error.line == at + 1


def test_a_damaged_run_is_refused_and_can_be_looked_at(journal, tmp_path):
    events, data = journal
    store = RunStore(tmp_path)
    path = tmp_path / "bot-1.jsonl"
    turn, other = b'"turn":3,', b'"turn":4,'
    path.write_bytes(data.replace(turn, other, 1))
    line = data[: data.index(turn)].count(b"\n") + 1
    for use in (store.read, store.open):
        with pytest.raises(
            StoreError, match=rf"bot-1\.jsonl, line {line}: it was changed: its checksum is another one\. "
        ) as raised:
            use("bot-1")
        assert raised.value.line == line
    looked = store.look("bot-1")
    assert looked.events == events[: line - 2]
    assert f"line {line}: " in looked.damage
    assert f"lines 1 to {line - 1} can be looked at" in looked.damage
    assert path.read_bytes() != data  # nobody has touched it


TORN = 20
"""Which line is torn, from 0; the header is one."""


@pytest.mark.parametrize("left", [1, 40, -1])
def test_a_torn_end_is_taken_away_before_the_run_goes_on(left, journal, tmp_path):
    events, data = journal
    store = RunStore(tmp_path)
    starts = starts_of(data)
    path = tmp_path / "bot-1.jsonl"
    path.write_bytes(data[: starts[TORN + (left < 0)] + left])
    assert "bytes are a line that was not written to its end" in store.read("bot-1").torn
    size = path.stat().st_size
    with store.open("bot-1") as file:
        assert file.stored.torn
        assert path.stat().st_size < size
        for event in (*file.go_on(), Noted(1, "on")):
            file.keep(event, True)
    again = store.read("bot-1")
    assert (again.events, again.torn) == ((*events[: TORN - 1], Noted(1, "on")), "")


@pytest.mark.parametrize("size", [0, 1, 50])
def test_a_run_that_never_began_cannot_go_on(size, journal, tmp_path):
    _, data = journal
    store = RunStore(tmp_path)
    (tmp_path / "bot-1.jsonl").write_bytes(data[:size])
    assert store.read("bot-1").header is None
    with pytest.raises(StoreError, match=r"bot-1\.jsonl cannot go on: its process ended before it began; run it anew"):
        store.open("bot-1")
    assert store.create("bot-1", Header("bot")).run_id == "bot-2"
