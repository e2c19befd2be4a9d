"""The demonstration says what it shows, and shows it: all people, every attack in its class, two pictures."""

import re
import subprocess
import sys
from pathlib import Path

from aggregator.demo import ATTACKS, people


def test_the_demonstration_runs_to_its_end(tmp_path):
    """48,842 people are counted twice over, no attack is, and the prior brings the estimate nearer to the truth.

    The prior is 1% off in total variation and the estimate leans on it; without it, sixteen standard errors of about
    one percentage point add up to about 6%. With chance far below 1e-6 the second is not the smaller one.
    """
    halftruth = Path(sys.executable).with_name("halftruth")
    ran = subprocess.run([halftruth, "demo", "--out", tmp_path], capture_output=True, text=True, check=True)
    assert len(re.findall(r"^accepted +48,842$", ran.stdout, re.MULTILINE)) == 2
    assert ran.stdout.count(f"{ATTACKS} refused") == 6
    assert "the tally, and so the estimate, has not moved" in ran.stdout
    without, with_prior = map(float, re.findall(r"([\d.]+)% with", ran.stdout)[-2:])
    assert with_prior < without
    (folder,) = tmp_path.iterdir()
    for picture in ("education.png", "education-lip.png"):
        assert (folder / picture).read_bytes().startswith(b"\x89PNG")


def test_the_people_are_those_of_the_data_set():
    """The packaged counts are the 48,842 people of the data set, 16,281 of them in its second file."""
    counts = people()
    assert (len(counts.values), sum(counts.counts), sum(counts.published)) == (16, 48_842, 16_281)
