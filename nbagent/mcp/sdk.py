"""SDK: the way to the official MCP SDK, which is loaded when the first server starts."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from nbagent.errors import ConfigError

if TYPE_CHECKING:
    from mcp import Client

_SILENT = logging.NullHandler()


def client_class() -> type[Client]:
    """The SDK's client; raises ConfigError where it is not installed, and in a browser."""
    if sys.platform == "emscripten":
        raise ConfigError("an MCP server needs a thread of its own, and a browser has none: use a kernel outside of it")
    try:
        from mcp import Client
    except ImportError as error:
        raise ConfigError(
            f'MCP servers need the official SDK, mcp 2.0 or later ({error}): pip install "jupyter-nbagent[mcp]"'
        ) from error
    for name in ("mcp", "client"):  # its two loggers
        # Without any handler Python prints each of their warnings, with a traceback, into the cell that runs just now.
        logging.getLogger(name).addHandler(_SILENT)
    return Client
