"""How a cell can ask, by the version of ipykernel and by what answers: buttons, words, or nobody."""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace

import pytest
from comm.base_comm import BaseComm
from ipywidgets.widgets import widget

from nbagent.notebook import front_end
from nbagent.notebook.front_end import way_to_ask


class Page:
    """Has the comms of widgets. `answers`: from which try on a change of a number is copied to the one linked to it."""

    def __init__(self, answers):
        self.answers = answers
        self.numbers = []
        self.pings = 0

    def create(self, **options):
        made = Comm(self, **options)
        if options.get("data", {}).get("state", {}).get("_model_name") == "IntTextModel":
            self.numbers.append(made)
        return made

    def sent(self, made, data):
        if made not in self.numbers[::2] or "value" not in data["state"]:  # not the first of the two
            return
        self.pings += 1
        if self.answers is not None and self.pings >= self.answers:
            linked = self.numbers[self.numbers.index(made) + 1]
            update = {"method": "update", "state": {"value": 1}, "buffer_paths": []}
            asyncio.get_running_loop().call_soon(linked.handle_msg, {"content": {"data": update}, "buffers": []})


class Comm(BaseComm):
    def __init__(self, page, **options):
        self.page = page
        super().__init__(**options)

    def publish_msg(self, msg_type, data=None, metadata=None, buffers=None, **keys):
        if msg_type == "comm_msg":
            self.page.sent(self, data)


@pytest.fixture
def asked(monkeypatch):
    """Asks a kernel of this version how it can ask; also how often it has pinged the page."""

    def asked(version, answers, *, stdin=True, kernel=True):
        page = Page(answers)
        monkeypatch.setattr(front_end, "PATIENCE", 0.01 if answers is None else 0.25)
        monkeypatch.setattr("ipywidgets.comm.create_comm", page.create)
        if version is None:
            monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
        else:
            monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace(version_info=version))
        monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: stdin))
        shell = SimpleNamespace(kernel=SimpleNamespace(_allow_stdin=stdin)) if kernel else SimpleNamespace()
        before = set(widget._instances)
        way = asyncio.run(way_to_ask(shell))
        assert set(widget._instances) == before  # nothing is left of the ping
        return way, page.pings

    return asked


@pytest.mark.parametrize(
    ("version", "answers", "way", "pings"),
    [
        ((6, 29, 5), 1, "words", 0),  # nothing would reach it, so it does not wait for it
        ((6, 31, 0), 1, "words", 0),
        ((7, 0, 1), 2, "buttons", 2),  # the first try is lost
        ((7, 3, 0), 2, "buttons", 2),
        ((7, 3, 0), None, "words", front_end.TRIES),  # a page without subshells
        ((7, 4, 0), 1, "buttons", 1),
        ((7, 4, 0), front_end.TRIES, "buttons", front_end.TRIES),
        ((7, 4, 0), None, "words", front_end.TRIES),  # a console
        ((8, 0, 0), 1, "buttons", 1),
        (None, 1, "buttons", 1),  # another kernel, as in the browser
        (None, None, "words", front_end.TRIES),
    ],
)
def test_the_way_is_found_out_by_the_version_and_by_asking_the_page(asked, version, answers, way, pings):
    assert asked(version, answers) == (way, pings)


@pytest.mark.parametrize("version", [(6, 31, 0), (7, 3, 0), (7, 4, 0)])
def test_where_nobody_is_there_no_page_is_asked(asked, version):
    assert asked(version, 1, stdin=False) == ("nobody", 0)
    assert asked(version, 1, stdin=False, kernel=False) == ("nobody", 0)


def test_a_terminal_is_asked_in_words(asked):
    assert asked((7, 4, 0), 1, kernel=False) == ("words", 0)
