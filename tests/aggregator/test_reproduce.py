"""The framework of the papers' experiments: populations, data sets, documents, pages, figures, and the command."""

from __future__ import annotations

import gzip
import json
import math
import sys
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from scipy import stats

from aggregator.estimate.distribution import total_variation
from aggregator.estimate.estimator import estimate
from aggregator.families.bits import recipe as unary
from aggregator.families.blocks.recipe import high_low, in_blocks
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.noise import recipe as noise
from aggregator.families.projective.recipe import projective
from aggregator.families.response.recipe import randomized_response
from aggregator.families.sets.recipe import subset_selection, triples
from aggregator.families.windows.recipe import windows
from aggregator.reproduce import PAPERS, document, experiments, page, simulated_people
from aggregator.reproduce.data import DISTRICTS, GRID_COLUMNS, SOURCES, DataFolder, MissingData
from aggregator.reproduce.draw import draw
from aggregator.reproduce.experiment import STEPS, Curve, Experiment, ExperimentResult, Finding, Plot, Setting, parted
from aggregator.reproduce.formats import UnreadableData
from protocol.notions import Ldp, Lip
from protocol.personal import lip_response
from tests.aggregator.command import run
from tests.aggregator.matrix import dense
from tests.aggregator.stored_run import document_of

NAT = 10**9
MANY, FEW = 1_000_000, 4_000
"""Number of people in a test of a distribution; few where devices draw one by one.

At alpha = 10^-4 a correct mechanism fails once in 10,000 such tests; the seed is fixed.
"""


CHANNELS = {
    "response": randomized_response(5, NAT),
    "uneven response": lip_response((5, 3, 1, 1), NAT),
    "hadamard": hadamard(6, NAT),
    "projective": projective(6, NAT),
    "triples": triples(6, NAT),
    "table": noise.discrete_laplace(5, NAT),
    "windows": windows((50, 20, 9, 5, 3, 2, 1, 1), NAT),
    "blocks": in_blocks((0, 0, 1, 1, 1, 2), NAT, hadamard),
    "high-low": high_low(6, (1, 3, 4), NAT, hadamard),
    "one sensitive": high_low(4, (2,), NAT, hadamard),
}


def agrees(counts, weights, scale, people):
    """Assert that counts follow integer weights over 2^scale, by a chi-square test, and that outputs of weight 0 do
    not occur."""
    expected = np.array([people * weight / 2**scale for weight in weights])
    assert not counts[expected == 0].any()
    some = expected > 0
    assert counts.sum() > 0
    if some.sum() > 1:
        fitted = expected[some] * counts.sum() / expected[some].sum()  # the two sums differ only by rounding
        assert stats.chisquare(counts[some], fitted).pvalue > 1e-4


@pytest.mark.parametrize("written", [2**24, 0], ids=["rows", "steps"])
@pytest.mark.parametrize("name", CHANNELS)
def test_simulated_people_answer_as_devices(name, written, monkeypatch):
    """Reports of people with one value have the distribution of the channel's integers, for both ways to draw them.

    n is ``MANY``, or ``FEW`` where devices draw one by one; chi-square at alpha = 1e-4. A failure means that people are
    simulated wrongly.
    """
    channel, generator = CHANNELS[name], np.random.default_rng(7)
    monkeypatch.setattr(simulated_people, "_MAX_CELLS", written)
    people = MANY if written else FEW
    for x in (0, channel.input_count - 1):
        held = np.zeros(channel.input_count, dtype=np.int64)
        held[x] = people
        tally = simulated_people.tally(channel, held, generator)
        assert tally.reports == tally.counts.sum() == people
        agrees(tally.counts, [channel.weight(x, y) for y in range(channel.output_count)], channel.scale, people)


