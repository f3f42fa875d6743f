"""MCP tests: the double over both transports. Those that end a server, or look at its process, start their own."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from nbagent.mcp import MCPServer

DOUBLE = str(Path(__file__).with_name("mcp_double.py"))


def by_command(*more, **options):
    """A server over stdio, not started yet."""
    return MCPServer(sys.executable, args=[DOUBLE, *more], name="double", **options)


@contextmanager
def over_http(word=""):
    """The process of a double that talks over HTTP, and its address."""
    environment = {**os.environ, "DOUBLE_WORD": word}
    process = subprocess.Popen(
        [sys.executable, DOUBLE, "http"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    with process:
        try:
            port = int(process.stdout.readline())
            yield process, f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()


@pytest.fixture(scope="session", params=["stdio", "http"])
def server(request):
    """A running double, shared by the tests: none of them changes it."""
    if request.param == "stdio":
        with by_command() as server:
            yield server
        return
    with over_http() as (_, url), MCPServer(url=url, name="double") as server:
        yield server


@pytest.fixture(scope="session")
def tools(server):
    return {tool.name: tool for tool in server.tools()}


@pytest.fixture
def double():
    return by_command


@pytest.fixture
def http_double():
    return over_http
