"""Properties of marks on a map: each is at its region of the picture and has its figures, and their number is
bounded."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from aggregator.estimate.estimator import estimate
from aggregator.present.marks import MARKED, _rectangles, marks
from aggregator.present.plot import estimate_figure
from aggregator.present.regions import regions
from aggregator.present.shown_shares import percent
from protocol.domain import Grid
from protocol.runs import runs_of
from protocol.views import Coarse, Districts, Identity
from tests.aggregator.test_estimate_views import CROSSING, GRID, counted, unsigned_campaign
from tests.aggregator.test_present_map import SHARP, found

LARGE = Grid(0, 25_000_000, 0, 17_500_000, 100_000)
"""A map of 43,750 cells."""


def plain(grid, people, n):
    campaign = unsigned_campaign(grid, Identity())
    return estimate(campaign, counted(campaign, people, [n], np.random.default_rng(2)).by_view[0])


ESTIMATES = {
    "views": lambda: found(1000),
    "many people": lambda: found(100_000),
    "stripes": lambda: found(100_000, Coarse(3), CROSSING, Identity()),
    "ragged": lambda: found(1000, Districts(runs_of([x % 3 // 2 for x in range(77)])), Identity()),
    "plain": lambda: plain(GRID, SHARP, 1000),
}


class ParsedMark(HTMLParser):
    """A mark as a browser reads it: its box, its path and its texts."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.seen = [], {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen[tag] = dict(attrs)

    def handle_data(self, data):
        self.texts.append(data)


def cells(read, grid):
    """Return the cells inside a mark's path, each once."""
    inside = np.zeros((grid.rows, grid.columns), dtype=int)
    for part in re.findall(r"M(\d+) (\d+)h(\d+)v(\d+)h-(\d+)z", read.seen["path"]["d"]):
        x, y, wide, high, back = map(int, part)
        assert back == wide
        bottom = grid.rows - y - high
        inside[bottom : bottom + high, x : x + wide] += 1
    assert inside.max() == 1
    return np.flatnonzero(inside)


def drawn(one, truth=None):
    """Return the figure of an estimate, its pixels from the top down, and its marks."""
    made = estimate_figure(one, truth)
    canvas = FigureCanvasAgg(made)
    canvas.draw()
    return made, np.asarray(canvas.buffer_rgba()), [ParsedMark(text) for text in marks(one, GRID, made)[0]]


@pytest.mark.parametrize("name", ESTIMATES)
def test_every_region_has_one_mark_with_its_figures(name):
    """Every region of a small map has one mark of exactly its cells, whose text has the name, share and interval.

    The keyboard can focus each mark.
    """
    one = ESTIMATES[name]()
    cut = regions(one)
    _, _, marked = drawn(one)
    seen = np.zeros(77, dtype=int)
    for read in marked:
        inside = cells(read, GRID)
        seen[inside] += 1
        (region,) = set(cut.region_of[inside].tolist())
        assert (cut.region_of == region).sum() == len(inside)
        title, shown = read.texts
        assert title == shown
        assert read.seen["div"]["tabindex"] == "0"
        z = int(cut.districts[region])
        each = one.resolutions[int(cut.resolutions[region])] if one.resolutions else one
        label = each.map.label(GRID, z) if one.resolutions else one.label(z)
        assert title.startswith(f"{label}: ")
        assert any(
            f": {percent(each.share[z], places)}, simultaneous interval "
            f"{percent(each.simultaneous_low[z], places)} to {percent(each.simultaneous_high[z], places)}" in title
            for places in (1, 2, 3, 4)
        )
        assert ("the share may be zero" in title) == (not cut.significant[region])
    assert (seen == 1).all()


@pytest.mark.parametrize("truth", [None, SHARP], ids=["alone", "beside the truth"])
def test_a_mark_lies_where_its_region_is_drawn(truth):
    """For each significant region, a pixel near the middle of a cell, located by the mark's box, has the colour of its
    share."""
    one = found(100_000)
    cut = regions(one)
    made, pixels, marked = drawn(one, truth)
    image = made.axes[0].images[0]
    high, wide = pixels.shape[:2]
    checked = set()
    for read in marked:
        x, y, across, down = map(float, read.seen["svg"]["viewbox"].split())
        inside = cells(read, GRID)
        if not cut.significant[cut.region_of[inside[0]]]:
            continue
        row, column = divmod(int(inside[0]), 11)
        # The pixel is not in the middle of the cell, so that neither a coast nor the scale bar covers it.
        at = pixels[int((GRID.rows - row - 0.5 - y) / down * high), int((column + 0.45 - x) / across * wide)]
        colour = np.array(image.cmap(image.norm(cut.density[inside[0]])))
        assert np.abs(at / 255 - colour).max() < 0.02
        checked.add(tuple(at))
    assert len(checked) >= 3


@pytest.mark.parametrize("n", [1000, 10**9])
def test_a_map_of_many_cells_has_few_marks(n):
    """Of 43,750 cells ``MARKED`` have a mark, with fewer than 500 characters each on average.

    If enough cells have shares significantly above zero, the largest of these have the marks.
    """
    people = np.random.default_rng(3).dirichlet(np.full(LARGE.size, 0.05))
    one = plain(LARGE, people, n)
    made = estimate_figure(one)
    FigureCanvasAgg(made).draw()
    marked, words = marks(one, LARGE, made)
    assert f"{MARKED} of 43,750 places" in words
    assert len(marked) == MARKED
    assert sum(map(len, marked)) < 500 * MARKED
    if one.above_zero.sum() >= MARKED:
        largest = np.sort(one.share[one.above_zero])[-MARKED:]
        expected = np.flatnonzero(one.above_zero & (one.share >= largest[0]))
        assert {cells(ParsedMark(text), LARGE)[0] for text in marked} == set(expected.tolist())


@pytest.mark.parametrize("seed", range(20))
def test_rectangles_cover_cells_once(seed):
    """For any set of cells, the rectangles contain each cell once and no other cell; a full rectangle stays whole."""
    rng = np.random.default_rng(seed)
    inside = rng.random((rng.integers(1, 9), rng.integers(1, 9))) < rng.random()
    again = np.zeros(inside.shape, dtype=int)
    for x, y, wide, high in _rectangles(inside):
        again[y : y + high, x : x + wide] += 1
    assert (again == inside).all()
    assert _rectangles(np.ones((3, 4), dtype=bool)) == [(0, 0, 4, 3)]