def test_a_survey_of_several_values_is_the_sum_of_its_parts():
    """Counts of people with different values have the mean and the variance of independent devices."""
    channel, generator = lip_response((5, 3, 1, 1), NAT), np.random.default_rng(3)
    held, rows = np.array([30, 0, 12, 5]), dense(channel)
    drawn = np.array([simulated_people.tally(channel, held, generator).counts for _ in range(4000)])
    variance = (held[:, None] * rows * (1 - rows)).sum(axis=0)
    # With n = 4000 and 4 means, 4.5 standard errors correspond to alpha = 3e-5.
    assert (np.abs(drawn.mean(axis=0) - held @ rows) < 4.5 * np.sqrt(variance / 4000)).all()
    # The relative standard error is sqrt(2 / 4000), and 5.8 of them are allowed.
    assert drawn.var(axis=0) == pytest.approx(variance, rel=0.13)


@pytest.mark.parametrize("channel", [unary.oue(3, NAT), unary.utility_oue(3, (0,), NAT), subset_selection(5, NAT)])
def test_simulated_people_set_bits_as_devices(channel):
    """The bit vectors of 6,000 people have the distribution of the channel's integers (chi-square, alpha = 1e-4).

    A failure means that bits of one person are drawn with wrong probabilities or together.
    """
    generator = np.random.default_rng(5)
    people = 6000
    for x in (0, channel.input_count - 1):
        held = np.zeros(channel.input_count, dtype=np.int64)
        held[x] = 1
        words = Counter(
            int("".join(map(str, simulated_people.tally(channel, held, generator).counts)), 2) for _ in range(people)
        )
        counts = np.array([words[y] for y in range(channel.output_count)])
        agrees(counts, [channel.weight(x, y) for y in range(channel.output_count)], channel.scale, people)


def test_the_estimator_of_the_product_takes_a_simulated_tally():
    """The product's estimator takes a simulated tally of a campaign made by mechanism name, and its estimate is near
    the truth."""
    held = np.array([5000, 3000, 1500, 500])
    for notion in (Ldp(2 * NAT), Lip(2 * NAT, (10, 6, 3, 1))):
        campaign = simulated_people.campaign(simulated_people.values(4), notion, "auto")
        found = estimate(campaign, simulated_people.tally(campaign.channel, held, np.random.default_rng(1)))
        assert total_variation(found.share, held / held.sum()) < 0.03  # its standard error is about 0.01


def test_a_survey_needs_a_number_of_people_for_each_value():
    """A simulated survey needs a non-negative number of people for each value."""
    channel = CHANNELS["response"]
    for held, fault in (([1, 2], r"must have shape \(5,\)"), ([1, 1, 1, 1, -1], "must be 0 or more, not -1")):
        with pytest.raises(ValueError, match=fault):
            simulated_people.tally(channel, held, np.random.default_rng(1))


# Data sets


def test_lists_keep_order_and_repeated_items(tmp_path):
    """A FIMI file has one list per line, with order and repeated items; packed and compact files read the same."""
    (tmp_path / "kosarak.dat").write_text("1 2 3 \n\n7\n2 2 9\n", encoding="ascii")
    plain = DataFolder(tmp_path).baskets("kosarak")
    assert (plain.offsets.tolist(), plain.items.tolist()) == ([0, 3, 4, 7], [1, 2, 3, 7, 2, 2, 9])
    assert plain.occurrences.tolist() == [0, 1, 3, 1, 0, 0, 0, 1, 0, 1]
    assert (len(plain), plain.complete) == (3, False)
    assert plain.label == "Kosarak, a part of it, 3 baskets with 7 items in them"
    packed, compact = tmp_path / "packed", tmp_path / "compact"
    packed.mkdir()
    compact.mkdir()
    (packed / "retail.dat.gz").write_bytes(gzip.compress((tmp_path / "kosarak.dat").read_bytes()))
    np.savez(compact / "retail.npz", offsets=plain.offsets.astype("u4"), items=plain.items.astype("u2"))
    for folder in (packed, compact):
        other = DataFolder(folder).baskets("retail")
        assert (other.offsets.tolist(), other.items.tolist()) == (plain.offsets.tolist(), plain.items.tolist())


def test_a_complete_data_set_is_labelled_as_complete(tmp_path, monkeypatch):
    """A data set with the published number of records is labelled as whole."""
    monkeypatch.setitem(SOURCES, "retail", SOURCES["retail"].__class__("Retail", ("retail.dat",), "x", "there", 3))
    (tmp_path / "retail.dat").write_text("0 5\n5\n", encoding="ascii")
    assert DataFolder(tmp_path).baskets("retail").complete
    assert DataFolder(tmp_path).baskets("retail").label.startswith("Retail, whole,")


