"""Notebook tests: a shell of IPython, with what it displays and raises caught; a real kernel and its client."""

from __future__ import annotations

import pytest
from kernels import Kernel


class Shell:
    """An IPython shell that has loaded nbagent."""

    def __init__(self, shell):
        self.shell = shell
        self.ns = shell.user_ns

    def run(self, source):
        """Runs a cell; returns its display outputs. Raises what the cell raises."""
        self.shell.display_pub.outputs.clear()
        result = self.shell.run_cell(source, silent=False)
        result.raise_error()
        return self.outputs

    @property
    def outputs(self):
        return [output["data"] for output in self.shell.display_pub.outputs]

    def text(self, source):
        """The plain text of the one output of a cell."""
        [data] = self.run(source)
        return data["text/plain"]


@pytest.fixture
def shell(tmp_path, monkeypatch):
    from IPython.core.displaypub import CapturingDisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    shell.display_pub = CapturingDisplayPublisher(parent=shell)
    shell.run_line_magic("load_ext", "nbagent")
    yield Shell(shell)
    InteractiveShell.clear_instance()


@pytest.fixture
def kernel():
    kernel = Kernel()
    try:
        assert kernel.run("%load_ext nbagent") == []
        yield kernel
    finally:
        kernel.close()
