"""The unit that answers automatically: its memory after many readings, and the cost of one reading.

The unit runs in a process of its own, as with ``python -m edge_sdk run``. But the benchmark advances the unit's clock,
so that months of readings take seconds. The store is on the disk, and durable.

``benchmarks.device`` measures a single answer.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from aggregator.families.response.recipe import randomized_response
from protocol.campaign import Campaign, seal_campaign
from protocol.domain import Buckets
from protocol.exact import NANONATS
from protocol.keys import SigningKey, public_line
from protocol.notions import Ldp
from protocol.views import plain_views

AUTHOR = SigningKey(bytes(range(32)))
OPENS, HOUR, A_WEEK = 1_000_000, 3600, 168
READINGS = 10_000

CONFIGURATION = """
store = "store"
trust = ["analyst.pub"]
campaign = "load.campaign"
consent = true
[source]
file = "/proc/loadavg"
field = 0
[send]
export = "out"
every = 86400
"""

_UNIT = """
import sys
from edge_sdk.unit import daemon
daemon._spare_memory()
import os, time
from edge_sdk.unit.config import read_configuration
from edge_sdk.unit.sensor import Reader

configuration, readings, now = read_configuration(sys.argv[1]), int(sys.argv[2]), [float(sys.argv[3])]
reader, levels, wakes, begun = Reader(configuration.sources[""], os.pipe()[0]), [], 0, time.perf_counter()
read, say = lambda name, timeout: reader.read(timeout), lambda level, text: levels.append(level)
unit = daemon.Unit(configuration, read, say, clock=lambda: now[0])
until = now[0] + readings * 3600
while now[0] < until:
    now[0] += unit.step()
    wakes += 1
seconds = time.perf_counter() - begun
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print('{"resident": %s, "peak": %s, "seconds": %f, "wakes": %d, "warnings": %d, "loaded": "%s"}' % (
    status["VmRSS"].split()[0], status["VmHWM"].split()[0], seconds, wakes, sum(level < 6 for level in levels),
    " ".join(name for name in ("argparse", "json", "ssl", "http", "_hashlib", "subprocess") if sys.modules.get(name)),
))
unit.close()
"""


def campaign(readings: int) -> bytes:
    """Return a signed campaign about the load average, with hourly readings in periods of a week."""
    domain = Buckets.of([0, 0.25, 0.5, 1, 2, 4, 8])
    channel = randomized_response(domain.size, NANONATS)
    closes = OPENS + (readings // A_WEEK + 2) * A_WEEK * HOUR
    load_campaign = Campaign(
        "Load", "How busy is this machine?", "", "Town", domain, Ldp(NANONATS), "randomized-response",
        plain_views(channel), OPENS, closes, A_WEEK * HOUR, A_WEEK, 1, "open",
    )  # fmt: skip
    return seal_campaign(load_campaign, AUTHOR)


def unit(readings: int) -> dict[str, float]:
    """Return the figures of a unit after ``readings`` readings, with the ``bytes`` of its exported bundles and of its
    ``store``."""
    with tempfile.TemporaryDirectory(dir=".") as directory:
        folder = Path(directory)
        (folder / "load.campaign").write_bytes(campaign(readings))
        (folder / "analyst.pub").write_text(public_line(AUTHOR.public))
        (folder / "unit.toml").write_text(CONFIGURATION)
        run = [sys.executable, "-c", _UNIT, str(folder / "unit.toml"), str(readings), str(OPENS)]
        process = subprocess.run(run, stdout=subprocess.PIPE, check=True)  # noqa: S603  # no outside input
        sent = sum(path.stat().st_size for path in (folder / "out").iterdir())
        store = sum(path.stat().st_size for path in (folder / "store").iterdir())
        return {**json.loads(process.stdout), "bytes": sent, "store": store}


def run() -> list[tuple[str, str]]:
    """Return table rows: (name, measured value with its target)."""
    figures = unit(READINGS)
    return [
        (
            f"resident memory after {READINGS:,} hourly readings [at most 30 MiB]",
            f"{figures['resident'] / 1024:.1f} MiB",
        ),
        ("a reading, from the clock to the disk", f"{figures['seconds'] / READINGS * 1e3:.2f} ms"),
        ("wake-ups for each reading [at most 1.1]", f"{figures['wakes'] / READINGS:.3f}"),
        ("bytes for each reading, in bundles of 168", f"{figures['bytes'] / READINGS:.2f}"),
        ("size of the store's files after these readings", f"{figures['store'] / 1024:.0f} KiB"),
    ]