RENTALS = [
    {"user_id": "420272", "item_id": "2260466", "rating": "10", "fit": "fit"},
    {"user_id": "273551", "item_id": "153475", "rating": "10", "review_text": "I rented \u2026"},
    {"user_id": "420272", "item_id": "153475", "rating": None},
    {"user_id": "420272", "item_id": "9", "rating": "8"},
]


def test_rentals_are_lists_by_person(tmp_path):
    """Rated rentals are listed by person, with items numbered in the order of their ids; unrated ones are omitted."""
    lines = "".join(json.dumps(record) + "\n" for record in RENTALS)
    (tmp_path / "renttherunway_final_data.json").write_text(lines, encoding="utf-8")
    found = DataFolder(tmp_path).clothing()
    assert (found.offsets.tolist(), found.items.tolist()) == ([0, 1, 3], [1, 2, 0])
    assert found.label == "Clothing (Rent the Runway), a part of it, 3 rated rentals by 2 people"
    compact = tmp_path / "compact"
    compact.mkdir()
    np.savez(
        compact / "renttherunway.npz",
        user=np.array([1, 0, 1, 1], dtype="u4"), item=np.array([2, 1, 1, 0], dtype="u2"),
        rating=np.array([10, 10, 0, 8], dtype="u1"),
    )  # fmt: skip
    other = DataFolder(compact).clothing()
    assert (other.offsets.tolist(), other.items.tolist()) == (found.offsets.tolist(), found.items.tolist())


def check_in(user, time, latitude, longitude, place):
    return f"{user}\t{time}\t{latitude}\t{longitude}\t{place}\n"


@pytest.fixture
def gowalla(tmp_path):
    """Check-ins in SNAP's format, in random order, and the same as (user, minute, latitude, longitude)."""
    generator = np.random.default_rng(2)
    rows = []
    for user in (3, 8, 15):
        for minute in sorted(generator.choice(60, size=12, replace=False).tolist(), reverse=True):
            latitude, longitude = generator.choice([30.1, 47.3, 51.2, -34.0]), generator.choice([-97.75, -100.0, 10.5])
            rows.append((user, minute, float(latitude), float(longitude)))
    generator.shuffle(rows)  # the real file has the newest first, but only ties depend on the order
    rows = [(int(user), int(minute), latitude, longitude) for user, minute, latitude, longitude in rows]
    text = "".join(check_in(u, f"2010-10-19T23:{minute:02}:27Z", a, o, 22847) for u, minute, a, o in rows)
    (tmp_path / "loc-gowalla_totalCheckins.txt").write_text(text, encoding="ascii")
    return DataFolder(tmp_path), rows


def test_the_last_check_in_is_the_newest(gowalla):
    """Each person's last district and counts of earlier ones equal those of a loop over the file."""
    folder, rows = gowalla
    found = folder.last_check_ins()
    for place, user in enumerate((3, 8, 15)):
        visits = sorted((minute, math.floor((a + 90) / 5) * 36 + math.floor((o + 180) / 10))
                      for u, minute, a, o in rows if u == user)  # fmt: skip
        assert found.last[place] == visits[-1][1]
        counts = Counter(district for _, district in visits[:-1])
        chosen = found.user == place
        assert dict(zip(found.district[chosen].tolist(), found.count[chosen].tolist(), strict=True)) == counts
    assert found.earlier.sum() == len(rows) - 3
    assert len(found.earlier) == DISTRICTS**2
    assert found.label == "Gowalla, a part of it, 3 users with 36 check-ins"


def test_the_first_of_several_last_check_ins_in_a_file_is_taken(tmp_path):
    """Of several check-ins at the same last second, the first in the file is the last one, because files are newest
    first."""
    stamp = "2010-10-19T23:55:27Z"
    lines = [check_in(7, stamp, latitude, 0.5, 1) for latitude in (12.0, 72.0)]
    (tmp_path / "Gowalla_totalCheckins.txt").write_text("".join(lines), encoding="ascii")
    assert DataFolder(tmp_path).last_check_ins().last.tolist() == [math.floor((12 + 90) / 5) * 36 + 18]


