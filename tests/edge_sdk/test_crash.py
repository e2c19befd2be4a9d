"""A device that is killed sends nothing without a charge."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.edge_sdk.crash_run import FULL

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("runs", [FULL, pytest.param(10 * FULL, marks=pytest.mark.long)])
def test_a_killed_device_never_undercharges_and_overcharges_by_one_report_at_most(tmp_path: Path, runs: int) -> None:
    """After every kill -9, each output that was sent or collected is charged and queued once, and at most one more
    report is charged.

    Of each ``FULL`` runs, one child dies before each of the first 120 SQL statements of answering and of collecting,
    and 60 children are killed from outside, so a fault before any single statement is found.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.edge_sdk.crash_run", str(runs), "7", str(tmp_path / "store")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["killed"] > 0.8 * runs, "too few children died"
    assert (found["undercharged"], found["overcharged"], found["lost"]) == (0, 0, 0)
    assert found["left"] <= found["charged"] <= found["left"] + found["killed"]
    assert (found["queued"], found["twice"]) == (found["charged"], 0)
    assert found["collected"] > runs / 4, "too few readings were collected"
    assert found["bundled"] > runs / 10, "too few readings shared a signature"
