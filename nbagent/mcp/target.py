"""Target: where a server is to be found: a command that is run, or an address."""

from __future__ import annotations

import shlex
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit, urlunsplit

from nbagent.mcp.secrets import Secrets

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from contextlib import AbstractAsyncContextManager

    from nbagent.mcp.clues import Clues

_CONNECT_TIMEOUT = 30.0
"""Seconds for a connection to be made, and for a request to be written."""
_IDLE = 1.0
"""Seconds that an idle connection is kept. Measured: with the usual five, which uvicorn has too, both sides let go at
the same moment now and then, and the request that is just being sent ends the whole session."""


class Target(Protocol):
    """What a server can be reached by."""

    label: str
    """How it is called where it has no other name."""
    shown: str
    """The command line or the address, without secrets."""
    secrets: Secrets
    is_process: bool
    """Whether it is started, and ended, by us."""

    def connect(self, clues: Clues) -> AbstractAsyncContextManager[Any]:
        """The transport, which the SDK's client enters and leaves."""
        ...


class Command:
    """A program that talks over stdin and stdout."""

    is_process = True

    def __init__(self, command: str, args: tuple[str, ...], env: Mapping[str, str], cwd: str | None) -> None:
        self.command = command
        self.args = args
        self.secrets = Secrets(env)
        self.cwd = cwd
        self.label = Path(command).stem or command
        self.shown = self.secrets.mask(shlex.join([command, *args]))

    def connect(self, clues: Clues) -> AbstractAsyncContextManager[Any]:
        from mcp import StdioServerParameters, stdio_client

        parameters = StdioServerParameters(
            command=self.command,
            args=list(self.args),
            env=self.secrets.values.get(),
            cwd=self.cwd,
            encoding_error_handler="replace",  # one wrong character must not end the connection
        )
        return stdio_client(parameters, errlog=clues.stderr)


class Address:
    """A server that is running already, and talks over HTTP (the transport called "streamable")."""

    is_process = False

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self.url = url
        self.secrets = Secrets(headers)
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        self.label = parts.hostname or host
        # Keys are passed in the query or before the host, too.
        self.shown = self.secrets.mask(urlunsplit((parts.scheme, host, parts.path, "", "")))

    @asynccontextmanager
    async def connect(self, clues: Clues) -> AsyncGenerator[Any]:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        client = httpx2.AsyncClient(
            headers=self.secrets.values.get(),
            limits=httpx2.Limits(keepalive_expiry=_IDLE),
            timeout=httpx2.Timeout(_CONNECT_TIMEOUT, read=None),  # how long an answer may take is said per call
            event_hooks={"response": [clues.answered]},
        )
        async with client, streamable_http_client(self.url, http_client=client) as streams:
            yield streams