def test_the_grid_counts_only_check_ins_inside_the_window(gowalla):
    """A check-in inside the window is counted in its cell of a fifth of a degree; others are omitted."""
    folder, rows = gowalla
    found = folder.check_ins_on_grid()
    inside = [(a, o) for _, _, a, o in rows if 25 <= a < 50 and -130 <= o < -60]
    assert 0 < found.counts.sum() == len(inside) < len(rows)
    texas = math.floor((30.1 - 25) * 5 + 1e-9) * GRID_COLUMNS + math.floor((-97.75 + 130) * 5 + 1e-9)
    assert found.counts[texas] == inside.count((30.1, -97.75)) > 0


def test_compact_check_ins_equal_the_originals(gowalla, tmp_path):
    """The compact forms of both files give the same data as the originals."""
    folder, _ = gowalla
    last, grid = folder.last_check_ins(), folder.check_ins_on_grid()
    compact = tmp_path / "compact"
    compact.mkdir()
    np.savez(
        compact / SOURCES["gowalla-last"].compact, last_district=last.last, early_district=last.district,
        early_offsets=np.append(0, np.cumsum(np.bincount(last.user))), early_count=last.count,
    )  # fmt: skip
    cells = np.flatnonzero(grid.counts)
    grid_csv = "row,col,checkins,users\n" + "".join(f"{c // 350},{c % 350},{grid.counts[c]},1\n" for c in cells)
    (compact / SOURCES["gowalla-grid"].compact).write_bytes(gzip.compress(grid_csv.encode()))
    other = DataFolder(compact).last_check_ins()
    for name in ("last", "user", "district", "count"):
        assert (getattr(other, name) == getattr(last, name)).all()
    assert (DataFolder(compact).check_ins_on_grid().counts == grid.counts).all()


@pytest.mark.parametrize("name", SOURCES)
def test_the_error_of_a_missing_data_set_names_its_description(name, tmp_path):
    """If a data file or its folder is missing, the error names the data set, its description, and --data."""
    for folder in (None, tmp_path):
        with pytest.raises(MissingData) as refused:
            DataFolder(folder).file(name)
        assert all(part in str(refused.value) for part in (SOURCES[name].title, SOURCES[name].described_at, "--data"))


BROKEN = {
    "kosarak.dat": ("1 2\n3 x\n", "kosarak", "line 2"),
    "retail.dat": ("1 -2\n", "retail", "item id -2"),
    "renttherunway_final_data.json": ('{"user_id": "1", "rating": "2"}\n', "clothing", "line 1"),
    "loc-gowalla_totalCheckins.txt": (check_in(0, "yesterday", 30.0, -97.0, 1), "last_check_ins", "lines 1 to 1"),
    "Gowalla_totalCheckins.txt": (check_in(0, "2010-10-19T23:55:27Z", "nan", -97.0, 1), "last_check_ins", "latitude"),
    "kosarak_first100k.npz": ("PK no archive", "kosarak", "compact form"),
    "gowalla_u5628_us_grid.csv.gz": ("row,col,checkins,users\n", "check_ins_on_grid", "cannot be read"),
    "renttherunway_final_data.json.gz": ("", "clothing", "expected lines, each a JSON object"),
    "loc-gowalla_totalCheckins.txt.gz": ("", "last_check_ins", "expected lines of user"),
}


@pytest.mark.parametrize("file", BROKEN)
def test_a_file_of_another_format_is_refused(file, tmp_path):
    """A file whose contents do not have the format of its name is refused; for a text file the error has the line or
    field."""
    text, reader, where = BROKEN[file]
    arguments = (reader,) if reader in ("kosarak", "retail") else ()
    (tmp_path / file).write_text(text, encoding="ascii")
    with (
        pytest.raises(UnreadableData, match=where)
        if "cannot" not in where
        else pytest.raises((UnreadableData, OSError))
    ):
        getattr(DataFolder(tmp_path), "baskets" if arguments else reader)(*arguments)


