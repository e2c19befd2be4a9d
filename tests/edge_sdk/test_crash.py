"""A device that is killed: nothing leaves uncharged (promise 7)."""

from __future__ import annotations

import json
import subprocess
import sys

RUNS = 1000


def test_a_killed_device_never_undercharges_and_overcharges_by_one_report_at_most(tmp_path):
    """After every kill -9, all that left or was collected is charged and queued once, and at most one report more was
    charged."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.edge_sdk.crash_run", str(RUNS), "7", str(tmp_path / "store")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["killed"] > 0.8 * RUNS, "most children die, or nothing is tested"
    assert (found["undercharged"], found["overcharged"], found["lost"]) == (0, 0, 0)
    assert found["left"] <= found["charged"] <= found["left"] + found["killed"]
    assert (found["queued"], found["twice"]) == (found["charged"], 0)
    assert found["collected"] > RUNS / 4, "readings are collected, or nothing is tested"
    assert found["bundled"] > RUNS / 10, "readings share a signature, or nothing is tested"
