"""What waits behind the cell that is awaited, as ipykernel 7 holds it: with messages that are signed, and without."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
import zmq
from jupyter_client.session import Session

from nbagent.notebook.queued import runs_again


class Kernel:
    """Takes each message in a task of its own, as ipykernel does; a cell waits for the one before it."""

    def __init__(self, key):
        self.session = Session(key=key)
        self.turn = asyncio.Lock()
        self.own = {}
        self.found = []

    def get_parent(self):
        return self.own

    def message(self, kind, cell):
        made = self.session.msg(kind, {"code": ""}, metadata={"cellId": cell} if cell else {})
        return made, [zmq.Message(frame) for frame in self.session.serialize(made, ident=b"page")]

    async def shell_main(self, made, msg):
        async with self.turn:
            _, frames = self.session.feed_identities(msg, copy=False)
            self.session.deserialize(frames, content=True, copy=False)
            self.own = made
            await asyncio.sleep(0)  # the others have come by now
            self.found.append(runs_again(SimpleNamespace(kernel=self)))


async def asked(key, *messages):
    """For each message, when it has its turn, whether its cell is started once more."""
    kernel = Kernel(key)
    await asyncio.gather(*[kernel.shell_main(*kernel.message(*one)) for one in messages])
    return kernel.found


@pytest.mark.parametrize("key", [b"", b"secret"])
@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ([("execute_request", "a")], [False]),
        ([("execute_request", "a"), ("execute_request", "b")], [False, False]),
        ([("execute_request", "a"), ("execute_request", "b"), ("execute_request", "a")], [True, False, False]),
        ([("execute_request", "a"), ("comm_msg", "a")], [False, False]),
        ([("execute_request", ""), ("execute_request", "")], [False, False]),
    ],
)
def test_a_cell_is_started_once_more_where_another_request_says_so(key, messages, found):
    assert asyncio.run(asked(key, *messages)) == found


def test_without_a_kernel_nothing_waits():
    assert runs_again(SimpleNamespace()) is False