@pytest.mark.parametrize(
    ("file", "reader", "text"),
    [
        ("kosarak.dat", "kosarak", f"{2**64}\n"),
        ("loc-gowalla_totalCheckins.txt", "last_check_ins", check_in(2**64, "2010-10-19T23:55:27Z", 30.0, -97.0, 1)),
        ("gowalla_u5628_us_grid.csv.gz", "check_ins_on_grid", f"row,col,checkins,users\n0,0,{2**64},1\n"),
        ("renttherunway_final_data.json", "clothing", "[" * 100_000),
    ],
)
def test_a_file_with_too_large_a_number_or_too_deep_a_list_is_refused(file, reader, text, tmp_path):
    """A number above 64 bits, or a JSON text that is nested too deeply, is refused like any other wrong content."""
    data = text.encode()
    (tmp_path / file).write_bytes(gzip.compress(data) if file.endswith(".gz") else data)
    with pytest.raises(UnreadableData, match="line"):
        DataFolder(tmp_path).baskets(reader) if reader == "kosarak" else getattr(DataFolder(tmp_path), reader)()


def test_a_compact_file_of_unequal_arrays_is_refused(tmp_path):
    """A compact file whose earlier check-ins have different numbers of districts and counts is refused with the
    numbers."""
    np.savez(
        tmp_path / SOURCES["gowalla-last"].compact, last_district=[1, 2], early_offsets=[0, 1, 3],
        early_district=[1, 2, 3], early_count=[1, 2],
    )  # fmt: skip
    with pytest.raises(UnreadableData, match="3 users, 3 districts and 2 counts of check-ins: expected equal numbers"):
        DataFolder(tmp_path).last_check_ins()


# Documents, pages, figures


def result(setting):
    for _ in setting.track(range(3)):
        number = float(setting.generator.random()) + setting.repeats
    curves = parted("published", (1.0, 2.0, 3.0), (3.0, 2.0, 1.0), (False, True, True), "eps-LIP")
    plot = Plot("two | bars", "x", "y", (*curves, Curve("ours", (1.0, 2.0), (number, math.nan), "ours", marks=True)))
    findings = (Finding("they | say", f"we get {number:.3f}", "because"),)
    return ExperimentResult((plot,), findings, f"it is {number:.2f}.", None, "This applies to all rows.")


def needy(setting):
    raise AssertionError("an experiment ran without its data")


MADE = (
    Experiment("first", "A9", "The first", result, 7, 2),
    Experiment("second", "A9, B1", "The second", result, 7, 2),
    Experiment("third", "A9", "The third", needy, needs=("kosarak",)),
)


@pytest.fixture
def made(monkeypatch):
    monkeypatch.setitem(sys.modules, "aggregator.reproduce.made", SimpleNamespace(EXPERIMENTS=MADE))
    monkeypatch.setitem(PAPERS, "made", "A paper, made up")


def test_a_published_curve_is_divided_by_its_claim():
    """A curve is divided into the points that satisfy the claimed level, and the other points, continued to the next
    valid point."""
    kept, broken = parted("published", (1.0, 2.0, 3.0), (3.0, 2.0, 1.0), (False, True, True), "eps-LIP")
    assert [math.isnan(y) for y in kept.y] == [True, False, False]
    assert (broken.y[:2], math.isnan(broken.y[2])) == ((3.0, 2.0), True)
    assert (kept.role, broken.role, broken.name) == ("published", "invalid", "published, not eps-LIP here")
    assert [curve.role for curve in parted("p", (1.0,), (1.0,), (True,), "x")] == ["published"]


def test_the_steps_of_an_experiment_fill_the_progress_bar():
    """The steps of an experiment add up to the whole progress bar, for any number of steps."""
    for count in (1, 3, 7, 1999):
        moved = []
        setting = Setting(DataFolder(None), np.random.default_rng(1), 1, True, moved.append)
        assert list(setting.track(range(count))) == list(range(count))
        assert sum(moved) == STEPS


