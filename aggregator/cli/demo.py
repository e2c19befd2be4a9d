"""The command demo: a session on real answers, each step a command that is printed before it runs."""

from __future__ import annotations

import contextlib
import datetime
import os
import shlex
import sys
import textwrap
import time
import webbrowser
from pathlib import Path
from typing import Any

import click

from aggregator import demo as demonstration
from aggregator.cli import printing
from aggregator.cli.failure import FAILED, Failure
from aggregator.cli.group import halftruth
from aggregator.estimate.distribution import total_variation
from aggregator.estimate.result import Estimate
from aggregator.invite.invitation import invite
from aggregator.receive import inbox
from aggregator.receive.app import application
from aggregator.receive.server import bind, serve, server, url
from aggregator.study import Study
from aggregator.truth_file import read_truth
from protocol.domain import Line

LINE = 105
"""Maximum length of a line of the explanations."""


@halftruth.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="demo-output",
    show_default=True,
    help="Folder in which a new folder for the session's files is made.",
)
@click.option(
    "--page",
    is_flag=True,
    help="Make a small study and serve its page on this machine, instead of running the session.",
)
def demo(out: Path, page: bool) -> None:
    """Run a complete session: a survey with the real answers of 48,842 people (UCI Adult), and an attack on it.

    With --page, serve the web page of a small study until ctrl-C, and open it in a browser if possible; then count the
    answers from the page together with those of simulated people.
    """
    folder = out / time.strftime("%Y%m%d-%H%M%S")
    today = datetime.datetime.now(datetime.UTC).date()
    month = datetime.timedelta(days=30)
    days = str(today - month), str(today + month)
    if page:
        _serve_page(folder, *days)
        return
    demonstration.write_inputs(folder, *days)
    printing.say(f"The commands below run in {folder}, and their files are kept there.")
    with contextlib.chdir(folder):
        _author_and_answer()
        without = _estimate("education")
        _attack()
        _again_with_a_prior()
        with_prior = _estimate("education-lip")
        _compare(without, with_prior)
        _ask_a_number()
    pictures = ", ".join(str(folder / f"{name}.png") for name in ("poster", "education", "education-lip", "age"))
    printing.say(f"\nPictures: {pictures}")
    printing.say("docs/GLOSSARY.md explains the words in the tables, such as nat, LDP and projection.")
    printing.say("With `make page`, or `halftruth demo --page`, you answer such a question yourself, in a browser.")


def _serve_page(folder: Path, *days: str) -> None:
    """Make a study with a page, and serve it on this machine until interrupted."""
    with bind("127.0.0.1:0") as listening:
        demonstration.write_page_inputs(folder, url(listening, None), *days)
        printing.say(f"The commands below run in {folder}, and their files are kept there.")
        with contextlib.chdir(folder):
            _explain(
                "An analyst writes a question that anybody may answer. Some simulated people have already answered."
            )
            _run("keygen", "analyst")
            _sign("education")
            _run("simulate", "education.campaign", "--truth", "counts.csv", "--out", "batch.htr")
            _run("--study", "lib", "ingest", "batch.htr")
            study = Study.open(Path("lib"))
            inbox.prepare(study.path)
            link = invite(study.campaign("education"), int(time.time()))
            running = server(application(study))
            _explain(
                "Answer on the page, then press ctrl-C: your report is counted with those of the simulated people."
            )
            printing.say(str(link))
            _open(str(link))
            serve(running, listening)
            _explain("The uploads are counted.")
            _run("--study", "lib", "ingest")
            _run("--study", "lib", "estimate", "education", "--truth", "counts.csv")


def _open(link: str) -> None:
    """Open a link in a graphical browser, if there is one; a text browser would occupy this terminal."""
    if sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(link)


def _sign(name: str) -> None:
    """Sign the draft with the given name, and import its campaign."""
    _run("campaign", f"{name}.toml", "--key", "analyst.key", "--out", f"{name}.campaign")
    _run("--study", "lib", "import", f"{name}.campaign", "--trust", "analyst.pub")


def _answer(name: str, truth: str, batch: str, keys: str) -> None:
    """Simulate the devices of a campaign; register their keys, and ingest their reports."""
    _run("simulate", f"{name}.campaign", "--truth", truth, "--out", batch, "--keys", keys)
    _run("--study", "lib", "enrol", keys)
    _run("--study", "lib", "ingest", batch)


def _author_and_answer() -> None:
    _explain("An analyst writes a question and signs it as a campaign. The audit computes its privacy level.")
    _run("keygen", "analyst", "--name", "Town library")
    _sign("education")
    _explain("A poster invites people: a link and its QR code, the question and the privacy promise.")
    _run("--study", "lib", "invite", "education", "--out", "poster.png")
    _explain(
        "48,842 people answer, each with their own key and random numbers. Devices perturb answers before sending them."
    )
    _answer("education", "counts.csv", "batch.htr", "devices.pub")


