"""Laws of forms and maps whose people have public classes: drafts, tallies and estimates are those of each class."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aggregator.author.draft import campaign_of, read_form
from aggregator.author.value_table import SheetError
from aggregator.estimate.classes import even_decoder, view_decoder, within
from aggregator.estimate.error import view_worths
from aggregator.estimate.result import estimate
from aggregator.estimate.tally import Tally, ViewsTally
from aggregator.planner.form_plan import plan_form
from aggregator.simulation import read_truth
from protocol.campaign import Campaign
from protocol.errors import BadData

FORM = """
title = "Town"
organisation = "Town hall"
[[question]]
name = "age"
text = "How old are you?"
kind = "number"
low = 20
high = 50
step = 10
[[question]]
name = "vote"
text = "Did you vote?"
kind = "values"
values = ["no", "yes"]
skippable = true
[[question]]
name = "home"
text = "Where do you live?"
kind = "values"
values = ["a", "b", "c"]
[privacy]
notion = "ldp"
epsilon = 2.0
[mechanism]
name = "randomized-response"
[schedule]
opens = 2026-11-20
closes = 2026-12-20
[limits]
minimum_reports = 20
"""

MAP = """
title = "Map"
question = "Where do you live?"
organisation = "Town hall"
[domain]
kind = "grid"
west = 0
east = 1
south = 0
north = 1
step = 0.25
[views]
resolutions = [[2, 0.5], [1, 0.5]]
[privacy]
notion = "ldp"
epsilon = 2.0
[mechanism]
name = "randomized-response"
[schedule]
opens = 2026-11-20
closes = 2026-12-20
[limits]
minimum_reports = 20
"""

CLASSES = """
[classes.members]
[classes.guests]
epsilon = 1.0
"""


def read(text: str) -> Campaign:
    return campaign_of(tomllib.loads(text, parse_float=Decimal), Path())


def counted(terms: Campaign, seed: int, reports: int = 400) -> ViewsTally:
    """Any counts of outputs, of each view and class."""
    rng = np.random.default_rng(seed)
    sizes = [view.channel.outputs for view in terms.views]
    parts = [Tally.of(rng.multinomial(reports, np.full(m, 1 / m)).astype(np.int64)) for m in sizes]
    return ViewsTally.of_parts(parts, {}, None)


@pytest.mark.parametrize("draft", [FORM, MAP], ids=["form", "map"])
def test_a_class_of_a_draft_is_the_draft_at_its_level(draft: str) -> None:
    """Each class has the views and channels of the draft without classes at the class's level."""
    made = read(draft + CLASSES)
    assert made.classes == ("members", "guests")
    for place, epsilon in enumerate(("2.0", "1.0")):
        alone = read(draft.replace("epsilon = 2.0", f"epsilon = {epsilon}"))
        assert [view.map for view in made.views] == [view.map for view in alone.views]
        assert [made.channel_of(place, view) for view in range(len(made.views))] == [
            view.channel for view in alone.views
        ]
        cut, _ = within(made, counted(made, 1), made.classes[place])
        assert cut == replace(alone, mechanism=cut.mechanism, views=cut.views)
        assert [(view.weight, view.channel) for view in cut.views] == [
            (view.weight, other.channel) for view, other in zip(made.views, alone.views, strict=True)
        ]


@pytest.mark.parametrize("draft", [FORM, MAP], ids=["form", "map"])
def test_the_counts_of_a_class_are_cut_out_of_each_view(draft: str) -> None:
    made = read(draft + CLASSES)
    tally = counted(made, 2)
    cuts = [within(made, tally, name)[1] for name in made.classes]
    for view, part in enumerate(tally.by_view):
        assert np.array_equal(np.concatenate([cut.by_view[view].counts for cut in cuts]), part.counts)
    assert sum(cut.reports for cut in cuts) == tally.reports