def test_the_seed_determines_the_document(made):
    """The same seed gives the same document, whatever other experiments run; another seed gives a different one."""
    whole = document.run_experiments("made", DataFolder(None), 1, quick=True)
    alone = document.run_experiments("made", DataFolder(None), 1, quick=True, only=["second"])
    assert whole.as_json() == document.run_experiments("made", DataFolder(None), 1, quick=True).as_json()
    assert alone.runs[0].result.verdict == whole.runs[1].result.verdict != whole.runs[0].result.verdict
    assert (
        document.run_experiments("made", DataFolder(None), 2, quick=True).runs[0].result.verdict
        != whole.runs[0].result.verdict
    )
    assert (
        whole.runs[0].repeats,
        document.run_experiments("made", DataFolder(None), 1, quick=False).runs[0].repeats,
    ) == (2, 7)


def test_an_experiment_without_data_is_left_out_and_named(made):
    """An experiment without its data is not run; the document has the reason, and the other experiments.

    An unknown experiment is a ValueError.
    """
    found = document.run_experiments("made", DataFolder(None), 1, quick=True)
    assert [each.name for each in found.runs] == ["first", "second"]
    assert "Kosarak" in found.missing["third"]
    with pytest.raises(ValueError, match="no experiment 'fourth'"):
        document.run_experiments("made", DataFolder(None), 1, quick=True, only=["fourth"])


def test_a_document_is_unchanged_after_json(made):
    """A document, with gaps in curves, is unchanged after JSON and back."""
    found = document.run_experiments("made", DataFolder(None), 1, quick=True)
    kept = json.loads(json.dumps(found.as_json(), allow_nan=False))
    again = document_of(kept)
    assert again.as_json() == kept == json.loads(found.as_text())
    assert math.isnan(again.runs[0].result.plots[0].curves[-1].y[1])


def test_a_page_is_rewritten_between_its_comments(made):
    """The part of one paper is replaced and the rest of the page is unchanged; a remark is above its table, and
    vertical bars in a text do not break the table."""
    found = document.run_experiments("made", DataFolder(None), 1, quick=True)
    frame = "before\n<!-- computed: made -->\nstale\n<!-- end -->\nafter\n<!-- computed: lip -->\nother\n<!-- end -->\n"
    written = page.replace_section(frame, found, "results")
    assert written.startswith("before\n")
    assert written.endswith("<!-- computed: lip -->\nother\n<!-- end -->\n")
    assert "stale" not in written
    assert f"| they \\| say | {found.runs[0].result.findings[0].ours} | because |" in written
    assert "![The first](results/made-first.png)" in written
    assert "Row A9; `halftruth reproduce made --only first`" in written
    assert "Rows A9 and B1; `halftruth reproduce made --only second`" in written
    assert "\n\nThis applies to all rows.\n\n| the paper says |" in written
    assert "Not run: `third`" in written
    assert page.replace_section(written, found, "results") == written
    with pytest.raises(ValueError, match="no place for made"):
        page.replace_section("nothing", found, "results")


def test_a_figure_is_a_small_picture(made, tmp_path):
    """The figure of an experiment with several plots is a PNG of less than 60 KB."""
    found = document.run_experiments("made", DataFolder(None), 1, quick=True).runs[0]
    plots = found.result.plots * 5
    wide = document.ExperimentRun("wide", "A9", "Wide", 1, ExperimentResult(plots, found.result.findings, "", None))
    for each in (found, wide):
        draw(each, tmp_path / f"{each.name}.png")
        data = (tmp_path / f"{each.name}.png").read_bytes()
        assert data.startswith(b"\x89PNG")
        assert len(data) < 60_000


def test_four_plots_are_drawn_as_a_square(made, tmp_path):
    """Four plots are drawn as two rows of two."""
    found = document.run_experiments("made", DataFolder(None), 1, quick=True).runs[0]
    four = (found.result.plots * 4)[:4]
    draw(
        document.ExperimentRun("four", "A9", "Four", 1, ExperimentResult(four, found.result.findings, "", None)),
        tmp_path / "4.png",
    )
    with Image.open(tmp_path / "4.png") as drawn:
        width, height = drawn.size
    assert width < 1.3 * height


