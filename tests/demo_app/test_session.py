"""A person's whole session on a phone's screen with a running study; it ends in an estimate that counts the person."""

from __future__ import annotations

import contextlib
import csv
import datetime
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from aggregator.cli.group import halftruth
from tests.demo_app.screen import PATIENCE, PHONE, ROOT, SHOTS, Screen, display

PEOPLE = {"none": 20, "primary": 30, "secondary": 40, "bachelor": 25}
"""Simulated neighbours, so that there are enough reports for an estimate."""

DRAFT = """
title = "Highest education"
question = "What is the highest level of education you have completed?"
purpose = "Plan evening classes."
organisation = "Town library"
[domain]
kind = "values"
values = ["none", "primary", "secondary", "bachelor", "master", "doctorate"]
[privacy]
notion = "ldp"
epsilon = 1.0
[schedule]
opens = {opens}
closes = {closes}
period_days = 30
[limits]
minimum_reports = 100
"""
COMMAND = [sys.executable, "-c", "import sys; from aggregator.cli import main; sys.exit(main())"]


def run_halftruth(*arguments: object) -> str:
    """Run a `halftruth` command in the test's current folder; return its output."""
    done = CliRunner().invoke(halftruth, ["--study", "lib", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.stdout


@contextlib.contextmanager
def received(folder: Path):
    """Yield the address of a study's service, which runs in a separate process."""
    run = [*COMMAND, "--study", "lib", "receive", "--listen", "127.0.0.1:0"]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    surroundings = os.environ | {"PYTHONPATH": path}
    with subprocess.Popen(run, cwd=folder, env=surroundings, stdout=subprocess.PIPE, text=True) as running:
        try:
            found = re.search(r"http://[0-9.:]+", running.stdout.readline())
            assert found, "the service did not print its address"
            yield found[0]
        finally:
            running.send_signal(signal.SIGTERM)
            running.wait(PATIENCE)


@pytest.fixture
def author_folder(tmp_path, monkeypatch):
    """Return a folder with an author's keys, a signed campaign and a study of it; it is the test's current folder."""
    monkeypatch.chdir(tmp_path)
    today = datetime.datetime.now(datetime.UTC).date()
    days = [today + datetime.timedelta(days=shift) for shift in (-1, 59)]
    (tmp_path / "education.toml").write_text(DRAFT.format(opens=days[0], closes=days[1]), encoding="utf-8")
    run_halftruth("keygen", "analyst")
    run_halftruth("campaign", "education.toml", "--key", "analyst.key", "--out", "education.campaign")
    run_halftruth("import", "education.campaign", "--trust", "analyst.pub")
    return tmp_path


def tap(screen: Screen, name: str) -> None:
    """Touch a widget once the screen is complete, and wait for the result."""
    screen.idle()
    screen.tap(name)
    screen.idle()


def test_a_session_ends_in_an_estimate_that_counts_the_person(author_folder):
    """A person pastes a link, and joins, agrees, answers, views, sends, checks and forgets by touch; the estimate has
    one report more."""
    with (
        display() as number,
        received(author_folder) as url,
        Screen(
            number, "demo_app", "--store", author_folder / "phone", "--address", url, size=PHONE, shots=SHOTS
        ) as screen,
    ):
        shot = iter(range(1, 100))
        closes = json.loads(run_halftruth("inspect", "education.campaign", "--json"))["closes"]
        last = (datetime.datetime.fromisoformat(closes) - datetime.timedelta(seconds=1)).astimezone()

        def keep(name: str) -> None:
            screen.shot(f"session-{next(shot):02}-{name}")

        screen.wait("add")
        keep("welcome")
        tap(screen, "add")
        tap(screen, "show")
        keep("offers")
        # No author is trusted yet, so the study's statement alone admits nothing.
        tap(screen, "offer:Highest education")
        screen.wait("question")
        keep("unknown-author")
        tap(screen, "refuse")
        link = json.loads(run_halftruth("invite", "education", "--address", url, "--json"))
        screen.fill("link", link["link"])
        keep("link")
        tap(screen, "follow")
        screen.wait("question")
        keep("link-asked")
        assert any(link["host"] in text for text in screen.texts())
        tap(screen, "agree")
        screen.wait("values")
        keep("terms")
        sentence = "A report is at most 2.8 times as likely with your answer as with any other."
        assert screen.read("promise", "text") == sentence
        assert "Town library asks" in screen.texts()
        tap(screen, "join")
        keep("consent")
        assert any(f"until {last.day} {last:%B %Y}." in text for text in screen.texts())
        tap(screen, "agree")
        keep("question")
        tap(screen, "choice:secondary")
        keep("chosen")
        tap(screen, "next")
        keep("chances")
        assert screen.read("answer", "text") == "secondary"
        tap(screen, "make")
        keep("bytes")
        shown, introduced = screen.read("bytes", "text"), screen.read("bytes:1", "text")
        assert screen.read("total", "text") == "The 240 bytes that are sent"
        assert screen.read("meaning", "text").startswith("This report ")
        tap(screen, "send")
        screen.wait("outcome")
        keep("sent")
        assert screen.read("outcome", "text") == "Everything you sent has arrived."
        assert counts() == 1

        tap(screen, "done")
        tap(screen, "place:history")
        tap(screen, "counted:Highest education")
        keep("counted")
        assert any("The organisation has counted the report." in text for text in screen.texts())

        tap(screen, "place:budget")
        keep("budget")
        tap(screen, "place:history")
        tap(screen, "forget:Highest education")
        screen.wait("question")
        keep("forget")
        tap(screen, "agree")
        tap(screen, "place:campaigns")
        keep("forgotten")
        assert not screen.seen("campaign:Highest education")
        assert screen.close() == 0

    assert [len(bytes.fromhex("".join(strip(text)))) for text in (shown, introduced)] == [106, 134]
    with (author_folder / "counts.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("value", "count"), *PEOPLE.items()])
    run_halftruth("simulate", "education.campaign", "--truth", "counts.csv", "--seed", 1, "--out", "batch.htr")
    assert json.loads(run_halftruth("ingest", "batch.htr", "--json"))["accepted"] == sum(PEOPLE.values())
    estimate = json.loads(run_halftruth("estimate", "education", "--json"))
    assert estimate["reports"] == sum(PEOPLE.values()) + 1
    assert sum(value["estimate"] for value in estimate["values"]) == pytest.approx(1)


def counts() -> int:
    """Ingest the uploads; return the number of accepted reports."""
    done = json.loads(run_halftruth("ingest", "--json"))
    assert done["read"] == done["accepted"]
    return done["accepted"]


def strip(marked: str) -> list[str]:
    """Return the bytes in the screen's text, without its formatting."""
    return re.sub(r"\[[^\]]*\]", "", marked).split()
