"""Properties of the tables, documents and pictures of estimates."""

import csv
import dataclasses
import io
import json
import re

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from PIL import Image
from rich.console import Console

from aggregator.estimate import query
from aggregator.estimate.estimator import estimate
from aggregator.estimate.tally import Tally
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.registry import decoder_of
from aggregator.present.document import cell, csv_text, estimate_csv, query_csv
from aggregator.present.picture import png
from aggregator.present.plot import draw_estimate, estimate_figure
from aggregator.present.shown_shares import percent
from aggregator.present.table import ShareBar, estimate_table, query_table
from aggregator.present.tallies import WRITERS
from protocol.campaign import Campaign
from protocol.domain import Buckets, Grid, Items, Values
from protocol.exact import NANONATS
from protocol.notions import Ldp
from protocol.views import plain_views
from tests.aggregator.test_estimate_result import SINGULAR

PNG = b"\x89PNG\r\n\x1a\n"


def found(domain, p=None, n=2000, title="Colours", refused=None):
    channel = hadamard(domain.size, NANONATS)
    campaign = Campaign(title, "Q?", "", "O", domain, Ldp(NANONATS), "hadamard", plain_views(channel),
                     10**9, 2 * 10**9, 86400, 1, 100, "open")  # fmt: skip
    decoder = decoder_of(channel)
    distribution = decoder.forward(np.full(domain.size, 1 / domain.size) if p is None else np.asarray(p))
    counts = np.random.default_rng(4).multinomial(n, distribution / distribution.sum())
    return estimate(campaign, Tally(counts, int(counts.sum()), refused or {}))


def found_items(domain):
    channel = hadamard(domain.size, 2 * NANONATS)
    campaign = Campaign("Basket", "Q?", "", "O", domain, Ldp(2 * NANONATS), "hadamard", plain_views(channel),
                     10**9, 2 * 10**9, 86400, 1, 100, "open")  # fmt: skip
    distribution = decoder_of(channel).forward(np.full(domain.size, 1 / domain.size))
    return estimate(campaign, Tally.of(np.random.default_rng(4).multinomial(2000, distribution / distribution.sum())))


def printed(table, width=120):
    console = Console(width=width, file=io.StringIO())
    console.print(table)
    return console.file.getvalue()


COLOURS = Values(("red", "green", "blue"))
MANY = Values(tuple(f"item {x}" for x in range(200)))
LABELS_WITH_MARKUP = Values(("[bold]yes[/bold]", "[/] no $x_1$", "€ 10 to $20", "日本"))


def test_the_table_shows_percentages_intervals_and_refusals():
    """Each value has its share and interval in percent; the caption has the number of reports, the privacy level and
    the refusals."""
    text = printed(estimate_table(found(COLOURS, [0.7, 0.2, 0.1], refused={"replayed": 2, "signature": 1})))
    for part in (
        "Colours",
        "red",
        "% to ",
        "95% interval",
        "2,000 reports",
        "level 1 nat (ldp)",
        "3 refused",
        "2 replayed",
    ):
        assert part in text
    assert "forged" in text


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (100, "if 1 of 100 reports (1.0%) were forged"),
        (101, "if 2 of 101 reports (2.0%) were forged"),
        (150, "if 2 of 150 reports (1.3%) were forged"),
        (48_842, "if 489 of 48,842 reports (1.0%) were forged"),
    ],
)
def test_the_number_of_forged_reports_is_rounded_up(n, text):
    """The table states the influence of a hundredth of the reports, rounded up to a whole number of reports, and their
    part of all reports."""
    assert text in " ".join(printed(estimate_table(found(COLOURS, n=n))).split())


def test_the_influence_is_that_of_the_requested_forged_reports():
    """The table states the influence of the requested number of forged reports, instead of a hundredth of the
    reports."""
    one = found(COLOURS, n=2000)
    one = dataclasses.replace(one, influence=dataclasses.replace(one.influence, forged=130))
    assert "if 130 of 2,000 reports (6.5%) were forged" in " ".join(printed(estimate_table(one)).split())


def item_rows(text):
    """Return the rows of a table whose values are named "item ..."."""
    return [line for line in text.splitlines() if line.strip().startswith("item ")]


