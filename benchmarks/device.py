"""The device: the cost of an answer beside its unavoidable part, and the size of the store.

The ratio of two times measured in turns depends less on the processor than each time does; it still depends on the
disk. The unavoidable part of an answer is one Ed25519 signature, one synchronous commit of one row, and one flush of a
checkpoint beside the database. Calls and signatures are counted, and their numbers are the same on every machine.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import FrameType

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator.families.hadamard.recipe import hadamard
from benchmarks.ingest import US_GRID, timed
from edge_sdk import BudgetPolicy, Device
from edge_sdk.rollback.file_store import FLUSH, RECORD_BYTES
from edge_sdk.store.sqlite import PAGE_BYTES, WAL_CHECKPOINT_PAGES
from protocol.campaign import Campaign, campaign_id, seal_campaign
from protocol.exact import NANONATS
from protocol.keys import SigningKey, public_line
from protocol.notions import Ldp
from protocol.views import plain_views

AUTHOR = SigningKey(bytes(range(32)))
OPENS, PERIOD, PERIODS = 1_000_000, 60, 100_000
WARM, ANSWERS, IMPORTS, COMMANDS, GROWTH = 40, 150, 15, 11, 1500


def campaign(opens: int = OPENS, answers: int = 1) -> bytes:
    """Return a signed campaign over 43,750 cells of a grid, at 1 nat."""
    channel = hadamard(US_GRID.size, NANONATS)
    grid_campaign = Campaign(
        "Where", "Where are you?", "", "Town", US_GRID, Ldp(NANONATS), "hadamard", plain_views(channel),
        opens, opens + PERIOD * PERIODS, PERIOD, answers, 1, "open",
    )  # fmt: skip
    return seal_campaign(grid_campaign, AUTHOR)


def calls(work: Callable[[], object]) -> tuple[int, int]:
    """Return the number of calls of Python functions during ``work``, and the number of signatures that ``work``
    makes."""
    python, signatures = 0, 0

    def count(frame: FrameType, event: str, called: object) -> None:
        nonlocal python, signatures
        python += event == "call"
        signatures += event == "call" and frame.f_code is SigningKey.sign.__code__

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return python, signatures


def answers(folder: Path) -> tuple[list[float], list[float], tuple[int, int]]:
    """Return the seconds of fresh ``Device.answer`` calls and of the unavoidable part, measured in turns, and the
    ``calls`` of an answer."""
    now = [OPENS]
    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    bare.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    bare.execute("PRAGMA journal_mode = WAL")
    bare.execute("PRAGMA synchronous = FULL")
    bare.execute(f"PRAGMA wal_autocheckpoint = {WAL_CHECKPOINT_PAGES}")
    bare.execute("CREATE TABLE report (number INTEGER PRIMARY KEY, envelope BLOB)")
    beside = os.open(folder / "bare.checkpoint", os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0))
    key = Ed25519PrivateKey.generate()
    full, unavoidable = [], []

    def sign_commit_and_flush() -> None:
        signature = key.sign(bytes(64))
        bare.execute("INSERT INTO report VALUES (NULL, ?)", (signature + bytes(42),))
        os.lseek(beside, 0, os.SEEK_SET)
        os.write(beside, bytes(RECORD_BYTES))
        FLUSH(beside)

    with Device.open(folder / "store", [AUTHOR.public], BudgetPolicy(lifetime=10**5), clock=lambda: now[0]) as device:
        campaign_id = device.join(campaign()).campaign_id
        device.consent(campaign_id)
        values = [device.parse(campaign_id, US_GRID.label(x)) for x in range(WARM + ANSWERS + 1)]
        for period, value in enumerate(values[:-1]):
            now[0] = OPENS + period * PERIOD
            unavoidable.append(timed(sign_commit_and_flush)[0].wall)
            full.append(timed(lambda value=value: device.answer(campaign_id, value))[0].wall)
        now[0] += PERIOD
        counted = calls(lambda: device.answer(campaign_id, values[-1]))
    bare.close()
    os.close(beside)
    return full[WARM:], unavoidable[WARM:], counted


def growth(folder: Path) -> tuple[float, float]:
    """Return the bytes by which the store grows, after sending, for an answer that repeats an output and for a new
    output."""
    now = [OPENS]
    with Device.open(":memory:", [AUTHOR.public], BudgetPolicy(lifetime=10**5), clock=lambda: now[0]) as device:
        campaign_id = device.join(campaign()).campaign_id
        device.consent(campaign_id)

        def grown(first: int, step: int) -> float:
            sizes = []
            for number in range(ANSWERS + GROWTH):
                if number % ANSWERS == 0:  # the queue is empty, and its pages are free for the next answers
                    sizes.append(int(device.doctor()["page_count"]) * PAGE_BYTES)
                now[0] += PERIOD
                device.answer(campaign_id, device.parse(campaign_id, US_GRID.label(first + number * step)))
                if number % ANSWERS == ANSWERS - 1:
                    device.outbox.export(folder / f"{now[0]}.htr")
            return (sizes[-1] - sizes[1]) / (GROWTH - ANSWERS)

        return grown(0, 0), grown(1, 1)


def imports() -> tuple[float, float]:
    """Return the median seconds that ``import edge_sdk``, and the import of ``BudgetPolicy`` and ``Device`` from it,
    add to the start of Python."""
    statements = ("pass", "import edge_sdk", "from edge_sdk import BudgetPolicy, Device")
    times_by_statement: dict[str, list[float]] = {statement: [] for statement in statements}
    for _ in range(IMPORTS):
        for statement, times in times_by_statement.items():
            run = [sys.executable, "-c", statement]
            times.append(timed(lambda run=run: subprocess.run(run, check=True))[0].wall)  # noqa: S603  # no outside input
    bare, module, names = (median(times) for times in times_by_statement.values())
    return module - bare, names - bare


def command(folder: Path) -> tuple[float, float]:
    """Return the peak resident memory in MiB and the seconds of a whole ``python -m edge_sdk answer`` over 43,750
    values."""
    data = campaign(int(time.time()) - PERIOD, 2 * COMMANDS)
    campaign_hex = campaign_id(data).hex()
    (folder / "c.campaign").write_bytes(data)
    (folder / "author.pub").write_text(public_line(AUTHOR.public))
    run = [sys.executable, "-m", "edge_sdk", "--store", str(folder / "unit")]
    for arguments in (
        ["budget", "--lifetime", "1e5"],
        ["join", str(folder / "c.campaign"), "--trust", str(folder / "author.pub")],
        ["consent", campaign_hex],
    ):
        subprocess.run([*run, *arguments], stdout=subprocess.DEVNULL, check=True)  # noqa: S603  # no outside input
    measured = subprocess.run(  # noqa: S603  # no outside input
        [sys.executable, "-c", _PEAK, *run, "answer", campaign_hex, US_GRID.label(7)],
        stdout=subprocess.PIPE,
        check=True,
    )
    # Each answer has a different value, so each is charged.
    answers = [[*run, "answer", campaign_hex, US_GRID.label(8 + number)] for number in range(COMMANDS)]
    elapsed = median(
        timed(lambda run=run: subprocess.run(run, stdout=subprocess.DEVNULL, check=True))[0].wall  # noqa: S603  # no outside input
        for run in answers
    )
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes on macOS, and in kibibytes elsewhere
    return int(measured.stdout) * unit / 2**20, elapsed


# The peak of a new process begins at that of the process that started it, so a small process starts the command.
_PEAK = """
import os, sys
null = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
_, status, usage = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=null), 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def run() -> list[tuple[str, str]]:
    """Return table rows: (name, measured value with its target)."""
    with tempfile.TemporaryDirectory(dir=".") as directory:
        folder = Path(directory)
        full, unavoidable, (python, signatures) = answers(folder)
        repeated, new = growth(folder)
        module, names = imports()
        peak, elapsed = command(folder)
    return [
        (
            "Device.answer / (signature + commit + flush), median [at most 1.4]",
            f"{median(full) / median(unavoidable):.2f}",
        ),
        ("Device.answer / (signature + commit + flush), fastest", f"{min(full) / min(unavoidable):.2f}"),
        (
            "Device.answer, k = 43,750",
            f"{median(full) * 1e3:.2f} ms, of which {median(unavoidable) * 1e3:.2f} ms cannot be avoided",
        ),
        ("Python calls of an answer with a new value, k = 43,750; signatures", f"{python} and {signatures}"),
        ("growth of the store by an answer with a repeated output [at most 64 bytes]", f"{repeated:.0f} bytes"),
        ("growth of the store by an answer with a new value [at most 400 bytes]", f"{new:.0f} bytes"),
        ("time that `import edge_sdk` adds to the start of Python [at most 60 ms]", f"{module * 1e3:.0f} ms"),
        ("time that `from edge_sdk import BudgetPolicy, Device` adds to it", f"{names * 1e3:.0f} ms"),
        ("python -m edge_sdk answer, peak memory [at most 35 MiB]", f"{peak:.1f} MiB"),
        ("python -m edge_sdk answer, whole run [below 250 ms]", f"{elapsed * 1e3:.0f} ms"),
    ]
