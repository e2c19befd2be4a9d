"""The demonstration counts all people, refuses every attack for its reason, and draws three pictures and a poster."""

import dataclasses
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from aggregator import demo
from aggregator.cli import printing
from aggregator.cli.demo import _explain
from aggregator.cli.group import halftruth


def require_shown(printed: str, folder: Path, people: int, aged: int) -> None:
    """Assert that a demonstration shows correct results.

    All people are counted both times, together and by age, and no attack is counted. The prior improves the estimate.
    The true median age is 37, and the interval of the median contains the estimate.
    """
    accepted = re.findall(r"^accepted +([\d,]+)$", printed, re.MULTILINE)
    assert accepted == [f"{people:,}"] * 2 + [f"{aged:,}"]
    ((truth, *estimated),) = re.findall(r"median +(\d+) years; estimated (\d+), from (\d+) to (\d+)", printed)
    assert truth == "37"
    age, low, high = map(int, estimated)
    assert low <= age <= high
    assert printed.count(f"{demo.ATTACKS} refused") == 6
    assert "the tally and the estimate have not changed" in " ".join(printed.split())
    without, with_prior = map(float, re.findall(r"([\d.]+)%\s+with", printed)[-2:])
    assert with_prior < without
    (made,) = folder.iterdir()
    for picture in ("poster.png", "education.png", "education-lip.png", "age.png"):
        assert (made / picture).read_bytes().startswith(b"\x89PNG")


def test_the_demonstration_runs_to_its_end(tmp_path, monkeypatch):
    """With a sixteenth of the people, every report and no attack is counted, and the prior reduces the error.

    The prior is 1% off in total variation, and the estimate depends mostly on it. Without the prior the total variation
    distance is about 25%: half the sum of sixteen absolute errors, each with a standard error of about four percentage
    points. The error with the prior is the smaller one except with a probability far below 1e-6.
    """
    fewer = {}
    for column in ("education", "age"):
        all_people = demo.public_counts(column)
        fewer[column] = dataclasses.replace(all_people, counts=tuple(-(-count // 16) for count in all_people.counts))
    monkeypatch.setattr(demo, "public_counts", lambda column="education": fewer[column])
    ran = CliRunner().invoke(halftruth, ["demo", "--out", str(tmp_path)], catch_exceptions=False)
    assert ran.exit_code == 0
    require_shown(ran.output, tmp_path, *(sum(counts.counts) for counts in fewer.values()))


def test_an_explanation_fits_a_narrow_terminal(monkeypatch, capsys):
    """The lines of an explanation are not longer than those of the terminal."""
    monkeypatch.setattr(printing, "console", lambda: Console(width=40))
    _explain("An analyst writes a question and signs it as a campaign. " * 3)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 40


@pytest.mark.long
def test_the_demonstration_of_all_people_runs_to_its_end(tmp_path):
    """With all 48,842 people, in a separate process, every report and no attack is counted, and the prior reduces the
    error.

    Without the prior, the total variation distance is about 6%.
    """
    halftruth = Path(sys.executable).with_name("halftruth")
    ran = subprocess.run([halftruth, "demo", "--out", tmp_path], capture_output=True, text=True, check=True)
    require_shown(ran.stdout, tmp_path, 48_842, 48_842)


def test_the_people_are_those_of_the_data_set():
    """The packaged counts are the 48,842 people of the data set, 16,281 of them in its second file."""
    for column, size in (("education", 16), ("age", 74)):
        counts = demo.public_counts(column)
        assert (len(counts.values), sum(counts.counts), sum(counts.published)) == (size, 48_842, 16_281)


def test_a_page_is_served_until_it_is_stopped(tmp_path):
    """`demo --page` prints a link to a page; when stopped, it counts the reports received so far and ends with exit
    code 0."""
    halftruth = Path(sys.executable).with_name("halftruth")
    environment = os.environ | {"DISPLAY": "", "WAYLAND_DISPLAY": ""}
    words = [halftruth, "demo", "--page", "--out", tmp_path]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as running:
        link = next(line for line in running.stdout if re.match(r"http://127\.0\.0\.1:\d+/s/[0-9a-f]{32}#k=", line))
        with urllib.request.urlopen(link.strip()) as answered:  # noqa: S310  # a service on loopback
            page = answered.read().decode()
        running.send_signal(signal.SIGINT)
        rest = running.stdout.read()
    assert running.returncode == 0
    assert "<title>Highest education</title>" in page
    assert f"{sum(count // demo.PAGE_DIVISOR for count in demo.public_counts().counts):,} reports" in rest
