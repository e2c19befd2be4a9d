"""Properties of the analyst's commands: trends, comparisons, exports and completion, from signed reports to printed
output."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise

import click
import numpy as np
import pyarrow.parquet as pq
import pytest
from click.shell_completion import ShellComplete

from aggregator.cli.commands import COMMANDS
from aggregator.cli.completion import SHELLS, VARIABLE
from aggregator.cli.group import halftruth
from aggregator.estimate.classes import campaign_of_class
from aggregator.estimate.estimator import estimate
from aggregator.estimate.groups import GROUPS, Groups
from aggregator.estimate.query import weighted_mean
from aggregator.estimate.tally import Tally, ViewsTally
from aggregator.estimate.transcript import TranscriptTally
from aggregator.families.bits import recipe as unary
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.response.recipe import randomized_response
from aggregator.intake.ingest import ingest
from aggregator.present.page import digest
from aggregator.present.shown_changes import percentage_points
from aggregator.present.trends import trend_line
from aggregator.storage.tables import StudyError
from aggregator.study import Study
from protocol import personal
from protocol.campaign import Campaign, open_campaign, seal_campaign
from protocol.channels import Blocks
from protocol.domain import DITHER_BYTES, Grid, Items, NumberRange, Values
from protocol.exact import NANONATS
from protocol.keys import SigningKey, key_id
from protocol.notions import Ldp, Lip
from protocol.notions.classes import Classes
from protocol.notions.declared_prior import DeclaredPrior
from protocol.notions.transcript import TranscriptPrior
from protocol.personal import lip_response
from protocol.report import Enrolment, Report, pack
from protocol.views import plain_views
from tests.aggregator.command import invalid_command_lines, require_one_clear_line, run
from tests.aggregator.forked import dask_processes

AUTHOR = SigningKey(bytes([9]) * 32)
OPENS, WEEK = 1_800_000_000 - 1_800_000_000 % 86_400, 604_800
LABELS = ("none", "primary", "secondary", "bachelor")
PNG = b"\x89PNG"


def campaign(channel=None, **changes):
    fields = {
        "title": "Education", "question": "Which?", "purpose": "", "organisation": "Library",
        "domain": Values(LABELS), "notion": Ldp(NANONATS), "mechanism": "any",
        "views": plain_views(channel or randomized_response(4, NANONATS)), "opens": OPENS, "closes": OPENS + 6 * WEEK,
        "period_seconds": WEEK, "answers_per_period": 1, "minimum_devices": 20, "enrolment": "open",
    }  # fmt: skip
    campaign = Campaign(**{**fields, **changes})
    return open_campaign(seal_campaign(campaign, AUTHOR), [AUTHOR.public])


def classes():
    channels = (randomized_response(4, NANONATS), hadamard(4, NANONATS))
    notion = Classes.of((Ldp(NANONATS), Ldp(NANONATS)))
    return campaign(notion=notion, channel=Blocks(0, ((1, 4), (2, 4)), channels), classes=("town, north", "village"))


class Fleet:
    """Devices of a campaign and their reports, stored as rows of device, period, slot and output."""

    def __init__(self, signed, seed=1):
        self.signed, self.rng, self.rows, self.envelopes = signed, np.random.default_rng(seed), [], []
        self.sent = 0
        self.keys, self.priors = {}, {}

    def key(self, device):
        if device not in self.keys:
            key = SigningKey.for_campaign(device.to_bytes(32, "big"), self.signed.id)
            prior = None
            if isinstance(self.signed.campaign.notion, DeclaredPrior):
                prior = personal.canonical_prior([1 + device % 3, 2, 3, 4])
            self.keys[device], self.priors[device] = key, prior
            self.envelopes.append(Enrolment(self.signed.id, key.public, prior).seal(key))
        return self.keys[device]

    def send(self, device, period, *outputs, slot=0):
        key = self.key(device)
        packed = pack(outputs, self.signed.campaign.channel.output_bits)
        self.envelopes.append(Report(self.signed.id, period, slot, len(outputs), packed).seal(key))
        self.sent += 1
        self.rows += [(device, period, slot + at, output) for at, output in enumerate(outputs)]

    def into(self, study, tmp_path):
        file = tmp_path / f"{self.signed.id.hex()}.htr"
        file.write_bytes(b"".join(self.envelopes))
        result = ingest(study, [file], now=self.signed.campaign.closes - 1, threads=1)
        assert (result.accepted, result.refused) == (self.sent, {})


def group_of(fleet, device):
    """Return the group of a device, from the key id in its reports."""
    return int.from_bytes(key_id(fleet.key(device).public), "big", signed=True) & (GROUPS - 1)


def study_of(path, *named):
    made = Study.create(path)
    for name, signed in named:
        made.import_campaign(signed.data, [AUTHOR.public], name)
    return made


@pytest.fixture(scope="module")
def survey_folder(tmp_path_factory):
    """A folder with a study, ``lib``, of two campaigns with the same question and of one with classes; in the first
    campaign people change from value 2 to 3 over five periods."""
    folder = tmp_path_factory.mktemp("survey")
    plain, other, of_classes = campaign(), campaign(title="Education, again"), classes()
    study = study_of(folder / "lib", ("education", plain), ("again", other), ("classes", of_classes))
    fleet = Fleet(plain)
    for device in range(150):
        for period in (0, 1, 2, 4):
            x = 3 if device % 4 == 3 or (device % 4 == 2 and device < 25 * period) else device % 4
            fleet.send(device, period, x)
    fleet.send(999, 3, 0)
    fleet.into(study, folder)
    fleet = Fleet(other)
    for device in range(120):
        fleet.send(device, 0, (0, 0, 1, 2, 3, 3)[device % 6])
    fleet.into(study, folder)
    fleet = Fleet(of_classes)
    for device in range(100):
        fleet.send(
            device,
            device % 2,
            device % 3 if device < 60 else 4 + device % of_classes.campaign.channel.channels[1].output_count,
        )
    fleet.into(study, folder)
    return folder


def in_study(folder, *words, code=0):
    return run("--study", folder / "lib", *words, code=code)


# Groups of devices, from the study


OUTPUTS = {
    "response": (campaign(answers_per_period=4), lambda rng: int(rng.integers(4))),
    "bits": (campaign(channel=unary.oue(4, NANONATS), answers_per_period=4), lambda rng: int(rng.integers(16))),
    "own": (
        campaign(
            notion=DeclaredPrior(NANONATS, 4),
            channel=DeclaredPrior(NANONATS, 4).channel_of((1, 1, 1, 1)),
            answers_per_period=4,
        ),
        lambda rng: int(rng.integers(4)),
    ),
}


@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_tally_of_many_answers_is_by_groups_of_devices(kind, tmp_path):
    """If devices may answer often, the groups contain every counted output once, in the group of its device's key."""
    signed, draw = OUTPUTS[kind]
    study, fleet = study_of(tmp_path / "lib", ("it", signed)), Fleet(signed)
    for device in range(30):
        for period in range(1 + device % 3):
            fleet.send(device, period, *(draw(fleet.rng) for _ in range(1 + device % 4)))
    fleet.into(study, tmp_path)
    latest = {device: max(period for one, period, *_ in fleet.rows if one == device) for device, *_ in fleet.rows}
    latest_rows = [row for row in fleet.rows if row[1] == latest[row[0]]]
    tally = study.tally(signed)
    expected, sent = Counter(), Counter(device for device, *_ in latest_rows)
    places = {tuple(prior): at for at, prior in enumerate(getattr(tally, "priors", np.zeros((0, 0))).tolist())}
    for device, _, _, output in latest_rows:
        group, found = group_of(fleet, device), [output]
        if kind == "bits":
            found = [bit for bit in range(4) if output >> (3 - bit) & 1]
        elif kind == "own":
            found = [places[tuple(fleet.priors[device])] * 4 + output]
        expected.update((group, feature) for feature in found)
    groups = tally.groups
    cells = zip(groups.group.tolist(), groups.feature.tolist(), strict=True)
    assert dict(zip(cells, groups.count.tolist(), strict=True)) == expected
    assert (groups.devices, groups.max_outputs) == (30, max(sent.values()))
    reports = Counter()
    for device, count in sent.items():
        reports[group_of(fleet, device)] += count
    assert {group: count for group, count in enumerate(groups.reports.tolist()) if count} == reports
    np.testing.assert_array_equal(np.bincount(groups.feature, groups.count, len(tally.counts)), tally.counts)
    assert estimate(signed, tally).devices == 30


