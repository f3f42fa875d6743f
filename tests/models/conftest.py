"""Model tests: the loopback server."""

from __future__ import annotations

from servers import server

__all__ = ["server"]
