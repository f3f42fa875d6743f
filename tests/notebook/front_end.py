"""A page that talks with a kernel, for tests: it answers pings, writes into texts and clicks buttons."""

from __future__ import annotations

import time
from contextlib import suppress
from queue import Empty

import ipykernel
import pytest

VIEW = "application/vnd.jupyter.widget-view+json"
LEFT_OVER = "from ipywidgets.widgets import widget; print(len(widget._instances))"
hears_buttons = pytest.mark.skipif(ipykernel.version_info < (7, 4), reason="only a subshell would bring the click")


class FrontEnd:
    """What it knows of each widget is in `states`, by its comm; all that came from the kernel is in `heard`."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.states = {}
        self.outputs = {}
        self.ended = set()
        self.heard = []
        self._answers = set()
        self.held_back = []
        """What it does before it answers a ping the next time."""
        self._clicked = None
        self._roots = set()
        """The widgets that are displayed themselves."""
        self._asked = {}
        """How many questions were shown, by the request."""
        self._is_asked = False

    def listen(self, until, seconds=30):
        """Takes messages until the condition holds."""
        end = time.monotonic() + seconds
        while not until():
            assert time.monotonic() < end, f"nothing of the kind: {self.buttons}, {self.labels}"
            with suppress(Empty):
                self._take(self.kernel.client.get_iopub_msg(timeout=0.2))

    def _take(self, message):
        kind, content, parent = message["msg_type"], message["content"], message["parent_header"].get("msg_id")
        self.heard.append(str(content))
        if kind in ("display_data", "update_display_data", "stream", "error"):
            self.outputs.setdefault(parent, []).append((kind, content))
            if VIEW in content.get("data", ()):
                self._roots.add(content["data"][VIEW]["model_id"])
                self._look(parent)
        elif kind == "status" and content["execution_state"] == "idle":
            self.ended.add(parent)
        elif kind == "comm_open":
            self.states[content["comm_id"]] = dict(content["data"].get("state", {}))
        elif kind == "comm_close":
            self.states.pop(content["comm_id"], None)
            self._is_asked = self._is_asked and bool(self.buttons)
        elif kind == "comm_msg" and content["data"].get("method") == "update":
            self.states.setdefault(content["comm_id"], {}).update(content["data"]["state"])  # may be a forgotten one
            self._pinged(content["comm_id"])
            if content["comm_id"] in self._roots and "children" in content["data"]["state"]:
                self._look(parent)

    def _look(self, request):
        """Whether a question is shown now that was not before."""
        if self.buttons and not self._is_asked:
            self._is_asked = True
            self._asked[request] = self._asked.get(request, 0) + 1

    def _pinged(self, comm):
        """The first of two linked numbers has changed, so that a page changes the second."""
        numbers = [one for one, state in self.states.items() if state.get("_model_name") == "IntTextModel"]
        if comm in numbers[::2]:
            for do in self.held_back:
                do()
            self.held_back.clear()
            self._answers.add(self._update(numbers[numbers.index(comm) + 1], self.states[comm]["value"]))

    def _update(self, comm, value, name="value"):
        self.states[comm][name] = value
        return self.send(comm, {"method": "update", "state": {name: value}, "buffer_paths": []})

    def send(self, comm, data):
        message = self.kernel.client.session.msg("comm_msg", {"comm_id": comm, "data": data})
        self.kernel.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def forget(self):
        self.states.clear()

    def _all(self, model):
        return [(comm, state) for comm, state in self.states.items() if state.get("_model_name") == model]

    @property
    def buttons(self):
        """What stands on each, in the order in which they were made."""
        return [state["description"] for _, state in self._all("ButtonModel") if state["icon"] != "stop"]

    @property
    def stop(self):
        """The button that stops a run that goes on, where it is shown."""
        shown = [comm for comm, state in self._all("ButtonModel") if state["icon"] == "stop" and self._is_shown(state)]
        return shown[0] if shown else None

    def _is_shown(self, state):
        layout = self.states.get(state["layout"].removeprefix("IPY_MODEL_"), {})
        return layout.get("display") != "none" and not state["disabled"]

    @property
    def labels(self):
        return [state["value"] for _, state in self._all("LabelModel") if state["value"]]

    @property
    def html(self):
        """What is shown of a run that goes on."""
        return [state["value"] for _, state in self._all("HTMLModel") if state["value"]]

    @property
    def areas(self):
        """What is in each text that can be written into, by what it is for."""
        return {state["tooltip"]: state["value"] for _, state in self._all("TextareaModel") if not state["disabled"]}

    @property
    def read(self):
        """What is in each text that is only read."""
        return {state["tooltip"]: state["value"] for _, state in self._all("TextareaModel") if state["disabled"]}

    def click(self, label, number=0, event="click"):
        """`number`: which of those with this label."""
        meant = [comm for comm, state in self._all("ButtonModel") if state["description"] == label]
        comm = meant[number] if event == "click" else self._clicked
        self._clicked = comm
        return self.send(comm, {"method": "custom", "content": {"event": event}})

    def clicks(self, label, number=0):
        """The same, and waits until the kernel has done it. Not for clicks that end the question."""
        before, clicked = set(self._answers), self.click(label, number)
        self.listen(lambda: clicked in self.ended)
        self._comes_after(label)  # when this is heard, the page was asked whether it has more to send
        self.listen(lambda: self._answers - before <= self.ended)
        self._comes_after(label)  # and now what the click does is done

    def _comes_after(self, label):
        after = self.click(label, event="nothing")
        self.listen(lambda: after in self.ended)

    def write(self, tooltip, text, number=0):
        comm = [
            comm for comm, state in self._all("TextareaModel") if state["tooltip"] == tooltip and not state["disabled"]
        ][number]
        return self._update(comm, text)

    def choose(self, index, number=0):
        return self._update(self._all("DropdownModel")[number][0], index, "index")

    def starts(self, code, cell="a"):
        """Starts a cell, and waits for its buttons."""
        request = self.kernel.start(code, cell, allow_stdin=True)
        self.asks(request)
        return request

    def asks(self, request, times=1):
        """Waits until the cell has asked so many times."""
        self.listen(lambda: self._asked.get(request, 0) == times)

    def ends(self, request):
        self.listen(lambda: request in self.ended)
        return self.outputs.get(request, [])


def shown(outputs):
    """What is displayed at last in each output that can be changed."""
    return {content["transient"]["display_id"]: content["data"] for _, content in outputs}.values()