def test_spans_take_the_latest_answer_in_them(survey_folder):
    """A span counts the outputs of each device's latest period within it, in the same groups of devices as all other
    spans."""
    study = Study.open(survey_folder / "lib")
    signed = study.campaign("education")
    early, late, all_of_it, last = study.spans(signed, [(0, 2), (3, 4), (0, 5), (4, 5)])
    assert (early.reports, late.reports, all_of_it.reports, last.reports) == (150, 151, 151, 150)
    np.testing.assert_array_equal(early.counts, study.tally(signed, 2).counts)
    np.testing.assert_array_equal(all_of_it.counts, study.tally(signed).counts)
    assert early.groups.max_outputs == 1
    assert (early.groups.reports <= late.groups.reports).all()  # the same devices and one more


def test_periods_of_transcripts_are_compared_device_by_device(tmp_path):
    """With transcripts each period is decoded separately, in groups of devices; a span of several periods is
    refused."""
    notion = TranscriptPrior(NANONATS, (4, 3, 2, 1))
    signed = campaign(notion=notion, channel=notion.channel_of(notion.prior))
    study, fleet = study_of(tmp_path / "lib", ("it", signed)), Fleet(signed)
    for device in range(60):
        for period in range(3):
            fleet.send(device, period, int(fleet.rng.integers(4)), slot=period)
    fleet.into(study, tmp_path)
    for tally, period in zip(study.spans(signed, [(0, 0), (2, 2)]), (0, 2), strict=True):
        plain = study.tally(signed, period)
        np.testing.assert_array_equal(tally.chains, plain.chains)
        np.testing.assert_array_equal(tally.counts, plain.counts)
        np.testing.assert_array_equal(np.bincount(tally.groups.feature, tally.groups.count), plain.counts)
    with pytest.raises(StudyError, match="single periods"):
        list(study.spans(signed, [(0, 1)]))
    found = json.loads(run("--study", tmp_path / "lib", "estimate", "it", "--by", "period", "--json").stdout)
    assert [row["reports"] for row in found["spans"]] == [60, 60, 60]
    assert found["change"]["paired"] is True


@pytest.mark.parametrize(
    ("domain", "options", "head"),
    [
        (Values(LABELS), (), r"periods +from +to +devices\n"),
        (Values(LABELS), ("--value", LABELS[0]), r"periods +from +to +devices +share "),
        (NumberRange.of(1, 4), ("--mean",), r"\n *devices +60 +60\n"),
    ],
)
def test_the_periods_of_transcripts_count_devices(tmp_path, domain, options, head):
    """With transcripts the tables and the page of periods count devices, and no column counts reports."""
    notion = TranscriptPrior(NANONATS, (4, 3, 2, 1))
    signed = campaign(notion=notion, channel=notion.channel_of(notion.prior), domain=domain)
    study, fleet = study_of(tmp_path / "lib", ("it", signed)), Fleet(signed)
    for device in range(60):
        for period in range(2):
            fleet.send(device, period, int(fleet.rng.integers(4)), slot=period)
    fleet.into(study, tmp_path)
    command = ("--study", tmp_path / "lib", "estimate", "it", "--by", "period", *options)
    text = re.sub(r" +\n", "\n", run(*command).stdout)
    assert re.search(head, text)
    assert "reports" not in text
    if not options:
        run(*command, "--report", tmp_path / "page.html")
        section = (tmp_path / "page.html").read_text("utf-8").split('id="comparison"')[1].split("</section>")[0]
        assert ">devices</th>" in section
        assert ">reports</th>" not in section


# Trends


def test_the_json_of_a_trend_has_the_documented_entries(survey_folder):
    """Each span has the entries of its estimate; the change is from the first to the last span with enough reports."""
    found = json.loads(in_study(survey_folder, "estimate", "education", "--by", "period", "--json").stdout)
    assert {"campaign", "confidence", "spans", "change", "rejected", "table_version"} <= found.keys()
    assert [row["periods"] for row in found["spans"]] == ["0", "1", "2", "3", "4"]
    assert [row["values"] is None for row in found["spans"]] == [False, False, False, True, False]
    assert found["spans"][1]["begins"] == OPENS + WEEK == found["spans"][0]["ends"]
    one = json.loads(in_study(survey_folder, "estimate", "education", "--period", "4", "--json").stdout)
    assert found["spans"][4]["values"] == one["values"]
    change, first = found["change"], found["spans"][0]["values"]
    assert (change["from"], change["to"], change["paired"]) == ("period 0", "period 4", True)
    for row, before, after in zip(change["values"], first, one["values"], strict=True):
        assert row["difference"] == pytest.approx(after["raw"] - before["raw"])
        assert row["simultaneous_low"] <= row["low"] <= row["difference"] <= row["high"] <= row["simultaneous_high"]


def test_a_period_with_too_few_reports_is_left_out_and_named(survey_folder):
    """A period below the minimum has no shares in any output format, and a warning names it.

    If one period remains, only its estimate is printed; if no period remains, the command ends with exit code 75.
    """
    for form in ("table", "csv", "json"):
        result = in_study(survey_folder, "estimate", "education", "--by", "period", "--format", form)
        assert "each of these has fewer than 20 devices and is left out: period 3" in result.stderr
    assert "too few devices" in in_study(survey_folder, "estimate", "education", "--by", "period").stdout
    rows = list(
        csv.DictReader(
            io.StringIO(in_study(survey_folder, "estimate", "education", "--by", "period", "--format", "csv").stdout)
        )
    )
    assert Counter(row["periods"] for row in rows) == {"0": 4, "1": 4, "2": 4, "4": 4}
    without = in_study(survey_folder, "estimate", "education", "--by", "class", code=2)
    assert "has no classes of people: leave out --by class" in without.stderr
    single = in_study(survey_folder, "estimate", "again", "--by", "period")
    assert "the only estimate is that of period 0" in single.stderr
    assert "95% interval" in single.stdout
    few = in_study(survey_folder, "estimate", "education", "--by", "period", "--periods", "3,5", code=75)
    assert "--periods" in few.stderr