@pytest.mark.parametrize("draft", [FORM, MAP], ids=["form", "map"])
def test_everybody_is_the_sum_of_the_classes(draft: str) -> None:
    """Each view's unbiased shares of everybody are those of the classes, by how many reports each sent."""
    made = read(draft + CLASSES)
    tally = counted(made, 3)
    for view, part in enumerate(tally.by_view):
        expected: Any = 0.0
        for name in made.classes:
            cut, mine = within(made, tally, name)
            own = mine.by_view[view]
            decoder = even_decoder(cut.views[view].channel, 0)
            expected = expected + own.reports / part.reports * decoder.invert(own.counts / own.reports)
        found = view_decoder(made, view, part).invert(part.counts / part.reports)
        assert np.allclose(found, expected, atol=1e-9)


def test_two_classes_of_one_level_are_the_map_without_classes() -> None:
    """With one channel for both classes, every figure of everybody is that of the counts taken together, to 1e-9."""
    made = read(MAP + CLASSES.replace("epsilon = 1.0", ""))
    alone, tally = read(MAP), counted(made, 4)
    together = ViewsTally.of_parts(
        [Tally.of(part.counts.reshape(2, -1).sum(axis=0)) for part in tally.by_view], {}, None
    )
    mine, theirs = estimate(made, tally), estimate(alone, together)
    for name in ("raw", "se", "share", "low", "high", "all_low", "all_high"):
        assert np.allclose(getattr(mine, name), getattr(theirs, name), atol=1e-9), name
    assert [worth.mse for worth in view_worths(made)] == pytest.approx([worth.mse for worth in view_worths(alone)])


def test_a_plan_of_a_form_is_of_each_class(tmp_path: Path) -> None:
    (tmp_path / "form.toml").write_text(FORM + CLASSES)
    (tmp_path / "alone.toml").write_text(FORM.replace("epsilon = 2.0", "epsilon = 1.0"))
    form, alone = read_form(tmp_path / "form.toml"), read_form(tmp_path / "alone.toml")
    assert form is not None
    assert alone is not None
    assert form.classes == ("members", "guests")
    assert plan_form(form.of_class(1), 5_000).as_json() == plan_form(alone, 5_000).as_json()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[classes.guests]\nepsilon = 1.0", "", "two classes or more"),
        ("epsilon = 1.0", 'notion = "lip"', "unknown entry 'notion'"),
        ("epsilon = 1.0", "counts = [1, 2]", "unknown entry 'counts'"),
        ('name = "home"', 'name = "class"', 'no question is called "class"'),
        ("epsilon = 1.0", "epsilon = 100", "lies in 0.001 .. 20"),
    ],
)
def test_classes_that_a_form_cannot_have_are_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(BadData, match=said):
        read((FORM + CLASSES).replace(old, new))


def test_a_file_of_people_may_name_their_class(tmp_path: Path) -> None:
    terms, file = read(FORM + CLASSES), tmp_path / "people.csv"
    file.write_text("age,class,vote,home,count\n20,guests,yes,a,3\n30,members,,b,2\n20,members,yes,a,4\n")
    truth = read_truth(file, terms.domain, terms.classes)
    assert (truth.counts, truth.places) == ((3, 2, 4), (1, 0, 0))
    assert truth.within(1).people == 3
    file.write_text("age,vote,home\n20,yes,a\n")
    assert read_truth(file, terms.domain, terms.classes).places == ()
    for text, said in (
        ("age,vote,home,class\n20,yes,a,strangers\n", "line 2: the campaign has no class 'strangers'"),
        ("age,vote,class\n20,yes,guests\n", "perhaps a column class"),
    ):
        file.write_text(text)
        with pytest.raises(SheetError, match=said):
            read_truth(file, terms.domain, terms.classes)
    file.write_text("age,vote,home,class\n20,yes,a,guests\n")
    with pytest.raises(SheetError, match="the campaign has no classes"):
        read_truth(file, terms.domain)
