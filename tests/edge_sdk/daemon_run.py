"""Kill a unit repeatedly at random moments, and compare its readings with its exported reports.

A child process runs the unit under a clock that jumps from one due moment to the next. Half of the children are killed
by a signal from outside after a random delay, and half kill themselves just before a random SQL statement; then another
child continues at the time of the death. A child reports each reading as soon as the reading is on the disk. Run in a
separate process, because it forks: ``python -m tests.edge_sdk.daemon_run RUNS SEED DIR``. Prints JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
from collections import Counter
from functools import partial
from pathlib import Path

from edge_sdk import Device
from edge_sdk.unit.agent import Unit
from edge_sdk.unit.config import read_configuration
from protocol import envelope
from protocol.campaign import open_campaign
from protocol.domain import Buckets
from protocol.envelope import Kind
from protocol.keys import public_line
from protocol.report import Report
from tests.edge_sdk.conftest import AUTHOR, OPENS, campaign
from tests.edge_sdk.killed import die_before, run_killed

EDGES = tuple(range(64))
READINGS, EVERY = 5, 10
PERIOD = READINGS * EVERY
MAX_STATEMENTS = 300
MAX_STEPS = 80
"""The largest number of steps of a child: enough to reach ``MAX_STATEMENTS``, and few enough that the campaign
outlasts all children."""
CONFIGURATION = """
store = "store"
trust = ["author.pub"]
campaign = "c.campaign"
consent = true
[budget]
lifetime = 1000
[source]
stdin = true
[send]
export = "out"
every = 70
"""


def silent(level: int, text: str) -> None:
    """Discard a log line."""


def live(folder: Path, seed: int, begins: float, dies_at: int | None, pipe: int) -> None:
    """Run the child: a unit whose clock jumps; the time of each completed step is written to ``pipe``."""
    dice = random.Random(seed)
    now = [begins]
    reading = read_configuration(folder / "unit.toml"), lambda name, timeout: (str(dice.choice(EDGES)), "")
    with contextlib.closing(Unit(*reading, silent, clock=lambda: now[0])) as unit:
        die_before(unit._device._store, dies_at)
        for _ in range(MAX_STEPS):
            pause = unit.step()
            os.write(pipe, b"%d " % int(now[0]))
            if pause is None:
                return
            now[0] += max(pause, 0.25)
        # Wait for the kill, in case its signal is late.
        signal.pause()


def run(runs: int, seed: int, folder: Path) -> dict[str, int]:
    """Run all children; return the numbers of kills, of readings that were on the disk and of sent outputs, and the
    numbers of faults."""
    dice = random.Random(seed)
    periods = 20 * runs
    data = campaign("Load", Buckets.of(EDGES), periods=periods, period_seconds=PERIOD, answers=READINGS)
    folder.mkdir()
    (folder / "c.campaign").write_bytes(data)
    (folder / "author.pub").write_text(public_line(AUTHOR.public))
    (folder / "unit.toml").write_text(CONFIGURATION)
    now, killed = float(OPENS), 0
    reported: set[tuple[int, int]] = set()
    for turn in range(runs):
        dies_at = dice.randrange(MAX_STATEMENTS) if turn % 2 else None
        died, steps = run_killed(partial(live, folder, turn, now, dies_at), 0.02 if dies_at is None else None, dice)
        killed += died
        times = [int(step) for step in steps.split()]
        reported |= {divmod(at - OPENS, PERIOD) for at in times}
        now = max([now, *times])
    reported = {(period, into // EVERY) for period, into in reported}
    opened = open_campaign(data, [AUTHOR.public]).campaign
    with Device.open(folder / "store", clock=lambda: opened.closes) as device:
        [campaign_id] = device.campaigns
        device.bundle(campaign_id)
        if len(device.outbox):
            device.outbox.export(folder / "out" / "last.htr")
        spent = device.budget.spent
        memo = device._store.rows("SELECT count(*) FROM memo")[0][0]
    left: Counter[tuple[int, int]] = Counter()
    outputs: dict[tuple[int, int], set[bytes]] = {}
    for path in (folder / "out").iterdir():
        for item in envelope.read_batch(path.read_bytes()):
            if item.kind is Kind.REPORT:
                report = Report.decode(item.unverified)
                for offset, output in enumerate(report.outputs(opened, None)):
                    place = report.period, report.slot + offset
                    left[place] += 1
                    outputs.setdefault(place, set()).add(bytes([output]))
    return {
        "runs": runs,
        "killed": killed,
        "reported": len(reported),
        "left": len(left),
        "lost": len(reported - set(left)),
        "unreported": len(set(left) - reported),
        "conflicting": sum(len(found) > 1 for found in outputs.values()),
        "undercharged": max(0, memo - round(spent)),
        "overcharged": max(0, round(spent) - memo),
    }


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))))
