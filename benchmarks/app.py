"""The phone app: the time until its first screen can be used, and the longest frame while a person answers.

Both are measured from outside the app, as a person would see them, on a separate display with software GL. The
length of a frame is the time until the next frame; a screen without changes draws no frames. The app's own work is the
CPU time of its window's thread during a frame, without other programs.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from edge_sdk import BudgetPolicy, Device
from protocol.domain import Buckets, Grid, Items, Values
from protocol.keys import public_line
from tests.demo_app.screen import PHONE, ROOT, Screen, display, surroundings
from tests.demo_app.test_session import tap
from tests.edge_sdk.conftest import AUTHOR, WEEK, campaign

STARTS = 5
MANY = tuple(f"Occupation number {number}" for number in range(500))
MICRO = 10**6
QUESTIONS = {
    "Education": ("six values", None),
    "Occupation": ("500 values", Values(MANY)),
    "Hours": ("a number", Buckets.of([0, 10, 20, 40, 60])),
    "Where": ("a map", Grid(45 * MICRO, 56 * MICRO, 5 * MICRO, 16 * MICRO, MICRO)),
    "Shopping": ("a set", Items(2, ("tea", "coffee", "milk", "bread", "soap", "newspaper"))),
}
"""For each campaign the kind of its answer, as the rows name it, and its domain; None is the usual one."""


def phone(folder: Path) -> Path:
    """Create the store of a device that agreed to five campaigns, and return its folder."""
    store = folder / "phone"
    with Device.open(store, [AUTHOR.public], BudgetPolicy(lifetime=100.0)) as device:
        for title, (_, domain) in QUESTIONS.items():
            opens = int(time.time()) - WEEK // 2
            data = campaign(title, domain, opens=opens, periods=2, period_seconds=WEEK)
            device.consent(device.join(data).campaign_id)
    (folder / "analyst.pub").write_text(public_line(AUTHOR.public), encoding="utf-8")
    return store


def cold(number: str, folder: Path, store: Path) -> float:
    """Return the seconds from the start of the process until the first screen was drawn."""
    run = [sys.executable, "-m", "demo_app", "--store", str(store), "--ready"]
    start = time.perf_counter()
    environment = surroundings(number, str(folder))
    with subprocess.Popen(run, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as running:  # noqa: S603
        line = "" if running.stdout is None else running.stdout.readline()
        seconds = time.perf_counter() - start
        running.terminate()
    if line.strip() != "ready":
        raise RuntimeError(
            "the app ended before its first screen was ready: expected the line 'ready'; its own error is above"
        )
    return seconds


def frames(number: str, store: Path) -> dict[str, tuple[float, float]]:
    """Return (seconds of the longest frame, seconds of the window's own work in the busiest frame) while each campaign
    is answered, by its title."""
    frame_seconds = {}
    with Screen(number, "demo_app", "--store", store, "--language", "en", size=PHONE) as screen:
        screen.wait("campaigns:page")
        time.sleep(2)  # the app loads its other screens meanwhile
        with screen.drawn():
            for title, choose in {
                "Education": lambda: screen.tap("choice:primary"),
                "Occupation": lambda: screen.tap("choice:Occupation number 2"),
                "Hours": lambda: screen.tap("number:track", (0.6, 0.5)),
                "Where": lambda: screen.tap("map", (0.5, 0.5)),
                "Shopping": lambda: screen.tap("items:tea"),
            }.items():
                tap(screen, "place:campaigns")
                screen.longest_frame()
                screen.busiest_frame()
                tap(screen, f"campaign:{title}")
                choose()
                tap(screen, "next")
                tap(screen, "make")
                screen.idle()
                frame_seconds[title] = screen.longest_frame(), screen.busiest_frame()
    return frame_seconds


def run() -> list[tuple[str, str]]:
    """Return table rows: (name, measured value with its target)."""
    with tempfile.TemporaryDirectory() as directory, display() as number:
        folder = Path(directory)
        store = phone(folder)
        empty = statistics.median(cold(number, folder, folder / "new") for _ in range(STARTS))
        full = statistics.median(cold(number, folder, store) for _ in range(STARTS))
        longest = frames(number, store)
    return [
        ("cold start to the first screen, a new device [below 2 s]", f"{empty:.2f} s"),
        ("cold start to the first screen, five campaigns [below 2 s]", f"{full:.2f} s"),
        *(
            (
                f"longest frame for a question with {question} [at most 100 ms]",
                f"{longest[title][0] * 1e3:.0f} ms; the app's own work was at most "
                f"{longest[title][1] * 1e3:.0f} ms in a frame",
            )
            for title, (question, _) in QUESTIONS.items()
        ),
    ]