def test_significant_values_come_first():
    """Of 200 values, those whose simultaneous interval is above zero come first, even if noise gives another value a
    larger share.

    A few of the other values follow, each marked, and the caption has the number of significant ones.
    """
    p = np.full(200, 0.4 / 198)
    p[[7, 150]] = 0.5, 0.1
    shown = found(MANY, p, n=60_000)
    # Noise makes one value stand out.
    shown = dataclasses.replace(shown, share=np.where(np.arange(200) == 3, 0.2, shown.share))
    significant = np.flatnonzero(shown.simultaneous_low > 0)
    assert list(significant) == [7, 150]
    text = printed(estimate_table(shown))
    words = " ".join(text.split())
    assert (
        "2 of 200 values have shares significantly above zero, by the simultaneous 95% intervals of all values" in words
    )
    assert "; 8 more are shown whose share may be zero" in words
    assert "simultaneous 95% interval" in text
    rows = item_rows(text)
    assert [row.split()[1] for row in rows[:3]] == ["7", "150", "3"]
    assert percent(float(shown.simultaneous_low[7]), 2) in rows[0]
    assert ["may be zero" in row for row in rows] == [False] * 2 + [True] * 8
    above_zero = {row["value"]: row["above_zero"] for row in csv.DictReader(estimate_csv(shown))}
    assert {name for name, above in above_zero.items() if above == "True"} == {"item 7", "item 150"}
    everything = found(Values(tuple(f"item {x}" for x in range(40))), n=10**6)
    assert len(item_rows(printed(estimate_table(everything)))) == 25
    assert "40 of 40 values have shares significantly above zero" in " ".join(
        printed(estimate_table(everything)).split()
    )


def test_shares_of_items_are_labelled_as_shares_of_people(tmp_path):
    """The table of item sets states that its shares are of people who have an item. With a given truth it states the
    mean absolute difference of a share instead of a total variation distance.

    Items without names are numbered from 1.
    """
    shown = found_items(Items(3, 12))
    truth = np.linspace(0, 1, 12)
    text = " ".join(printed(estimate_table(shown, truth)).split())
    apart = np.abs(shown.share - truth).mean()
    assert f"mean absolute difference of an item's share from the truth: {100 * apart:.2f}%" in text
    assert "total variation" not in text
    assert "shares of people who have an item, of 12 items; they need not sum to 100%" in text
    assert "items numbered 1 to 12" in text
    assert shown.as_json()["items"] == {"count": 12, "padding": 3, "numbered": [1, 12]}
    assert shown.as_json()["values"][0]["value"] == "1"
    draw_estimate(shown, tmp_path / "items.png")
    assert "numbered" not in printed(estimate_table(found_items(Items(3, tuple("abcdefghijkl")))))


def test_texts_are_never_read_as_markup():
    """Brackets and dollar signs in a label or title are shown as text, in tables and in pictures."""
    shown = found(LABELS_WITH_MARKUP, title="[red]$T$[/red]")
    text = printed(estimate_table(shown))
    assert "[bold]yes[/bold]" in text
    assert "[red]$T$[/red]" in text
    drawn = {text.get_text() for text in estimate_figure(shown).findobj(Text)}
    # Matplotlib shows an escaped dollar sign, and reads the text between two others as a formula.
    assert not any(re.search(r"(?<!\\)\$", words) for words in drawn)
    words = "\n".join(drawn).replace("\\$", "$")
    assert all(label in words for label in (*LABELS_WITH_MARKUP.labels, "[red]$T$[/red]"))


def test_a_picture_with_a_palette_is_small_and_looks_the_same():
    """The PNG file of bars and of a map has less than half the bytes of the file with all colours; no colour channel
    differs by more than 8 of 255."""
    map_of_cells = found(Grid(0, 2_000_000, 0, 2_000_000, 100_000), np.arange(400) / 79_800, n=10**6)
    for shown in (found(MANY), map_of_cells):
        written = png(estimate_figure(shown))
        canvas = FigureCanvasAgg(estimate_figure(shown))
        canvas.draw()
        every_colour = np.asarray(canvas.buffer_rgba())
        exact = io.BytesIO()
        Image.fromarray(every_colour).save(exact, "png")
        drawn = np.asarray(Image.open(io.BytesIO(written)).convert("RGB")).astype(int)
        assert np.abs(drawn - every_colour[:, :, :3]).max() <= 8
        assert len(written) < len(exact.getvalue()) / 2


def test_the_table_has_a_truth_column_if_the_truth_is_given():
    """The table has a column for the truth if and only if the truth is given."""
    shown = found(COLOURS)
    assert "truth" not in printed(estimate_table(shown))
    text = printed(estimate_table(shown, np.array([0.125, 0.5, 0.375])))
    assert "truth" in text
    assert "12.5%" in text


@pytest.mark.parametrize(("part", "drawn"), [(0, ""), (1, "█" * 24), (0.5, "█" * 12), (1 / 192, "▏"), (2, "█" * 24)])
def test_bars_are_drawn_in_eighths(part, drawn):
    """The length of a bar is its fraction of 24 characters, in eighths of a character."""
    assert ShareBar(part).text() == drawn


def test_bars_of_a_narrow_table_have_one_scale():
    """In a terminal that is too narrow for full bars, all bars are drawn to the same smaller scale, and none is cut
    off."""
    labels = Values(("a" * 36, "b", "c"))
    lines = printed(estimate_table(found(labels, [0.6, 0.3, 0.1], n=10**7)), 80).splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "\u2026" not in "".join(lines)
    whole, half, least = (next(line.count("█") for line in lines if line.strip().startswith(x)) for x in "abc")
    assert 24 > whole > 6
    assert whole / 2 - 1 <= half <= whole / 2
    assert whole / 6 - 1 <= least <= whole / 6