def test_a_curve_with_wrong_numbers_or_role_is_refused():
    """A curve with an unknown role, or with different numbers of x and y, is refused."""
    with pytest.raises(ValueError, match="role"):
        Curve("c", (1.0,), (1.0,), "best")
    with pytest.raises(ValueError, match="1 x and 2 y"):
        Curve("c", (1.0,), (1.0, 2.0), "ours")


def test_experiments_of_a_paper_have_different_names():
    """Experiments of a paper have different names, and each has a table row and a title."""
    for paper in PAPERS:
        names = [each.name for each in experiments(paper)]
        assert len(names) == len(set(names))
        assert all(each.row and each.title and set(each.needs) <= set(SOURCES) for each in experiments(paper))


# The command


def test_the_command_writes_figures_tables_and_numbers(tmp_path):
    """reproduce prints the table and writes a page, its figures and a document, also into the folder of an earlier
    run."""
    for _ in range(2):
        shown = run("reproduce", "lip", "--only", "fig5", "--only", "numbers", "--quick", "--out", tmp_path).output
    assert "the paper says" in shown
    text = (tmp_path / "lip.md").read_text(encoding="utf-8")
    assert "![Fig. 5: with and without a prior](./lip-fig5.png)" in text
    assert (tmp_path / "lip-fig5.png").read_bytes().startswith(b"\x89PNG")
    kept = json.loads((tmp_path / "lip.json").read_text(encoding="utf-8"))
    printed = run(
        "reproduce", "lip", "--only", "fig5", "--only", "numbers", "--quick", "--out", tmp_path, "--json"
    ).output
    assert json.loads(printed) == kept
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lip-fig5.png", "lip.json", "lip.md"]


def test_the_command_names_missing_data_and_ends_with_75(tmp_path):
    """Without data the other experiments are still written; the command ends with exit code 75 and names the
    description of the data."""
    words = ("reproduce", "lip", "--only", "numbers", "--only", "fig9a", "--quick", "--out", tmp_path)
    shown = run(*words, code=75)
    assert "fimi.uantwerpen.be" in shown.output
    assert (tmp_path / "lip.md").exists()
    nothing = tmp_path / "nothing"
    refused = run("reproduce", "lip", "--only", "fig9a", "--data", tmp_path, "--out", nothing, code=75)
    assert "Figures and tables" not in refused.output
    assert not nothing.exists()
    assert "numbers" in run("reproduce", "lip", "--only", "fig99", code=2).output
    run("reproduce", "lip", "--data", tmp_path / "nowhere", code=2)


def test_a_folder_that_cannot_be_made_ends_the_command_before_the_first_experiment(tmp_path, monkeypatch):
    """If --out cannot be created, or is a file, a one-line error names it and no experiment runs."""
    monkeypatch.setattr(
        Experiment,
        "result",
        lambda *_, **__: pytest.fail("an experiment ran although the output folder cannot be created"),
    )
    (tmp_path / "file").write_text("", encoding="utf-8")
    shown = run("reproduce", "lip", "--quick", "--out", tmp_path / "file" / "x", code=1).output
    assert shown.splitlines() == [
        f"Error: {tmp_path / 'file' / 'x'}: the folder cannot be created: Not a directory. "
        "Name another folder with --out"
    ]
    assert "is a file" in run("reproduce", "lip", "--quick", "--out", tmp_path / "file", code=2).output


def test_the_command_reads_a_folder_of_data(tmp_path):
    """An experiment runs on an excerpt in the original format, and its result has the name and size of the excerpt."""
    generator = np.random.default_rng(1)
    lines = (" ".join(map(str, np.unique(generator.zipf(1.6, 8) % 500))) for _ in range(3000))
    (tmp_path / "kosarak.dat").write_text("\n".join(lines), encoding="ascii")
    run("reproduce", "lip", "--only", "fig9a", "--quick", "--data", tmp_path, "--out", tmp_path / "out")
    assert "Kosarak, a part of it, 3,000 baskets" in (tmp_path / "out" / "lip.md").read_text(encoding="utf-8")