def test_spans_of_periods_are_compared(survey_folder):
    """--periods groups periods into spans, and the table shows the change between them."""
    result = in_study(survey_folder, "estimate", "education", "--by", "period", "--periods", "0-1, 2-4")
    assert "periods 0-1" in result.stdout
    found = json.loads(
        in_study(survey_folder, "estimate", "education", "--by", "period", "--periods", "0-1,2-4", "--json").stdout
    )
    assert [row["reports"] for row in found["spans"]] == [150, 151]
    shown = percentage_points(found["change"]["values"][2]["difference"], 1)
    assert shown in result.stdout


def test_a_trend_is_drawn_and_on_the_page(survey_folder, tmp_path):
    """The picture is a PNG; the page shows every change and the span with too few reports, and has the same bytes each
    time. The page of a single period explains no changes."""
    picture, report = tmp_path / "trend.png", tmp_path / "trend.html"
    words = ("estimate", "education", "--by", "period", "--plot", picture, "--report", report, "--json")
    change = json.loads(in_study(survey_folder, *words).stdout)["change"]
    assert picture.read_bytes().startswith(PNG)
    text = report.read_text(encoding="utf-8")
    section = text.split('id="comparison"')[1].split("</section>")[0]
    for row in change["values"]:
        near = percentage_points(row["difference"], 1)[:4]
        assert re.search(f">{re.escape(near)}", section)
    assert section.count("<img ") == 1
    assert "too few devices" in section
    assert "compared with themselves" in section
    again = tmp_path / "again.html"
    in_study(survey_folder, "estimate", "education", "--by", "period", "--report", again)
    assert again.read_bytes() == report.read_bytes()
    single = tmp_path / "single.html"
    in_study(survey_folder, "estimate", "again", "--by", "period", "--report", single)
    assert "compared with themselves" not in single.read_text(encoding="utf-8")


DOMAINS = {
    "items": Items(2, ("a", "b", "c")),
    "many": pytest.param(Values(tuple(map(str, range(60)))), marks=pytest.mark.long),
    "grid": Grid(0, 5_000_000, 0, 10_000_000, 1_000_000),
}


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_every_kind_of_domain_has_a_trend(domain, tmp_path):
    """Trends of items, of long lists and of grids are printed and drawn; above 25 values the table has the most
    significant changes.

    The short test omits the long list, whose table is cut as that of the grid is.
    """
    signed = campaign(domain=domain, channel=hadamard(domain.size, NANONATS))
    other = campaign(domain=domain, channel=signed.campaign.channel, title="Other")
    study = study_of(tmp_path / "lib", ("it", signed), ("other", other))
    for fleet, periods in ((Fleet(signed), 2), (Fleet(other), 1)):
        for device in range(40):
            for period in range(periods):
                fleet.send(device, period, int(fleet.rng.integers(signed.campaign.channel.output_count)))
        fleet.into(study, tmp_path)
    words = ("estimate", "it", "--by", "period", "--plot", tmp_path / "t.png", "--report", tmp_path / "t.html")
    result = run("--study", tmp_path / "lib", *words)
    assert (tmp_path / "t.png").read_bytes().startswith(PNG)
    assert ("most significant changes of" in result.stdout) == (domain.size > 25)
    run("--study", tmp_path / "lib", "compare", "it", "other", "--plot", tmp_path / "c.png")


def trend_of(folder, *words):
    return json.loads(in_study(folder, "estimate", "education", "--by", "period", *words, "--json").stdout)


def test_any_two_periods_are_compared_and_each_with_the_next(survey_folder):
    """--ends sets the two periods of the change; --steps gives the change from each period with enough devices to
    the next.

    The simultaneous intervals of --steps are for all values and all steps together.
    """
    whole = trend_of(survey_folder)
    assert whole["steps"] == []
    found = trend_of(survey_folder, "--ends", "1,2", "--steps")
    assert (found["change"]["from"], found["change"]["to"]) == ("period 1", "period 2")
    pairs = [(step["from"], step["to"]) for step in found["steps"]]
    assert pairs == [("period 0", "period 1"), ("period 1", "period 2"), ("period 2", "period 4")]
    for change, step in zip(found["change"]["values"], found["steps"][1]["values"], strict=True):
        assert [change[name] for name in ("difference", "low", "high")] == [
            step[name] for name in ("difference", "low", "high")
        ]
        assert (
            step["simultaneous_low"]
            < change["simultaneous_low"]
            < change["simultaneous_high"]
            < step["simultaneous_high"]
        )
    for step in (whole["change"], *found["steps"]):
        for row in step["values"]:
            assert row["difference"] == pytest.approx(row["to"] - row["from"])
    text = in_study(survey_folder, "estimate", "education", "--by", "period", "--ends", "4,0", "--steps").stdout
    assert re.search(r"significant\s+changes\s+between\s+spans", text)
    few = in_study(survey_folder, "estimate", "education", "--by", "period", "--ends", "0,3", code=75)
    assert "only" not in few.stderr


def test_the_trend_of_one_value_has_its_intervals_and_changes(survey_folder, tmp_path):
    """--value with --by period gives the share of one value in each period with its interval, and its change.

    The simultaneous interval of the change is then the interval of one value; all other figures are the same as without
    --value.
    """
    whole = trend_of(survey_folder)
    one = trend_of(survey_folder, "--value", "secondary", "--plot", tmp_path / "one.png")
    x = LABELS.index("secondary")
    for row, its in zip(whole["spans"], one["spans"], strict=True):
        assert its["values"] == (row["values"] and [row["values"][x]])
    (change,) = one["change"]["values"]
    assert change["difference"] == whole["change"]["values"][x]["difference"]
    assert (change["simultaneous_low"], change["simultaneous_high"]) == (change["low"], change["high"])
    assert (tmp_path / "one.png").read_bytes().startswith(PNG)
    words = ("estimate", "education", "--by", "period", "--value", "secondary")
    text = in_study(survey_folder, *words).stdout
    assert "too few devices" in text
    assert f"{percentage_points(change['difference'], 1)[:4]}" in text
    rows = list(csv.DictReader(io.StringIO(in_study(survey_folder, *words, "--format", "csv").stdout)))
    assert [(row["periods"], row["value"]) for row in rows] == [(period, "secondary") for period in "0124"]


def test_a_trend_shows_the_true_shares_of_a_rehearsal(survey_folder, tmp_path):
    """--truth with --by period takes one file for all periods, or one for each.

    JSON, CSV and the table show the true shares, and the table the true change.
    """
    files = []
    for period in range(5):
        files.append(tmp_path / f"{period}.csv")
        counts = (38, 38, 38 - 5 * period, 36 + 5 * period)
        lines = [f"{label},{count}" for label, count in zip(LABELS, counts, strict=True)]
        files[-1].write_text("\n".join(["value,count", *lines]), encoding="utf-8")
    each = [word for file in files for word in ("--truth", file)]
    found = trend_of(survey_folder, *each)
    assert [row["values"] and row["values"][3]["truth"] for row in found["spans"]] == pytest.approx(
        [36 / 150, 41 / 150, 46 / 150, None, 56 / 150]
    )
    text = in_study(
        survey_folder, "estimate", "education", "--by", "period", *each, "--plot", tmp_path / "t.png"
    ).stdout
    assert percentage_points(20 / 150, 1) in text
    assert "total variation" in text
    alike = trend_of(survey_folder, "--truth", files[0])
    assert {row["values"][3]["truth"] for row in alike["spans"] if row["values"]} == {36 / 150}
    rows = in_study(survey_folder, "estimate", "education", "--by", "period", *each, "--format", "csv").stdout
    assert float(list(csv.DictReader(io.StringIO(rows)))[-1]["truth"]) == pytest.approx(56 / 150)
    beside = in_study(survey_folder, "estimate", "education", "--by", "period", "--value", "bachelor", *each).stdout
    assert "37.3%" in beside


