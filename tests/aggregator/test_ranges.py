"""Quantiles and ranges of a study: the command prints what Python gives, in every form; wrong words are told."""

from __future__ import annotations

import csv
import io
import json
import time

import numpy as np
import pytest
from click.testing import CliRunner

from aggregator import Study, Truth, ingest, simulate
from aggregator.cli.shell import halftruth
from aggregator.estimate.ordered import summary
from aggregator.families.wave.recipe import wave
from aggregator.present.ordered_plot import histogram_figure, ordered_figure
from protocol import SigningKey, open_campaign, seal_campaign
from protocol.campaign import Campaign
from protocol.domain import NumberRange
from protocol.exact import NANONATS
from protocol.notions import Ldp
from protocol.views import plain_views

KEY = SigningKey(bytes([9]) * 32)
ASKED = ("--quantiles", ".5,.1", "--bins", "20,30", "--above", "25", "--between", "12,18", "--mean", "--cdf")


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    """A study of 400 people's numbers from 10 to 33."""
    folder, now = tmp_path_factory.mktemp("ranges"), int(time.time())
    domain, views = NumberRange.of(10, 33, unit="km"), plain_views(wave(24, 2 * NANONATS))
    terms = Campaign(
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
    signed = open_campaign(seal_campaign(terms, KEY), [KEY.public])
    study = Study.create(folder / "lib")
    study.import_campaign(signed.data, [KEY.public], "way")
    (sent,) = simulate(terms, signed.id, Truth((12, 20, 26), (200, 150, 50)), range(1), seed=3)
    (folder / "batch.htr").write_bytes(sent.reports)
    assert ingest(study, [folder / "batch.htr"], now=now).accepted == 400
    return folder / "lib"


def run(lib, *words, code=0):
    result = CliRunner().invoke(halftruth, ["--study", str(lib), "estimate", "way", *map(str, words)])
    assert result.exit_code == code, result.output
    return result


def test_the_command_gives_what_python_gives(lib):
    """The JSON of the command is that of ``Study.ordered`` with the same questions; its keys are a contract."""
    said = json.loads(run(lib, *ASKED, "--json", "--confidence", "0.9").stdout)
    found = Study.open(lib).ordered(
        "way", quantiles=(0.1, 0.5), bins=(20, 30), above=25, between=(12, 18), mean=True, cdf=True, confidence=0.9
    )
    assert said == found.as_json()
    assert [sorted(one) for one in said["quantiles"]] == [["high", "low", "p", "value"]] * 2
    assert [one["p"] for one in said["quantiles"]] == [0.1, 0.5]
    assert (said["above"]["from"], said["between"]["from"], said["between"]["to"]) == (26, 12, 18)
    assert {"value", "estimate", "low", "high", "simultaneous_low", "simultaneous_high"} == set(said["cdf"][0])
    assert said["warnings"] == []


def test_every_form_has_the_same_numbers(lib, tmp_path):
    """CSV has a row for each number of the JSON, the table names each, and the picture is of the distribution
    function."""
    said = json.loads(run(lib, *ASKED, "--json").stdout)
    rows = list(csv.DictReader(io.StringIO(run(lib, *ASKED, "--format", "csv").stdout)))
    assert [row["what"] for row in rows] == (
        ["quantile"] * 2 + ["cdf"] * len(said["cdf"]) + ["bin"] * 3 + ["above", "between", "mean"]
    )
    told = [*said["quantiles"], *said["cdf"], *said["bins"], said["above"], said["between"], said["mean"]]
    for row, one in zip(rows, told, strict=True):
        assert (float(row["low"]), float(row["high"])) == pytest.approx((one["low"], one["high"]))
    table = run(lib, *ASKED, "--plot", tmp_path / "way.png").stdout
    assert all(word in table for word in ("median", "quantile 0.1", "10 to 19", "from 26 on", "up to 10", "mean"))
    assert (tmp_path / "way.png").read_bytes().startswith(b"\x89PNG")
    found = Study.open(lib).ordered("way", quantiles=(0.5,), cdf=True)
    (axes,) = ordered_figure(found).axes
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [point.estimate for point in found.cdf])


def test_a_wave_is_drawn_and_printed_as_bins_and_deciles(lib, tmp_path):
    """Where single values say little, page and picture have the shares of ten ranges that hold everybody, and nine
    deciles, with the numbers of the command."""
    study = Study.open(lib)
    found, tally = study.estimate("way"), study.tally(study.campaign("way"))
    read = summary(found.terms, tally, found)
    assert (len(read.bins), len(read.quantiles)) == (10, 9)
    assert (read.bins[0].first, read.bins[-1].last) == (10, 33)
    assert sum(one.estimate for one in read.bins) == pytest.approx(1)
    shares, deciles = histogram_figure(read, np.full(24, 1 / 24)).axes
    np.testing.assert_allclose([bar.get_height() for bar in shares.patches], [one.estimate for one in read.bins])
    assert deciles.get_xlabel() == "km"
    run(lib, "--plot", tmp_path / "bins.png", "--report", tmp_path / "way.html")
    assert (tmp_path / "bins.png").read_bytes().startswith(b"\x89PNG")
    text = (tmp_path / "way.html").read_text(encoding="utf-8")
    assert "Deciles" in text
    assert f"<td>{read.quantiles[4].value}</td><td>{read.quantiles[4].low} to {read.quantiles[4].high}</td>" in text


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--quantiles", "50"), 2),
        (("--quantiles", "half"), 2),
        (("--quantiles", ","), 2),
        (("--bins", "x"), 65),
        (("--above", "120"), 65),
        (("--above", "33"), 65),
        (("--between", "30"), 2),
        (("--between", "30,20"), 65),
        (("--cdf", "--value", "20"), 2),
        (("--cdf", "--format", "parquet"), 2),
        (("--above", "20", "--population", "10"), 2),
    ],
)
def test_wrong_words_are_told(lib, words, code):
    """A part that is none, a value that is none, a range of nothing, and what does not go together."""
    assert "Error" in run(lib, *words, code=code).stderr
