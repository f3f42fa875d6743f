"""Kills: a process that ends anywhere, with half a line written, loses no decision and no turn, and nothing is done
twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from journals import SCALE

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="what is killed here is forked")
LIVES = Path(__file__).with_name("lives.py")


def counted(what, folder, share):
    done = subprocess.run(
        [sys.executable, str(LIVES), what, str(folder), str(share)], capture_output=True, text=True, timeout=3600
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_whenever_a_process_is_killed_nothing_is_lost_and_nothing_is_done_twice(tmp_path):
    share = SCALE if SCALE == 1 else SCALE * 0.3  # each is several processes
    counts = counted("kills", tmp_path, share)
    print(counts)
    of_each = counts["of each life"].values()
    assert all(min(tried, 2) == 2 and abs(tried - share * places) <= 2 for tried, places in of_each)
    assert counts["kill points"] == sum(tried for tried, _ in of_each) >= (1000 if SCALE == 1 else 16)
    assert counts["lives"] == 3 * counts["kill points"]
    assert counts["killed"] > 1.8 * counts["lives"]  # most of them again, when they go on
    wrong = ("approvals lost", "effects twice", "effects missing", "unreadable", "vanished", "other turns")
    assert {name: counts[name] for name in wrong} == dict.fromkeys(wrong, 0)
    assert counts["torn"] > 0
    assert counts["approvals"] > 0


def test_wherever_a_run_goes_on_in_a_new_process_it_says_and_asks_the_same(tmp_path):
    counts = counted("boundaries", tmp_path, SCALE)
    print(counts)
    assert counts["boundaries"] >= 600 * SCALE
    assert (counts["other transcripts"], counts["other prompts"]) == (0, 0)
    assert counts["prompts"] > counts["boundaries"]
