"""Holding: what a process holds besides memory, which something that only waits has no need of."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

OWN = Path("/proc/self")


def held():
    """Counts by kind: threads, processes, open files, sockets and pipes, and what an event loop has to do."""
    for thread in threading.enumerate():
        if thread.name.startswith("nbagent-tool-"):  # its tool has returned, so it is about to end
            thread.join(10)
    found = Counter({"threads": threading.active_count()})
    for task in OWN.glob("task/*/children"):
        found["processes"] += len(task.read_text().split())
    first = _open_files()
    time.sleep(0.05)  # what another thread has open for a moment is not held
    for what in (what for number, what in _open_files().items() if first.get(number) == what):
        if "history.sqlite" in what:  # IPython writes it now and then
            continue
        found["sockets" if what.startswith("socket:") else "pipes" if what.startswith("pipe:") else "files"] += 1
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return found
    found["tasks"] = len([task for task in asyncio.all_tasks(loop) if not task.done()])
    found["timers"] = len([timer for timer in loop._scheduled if not timer.cancelled()])
    found["watched files"] = len(loop._selector.get_map())
    return found


def _open_files():
    """What each open file is, by its number."""
    found = {}
    for link in OWN.glob("fd/*"):
        with suppress(FileNotFoundError):  # the one with which they are listed
            found[link.name] = os.readlink(link)
    return found
