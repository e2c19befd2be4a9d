"""A device that is killed: nothing leaves uncharged (promise 7)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.edge_sdk.crash_run import FULL

pytestmark = pytest.mark.slow


def killed(runs: int, store: Path) -> None:
    """Kill devices, and compare everything sent or collected with everything charged and queued."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.edge_sdk.crash_run", str(runs), "7", str(store)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["killed"] > 0.8 * runs, "most children die, or nothing is tested"
    assert (found["undercharged"], found["overcharged"], found["lost"]) == (0, 0, 0)
    assert found["left"] <= found["charged"] <= found["left"] + found["killed"]
    assert (found["queued"], found["twice"]) == (found["charged"], 0)
    assert found["collected"] > runs / 4, "readings are collected, or nothing is tested"
    assert found["bundled"] > runs / 10, "readings share a signature, or nothing is tested"


def test_a_killed_device_never_undercharges_and_overcharges_by_one_report_at_most(tmp_path: Path) -> None:
    """After every kill -9, all that left or was collected is charged and queued once, and at most one report more was
    charged.

    Each of the first 120 statements of answering and of collecting is died before once, and 60 die from outside: what
    goes wrong before any one statement is found.
    """
    killed(FULL, tmp_path / "store")


@pytest.mark.long
def test_a_device_killed_thousands_of_times_never_undercharges(tmp_path: Path) -> None:
    """3,000 devices are killed, each statement ten times, and 600 from outside."""
    killed(10 * FULL, tmp_path / "store")