def test_no_cell_is_a_formula():
    """A text that a spreadsheet would compute is written as text; numbers and positions on a map are unchanged."""
    for text in ("=1+1", "+A1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-", "=", "-1-1", "+1,A1"):
        assert cell(text) == f"'{text}"
    for kept in ("a=b", "", "-5", "+5.5", "-1e-9", "-12.5,30.25", "-12.5, -30", -5, -0.5, None, True, "1-2"):
        assert cell(kept) is kept
    formula = '=HYPERLINK("http://x")'
    (row,) = csv.DictReader(io.StringIO(csv_text(["value", "n"], [{"value": formula, "n": -1.5}])))
    assert row == {"value": f"'{formula}", "n": "-1.5"}
    file = io.BytesIO()
    WRITERS[".csv"](pa.table({"class": [formula, "-5"], "count": [-1, 2]}), file)
    assert [line["class"] for line in csv.DictReader(io.StringIO(file.getvalue().decode()))] == [f"'{formula}", "-5"]


def test_the_lines_of_a_csv_are_made_one_by_one(monkeypatch):
    """The first two lines of a CSV name one value only, so a million rows are not in memory together."""
    shown, named = found(Grid(0, 2_000_000, 0, 2_000_000, 1_000_000)), []
    monkeypatch.setattr(type(shown), "label", lambda _, x: named.append(x) or str(x))
    lines = estimate_csv(shown)
    assert next(lines).startswith("value,estimate,raw")
    assert next(lines).startswith("0,")
    assert named == [0]


def test_the_csv_has_every_value_and_fractions_in_full():
    """The CSV has one row for each value, in order, with the figures of the JSON; a label with a comma is quoted."""
    shown = found(Grid(0, 2_000_000, 0, 2_000_000, 1_000_000))
    rows = list(csv.DictReader(estimate_csv(shown)))
    assert [row["value"] for row in rows] == ["0.5,0.5", "0.5,1.5", "1.5,0.5", "1.5,1.5"]
    assert [float(row["raw"]) for row in rows] == shown.raw.tolist()
    assert [float(row["estimate"]) for row in rows] == shown.share.tolist()
    document = json.loads(json.dumps(shown.as_json(), allow_nan=False))
    assert [float(row["low"]) for row in rows] == [value["low"] for value in document["values"]]


def test_one_number_is_printed_with_its_interval():
    """A mean is printed with its error and interval, rounded to two digits of the error; the CSV has all digits."""
    shown = found(Buckets.of([0, 10, 20]))
    answer = query.mean(shown.campaign, Tally.of(np.array([300, 400, 200, 100])))
    text = printed(query_table(answer, shown.campaign, 1000))
    assert f"{answer.estimate:.2f}" in text
    assert f"{answer.low:.2f} to {answer.high:.2f}" in text
    share = query.value_share(shown.campaign, Tally.of(np.array([300, 400, 200, 100])), 1)
    text = printed(query_table(share, shown.campaign, 1000))
    assert f"{share.estimate:.1%}" in text
    assert f"{share.low:.1%} to {share.high:.1%}" in text
    assert "%" not in printed(query_table(share.times(5000, "people"), shown.campaign, 1000)).replace("95%", "")
    (row,) = csv.DictReader(io.StringIO(query_csv(answer)))
    assert float(row["estimate"]) == answer.estimate


@pytest.mark.parametrize(
    ("domain", "p"),
    [
        (COLOURS, [1, 0, 0]),
        (Values(("a" * 200, "b" * 200, "c")), None),
        (MANY, None),
        (Buckets.of([-1.5, 0, 2.5]), None),
        (Grid(0, 10_000_000, 0, 30_000_000, 1_000_000), None),
        (Grid(40_000_000, 70_000_000, 0, 10_000_000, 2_000_000), None),
    ],
    ids=["few", "long labels", "many", "buckets", "wide grid", "tall grid"],
)
@pytest.mark.parametrize("rehearsal", [False, True])
def test_every_kind_of_domain_is_drawn(tmp_path, domain, p, rehearsal):
    """The picture of every kind of domain is a PNG, with and without the truth, and causes no warning."""
    shown = found(domain, p)
    draw_estimate(shown, tmp_path / "it.png", np.full(domain.size, 1 / domain.size) if rehearsal else None)
    assert (tmp_path / "it.png").read_bytes().startswith(PNG)


def test_an_estimate_without_intervals_is_still_shown(tmp_path):
    """If no unbiased estimate exists, table, CSV and picture show the shares alone."""
    shown = estimate(SINGULAR, Tally.of(np.array([40, 60])))
    assert "33.3%   - " in printed(estimate_table(shown))
    assert ",,,," in "".join(estimate_csv(shown))
    draw_estimate(shown, tmp_path / "it.png")
    assert "-" in printed(query_table(query.value_share(SINGULAR, Tally.of(np.array([40, 60])), 0), SINGULAR, 100))
