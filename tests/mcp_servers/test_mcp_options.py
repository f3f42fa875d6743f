"""MCP options: what a server is described with, and what of it may be seen."""

from __future__ import annotations

import pytest

from nbagent.errors import ConfigError
from nbagent.mcp import MCPServer
from nbagent.redact import forget, redact


@pytest.fixture(autouse=True)
def nothing_known():
    forget()
    yield
    forget()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, r"MCPServer\(command='…', args=\[…\]\) or MCPServer\(url='https://…'\); got neither"),
        ({"command": "x", "url": "http://x"}, "got both"),
        ({"command": "http://x"}, "expected a program, got an address"),
        ({"command": ""}, "got an empty text"),
        ({"command": 3}, "command: expected text or a path, got int"),
        (
            {"command": "x", "args": "a b"},
            r"args: expected a list of texts such as \['server.py', '--quiet'\], got str",
        ),
        ({"command": "x", "args": [1]}, "args: expected text or a path, got int"),
        ({"command": "x", "env": {"PORT": 1}}, "env: expected texts, got int for 'PORT'"),
        ({"command": "x", "headers": {"a": "b"}}, "headers go with url="),
        ({"url": "http://x", "env": {"a": "b"}}, "args, env and cwd go with command="),
        ({"url": "example.org/mcp"}, "expected an address"),
        ({"url": "http://x", "headers": "a"}, "headers: expected a dict of texts, got str"),
        ({"command": "x", "start_timeout": 0}, "start_timeout: expected a number of seconds above 0, got 0"),
        ({"command": "x", "call_timeout": True}, "call_timeout: expected a number of seconds above 0, got True"),
    ],
)
def test_what_does_not_fit_is_refused(options, expected):
    with pytest.raises(ConfigError, match=expected):
        MCPServer(**options)


def test_the_name_is_the_commands_or_the_hosts():
    assert MCPServer("/usr/bin/weather.sh").name == "weather"
    assert MCPServer(url="https://user:pass@example.org:8000/mcp").name == "example.org"
    assert MCPServer("x", name="weather").name == "weather"


def test_nothing_secret_is_in_the_repr():
    server = MCPServer("run", args=["--word", "opensesame1"], env={"SOME_WORD": "opensesame1", "B": "1"})
    assert repr(server) == "MCPServer('run', 'run --word ‹redacted SOME_WORD›', not open)"
    server = MCPServer(url="https://ada:opensesame1@example.org/mcp?key=abc", headers={"X": "hidden-value"})
    assert repr(server) == "MCPServer('example.org', 'https://example.org/mcp', not open)"
    assert "hidden" not in repr(vars(vars(server)["_session"].target))


def test_values_with_a_secrets_name_are_masked_everywhere_others_only_in_our_errors():
    MCPServer(url="https://example.org", headers={"Authorization": "Bearer open-sesame-one", "X-Tenant": "company-one"})
    assert redact("got open-sesame-one of company-one") == "got ‹redacted Authorization› of company-one"
