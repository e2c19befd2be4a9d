"""Quantiles and ranges of a study: the command prints the figures of the Python interface, and refuses wrong
options."""

from __future__ import annotations

import csv
import io
import json
import time

import numpy as np
import pytest

from aggregator import Study, Truth, ingest, simulate
from aggregator.estimate import query
from aggregator.estimate.bins import bin_starts
from aggregator.estimate.ordered import summary_statistics
from aggregator.estimate.tally import Tally
from aggregator.families.noise.recipe import discrete_gaussian
from aggregator.families.registry import decoder_of
from aggregator.families.wave.recipe import wave
from aggregator.present.ordered_plot import histogram_figure, ordered_figure
from aggregator.present.shown_shares import query_texts, subtitle
from protocol import SigningKey, open_campaign, seal_campaign
from protocol.campaign import Campaign
from protocol.domain import Dates, NumberRange, OrderedValues
from protocol.exact import NANONATS
from protocol.notions import Ldp
from protocol.views import plain_views
from tests.aggregator import command
from tests.aggregator.campaigns import unsigned_campaign

KEY = SigningKey(bytes([9]) * 32)
ASKED = ("--quantiles", ".5,.1", "--bins", "20,30", "--above", "25", "--between", "12,18", "--mean", "--cdf")


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    """A study with a number from 10 to 33 of each of 400 people."""
    folder, now = tmp_path_factory.mktemp("ranges"), int(time.time())
    domain, views = NumberRange.of(10, 33, unit="km"), plain_views(wave(24, 2 * NANONATS))
    campaign = Campaign(
        "Way",
        "How far?",
        "",
        "O",
        domain,
        Ldp(2 * NANONATS),
        "wave",
        views,
        now - 50,
        now + 50_000,
        50_050,
        1,
        9,
        "open",
    )
    study_with(folder, campaign, now)
    return folder / "lib"


def study_with(folder, campaign, now):
    """Return a study in ``folder`` with the reports of 400 people, and the signed campaign."""
    signed = open_campaign(seal_campaign(campaign, KEY), [KEY.public])
    study = Study.create(folder / "lib")
    study.import_campaign(signed.data, [KEY.public], "way")
    (sent,) = simulate(campaign, signed.id, Truth((12, 20, 26), (200, 150, 50)), range(1), seed=3)
    (folder / "batch.htr").write_bytes(sent.reports)
    assert ingest(study, [folder / "batch.htr"], now=now).accepted == 400
    return study, signed


def run(lib, *words, code=0):
    return command.run("--study", lib, "estimate", "way", *words, code=code)


def test_the_json_of_the_command_equals_the_python_result(lib):
    """The JSON of the command is that of ``Study.ordered`` with the same options; scripts depend on its keys."""
    document = json.loads(run(lib, *ASKED, "--json", "--confidence", "0.9").stdout)
    found = Study.open(lib).ordered(
        "way", quantiles=(0.1, 0.5), bins=(20, 30), above=25, between=(12, 18), mean=True, cdf=True, confidence=0.9
    )
    assert document == found.as_json()
    assert [sorted(one) for one in document["quantiles"]] == [["high", "low", "p", "value"]] * 2
    assert [one["p"] for one in document["quantiles"]] == [0.1, 0.5]
    assert (document["above"]["from"], document["between"]["from"], document["between"]["to"]) == (26, 12, 18)
    assert {"value", "estimate", "low", "high", "simultaneous_low", "simultaneous_high"} == set(document["cdf"][0])
    assert document["warnings"] == []


