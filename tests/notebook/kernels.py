"""A kernel and its client, as a front end has them."""

from __future__ import annotations

import os
import time
from pathlib import Path
from queue import Empty
from tempfile import TemporaryDirectory

from jupyter_client.manager import KernelManager


def wait_for_lines(path, count=1, timeout=60):
    """Until a file has so many lines: what a tool writes when it has begun."""
    path, deadline = Path(path), time.monotonic() + timeout
    while not path.exists() or path.read_text().count("\n") < count:
        assert time.monotonic() < deadline, f"{path.name} has no {count} lines after {timeout} s"
        time.sleep(0.005)


def writes(path, line="begun"):
    """The statement that writes such a line."""
    return f"open({str(path)!r}, 'a').write({line + chr(10)!r})"


class Kernel:
    """A kernel and its client."""

    def __init__(self):
        self._settings = TemporaryDirectory()  # what the user has set for IPython is not for tests
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel(env={**os.environ, "IPYTHONDIR": self._settings.name})
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def interrupt(self):
        """What a person does, who takes a moment: Python does not notice a signal that comes just before a sleep."""
        time.sleep(0.2)
        self.manager.interrupt_kernel()

    def start(self, code, cell_id=None, allow_stdin=False):
        """Sends a cell, with its id as JupyterLab sends it."""
        content = {
            "code": code, "silent": False, "store_history": True, "user_expressions": {},
            "allow_stdin": allow_stdin, "stop_on_error": True,
        }  # fmt: skip
        message = self.client.session.msg("execute_request", content, metadata={"cellId": cell_id} if cell_id else {})
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def wait(self, message_id, timeout=60):
        """The outputs of a cell, once it is idle."""
        outputs, deadline = [], time.monotonic() + timeout
        while time.monotonic() < deadline:
            try:
                message = self.client.get_iopub_msg(timeout=1)
            except Empty:
                continue
            if message["parent_header"].get("msg_id") != message_id:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return outputs
            if kind not in ("status", "execute_input"):
                outputs.append((kind, content))
        raise AssertionError(f"still busy after {timeout} s: {outputs}")

    def wait_for_output(self, message_id, text, timeout=60):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            message = self.client.get_iopub_msg(timeout=timeout)
            if message["parent_header"].get("msg_id") == message_id and text in str(message["content"]):
                return
        raise AssertionError(f"{text!r} has not come in {timeout} s")

    def run(self, code, cell_id=None, **more):
        return self.wait(self.start(code, cell_id, **more))

    def value(self, expression):
        """What an expression prints."""
        outputs = self.run(f"print({expression})")
        assert [kind for kind, _ in outputs if kind != "stream"] == [], outputs
        return "".join([content["text"] for _, content in outputs]).strip()  # a busy kernel sends it in pieces

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()
        self.client.context.destroy(0)
        self._settings.cleanup()