def _estimate(campaign: str) -> Estimate:
    _explain("The analyst estimates the shares from the perturbed answers, and compares them with the true shares.")
    words = ("estimate", campaign, "--truth", "counts.csv", "--plot", f"{campaign}.png")
    estimate: Estimate = _run("--study", "lib", *words)
    return estimate


def _attack() -> None:
    _explain(
        "An attacker uploads copies of reports, random bytes, and reports that are altered, signed with an unknown "
        "key, too late, or over the quota."
    )
    signed = Study.open(Path("lib")).campaign("education")
    attack = demonstration.attack(signed, Path("batch.htr").read_bytes())
    Path("attack.htr").write_bytes(attack.batch)
    Path("attacker.pub").write_bytes(attack.enrolments)
    _run("--study", "lib", "enrol", "attacker.pub")
    before = Study.open(Path("lib")).tally(signed)
    result = _run("--study", "lib", "ingest", "attack.htr")
    after = Study.open(Path("lib")).tally(signed)
    if result.refused != attack.expected or result.accepted:
        raise Failure(f"the attack was refused as {result.refused}; expected {attack.expected}", FAILED)
    if (before.counts != after.counts).any():
        raise Failure("the attack changed the tally, so an estimate would change too", FAILED)
    _explain(
        f"All {result.read:,} items are refused, each with a recorded reason; the tally and the estimate have "
        "not changed."
    )


def _again_with_a_prior() -> None:
    _explain(
        "An earlier survey published shares. The same question is asked again under local information privacy (LIP), "
        "which limits how much a report changes the probability of an answer. The public prior is the published shares."
    )
    _sign("education-lip")
    _answer("education-lip", "counts.csv", "lip.htr", "lip.pub")


def _compare(without: Estimate, with_prior: Estimate) -> None:
    domain = without.campaign.domain
    truth = read_truth(Path("counts.csv"), domain).shares(domain)
    before, after = (f"{total_variation(estimate.share, truth):.2%}" for estimate in (without, with_prior))
    _explain(
        f"Distance from the truth (half the sum of the absolute differences): {before} without a prior, "
        f"{after} with one. Most of the difference comes from the prior, which is nearly right here. More reports do "
        "not correct a wrong prior; a warning says if the reports contradict it."
    )


def _ask_a_number() -> None:
    _explain(
        "The same people are asked for a number: their age. Each report is a random number; the "
        "numbers near the age are the most likely."
    )
    _sign("age")
    _answer("age", "ages.csv", "age.htr", "age.pub")
    _explain(
        "The first command prints estimated and true quantiles, the mean and shares of age groups, and draws them. "
        "The second command prints three quantiles, the mean and shares of other age groups."
    )
    estimate: Estimate = _run("--study", "lib", "estimate", "age", "--truth", "ages.csv", "--plot", "age.png")
    statistics = _run(
        "--study", "lib", "estimate", "age", "--quantiles", ".1,.5,.9", "--mean", "--bins", "25,35,45,55,65"
    )
    domain = estimate.campaign.domain
    if not isinstance(domain, Line):
        raise TypeError(
            f"the demonstration's campaign of ages must have a domain of kind number, not {domain.kind}: "
            "correct age_draft"
        )
    truth = read_truth(Path("ages.csv"), domain).shares(domain)
    ages = [float(point) for point in domain.points]
    below = truth.cumsum()
    printing.say("\nTrue and estimated values:")
    for quantile in statistics.quantiles:
        age = domain.label(int((below < quantile.p).sum()))
        name = "median" if quantile.p == 0.5 else f"quantile {quantile.p:g}"
        printing.say(f"  {name:12} {age} years; estimated {quantile.value}, from {quantile.low} to {quantile.high}")
    mean = sum(age * share for age, share in zip(ages, truth, strict=True))
    answer = statistics.mean
    printing.say(
        f"  {'mean':12} {mean:.1f} years; estimated {answer.estimate:.1f}, from {answer.low:.1f} to {answer.high:.1f}"
    )


def _explain(text: str) -> None:
    """Print a paragraph, in lines that fit the terminal."""
    printing.say(f"\n{textwrap.fill(text, min(printing.console().width, LINE))}\n")


def _run(*words: str) -> Any:
    """Print a command as a user would type it, run it in this process, and return its result."""
    printing.say(f"$ halftruth {shlex.join(words)}")
    return halftruth.main(list(words), prog_name="halftruth", standalone_mode=False)