def test_every_format_has_the_same_numbers(lib, tmp_path):
    """CSV has a row for each figure of the JSON, the table has each by name, and the picture is of the distribution
    function."""
    document = json.loads(run(lib, *ASKED, "--json").stdout)
    rows = list(csv.DictReader(io.StringIO(run(lib, *ASKED, "--format", "csv").stdout)))
    assert [row["what"] for row in rows] == (
        ["quantile"] * 2 + ["cdf"] * len(document["cdf"]) + ["bin"] * 3 + ["above", "between", "mean"]
    )
    numbers = [
        *document["quantiles"],
        *document["cdf"],
        *document["bins"],
        document["above"],
        document["between"],
        document["mean"],
    ]
    for row, one in zip(rows, numbers, strict=True):
        assert (float(row["low"]), float(row["high"])) == pytest.approx((one["low"], one["high"]))
    table = run(lib, *ASKED, "--plot", tmp_path / "way.png").stdout
    assert all(word in table for word in ("median", "quantile 0.1", "10 to 19", "from 26 on", "up to 10", "mean"))
    assert (tmp_path / "way.png").read_bytes().startswith(b"\x89PNG")
    found = Study.open(lib).ordered("way", quantiles=(0.5,), cdf=True)
    (axes,) = ordered_figure(found).axes
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [point.estimate for point in found.cdf])
    caption = subtitle(found.estimate, found.estimate.size)
    assert caption in " ".join(table.split())
    assert axes.get_title("left").endswith(caption)


def test_a_wave_is_drawn_and_printed_as_bins_and_deciles(lib, tmp_path):
    """If single values are too noisy, table, page and picture have the shares of bins, nine deciles and the mean, all
    with the same figures.

    The bins contain all values. JSON has these figures besides the shares, and CSV has the shares alone.
    """
    study = Study.open(lib)
    found, tally = study.estimate("way"), study.tally(study.campaign("way"))
    read = summary_statistics(tally, found)
    assert ([one.first for one in read.bins], len(read.quantiles)) == ([10, 20, 30], 9)
    assert read.bins[-1].last == 33
    document = json.loads(run(lib, "--json").stdout)
    assert document == found.as_json()
    assert len(document["values"]) == 24
    assert (document["quantiles"][4]["value"], document["bins"][1]["from"]) == (read.quantiles[4].value, 20)
    assert (document["mean"]["estimate"], document["mean"]["unit"]) == (read.mean.estimate, "km")
    table = run(lib).stdout
    for name in ("median", "quantile 0.9", "mean", "20 to 29", "--format csv"):
        assert name in table
    assert len(run(lib, "--format", "csv").stdout.splitlines()) == 25
    assert "20 to 29" in found._repr_html_()
    assert sum(one.estimate for one in read.bins) == pytest.approx(1)
    shares, deciles = histogram_figure(read, np.full(24, 1 / 24)).axes
    np.testing.assert_allclose([bar.get_height() for bar in shares.patches], [one.estimate for one in read.bins])
    assert deciles.get_xlabel() == "km"
    assert shares.get_title("left").endswith(subtitle(found, found.size))
    run(lib, "--plot", tmp_path / "bins.png", "--report", tmp_path / "way.html")
    assert (tmp_path / "bins.png").read_bytes().startswith(b"\x89PNG")
    text = (tmp_path / "way.html").read_text(encoding="utf-8")
    assert "Deciles" in text
    assert f"<td>{read.quantiles[4].value}</td><td>{read.quantiles[4].low} to {read.quantiles[4].high}</td>" in text


