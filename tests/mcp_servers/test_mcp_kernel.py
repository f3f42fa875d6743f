"""MCP in a real kernel: its stderr is no file, and its loop is running while a cell waits."""

from __future__ import annotations

import os
import sys

import mcp_double
import pytest

DESCRIBE = """
from nbagent import Agent, ScriptedLLM
from nbagent.mcp import MCPServer

server = MCPServer({python!r}, args=[{double!r}])
call = ScriptedLLM.tool_call
bot = Agent("bot", ScriptedLLM([call("add", {{"a": 1}}), "one", call("add", {{"a": 2}}), "two"]), tools=server.tools())
"""
CELLS = {
    "bot.run('go').final_output": "'one'",
    "(await bot.arun('go')).final_output": "'two'",
    "server.prompt('review', code='x')": "'Review this (short): x'",
    "int((await server.tools('pid')[0]()).text)": None,
}


def test_a_server_in_a_notebook():
    nbclient = pytest.importorskip("nbclient")
    from nbformat.v4 import new_code_cell, new_notebook

    source = DESCRIBE.format(python=sys.executable, double=mcp_double.__file__)
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in (source, *CELLS)])
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    assert notebook.cells[0].outputs == []
    shown = [cell.outputs[-1]["data"]["text/plain"] for cell in notebook.cells[1:]]
    assert shown[:3] == list(CELLS.values())[:3]
    with pytest.raises(ProcessLookupError):
        os.kill(int(shown[3]), 0)
