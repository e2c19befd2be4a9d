"""The noun for counted outputs: outputs if a report may have several, reports if each report has one."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from aggregator.author.audit import audit, levels_request
from aggregator.author.lint import lint
from aggregator.author.trade_off import trade_offs
from aggregator.campaign_facts import counted_noun, counted_text
from aggregator.estimate.forgeries import find_forgeries
from aggregator.families.registry import decoder_of
from aggregator.present.listing import audit_table
from aggregator.present.page_promise import promise_section
from aggregator.present.trade_off_plot import draw_trade_offs
from tests.aggregator.command import printed, run
from tests.aggregator.fleet import campaign, report, study
from tests.aggregator.test_present_estimate import printed as printed_table

ANSWERS = 24
SINGLE, BUNDLES = campaign(periods=400), campaign(answers=ANSWERS, periods=400)
DRAFT = """
title = "Load"
question = "Load?"
organisation = "O"
[domain]
kind = "number"
low = 0
high = 15
[privacy]
notion = "ldp"
epsilon = 1.0
[views]
resolutions = [[4, 0.5], [1, 0.5]]
[schedule]
opens = 2027-01-01
closes = 2027-02-01
answers_per_period = {answers}
"""
NUMBERED_REPORTS = re.compile(r"\d (forged )?reports?\b|\breports? counts for\b")


@pytest.fixture
def lib(tmp_path, monkeypatch):
    """A study that counted one report with 24 outputs."""
    monkeypatch.setattr("time.time", lambda: BUNDLES.campaign.opens + 3600)
    made = study(tmp_path / "lib", BUNDLES, [0])
    batch = tmp_path / "bundle.htr"
    batch.write_bytes(report(0, BUNDLES, *(slot % 16 for slot in range(ANSWERS))))
    result = json.loads(run("--study", made.path, "ingest", batch, "--json").stdout)
    assert (result["read"], result["accepted"]) == (1, 1)
    return made.path


def test_the_noun_is_that_of_the_campaign():
    """A report with one output is a report; if a report may have several, outputs are counted."""
    assert (counted_noun(SINGLE.campaign), counted_noun(BUNDLES.campaign)) == ("report", "output")
    assert counted_text(1, SINGLE.campaign) == "1 report"
    assert counted_text(2400, BUNDLES.campaign) == "2,400 outputs"


def test_the_status_names_what_it_counts(lib, tmp_path):
    """The status of a study with bundles has a column of outputs, and without them one of reports; the JSON keeps its
    key."""
    table = printed("--study", lib, "status")
    assert " outputs " in table
    assert " reports " not in table
    assert json.loads(run("--study", lib, "status", "--json").stdout)[0]["outputs"] == ANSWERS
    single = study(tmp_path / "single", SINGLE).path
    assert " reports " in printed("--study", single, "status")
    assert "noun" not in run("--study", single, "status", "--json").stdout


def test_an_estimate_states_its_outputs_and_their_influence(lib, tmp_path):
    """Table, one number and page of 24 outputs in one report say outputs, and never "24 reports"."""
    table = " ".join(printed("--study", lib, "estimate", "education").split())
    assert "24 outputs of 1 device" in table
    assert "one forged output counts for at most" in table
    assert "if 1 of 24 outputs (4.2%) were forged" in table
    number = printed("--study", lib, "estimate", "education", "--value", "3")
    assert "24 outputs" in number
    page = tmp_path / "page.html"
    run("--study", lib, "estimate", "education", "--report", page)
    words = re.sub(r"<[^>]*>", " ", page.read_text(encoding="utf-8"))
    assert "A report may have up to 24 perturbed answers, its outputs." in words
    assert "A forged output, from somebody with a valid key," in words
    for text in (table, number, words):
        assert not NUMBERED_REPORTS.search(text)
    refused = printed("--study", lib, "estimate", "education", "--forged", "25", code=2)
    assert "--forged must be at most the number of outputs, 24, not 25" in " ".join(refused.split())


def test_an_export_names_what_it_counts(lib, tmp_path):
    """The line about an exported file has the number of outputs."""
    assert ", 24 outputs in 1 period" in printed("--study", lib, "export", "education", "--out", tmp_path / "out.csv")


def test_an_audit_names_the_largest_number_of_outputs_in_a_report():
    """The influence in an audit is that of one output, beside the largest number of them in a report."""
    bundles, single = (
        " ".join(printed_table(audit_table(audit(one.campaign, levels_request(one.campaign)))).split())
        for one in (BUNDLES, SINGLE)
    )
    assert re.search(r"one output counts for at most \d+\.\d people; a report may have up to 24 outputs", bundles)
    assert "expected squared error of n outputs" in bundles
    assert re.search(r"before one output, and at most \d+\.\d% after it", bundles)
    assert re.search(r"one report counts for at most \d+\.\d people error", single)
    assert "expected squared error of n reports" in single
    assert re.search(r"before one report, and at most \d+\.\d% after it", single)


def test_a_page_and_a_picture_promise_one_output(lib, tmp_path, monkeypatch):
    """The levels, the odds and the best tests of a campaign with bundles are those of one output; without bundles, of
    one report."""
    bundles, single = (
        " ".join(re.sub(r"<[^>]*>", " ", "".join(promise_section(audit(one.campaign)))).split())
        for one in (BUNDLES, SINGLE)
    )
    assert "Each perturbed answer in a report is called an output. The numbers below are for one output," in bundles
    assert "output," not in single
    for text, noun in ((bundles, "output"), (single, "report")):
        assert f"One {noun} raises the probability of either to at most" in text
        assert f"and all {noun}s of one device raise it to at most" in text
        assert f"one {noun} is at most e^L times as likely" in text
        assert f"the best tests of one {noun}" in text
        assert f"Suppose somebody sees one {noun}" in text
    page = tmp_path / "page.html"
    run("--study", lib, "estimate", "education", "--report", page)
    assert "how much a single output may reveal. All outputs together give the shares" in page.read_text("utf-8")
    titles = []
    monkeypatch.setattr("aggregator.present.trade_off_plot.save", lambda figure, _: titles.append(figure.axes[0]))
    for one in (BUNDLES, SINGLE):
        draw_trade_offs(trade_offs(one.campaign), one.campaign, tmp_path / "tests.png")
    assert [axes.get_title(loc="left").split(":")[0] for axes in titles] == [
        "Best tests of one output",
        "Best tests of one report",
    ]


def test_warnings_name_what_is_counted():
    """The warnings about a large influence and about forgeries say outputs."""
    heavy = campaign(64, answers=ANSWERS).campaign
    assert any(line.startswith("one output counts for at most") for line in lint(heavy))
    counts = np.array([2000] + [0] * 15)
    (found, *_) = find_forgeries(decoder_of(BUNDLES.campaign.channel), counts, 2000, 100, 20, "output")
    assert found.endswith("of the outputs look forged")


def test_a_plan_names_the_outputs_of_bundles(tmp_path):
    """The plan of a draft with several answers in a period, and the table of its views, have people per output."""
    draft = tmp_path / "draft.toml"
    for answers, noun in ((1, "report"), (ANSWERS, "output")):
        draft.write_text(DRAFT.format(answers=answers))
        plan = " ".join(printed("plan", draft).split())
        assert plan.count(f"people per {noun}") == 2  # the explanation of the head, and the table of views
        assert f"the largest number of people that one forged {noun} counts for" in plan
        assert f", 10,000 {noun}s" in plan