def test_a_mean_without_unbiased_estimate_leaves_the_shares(tmp_path):
    """If the goal is a mean that the channel does not determine, command, page and notebook have the shares by the
    likelihood and a sentence on the mean; the numbers of the mean are null in JSON. An explicit request for the mean is
    refused."""
    now = int(time.time())
    smooth = discrete_gaussian(60, 8.0, 20 * NANONATS)
    way = NumberRange.of(0, 59, unit="km")
    study, signed = study_with(
        tmp_path, Campaign("Way", "How far?", "", "O", way, Ldp(20 * NANONATS), "discrete-gaussian",
        plain_views(smooth), now - 50, now + 50_000, 50_050, 1, 9, "open", goal="mean"), now,
    )  # fmt: skip
    lib, sentence = tmp_path / "lib", "the mean has no unbiased estimate for this channel"
    shown = run(lib, "--report", tmp_path / "way.html")
    assert "value   share" in shown.stdout
    assert shown.stderr.count(sentence) == 1
    page = (tmp_path / "way.html").read_text(encoding="utf-8")
    assert f"T{sentence[1:]}." in page
    assert "Bar chart of the shares" in page
    document = json.loads(run(lib, "--json").stdout)
    assert (document["mean"]["estimate"], len(document["values"])) == (None, 60)
    found = study.estimate("way")
    assert found.method == "em"
    assert sentence in found._repr_html_()
    assert "share" in found._repr_html_()
    assert not summary_statistics(study.tally(signed), found).known
    for words in (("--mean",), ("--by", "period")):
        assert f"{sentence}: estimate quantiles or shares instead" in run(lib, *words, code=65).stderr
    assert "median" in run(lib, "--by", "period", "--quantiles", ".5").stdout


def test_a_value_outside_the_range_is_refused_with_its_option(lib):
    """The error for a number outside the campaign's range names the option and the number."""
    for option, typed in (("--bins", "20,99"), ("--above", "99"), ("--between", "12,99")):
        assert f"{option}: '99' is not an answer" in run(lib, option, typed, code=65).stderr


def test_the_share_of_one_number_of_a_wave_is_not_called_unbiased(lib):
    """--value and --method projection are refused as unfitting options for a wave, which has no unbiased estimate of
    one number; by period, the printed share is called consistent."""
    assert "use method 'smooth'" in run(lib, "--method", "projection", code=65).stderr
    assert "no unbiased estimate of this value: use --bins V,..., or leave" in run(lib, "--value", "20", code=65).stderr
    printed = run(lib, "--value", "20", "--by", "period").stdout
    assert "the consistent share, because no unbiased estimate exists" in printed
    assert "the unbiased share" not in printed


def test_a_page_shows_the_requested_quantiles_and_ranges(lib, tmp_path):
    """A page with requested quantiles and ranges has them instead of the deciles, with the figures of the JSON.

    A distribution function that is only for the picture is in neither page nor JSON. A wave has no unbiased estimates,
    and the page does not explain any.
    """
    asked = ("--quantiles", ".05,.5", "--bins", "20,30", "--above", "25", "--between", "12,18", "--mean")
    page = tmp_path / "way.html"
    document = json.loads(run(lib, *asked, "--report", page, "--plot", tmp_path / "way.png", "--json").stdout)
    text = page.read_text(encoding="utf-8")
    assert "cdf" not in document
    assert (
        "Deciles" in text,
        "Quantiles, in km. At least this share of people has the value in the second column" in text,
        "distribution function" in text,
    ) == (False, True, True)
    assert ("the confidence interval" in text, "the unbiased estimate" in text) == (True, False)
    for one in document["quantiles"]:
        row = f"{100 * one['p']:g}%</span></th><td>{one['value']}</td><td>{one['low']} to {one['high']}</td>"
        assert row in text
    for name, one in zip(("10 to 19", "20 to 29", "30 to 33"), document["bins"], strict=True):
        assert f"{name}</span></th><td>{one['estimate']:.1%}</td><td>{one['low']:.1%} to {one['high']:.1%}</td>" in text
    assert f"from 26 on</span></th><td>{document['above']['estimate']:.1%}" in text
    assert f"12 to 18</span></th><td>{document['between']['estimate']:.1%}" in text


def test_true_quantiles_means_and_shares_are_printed_with_the_estimates(lib, tmp_path):
    """The true quantiles, mean and shares of a simulation are those of its true counts, and are printed with the
    estimates. The page does not count intervals of single shares, because a wave has none."""
    (tmp_path / "true.csv").write_text("value,count\n12,200\n20,150\n26,50\n")
    run(lib, "--truth", tmp_path / "true.csv", "--report", tmp_path / "way.html")
    rows = [line.split() for line in run(lib, "--truth", tmp_path / "true.csv").stdout.splitlines()]
    assert [row[-1] for row in rows if row and row[0] in ("median", "quantile")] == ["12"] * 5 + ["20"] * 3 + ["26"]
    assert [row[-2] for row in rows if row and row[0] == "mean"] == ["16.75"]
    shares = [cell for row in rows if row[1:2] == ["to"] for cell in row if cell in ("50.0%", "0.0%")]
    assert shares.count("50.0%") == 2
    page = (tmp_path / "way.html").read_text(encoding="utf-8")
    assert "<td>16.75 km</td>" in page
    assert "intervals contain the true share" not in page