def test_a_trend_is_drawn_in_characters():
    """The trend of a value is drawn in at most 12 characters, from zero to its largest share."""
    assert trend_line([0.0, 0.5, 1.0]) == "▁▅█"
    assert trend_line([-0.1, 0.0]) == "▁▁"
    assert trend_line([0.0, *[0.1] * 500]) == "▁" + "█" * 11


def test_percentage_points_have_a_sign_unless_they_are_zero():
    """Differences in percentage points have a sign; one that rounds to zero has none, and a missing one is a dash."""
    assert [percentage_points(x, 1) for x in (0.012, -0.012, 0.0001, -0.0001, float("nan"))] == [
        "+1.2",
        "\N{MINUS SIGN}1.2",
        "0.0",
        "0.0",
        "-",
    ]


# Comparisons


def test_campaigns_are_compared(survey_folder, tmp_path):
    """The difference of two campaigns is that of their estimates, and JSON and CSV contain both estimates."""
    found = json.loads(in_study(survey_folder, "compare", "education", "again", "--json").stdout)
    assert (found["from"], found["to"], found["paired"]) == ("education", "again", False)
    for name, side in zip(("education", "again"), found["sides"], strict=True):
        assert side == json.loads(in_study(survey_folder, "estimate", name, "--json").stdout)
    before, after = found["sides"]
    for row, a, b in zip(found["values"], before["values"], after["values"], strict=True):
        assert row["difference"] == pytest.approx(b["raw"] - a["raw"])
        assert row["se"] == pytest.approx(np.hypot(a["se"], b["se"]))
    rows = list(
        csv.DictReader(io.StringIO(in_study(survey_folder, "compare", "education", "again", "--format", "csv").stdout))
    )
    assert [float(row["difference"]) for row in rows] == [row["difference"] for row in found["values"]]
    assert [float(row["from_raw"]) for row in rows] == [row["raw"] for row in before["values"]]
    text = in_study(survey_folder, "compare", "education", "again", "--plot", tmp_path / "c.png").stdout
    assert "independent" in text
    assert (tmp_path / "c.png").read_bytes().startswith(PNG)


def test_classes_are_estimated_separately_and_compared(survey_folder):
    """A class is decoded by its own channel, compare gives the difference of two classes, and a class name may contain
    a comma."""
    study = Study.open(survey_folder / "lib")
    signed = study.campaign("classes")
    tally = study.tally(signed)
    alone = {}
    for name in signed.campaign.classes:
        campaign, part = campaign_of_class(signed.campaign, tally, name)
        found = json.loads(in_study(survey_folder, "estimate", "classes", "--where", f"class={name}", "--json").stdout)
        assert found["class"] == name
        assert found["reports"] == part.reports
        np.testing.assert_allclose([row["raw"] for row in found["values"]], estimate(campaign, part).raw)
        alone[name] = np.array([row["raw"] for row in found["values"]]) * part.reports / tally.reports
    np.testing.assert_allclose(sum(alone.values()), estimate(signed, tally).raw)
    found = json.loads(
        in_study(survey_folder, "compare", "classes", "--classes", "town, north,village", "--json").stdout
    )
    raws = [np.array([row["raw"] for row in side["values"]]) for side in found["sides"]]
    np.testing.assert_allclose([row["difference"] for row in found["values"]], raws[1] - raws[0])
    assert [side["class"] for side in found["sides"]] == ["town, north", "village"]
    text = in_study(survey_folder, "estimate", "classes", "--where", "class=village", "--by", "period").stdout
    assert "class village" in text


def test_each_value_has_one_weight(survey_folder, tmp_path):
    """A file that gives a value no weight or two weights is refused, and the error names the value."""
    file = tmp_path / "values.csv"
    domain = Study.open(survey_folder / "lib").campaign("education").campaign.domain
    rows = [f"{domain.label(x)},1\n" for x in range(domain.size)]
    for changed, fault in ((rows[1:], "has no weight for"), ([*rows, rows[0]], f"line {domain.size + 2}: ")):
        file.write_text("value,weight\n" + "".join(changed))
        refused = in_study(survey_folder, "estimate", "education", "--weights", file, code=65).stderr
        assert fault in refused
        assert repr(domain.label(0)) in refused


def test_sums_are_weighted_by_class(survey_folder, tmp_path):
    """--coefficients gives the weighted sum over people, with a weight and an offset for each class.

    It needs a value or weights, and is refused for other queries and for a campaign without classes.
    """
    file, values = tmp_path / "people.toml", tmp_path / "values.csv"
    file.write_text('["town, north"]\nweight = 2\noffset = 1\n\n[village]\nweight = 0.5\npeople = 1000\n')
    study = Study.open(survey_folder / "lib")
    signed = study.campaign("classes")
    tally = study.tally(signed)
    first = signed.campaign.domain.label(0)
    words = ("estimate", "classes", "--coefficients", file)
    found = json.loads(in_study(survey_folder, *words, "--value", first, "--json").stdout)
    town, village = (campaign_of_class(signed.campaign, tally, name) for name in signed.campaign.classes)
    means = [weighted_mean(*each, np.eye(4)[0]).raw for each in (town, village)]
    expected = town[1].reports * (2 * means[0] + 1) + 500 * means[1]
    assert found["estimate"] == pytest.approx(expected)
    assert found["query"] == "sum weighted by class"
    values.write_text(
        "value,weight\n"
        + "".join(f"{signed.campaign.domain.label(x)},{int(x == 0)}\n" for x in range(signed.campaign.domain.size))
    )
    assert json.loads(in_study(survey_folder, *words, "--weights", values, "--json").stdout) == found
    value = ("--value", first)
    for others in ((), ("--mean",), (*value, "--where", "class=village"), (*value, "--by", "period")):
        in_study(survey_folder, *words, *others, code=2)
    in_study(survey_folder, *words, *value, "--population", 9, code=2)
    assert (
        "has no classes, and coefficients"
        in in_study(survey_folder, "estimate", "education", "--value", first, "--coefficients", file, code=65).stderr
    )