@pytest.mark.parametrize(
    ("domain", "most", "starts"),
    [
        (NumberRange.of(17, 90), 12, ["20", "30", "40", "50", "60", "70", "80"]),
        (NumberRange.of(17, 90), 4, ["40", "60", "80"]),
        (NumberRange.of(0, 100), 12, [f"{edge}" for edge in range(10, 100, 10)]),
        (NumberRange.of(0, 5, "0.5"), 12, [f"{half / 2:g}" for half in range(1, 11)]),
        (NumberRange.of(0, 5, "0.1"), 12, [f"{half / 2:g}" for half in range(1, 10)]),
        (NumberRange.of(-3, 95, 7), 8, ["11", "25", "39", "53", "67", "81", "95"]),
        (Dates.of("2026-01-15", "2026-03-01"), 12, ["2026-01-19", "2026-01-26", "2026-02-02", "2026-02-09",
                                                    "2026-02-16", "2026-02-23"]),
        (Dates.of("2025-11-02", "2026-12-31"), 6, ["2026-01-01", "2026-04-01", "2026-07-01", "2026-10-01"]),
        (Dates.of("1940-01-01", "2026-06-30"), 12, [f"{year}-01-01" for year in range(1950, 2030, 10)]),
        (Dates.of("2026-01-01", "2026-01-05"), 12, [f"2026-01-0{day}" for day in range(2, 6)]),
        (OrderedValues(tuple("abcdefghijklmnop")), 4, ["e", "i", "m"]),
    ],
)  # fmt: skip
def test_bins_begin_at_round_values_and_at_calendar_units(domain, most, starts):
    """Bins begin at multiples of a round step, or at weeks, months, quarters or years; their number is at most the
    requested one."""
    assert [domain.label(start) for start in bin_starts(domain, most)] == starts
    assert len(starts) < most


def test_a_mean_of_days_is_a_day():
    """A mean of dates is a date in text and JSON; its standard error is in days, and dates have no sum."""
    domain = Dates.of("2026-01-01", "2026-01-09")
    channel = wave(9, 2 * NANONATS)
    campaign = unsigned_campaign(domain, channel, 2 * NANONATS)
    counts = np.rint(10**6 * decoder_of(channel).forward(np.eye(9)[5])).astype(np.int64)
    found = query.mean(campaign, Tally.of(counts))
    assert found.as_json()["estimate_day"] == "2026-01-06"
    assert query_texts(found)[0] == "2026-01-06"
    assert query_texts(found)[1].endswith(" days")
    with pytest.raises(query.NotANumber, match="no sum"):
        query.total(campaign, Tally.of(counts))


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--quantiles", "50"), 2),
        (("--quantiles", "half"), 2),
        (("--quantiles", ","), 2),
        (("--bins", "x"), 65),
        (("--above", "120"), 65),
        (("--above", "20,25"), 65),
        (("--above", "33"), 65),
        (("--between", "30"), 2),
        (("--between", "30,20"), 65),
        (("--cdf", "--value", "20"), 2),
        (("--cdf", "--format", "parquet"), 2),
        (("--above", "20", "--population", "10"), 2),
        (("--forged", "5"), 2),
    ],
)
def test_wrong_options_are_errors(lib, words, code):
    """An invalid fraction or value, an empty range, options that exclude each other, and --forged without unbiased
    estimates are errors."""
    assert "Error" in run(lib, *words, code=code).stderr