def test_classes_are_weighted_to_known_shares(survey_folder, tmp_path):
    """Every output format of a weighted result names the weights; commands that do not use weights refuse them."""
    file = tmp_path / "population.toml"
    file.write_text(
        '[[margin]]\nby = "class"\nshares = { "town, north" = 0.9, village = 0.1 }\nsource = "Census 2021"\n'
    )
    words = ("estimate", "classes", "--margins", file)
    found = json.loads(in_study(survey_folder, *words, "--json").stdout)
    study = Study.open(survey_folder / "lib")
    signed, raw = study.campaign("classes"), 0.0
    for name, share in zip(signed.campaign.classes, (0.9, 0.1), strict=True):
        raw = raw + share * estimate(*campaign_of_class(signed.campaign, study.tally(signed), name)).raw
    np.testing.assert_allclose([row["raw"] for row in found["values"]], raw)
    (margin,) = found["weights"]["margins"]
    assert (margin["by"], margin["source"]) == ("class", "Census 2021")
    assert found["influence"]["people_per_report"] == found["weights"]["people_per_report"]
    assert "weighted to known shares of the population by class" in in_study(survey_folder, *words).stdout.replace(
        "\n", " "
    )
    rows = csv.DictReader(io.StringIO(in_study(survey_folder, *words, "--format", "csv").stdout))
    assert {row["method"] for row in rows} == {"projection, weighted by class"}
    in_study(survey_folder, *words, "--report", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Known shares of the population by class (Census 2021)" in page
    assert "weighted to known shares" in page
    assert "intervals · weighted by class</p>" in page, "the picture must state the same weights as the page"
    assert "have no mean" in in_study(survey_folder, *words, "--mean", code=65).stderr
    for others in (["--by", "period"], ["--value", "none"], ["--where", "class=village"]):
        in_study(survey_folder, *words, *others, code=2)
    assert "weight classes by their sizes" in in_study(survey_folder, *words, "--pool", "precision", code=65).stderr
    file.write_text('[[margin]]\nby = "class"\nshares = { "town, north" = 0.9, village = 0.2 }\n')
    assert "must sum to 1, but sum to 1.1" in in_study(survey_folder, *words, code=65).stderr


def test_a_panel_by_class_is_rehearsed_from_file_to_estimate(tmp_path):
    """simulate with --panel and estimate --where --truth read the same file of true counts by class.

    60 people in the village over 3 periods, at 20 nats: outputs equal answers, so the share is exactly that of the
    file.
    """
    highest = 20 * NANONATS
    channel = Blocks(0, ((1, 4), (2, 4)), (randomized_response(4, highest),) * 2)
    notion = Classes.of((Ldp(highest), Ldp(highest)))
    signed = campaign(notion=notion, channel=channel, classes=("town", "village"))
    study = study_of(tmp_path / "lib", ("it", signed))
    (tmp_path / "it.campaign").write_bytes(signed.data)
    truth = tmp_path / "truth.csv"
    truth.write_text("value,count,class\nnone,40,town\nprimary,45,village\nbachelor,15,village\n")
    words = ("simulate", tmp_path / "it.campaign", "--truth", truth, "--out", tmp_path / "it.htr")
    made = json.loads(run(*words, "--panel", "--periods", "0-2", "--seed", 1, "--json").stdout)
    assert (made["reports"], made["devices"], made["period"], made["periods"]) == (300, 100, 2, 3)
    assert ingest(study, [tmp_path / "it.htr"], now=signed.campaign.closes - 1, threads=1).accepted == 300
    words = ("--study", tmp_path / "lib", "estimate", "it", "--where", "class=village", "--truth", truth)
    rows = {row.split()[0]: row.split() for row in run(*words).stdout.splitlines() if row.strip()}
    assert rows["primary"][-2] == "75.0%"  # the truth is printed beside the bar
    assert rows["primary"][1] == "75.0%"
    assert "whole number" in run(*words[:-1], _changed(truth, "45", "4.5"), code=65).stderr


def _changed(path, old, new):
    """Write a copy of a text file in which a text is replaced, and return the path of the copy."""
    other = path.with_name(f"other-{path.name}")
    other.write_text(path.read_text().replace(old, new))
    return other


def test_errors_of_devices_that_answer_often_are_computed_between_devices(tmp_path):
    """The errors of a class whose devices answer often are computed between devices, and are more than twice those of
    independent reports."""
    of_classes = classes()
    signed = campaign(
        notion=of_classes.campaign.notion, channel=of_classes.campaign.channel, classes=of_classes.campaign.classes,
        answers_per_period=9,
    )  # fmt: skip
    study, fleet = study_of(tmp_path / "lib", ("it", signed)), Fleet(signed)
    for device in range(60):
        fleet.send(device, 0, *[4 + device * 3 % 8 if device < 40 else device % 4] * 9)
    fleet.into(study, tmp_path)
    words = ("--study", tmp_path / "lib", "estimate", "it", "--where", "class=village")
    found = json.loads(run(*words, "--json").stdout)
    of_class, part = campaign_of_class(signed.campaign, study.tally(signed), "village")
    plain = estimate(of_class, Tally(part.counts, part.reports))
    assert (found["reports"], found["devices"]) == (360, None)
    assert all(row["se"] > 2 * se for row, se in zip(found["values"], plain.se, strict=True))
    assert "devices" not in run(*words).stdout
    run("--study", tmp_path / "lib", "compare", "it", "--classes", "village,town, north")


def test_the_page_of_a_class_names_the_class(survey_folder, tmp_path):
    """The page of a class names the class and has another digest than those of other classes and of all people."""
    digests = set()
    for number, name in enumerate((None, "village", "town, north")):
        out = tmp_path / f"{number}.html"
        where = () if name is None else ("--where", f"class={name}")
        in_study(survey_folder, "estimate", "classes", *where, "--report", out)
        text = out.read_text(encoding="utf-8")
        assert (name is None) or f"Only people of the class {name}." in text
        digests.add(re.search(r"inputs, SHA-256</dt><dd[^>]*><code>(\w+)", text).group(1))
    assert len(digests) == 3


def test_the_digest_has_classes_and_groups():
    """The text of the digest has the class, and the groups of devices if devices have several reports."""
    counted = Groups.of(np.array([7, 3, 7]), np.array([1, 0, 1]), np.array([2, 1, 1]), 2, 3)
    groups = {"counts": [[3, 0, 1], [7, 1, 3]], "devices": 2, "most": 3, "reports": counted.reports.tolist()}
    expected = {"campaign": "01", "class": "town", "counts": [1, 3], "groups": groups, "period": None, "rejected": {}}
    found = digest(Tally(np.array([1, 3]), 4, groups=counted), b"\x01", None, "town")
    assert found == sha256_of_json(expected | {"reports": 4})
    alone = replace(counted, max_outputs=1)
    assert digest(Tally(np.array([1, 3]), 4, groups=alone), b"", None) == digest(Tally(np.array([1, 3]), 4), b"", None)


def test_the_digest_has_the_counts_and_groups_of_each_view():
    """With several views, the text of the digest has the counts, reports and groups of each view, so tallies with the
    same counts of all views together, but of other views or other groups of devices, have other digests."""
    first, second = Tally(np.array([1, 3]), 4, {"late": 2}), Tally(np.array([2, 0, 1]), 3, {"late": 2})
    both = ViewsTally.of_parts([first, second], {"late": 2}, 5)
    parts = [{"counts": [1, 3], "reports": 4}, {"counts": [2, 0, 1], "reports": 3}]
    expected = {"campaign": "01", "period": 6, "rejected": {"late": 2}}
    assert digest(both, b"\x01", 6) == sha256_of_json(expected | {"views": parts})
    groups = [
        Groups.of(np.array([7, 3, at]), np.array([1, 0, 1]), np.array([2, 1, 1]), devices, most)
        for at, devices, most in ((7, 2, 3), (8, 2, 3), (7, 3, 3), (7, 2, 2))
    ]
    others = [
        *(ViewsTally.of_parts([replace(first, groups=one), second], {"late": 2}, 5) for one in groups),
        ViewsTally.of_parts([replace(first, counts=np.array([1, 3, 2])), Tally(np.array([0, 1]), 3)], {"late": 2}, 5),
        ViewsTally.of_parts([replace(first, reports=3), replace(second, reports=4)], {"late": 2}, 5),
    ]
    assert len({digest(one, b"\x01", 6) for one in (both, *others)}) == 1 + len(others)


def test_the_digest_has_the_transcripts():
    """The text of the digest has the transcripts and the number of lost reports, so tallies with the same number of
    devices by transcript, but of other transcripts, have other digests."""
    tally = TranscriptTally(np.array([2, 1]), 3, chains=np.array([[0, 1], [-1, 2]]), lost=4)
    expected = {"campaign": "01", "counts": [2, 1], "period": None, "rejected": {}, "reports": 3}
    chains = {"transcripts": [[0, 1], [-1, 2]], "lost": 4}
    assert digest(tally, b"\x01", None) == sha256_of_json(expected | chains)
    others = [replace(tally, chains=np.array([[0, 1], [2, 2]])), replace(tally, lost=5)]
    assert len({digest(one, b"\x01", None) for one in (tally, *others)}) == 3


def sha256_of_json(value: object) -> str:
    """Return the SHA-256 in hex of a value as JSON with sorted keys and no blanks."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()


# Exports


def test_exports_contain_every_output_once(survey_folder, tmp_path):
    """Parquet and CSV have the same rows of period, output, count and the period's reports; small periods are
    omitted."""
    for name in ("t.parquet", "t.csv"):
        summary = json.loads(in_study(survey_folder, "export", "education", "--out", tmp_path / name, "--json").stdout)
        assert (summary["reports"], summary["withheld"], summary["periods"]) == (600, 1, 4)
    table = pq.read_table(tmp_path / "t.parquet")
    assert table.column_names == ["period", "output", "count", "reports"]
    rows = table.to_pylist()
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        assert [{name: int(cell) for name, cell in row.items()} for row in csv.DictReader(file)] == rows
    study = Study.open(survey_folder / "lib")
    signed = study.campaign("education")
    by_period = defaultdict(lambda: np.zeros(4, dtype=int))
    for row in rows:
        by_period[row["period"]][row["output"]] += row["count"]
        assert row["reports"] == 150
    assert set(by_period) == {0, 1, 2, 4}
    for period, counts in by_period.items():
        np.testing.assert_array_equal(counts, study.tally(signed, period).counts)
    about = json.loads(table.schema.metadata[b"halftruth"])
    assert about["campaign_id"] == signed.id.hex()


def test_exports_have_a_column_for_classes_and_count_bits(survey_folder, tmp_path):
    """Exports of classes have a column for the class and outputs of its channel; bit vectors are counted bit by
    bit."""
    in_study(survey_folder, "export", "classes", "--out", tmp_path / "c.parquet")
    table = pq.read_table(tmp_path / "c.parquet")
    assert table.column_names == ["period", "class", "output", "count", "reports"]
    study = Study.open(survey_folder / "lib")
    signed = study.campaign("classes")
    for name in signed.campaign.classes:
        for period in (0, 1):
            of_class, part = campaign_of_class(signed.campaign, study.tally(signed, period), name)
            rows = [row for row in table.to_pylist() if (row["period"], row["class"]) == (period, name)]
            counts = np.zeros(of_class.channel.output_count, dtype=int)
            for row in rows:
                counts[row["output"]] = row["count"]
                assert row["reports"] == part.reports
            np.testing.assert_array_equal(counts, part.counts)
    signed = campaign(channel=unary.oue(4, NANONATS))
    study, fleet = study_of(tmp_path / "lib", ("it", signed)), Fleet(signed)
    for device in range(25):
        fleet.send(device, 0, device % 16)
    fleet.into(study, tmp_path)
    run("--study", tmp_path / "lib", "export", "it", "--out", tmp_path / "b.parquet")
    rows = pq.read_table(tmp_path / "b.parquet").to_pylist()
    assert [row["bit"] for row in rows] == [0, 1, 2, 3]
    assert [row["count"] for row in rows] == study.tally(signed).counts.tolist()
    assert {row["reports"] for row in rows} == {25}


def test_estimates_are_exported_by_period_and_class(survey_folder, tmp_path):
    """Rows of the exported estimates equal those of `estimate --period` and --where, in Parquet and CSV.

    They have columns for campaign, period and class, even if the export goes to stdout.
    """
    summary = json.loads(
        in_study(survey_folder, "export", "education", "--estimates", "--out", tmp_path / "e.parquet", "--json").stdout
    )
    assert (summary["reports"], summary["withheld"], summary["periods"], summary["rows"]) == (600, 1, 4, 16)
    rows = pq.read_table(tmp_path / "e.parquet").to_pylist()
    for period in (0, 1, 2, 4):
        found = json.loads(in_study(survey_folder, "estimate", "education", "--period", period, "--json").stdout)
        chosen = [row for row in rows if row["period"] == str(period)]
        assert {(row["campaign"], row["campaign_id"]) for row in chosen} == {("Education", found["campaign_id"])}
        for row, value in zip(chosen, found["values"], strict=True):
            assert {name: row[name] for name in value} == value
    in_study(survey_folder, "export", "classes", "--estimates", "--out", tmp_path / "c.csv")
    with (tmp_path / "c.csv").open(newline="", encoding="utf-8") as file:
        of_classes = list(csv.DictReader(file))
    assert {row["class"] for row in of_classes} == {"", "town, north", "village"}
    found = json.loads(
        in_study(survey_folder, "estimate", "classes", "--where", "class=village", "--period", 1, "--json").stdout
    )
    chosen = [row for row in of_classes if (row["class"], row["period"]) == ("village", "1")]
    assert [float(row["raw"]) for row in chosen] == [value["raw"] for value in found["values"]]
    words = ("estimate", "classes", "--where", "class=village", "--format")
    table = pq.read_table(io.BytesIO(in_study(survey_folder, *words, "parquet").stdout_bytes))
    assert json.loads(table.schema.metadata[b"halftruth"])["class"] == "village"
    assert {(row["period"], row["class"]) for row in table.to_pylist()} == {("latest", "village")}
    printed = list(csv.DictReader(io.StringIO(in_study(survey_folder, *words, "csv").stdout)))
    assert {(row["campaign"], row["period"], row["class"]) for row in printed} == {("Education", "latest", "village")}
    assert [float(row["raw"]) for row in printed] == [row["raw"] for row in table.to_pylist()]
    for wrong in (("--mean",), ("--by", "period"), ("--value", "none")):
        in_study(survey_folder, "estimate", "education", "--format", "parquet", *wrong, code=2)


def test_maps_are_geojson(survey_folder, tmp_path):
    """Each cell is a closed counterclockwise square around its centre, with its estimate; only grids have a map."""
    grid = Grid(-1_000_000, 1_000_000, 10_000_000, 13_000_000, 1_000_000)
    signed = campaign(domain=grid, channel=randomized_response(6, NANONATS))
    study, fleet = study_of(tmp_path / "lib", ("map", signed)), Fleet(signed)
    for device in range(40):
        fleet.send(device, 0, device % 6)
    fleet.into(study, tmp_path)
    words = ("--study", tmp_path / "lib")
    printed = json.loads(run(*words, "estimate", "map", "--period", 0, "--format", "geojson").stdout)
    values = json.loads(run(*words, "estimate", "map", "--period", 0, "--json").stdout)["values"]
    assert printed["type"] == "FeatureCollection"
    for x, (feature, value) in enumerate(zip(printed["features"], values, strict=True)):
        [ring] = feature["geometry"]["coordinates"]
        assert len(ring) == 5
        assert ring[0] == ring[4]
        turned = sum(a[0] * b[1] - a[1] * b[0] for a, b in pairwise(ring)) / 2
        assert turned == pytest.approx(1)  # one square degree, counterclockwise
        longitude, latitude = (sum(corner[axis] for corner in ring[:4]) / 4 for axis in (0, 1))
        assert grid.index((latitude, longitude), bytes(DITHER_BYTES)) == x
        assert {name: feature["properties"][name] for name in value} == value
    run(*words, "export", "map", "--estimates", "--out", tmp_path / "map.geojson")
    assert json.loads((tmp_path / "map.geojson").read_text()) == printed
    in_study(survey_folder, "estimate", "education", "--format", "geojson", code=65)
    in_study(survey_folder, "export", "education", "--estimates", "--out", tmp_path / "no.geojson", code=65)
    in_study(survey_folder, "export", "education", "--out", tmp_path / "no.geojson", code=2)
    assert not (tmp_path / "no.geojson").exists()


def test_no_column_of_an_export_identifies_a_device(tmp_path):
    """An export contains no key, and the same answers under other keys give the same rows."""
    exports = []
    for shift in (0, 10_000):
        signed = campaign()
        study, fleet = study_of(tmp_path / f"lib{shift}", ("it", signed)), Fleet(signed)
        devices = list(range(shift, shift + 40))
        for device in devices if not shift else reversed(devices):
            for period in range(2):
                fleet.send(device, period, (device - shift) % (4 if period else 3))
        fleet.into(study, tmp_path)
        run("--study", tmp_path / f"lib{shift}", "export", "it", "--out", tmp_path / f"{shift}.csv")
        exports.append((tmp_path / f"{shift}.csv").read_bytes())
        keys = {fleet.key(device).public.hex() for device in devices}
        ids = {int.from_bytes(key_id(fleet.key(device).public), "big", signed=True) for device in devices}
        assert not any(str(one).encode() in exports[-1] for one in keys | ids)
    assert sorted(exports[0].splitlines()) == sorted(exports[1].splitlines())


@pytest.mark.parametrize("option", [("--method", "projection"), ("--confidence", "0.9")])
def test_an_export_of_tallies_refuses_the_options_of_estimates(survey_folder, tmp_path, option):
    """--method and --confidence have no effect on tallies, so they are refused without --estimates."""
    refused = in_study(survey_folder, "export", "education", *option, "--out", tmp_path / "t.csv", code=2)
    assert f"{option[0]} needs --estimates" in refused.stderr


def test_too_few_reports_are_not_exported(tmp_path):
    """If no period has the campaign's minimum of reports, export ends with exit code 75 and writes no file."""
    signed = campaign(minimum_devices=30)
    study, fleet = study_of(tmp_path / "lib", ("it", signed)), Fleet(signed)
    for device in range(29):
        for period in range(2):  # 58 reports in all, and 29 in each period
            fleet.send(device, period, 0)
    fleet.into(study, tmp_path)
    assert (
        "reports of at least 30 devices, the campaign's minimum"
        in run("--study", tmp_path / "lib", "export", "it", "--out", tmp_path / "t.csv", code=75).stderr
    )
    assert not (tmp_path / "t.csv").exists()


# The minimum number of devices


@pytest.fixture(scope="module")
def units(tmp_path_factory):
    """A study of 24 devices of one class and one device of another, with several readings each in periods 0 and 2.

    In period 1 one device has four readings.
    """
    folder = tmp_path_factory.mktemp("units")
    two = classes()
    many = replace(two.campaign, answers_per_period=4, minimum_devices=20)
    signed = open_campaign(seal_campaign(many, AUTHOR), [AUTHOR.public])
    study, fleet = study_of(folder / "lib", ("units", signed)), Fleet(signed)
    for device in range(25):
        fleet.send(device, 0, *([device % 4] * 3 if device < 24 else [4, 5, 6]))
        fleet.send(device, 2, *([(device + 1) % 4] * 2 if device < 24 else [4]))
    for slot in range(0, 4, 2):
        fleet.send(3, 1, 1, 2, slot=slot)
    fleet.into(study, folder)
    return folder


def test_the_minimum_counts_devices_and_not_readings(units, tmp_path):
    """A device counts once towards the minimum, however many readings it has.

    estimate, compare and export do not show the readings of a device that is alone in a period or in its class.
    """
    found = in_study(units, "estimate", "units", "--json").stdout
    assert (json.loads(found)["reports"], json.loads(found)["devices"]) == (49, 25)
    few = in_study(units, "estimate", "units", "--period", "1", code=75).stderr
    assert "needs reports of 20 devices, and this one has reports of 1" in few
    in_study(units, "estimate", "units", "--period", "1", "--value", "none", code=75)
    trend = in_study(units, "estimate", "units", "--by", "period", "--json")
    assert [row["values"] is None for row in json.loads(trend.stdout)["spans"]] == [False, True, False]
    assert "each of these has fewer than 20 devices and is left out: period 1" in trend.stderr
    one = in_study(units, "estimate", "units", "--where", "class=village", code=75).stderr
    assert "has reports of 1" in one
    in_study(units, "compare", "units", "--classes", "town, north,village", code=75)
    result = in_study(units, "export", "units", "--out", tmp_path / "t.csv", "--json")
    summary = json.loads(result.stdout)
    assert (summary["periods"], summary["reports"], summary["withheld"]) == (2, 72 + 48, 4 + 3 + 1)
    assert {row["class"] for row in csv.DictReader(io.StringIO((tmp_path / "t.csv").read_text()))} == {"town, north"}


def test_a_class_has_a_lower_bound_on_its_devices():
    """The number of devices of a class is at least the number of its groups with reports, and at least its number of
    reports divided by the largest number of reports of one device."""
    group = np.array([0, 0, 5, 9])
    whole = Groups.of(group, np.array([0, 4, 0, 4]), np.array([6, 2, 3, 1]), 9, 4)
    assert whole.min_devices == 9
    assert (whole.within(0, 4).min_devices, whole.within(4, 8).min_devices) == (3, 2)


# Engines


@pytest.fixture(scope="module")
def scheduler():
    """The address of a Dask scheduler with one worker process."""
    with dask_processes(1) as started:
        yield started.scheduler_address.replace("tcp", "dask")


COUNTED = [
    ("survey_folder", "estimate", "education", "--by", "period"),
    ("survey_folder", "estimate", "education", "--by", "period", "--periods", "0-1,2-4"),
    ("survey_folder", "estimate", "classes", "--where", "class=village"),
    ("survey_folder", "compare", "education", "again"),
    ("survey_folder", "compare", "classes", "--classes", "town, north,village"),
    ("units", "estimate", "units"),
    ("units", "estimate", "units", "--by", "period", "--where", "class=town, north"),
]


@pytest.mark.parametrize("form", ["json", pytest.param("csv", marks=pytest.mark.long)])
@pytest.mark.parametrize(("where", "words"), [(one, words) for one, *words in COUNTED])
def test_every_engine_prints_the_same(request, scheduler, where, words, form):
    """Trends, comparisons and classes are identical, byte for byte, with every engine.

    The short test compares JSON, which has every figure that CSV has.
    """
    folder = request.getfixturevalue(where)
    local, other = (in_study(folder, *words, "--format", form, "--engine", engine) for engine in ("local", scheduler))
    assert other.stdout == local.stdout
    assert other.stderr == local.stderr


# Completion


def complete(words, incomplete):
    found = ShellComplete(halftruth, {}, "halftruth", VARIABLE).get_completions(list(words), incomplete)
    return {one.value: one.help for one in found}


def test_campaigns_are_completed_with_their_titles(survey_folder, tmp_path, monkeypatch):
    """After --study, campaigns are completed by name and shown with their titles; HALFTRUTH_STUDY does the same.

    Without either, no campaign is offered. Options and commands are completed too.
    """
    study = ["--study", str(survey_folder / "lib")]
    for command in ("estimate", "compare", "export"):
        assert complete([*study, command], "") == {
            "again": "Education, again",
            "classes": "Education",
            "education": "Education",
        }
    assert list(complete([*study, "compare", "education"], "a")) == ["again"]
    assert list(complete(["--study", str(tmp_path), "estimate"], "")) == []
    assert complete(["estimate"], "") == {}
    monkeypatch.setenv("HALFTRUTH_STUDY", str(survey_folder / "lib"))
    assert "education" in complete(["estimate"], "ed")
    assert "--by" in complete([*study, "estimate", "education"], "--")
    assert "estimate" in complete([], "es")


@pytest.mark.parametrize("name", SHELLS)
def test_each_shell_has_a_script(name):
    """completion prints a script that calls halftruth with the variable that click reads."""
    script = run("completion", name).stdout
    assert VARIABLE in script
    assert f"{name}_complete" in script


def test_bash_completion_prints_kinds_and_values(survey_folder):
    """Called as bash calls it, halftruth prints the matching kinds and values, and nothing else."""
    command = [sys.executable, "-c", "from aggregator.cli import main; main()"]
    words = {"COMP_WORDS": f"halftruth --study {survey_folder / 'lib'} estimate e", "COMP_CWORD": "4"}
    environment = {VARIABLE: "bash_complete", "PYTHONPATH": ":".join(sys.path), **words}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert found.stdout.split() == ["plain,education"]
    assert found.stderr == ""


# All commands


SILENT = {"demo", "completion"}
"""Commands without --json: the output of demo is for people, and that of completion is a shell script."""


def test_every_command_except_two_has_an_option_for_json():
    """Every command except those in SILENT has --json."""
    commands = {name: halftruth.get_command(click.Context(halftruth), name) for name in COMMANDS}
    lacking = {name for name, found in commands.items() if not any("--json" in one.opts for one in found.params)}
    assert lacking == SILENT


def test_short_commands_print_their_facts_as_json(tmp_path):
    """With --json keygen, campaign, import, simulate and revoke print the names, sizes and numbers of their results."""
    draft = tmp_path / "it.toml"
    draft.write_text(
        'title = "T"\nquestion = "Q?"\norganisation = "O"\n[domain]\nkind = "values"\nvalues = ["a", "b"]\n[privacy]\n'
        'notion = "ldp"\nepsilon = 1.0\n[schedule]\nopens = 2020-01-01\ncloses = 2120-01-01\n',
        encoding="utf-8",
    )
    (tmp_path / "counts.csv").write_text("value,count\na,5\nb,7\n", encoding="utf-8")
    made = json.loads(run("keygen", tmp_path / "me", "--json").stdout)
    assert made["public"] == str(tmp_path / "me.pub")
    out = tmp_path / "it.campaign"
    signed = json.loads(run("campaign", draft, "--key", tmp_path / "me.key", "--out", out, "--json").stdout)
    assert signed["audit"]["certified"] is True
    assert signed["bytes"] == out.stat().st_size
    study = ("--study", tmp_path / "lib")
    known = json.loads(run(*study, "import", out, "--trust", tmp_path / "me.pub", "--json").stdout)
    assert known == {"name": "it", "title": "T", "id": signed["id"]}
    words = (
        "simulate",
        out,
        "--truth",
        tmp_path / "counts.csv",
        "--out",
        tmp_path / "b.htr",
        "--keys",
        tmp_path / "k.pub",
    )
    sent = json.loads(run(*words, "--json").stdout)
    assert (sent["reports"], sent["bytes"]) == (12, (tmp_path / "b.htr").stat().st_size)
    run(*study, "enrol", tmp_path / "k.pub")
    assert json.loads(run(*study, "revoke", tmp_path / "k.pub", "--json").stdout)["revoked"] == 12


@pytest.mark.parametrize(("words", "code"), invalid_command_lines("desk"))
def test_invalid_input_causes_a_short_message(survey_folder, tmp_path, words, code):
    """Invalid input to an analyst's command ends with its exit code and a short error, and writes no file."""
    study = Study.open(survey_folder / "lib")
    if "unanswered" in words:
        study.import_campaign(campaign(title="Not yet").data, [AUTHOR.public], "unanswered")
    if "other" in words:
        other = campaign(domain=Values(("p", "q", "r", "s")), title="Other", minimum_devices=1)
        study.import_campaign(other.data, [AUTHOR.public], "other")
    places = {"lib": survey_folder / "lib", "new": tmp_path / "new"}
    for name, ending in (("there", ".csv"), ("page", ".html")):
        places[name] = tmp_path / f"there{ending}"
        places[name].write_bytes(b"")
    require_one_clear_line(["--study", "{lib}", *words], code, places, tmp_path, longest=300)


def test_lip_campaigns_have_trends(tmp_path):
    """The trend of a campaign with a prior has the MMSE shares by period, and the changes of the unbiased estimates."""
    prior = (4, 3, 2, 1)
    signed = campaign(notion=Lip(NANONATS, prior), channel=lip_response(prior, NANONATS))
    study, fleet = study_of(tmp_path / "lib", ("it", signed)), Fleet(signed)
    for device in range(60):
        for period in range(2):
            fleet.send(device, period, 3 if period and device in (0, 4, 8) else device % 4)
    fleet.into(study, tmp_path)
    found = json.loads(run("--study", tmp_path / "lib", "estimate", "it", "--by", "period", "--json").stdout)
    assert {row["method"] for row in found["spans"]} == {"mmse"}
    counts = (np.array([15, 15, 15, 15]), np.array([12, 15, 15, 18]))
    for row, count in zip(found["spans"], counts, strict=True):
        shares = estimate(signed.campaign, Tally.of(count), method="mmse").share
        assert [value["estimate"] for value in row["values"]] == pytest.approx(shares)
    before, after = (estimate(signed.campaign, Tally.of(count), method="linear").raw for count in counts)
    assert [row["difference"] for row in found["change"]["values"]] == pytest.approx(after - before)
