"""Properties of forms and maps for people of public classes: drafts, tallies and estimates are those of each class
alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aggregator.author.draft import draft_form
from aggregator.author.toml_section import read_toml
from aggregator.author.value_table import ValueTableError
from aggregator.cli.forms import warn_refused
from aggregator.estimate.classes import campaign_of_class, even_decoder, view_decoder
from aggregator.estimate.error import view_errors
from aggregator.estimate.estimator import estimate
from aggregator.estimate.form import NotAsked
from aggregator.estimate.form_change import form_difference
from aggregator.estimate.form_classes import form_views
from aggregator.estimate.form_result import FormEstimate, estimate_form
from aggregator.estimate.form_sides import FormSides, form_classes, form_trend
from aggregator.estimate.groups import GROUPS, Groups
from aggregator.estimate.minimum import NotEnough
from aggregator.estimate.span import Span
from aggregator.estimate.tally import Tally, ViewsTally
from aggregator.estimate.weighting import KnownMargin, MarginRefused
from aggregator.families.decoder import Floats
from aggregator.families.registry import decoder_of
from aggregator.planner.form_plan import plan_form
from aggregator.study import Study
from aggregator.truth_file import read_truth
from protocol.campaign import Campaign, SignedCampaign
from protocol.errors import BadData
from protocol.notions.classes import class_channels
from protocol.views import QuestionsMap
from tests.aggregator.campaigns import campaign_of_draft
from tests.aggregator.command import printed

REST = """
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

FORM = (
    """
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
"""
    + REST
)

MAP = (
    """
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
"""
    + REST
)

CLASSES = """
[classes.members]
[classes.guests]
epsilon = 1.0
"""


def counted(campaign: Campaign, seed: int, reports: int = 400) -> ViewsTally:
    """Return arbitrary counts of outputs for each view and class."""
    rng = np.random.default_rng(seed)
    sizes = [view.channel.output_count for view in campaign.views]
    parts = [Tally.of(rng.multinomial(reports, np.full(m, 1 / m)).astype(np.int64)) for m in sizes]
    return ViewsTally.of_parts(parts, {}, None)


def test_a_view_contains_the_ordered_questions() -> None:
    """``ordered_questions`` of each view contains the number question if the view asks it, and no other question."""
    campaign = campaign_of_draft(FORM)
    views = form_views(campaign, counted(campaign, 1))
    assert {view.questions for view in views} == {(0, 1), (0, 2), (1, 2)}
    assert all(view.ordered_questions == {0} & set(view.questions) for view in views)


@pytest.mark.parametrize("draft", [FORM, MAP], ids=["form", "map"])
def test_a_class_of_a_draft_is_the_draft_at_its_level(draft: str) -> None:
    """Each class has the views and channels of the same draft without classes, at the level of the class."""
    made = campaign_of_draft(draft + CLASSES)
    assert made.classes == ("members", "guests")
    for place, epsilon in enumerate(("2.0", "1.0")):
        alone = campaign_of_draft(draft.replace("epsilon = 2.0", f"epsilon = {epsilon}"))
        assert [view.map for view in made.views] == [view.map for view in alone.views]
        assert [made.channel_of(place, view) for view in range(len(made.views))] == [
            view.channel for view in alone.views
        ]
        cut, _ = campaign_of_class(made, counted(made, 1), made.classes[place])
        assert cut == replace(alone, mechanism=cut.mechanism, views=cut.views)
        assert [(view.weight, view.channel) for view in cut.views] == [
            (view.weight, other.channel) for view, other in zip(made.views, alone.views, strict=True)
        ]


@pytest.mark.parametrize("draft", [FORM, MAP], ids=["form", "map"])
def test_the_counts_of_a_class_are_cut_out_of_each_view(draft: str) -> None:
    """The counts of the classes, one after another, are those of each view, and their reports sum to those of the
    campaign."""
    made = campaign_of_draft(draft + CLASSES)
    tally = counted(made, 2)
    cuts = [campaign_of_class(made, tally, name)[1] for name in made.classes]
    for view, part in enumerate(tally.by_view):
        assert np.array_equal(np.concatenate([cut.by_view[view].counts for cut in cuts]), part.counts)
    assert sum(cut.reports for cut in cuts) == tally.reports


@pytest.mark.parametrize("draft", [FORM, MAP], ids=["form", "map"])
def test_the_estimate_of_all_people_is_the_weighted_sum_of_the_classes(draft: str) -> None:
    """The unbiased shares of all people in each view are those of the classes, weighted by their reports."""
    made = campaign_of_draft(draft + CLASSES)
    tally = counted(made, 3)
    for view, part in enumerate(tally.by_view):
        expected: Any = 0.0
        for name in made.classes:
            cut, members = campaign_of_class(made, tally, name)
            own = members.by_view[view]
            decoder = even_decoder(cut.views[view].channel, 0)
            expected = expected + own.reports / part.reports * decoder.invert(own.counts / own.reports)
        found = view_decoder(made, view, part).invert(part.counts / part.reports)
        assert np.allclose(found, expected, atol=1e-9)


def test_two_classes_of_one_level_are_the_map_without_classes() -> None:
    """If both classes have one channel, all figures for all people are those of the counts taken together, to 1e-9."""
    made = campaign_of_draft(MAP + CLASSES.replace("epsilon = 1.0", ""))
    alone, tally = campaign_of_draft(MAP), counted(made, 4)
    together = ViewsTally.of_parts(
        [Tally.of(part.counts.reshape(2, -1).sum(axis=0)) for part in tally.by_view], {}, None
    )
    assert estimate(*campaign_of_class(made, tally, "guests"), class_name="guests").class_name == "guests"
    classes, plain = estimate(made, tally), estimate(alone, together)
    for name in ("raw", "se", "share", "low", "high", "simultaneous_low", "simultaneous_high"):
        assert np.allclose(getattr(classes, name), getattr(plain, name), atol=1e-9), name
    assert [view_error.mse for view_error in view_errors(made)] == pytest.approx(
        [view_error.mse for view_error in view_errors(alone)]
    )


def test_the_plan_of_a_class_equals_that_of_a_form_without_classes(tmp_path: Path) -> None:
    """The plan of one class is that of the form without classes at the level of the class."""
    (tmp_path / "form.toml").write_text(FORM + CLASSES)
    (tmp_path / "alone.toml").write_text(FORM.replace("epsilon = 2.0", "epsilon = 1.0"))
    form, alone = (draft_form(read_toml(tmp_path / f"{name}.toml"), tmp_path) for name in ("form", "alone"))
    assert form is not None
    assert alone is not None
    assert form.classes == ("members", "guests")
    assert plan_form(form.of_class(1), 5_000).as_json() == plan_form(alone, 5_000).as_json()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[classes.guests]\nepsilon = 1.0", "", "at least two classes"),
        ("epsilon = 1.0", 'notion = "lip"', "unknown entry 'notion'"),
        ("epsilon = 1.0", "counts = [1, 2]", "unknown entry 'counts'"),
        ('name = "home"', 'name = "class"', 'no question may be called "class"'),
        ("epsilon = 1.0", "epsilon = 100", "must be from 0.001 to 20"),
    ],
)
def test_classes_that_a_form_cannot_have_are_refused(old: str, new: str, message: str) -> None:
    """A single class, another notion, counts, a question named "class" and a level out of range are refused with a
    reason."""
    with pytest.raises(BadData, match=message):
        campaign_of_draft((FORM + CLASSES).replace(old, new))


def test_a_file_of_people_may_name_their_class(tmp_path: Path) -> None:
    """A file of people may have a column with their classes.

    Unknown classes, a missing question, and classes in a campaign without classes are refused.
    """
    campaign, file = campaign_of_draft(FORM + CLASSES), tmp_path / "people.csv"
    file.write_text("age,class,vote,home,count\n20,guests,yes,a,3\n30,members,,b,2\n20,members,yes,a,4\n")
    truth = read_truth(file, campaign.domain, campaign.classes)
    assert (truth.counts, truth.class_indices) == ((3, 2, 4), (1, 0, 0))
    assert truth.within(1).people == 3
    file.write_text("age,vote,home\n20,yes,a\n")
    assert read_truth(file, campaign.domain, campaign.classes).class_indices == ()
    for text, message in (
        (
            "age,vote,home,class\n20,yes,a,strangers\n",
            "line 2: the cell of column class must be a class of the campaign: members, guests$",
        ),
        ("age,vote,class\n20,yes,guests\n", "optionally a column class"),
    ):
        file.write_text(text)
        with pytest.raises(ValueTableError, match=message):
            read_truth(file, campaign.domain, campaign.classes)
    file.write_text("age,vote,home,class\n20,yes,a,guests\n")
    with pytest.raises(ValueTableError, match="the campaign has no classes"):
        read_truth(file, campaign.domain)


# Estimates of a form by class


def drawn(campaign: Campaign, distribution: Floats, people: Sequence[int], rng: np.random.Generator) -> ViewsTally:
    """Return drawn counts of the given number of people of each class, with answers from a distribution of age, vote
    and home."""
    parts = []
    for view in campaign.views:
        assert isinstance(view.map, QuestionsMap)
        asked = view.map.positions
        table = distribution.sum(axis=tuple(place for place in range(3) if place not in asked)).ravel()
        counts = []
        for place, n in enumerate(people):
            channel = class_channels(view.channel, len(people))[place] if campaign.classes else view.channel
            chances = np.maximum(decoder_of(channel).forward(table), 0)
            counts.append(rng.multinomial(n // len(campaign.views), chances / chances.sum()))
        parts.append(Tally.of(np.concatenate(counts).astype(np.int64)))
    return ViewsTally.of_parts(parts, {}, None)


UNRELATED = np.multiply.outer(np.multiply.outer([0.4, 0.3, 0.2, 0.1], [0.3, 0.5, 0.2]), [0.5, 0.3, 0.2])
"""(4, 3, 3) a distribution of age, vote and home without association; the last vote is "skipped"."""

FIGURES = ("share", "raw", "se", "low", "high", "simultaneous_low", "simultaneous_high")


def assert_alike(one: FormEstimate, other: FormEstimate) -> None:
    for name in FIGURES:
        assert np.allclose(getattr(one.shares, name), getattr(other.shares, name), atol=1e-9), name
    assert (one.association is None) == (other.association is None)
    if one.association is not None and other.association is not None:
        assert one.association.statistic == pytest.approx(other.association.statistic, abs=1e-9)


@pytest.mark.parametrize("names", [("vote",), ("home",), ("age", "vote"), ("home", "age")])
def test_two_classes_of_one_level_equal_two_separate_campaigns(names: tuple[str, ...]) -> None:
    """Each class equals the campaign of its people alone, and all people together equal the campaign of all, to
    1e-9."""
    made, alone = campaign_of_draft(FORM + CLASSES.replace("epsilon = 1.0", "")), campaign_of_draft(FORM)
    tally = drawn(made, UNRELATED, (6_000, 2_400), np.random.default_rng(5))
    for place, name in enumerate(made.classes):
        cut, members = campaign_of_class(made, tally, name)
        halves = [Tally.of(np.split(part.counts, 2)[place]) for part in tally.by_view]
        theirs = estimate_form(alone, ViewsTally.of_parts(halves, {}, None), names)
        assert_alike(estimate_form(cut, members, names, class_name=name), theirs)
    counts = [part.counts.reshape(2, -1).sum(axis=0) for part in tally.by_view]
    whole = ViewsTally.of_parts([Tally.of(each) for each in counts], {}, None)
    assert_alike(estimate_form(made, tally, names), estimate_form(alone, whole, names))


@pytest.mark.parametrize("names", [("vote",), ("home", "age")])
def test_weighted_by_class_a_form_is_the_sum_of_its_classes(names: tuple[str, ...]) -> None:
    """If nothing is pooled over views, the shares weighted to known class sizes are the weighted sums of the classes'
    estimates, to 1e-9."""
    draft = FORM + CLASSES + '[analysis]\ntables = [["age", "home"]]\n'
    made, parts = campaign_of_draft(draft), (0.3, 0.7)
    tally = drawn(made, UNRELATED, (6_000, 2_400), np.random.default_rng(6))
    found = estimate_form(made, tally, names, margins=by_class(*parts)).answered.estimate
    each = []
    for name in made.classes:
        cut, members = campaign_of_class(made, tally, name)
        each.append(estimate_form(cut, members, names).answered.estimate)
    raw = sum(part * one.raw for part, one in zip(parts, each, strict=True))
    variance = sum(part**2 * one.variances for part, one in zip(parts, each, strict=True))
    assert np.allclose(found.raw, raw, atol=1e-9)
    assert np.allclose(found.variances, variance, rtol=1e-9)
    for v in np.eye(len(found.raw))[:3]:
        expected = sum(part**2 * one.covariances(v) for part, one in zip(parts, each, strict=True))
        assert np.allclose(found.covariances(v), expected, atol=1e-12)


def test_known_class_sizes_equal_to_the_reports_keep_the_estimate() -> None:
    """If the known class sizes are those among the reports, the estimate stays the same and the error is not larger."""
    made = campaign_of_draft(FORM + CLASSES)
    tally = drawn(made, UNRELATED, (6_000, 3_000), np.random.default_rng(7))
    plain = estimate_form(made, tally, ["vote"])
    weighted = estimate_form(made, tally, ["vote"], margins=by_class(2 / 3, 1 / 3))
    assert np.allclose(weighted.shares.raw, plain.shares.raw, atol=1e-9)
    assert (weighted.shares.se <= plain.shares.se * (1 + 1e-9)).all()
    assert weighted.weighting is not None
    assert (weighted.weighting.min_weight, weighted.weighting.max_weight) == pytest.approx((1, 1))
    assert weighted.weighting.design_effect == pytest.approx(1)
    assert weighted.weighting.people_per_report == pytest.approx(weighted.weighting.people_per_report_unweighted)


def without_guests(campaign: Campaign, tally: ViewsTally) -> ViewsTally:
    """Return the tally without the guests who were asked the age."""
    parts = []
    for view, part in zip(campaign.views, tally.parts, strict=True):
        counts = part.counts.copy()
        if isinstance(view.map, QuestionsMap) and 0 in view.map.positions:
            counts[class_channels(view.channel, 2)[0].output_count :] = 0
        parts.append(Tally.of(counts))
    return ViewsTally.of_parts(parts, {}, None)


@pytest.mark.parametrize("names", [("age", "home"), ("age",)])
def test_a_view_without_reports_of_a_class_is_named_as_the_reason(names: tuple[str, ...]) -> None:
    """If weights by class need reports of a class that no view of the questions has, the error says so, and not that
    there are no reports."""
    made = campaign_of_draft(FORM + CLASSES)
    tally = without_guests(made, drawn(made, UNRELATED, (6_000, 3_000), np.random.default_rng(9)))
    assert estimate_form(made, tally, names).reports
    with pytest.raises(NotAsked, match=f"no view that asks {' and '.join(names)} has reports of every class"):
        estimate_form(made, tally, names, margins=by_class(0.5, 0.5))


def test_weights_that_a_form_in_classes_cannot_have_are_refused() -> None:
    """Margins by class and by question together, and margins by class for a form without classes, are refused."""
    made, alone = campaign_of_draft(FORM + CLASSES), campaign_of_draft(FORM)
    tally = drawn(made, UNRELATED, (6_000, 3_000), np.random.default_rng(8))
    home = KnownMargin("home", 2, ("a", "b", "c"), np.array([0.5, 0.3, 0.2]), np.arange(3))
    with pytest.raises(MarginRefused, match="by class and by questions"):
        estimate_form(made, tally, ["vote"], margins=[*by_class(0.5, 0.5), home])
    halves = [Tally.of(np.split(part.counts, 2)[0]) for part in tally.by_view]
    with pytest.raises(MarginRefused, match="this form has no classes"):
        estimate_form(alone, ViewsTally.of_parts(halves, {}, None), ["vote"], margins=by_class(0.5, 0.5))


def by_class(*shares: float) -> list[KnownMargin]:
    return [KnownMargin("class", None, ("members", "guests"), np.array(shares), np.arange(2))]


@pytest.mark.parametrize("names", [("vote",), ("home", "age")])
def test_a_difference_of_classes_has_the_error_of_both(names: tuple[str, ...]) -> None:
    """The difference of two classes is that of their unbiased shares, and its squared error the sum of both squared
    errors."""
    made = campaign_of_draft(FORM + CLASSES)
    tally = drawn(made, UNRELATED, (6_000, 3_000), np.random.default_rng(9))
    signed = SignedCampaign(made, bytes(16), bytes(32), b"")
    found = form_classes(signed, tally, lambda one, part, name: estimate_form(one, part, names, class_name=name))
    (difference,), ((_, first), (_, second)) = found.differences, found.sides
    assert difference.names == made.classes
    assert not difference.paired
    assert np.allclose(difference.raw, second.shares.raw - first.shares.raw)
    assert np.allclose(difference.se, np.hypot(first.shares.se, second.shares.se))
    assert (difference.simultaneous_low <= difference.low).all()
    assert (difference.high <= difference.simultaneous_high).all()
    assert [row["to"] for row in difference.rows()] == second.shares.raw.tolist()


@pytest.mark.parametrize(
    ("surveys", "least", "most"), [(40, 34, 7), pytest.param(400, 372, 30, marks=pytest.mark.long)]
)
def test_equal_classes_seldom_have_a_significant_difference(surveys: int, least: int, most: int) -> None:
    """If classes are alike and questions independent, each kind of interval contains all true values in at least
    ``least`` surveys.

    The kinds are the simultaneous 95% intervals of the shares of each class, and those of the difference of classes.
    Each survey has one test of association in each class; in each class at most ``most`` of these tests reject. With 40
    surveys and correct intervals, the test fails for one kind of interval with alpha = 0.004; the seed is fixed. A
    failure means that an interval is too narrow, or that the test of association rejects too often.
    """
    made, rng = campaign_of_draft(FORM + CLASSES), np.random.default_rng(10)
    signed = SignedCampaign(made, bytes(16), bytes(32), b"")
    vote, table = UNRELATED.sum(axis=(0, 2))[:2], UNRELATED.sum(axis=1).ravel()
    held, alike, found = np.zeros((2, 2), dtype=int), [0, 0], [0, 0]
    for _ in range(surveys):
        tally = drawn(made, UNRELATED, (6_000, 6_000), rng)
        for kind, (names, true) in enumerate(((("vote",), vote / vote.sum()), (("age", "home"), table))):
            sides = form_classes(
                signed, tally, lambda one, part, name, of=names: estimate_form(one, part, of, class_name=name)
            )
            alike[kind] += not sides.differences[0].significant
            for place, (_, side) in enumerate(sides.sides):
                held[kind, place] += bool(
                    ((side.shares.simultaneous_low <= true) & (true <= side.shares.simultaneous_high)).all()
                )
                if side.association is not None:
                    found[place] += side.association.significant
    assert held.min() >= least, held
    assert min(alike) >= least, alike
    assert max(found) <= most, found


def assert_one_of_two(found: FormSides[Any]) -> None:
    """Assert that the simultaneous interval of the only difference has alpha divided by two differences."""
    (one,), (before, after) = found.differences, [side.answered for _, side in found.sides]
    confidence = 1 - 0.05 / (2 * len(one.labels))
    alone = form_difference(one.names, one.labels, before, after, paired=one.paired, confidence=confidence)
    np.testing.assert_allclose((one.simultaneous_low, one.simultaneous_high), (alone.low, alone.high))


def test_a_class_with_too_few_devices_still_counts_when_alpha_is_divided() -> None:
    """If the second of three classes has too few devices, alpha is divided by two differences, although only one can be
    estimated."""
    made = campaign_of_draft(FORM + CLASSES + "[classes.others]\nepsilon = 1.5\n")
    tally = drawn(made, UNRELATED, (6_000, 15, 3_000), np.random.default_rng(15))
    signed = SignedCampaign(made, bytes(16), bytes(32), b"")
    found = form_classes(signed, tally, lambda one, part, name: estimate_form(one, part, ["vote"], class_name=name))
    assert [name for name, _ in found.refused] == ["guests"]
    assert_one_of_two(found)


# Change between periods


def twice(
    campaign: Campaign, distribution: Floats, people: int, changed: float, rng: np.random.Generator
) -> list[ViewsTally]:
    """Return the counts of two periods by groups of devices; the fraction ``changed`` draws a new output in the
    second."""
    parts: list[list[Tally]] = [[], []]
    for view in campaign.views:
        assert isinstance(view.map, QuestionsMap)
        asked = view.map.positions
        table, n = distribution.sum(axis=tuple(place for place in range(3) if place not in asked)).ravel(), people // 3
        chances = np.maximum(decoder_of(view.channel).forward(table), 0)
        first, second = rng.choice(len(chances), size=(2, n), p=chances / chances.sum())
        stays, group = rng.random(n) >= changed, rng.integers(GROUPS, size=n)
        for tallies, output in zip(parts, (first, np.where(stays, first, second)), strict=True):
            counts = np.bincount(output, minlength=len(chances))
            groups = Groups.of(group, output, np.ones(n, dtype=np.int64), n, 1)
            tallies.append(Tally(counts, n, groups=groups))
    return [ViewsTally.of_parts(each, {}, None) for each in parts]


@pytest.mark.parametrize(
    ("names", "surveys", "near", "least"),
    [
        (("vote",), 30, 0.35, 0.85),
        (("age", "home"), 30, 0.15, 0.91),
        pytest.param(("vote",), 400, 0.1, 0.92, marks=pytest.mark.long),
        pytest.param(("age", "home"), 400, 0.05, 0.93, marks=pytest.mark.long),
    ],
)
def test_a_change_between_periods_has_the_error_of_the_devices_that_changed(
    names: tuple[str, ...], surveys: int, near: float, least: float
) -> None:
    """If a fifth of the devices draw new outputs and the truth is constant, the coverage of the 95% intervals of a
    change is ``least`` to 99%.

    Coverage is pooled over values and surveys. The root mean square of the standard errors is within the fraction
    ``near`` of that of the estimated changes, and each is below 0.65 times that of two surveys without a common device.
    The seed is fixed. A failure means that repeated outputs are taken for new ones, or the reverse.
    """
    campaign, rng, spans = campaign_of_draft(FORM), np.random.default_rng(11), [Span(0, 0), Span(1, 1)]
    raw, errors, held = [], [], []
    for _ in range(surveys):
        trend = form_trend(
            spans, twice(campaign, UNRELATED, 6_000, 0.2, rng), lambda tally: estimate_form(campaign, tally, names)
        )
        change = trend.change
        assert change is not None
        assert change.paired
        raw.append(change.raw)
        errors.append(change.se)
        held.append((change.low <= 0) & (change.high >= 0))
        alone = np.hypot(*(found.shares.se for _, found in trend.sides))
        assert (change.se < 0.65 * alone).all(), (
            "the standard error of the change must be below 0.65 of that of separate devices; expected: sqrt(.2) = .45"
        )
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.sqrt(np.mean(np.square(raw))), rel=near)
    assert least <= np.mean(held) <= 0.99


def test_devices_that_repeat_everything_show_no_change() -> None:
    """If no output changes, the change and its standard error are zero, and the interval still has a width."""
    campaign = campaign_of_draft(FORM)
    tallies = twice(campaign, UNRELATED, 6_000, 0.0, np.random.default_rng(12))
    found = form_trend(
        [Span(0, 0), Span(1, 1)], tallies, lambda tally: estimate_form(campaign, tally, ["vote"]), steps=True
    )
    assert found.change is not None
    assert not found.change.raw.any()
    assert not found.change.se.any()
    assert (found.change.high > 0).all()
    assert found.as_json()["change"] == found.as_json()["steps"][0]


def test_the_change_of_weighted_shares_is_their_difference() -> None:
    """The change weighted to a known margin is the difference of the weighted shares, with the error of paired
    devices."""
    campaign, home = (
        campaign_of_draft(FORM),
        KnownMargin("home", 2, ("a", "b", "c"), np.array([0.4, 0.3, 0.3]), np.arange(3)),
    )
    tallies = twice(campaign, UNRELATED, 30_000, 0.2, np.random.default_rng(13))
    found = form_trend(
        [Span(0, 0), Span(1, 1)], tallies, lambda tally: estimate_form(campaign, tally, ["vote"], margins=[home])
    )
    assert found.change is not None
    (_, first), (_, second) = found.sides
    assert np.allclose(found.change.raw, second.shares.raw - first.shares.raw)
    assert (found.change.se < 0.65 * np.hypot(first.shares.se, second.shares.se)).all()
    assert (found.change.se > 0.3 * np.hypot(first.shares.se, second.shares.se)).all()


def test_a_period_with_too_few_devices_still_counts_when_alpha_is_divided() -> None:
    """If the second of three periods has too few devices, alpha is divided by two steps, although only one can be
    estimated, as in ``trend``.

    Ends that are not two of the spans are refused before anything is estimated.
    """
    campaign, rng, spans = campaign_of_draft(FORM), np.random.default_rng(14), [Span(0, 0), Span(1, 1), Span(2, 2)]
    first, third = twice(campaign, UNRELATED, 6_000, 0.2, rng)
    second, _ = twice(campaign, UNRELATED, 15, 0.2, rng)
    found = form_trend(
        spans, [first, second, third], lambda tally: estimate_form(campaign, tally, ["vote"]), steps=True
    )
    assert [span for span, _ in found.refused] == [spans[1]]
    assert_one_of_two(found)

    def ask(_: Tally) -> FormEstimate:
        raise AssertionError("a period was estimated before the ends were checked")

    for ends in ((spans[0], Span(7, 7)), (spans[0], spans[0])):
        with pytest.raises(ValueError, match="a change needs two different spans"):
            form_trend(spans, [first, second, third], ask, ends=ends)


def test_a_period_without_reports_of_a_class_is_not_called_small() -> None:
    """If a period has enough devices, but no reports of a class that the weights need, the trend keeps this reason, and
    gives it if the change from or to this period is requested."""
    made, spans = campaign_of_draft(FORM + CLASSES), [Span(0, 0), Span(1, 1)]
    whole = drawn(made, UNRELATED, (6_000, 3_000), np.random.default_rng(9))
    tallies = [whole, without_guests(made, whole)]

    def ask(tally: Tally) -> FormEstimate:
        return estimate_form(made, tally, ["age"], margins=by_class(0.5, 0.5))

    found = form_trend(spans, tallies, ask)
    ((span, reason),) = found.refused
    assert span == spans[1]
    assert isinstance(reason, NotAsked)
    with pytest.raises(NotAsked, match=r"^period 1: no view that asks age has reports of every class"):
        form_trend(spans, tallies, ask, ends=(spans[0], spans[1]))


# On the command line


def test_a_draft_with_classes_is_simulated_and_its_classes_compared(tmp_path: Path) -> None:
    """A draft with classes is simulated for two periods, and estimated by class and period, as JSON, CSV, table and
    page.

    The comparison of classes and the exported tallies have the classes too. Options that exclude each other are usage
    errors.
    """
    (tmp_path / "form.toml").write_text(
        FORM.replace("closes = 2026-12-20", "closes = 2026-12-20\nperiod_days = 10") + CLASSES
    )
    (tmp_path / "people.csv").write_text(
        "age,vote,home,class,count\n20,yes,a,members,150\n30,no,b,members,50\n40,,c,guests,60\n20,no,a,guests,140\n"
    )
    (tmp_path / "margins.toml").write_text('[[margin]]\nby = "class"\nshares = { members = 0.3, guests = 0.7 }\n')
    printed("keygen", tmp_path / "a")
    printed("campaign", tmp_path / "form.toml", "--key", tmp_path / "a.key", "--out", tmp_path / "c")
    planned = json.loads(printed("plan", tmp_path / "form.toml", "--reports", 1000, "--json"))["classes"]
    assert [planned[name]["epsilon"] for name in ("members", "guests")] == [2.0, 1.0]
    document = json.loads(printed("audit", tmp_path / "c", "--json"))
    assert document["notion"] == "classes"
    simulated = [
        "--truth",
        tmp_path / "people.csv",
        "--out",
        tmp_path / "b",
        "--seed",
        1,
        "--panel",
        "--periods",
        "0-1",
    ]
    printed("simulate", tmp_path / "c", *simulated, "--change", 0.2)
    study = ["--study", tmp_path / "study"]
    printed(*study, "import", tmp_path / "c", "--trust", tmp_path / "a.pub", "--name", "form")
    assert json.loads(printed(*study, "ingest", tmp_path / "b", "--json"))["accepted"] == 800
    words = [*study, "estimate", "form"]
    each = json.loads(printed(*words, "--question", "vote", "--by", "class", "--json"))
    alone = [
        json.loads(printed(*words, "--question", "vote", "--where", f"class={name}", "--json"))
        for name in ("members", "guests")
    ]
    assert each["classes"] == alone
    assert [one["class"] for one in alone] == ["members", "guests"]
    compared = json.loads(
        printed(*study, "compare", "form", "--classes", "members,guests", "--question", "vote", "--json")
    )
    assert each["differences"] == [{name: value for name, value in compared.items() if name != "sides"}]
    assert compared["sides"] == alone
    refused = printed(*study, "compare", "form", "--classes", "members,guests", code=65)
    assert "give --question NAME or --cross NAME,NAME; its questions are" in refused
    lines = printed(*words, "--cross", "home,vote", "--by", "class", "--format", "csv").splitlines()
    assert lines[0].startswith("class,home_value,vote_value,estimate,")
    assert len(lines) == 1 + 2 * 6
    now = json.loads(printed(*words, "--question", "vote", "--by", "class", "--period", 1, "--json"))
    assert now["classes"] == alone, (
        "expected the classes of the whole campaign, because the latest period of every device is period 1"
    )
    table = printed(*words, "--cross", "home,vote", "--by", "class")
    assert "guests minus members" in table
    assert "members: " in table
    trend = json.loads(
        printed(*words, "--question", "home", "--by", "period", "--steps", "--where", "class=guests", "--json")
    )
    assert [one["class"] for one in trend["spans"]] == ["guests", "guests"]
    assert trend["change"] == trend["steps"][0]
    assert trend["change"]["paired"]
    assert trend["change"]["from"] == "period 0"
    weighted = json.loads(printed(*words, "--question", "vote", "--margins", tmp_path / "margins.toml", "--json"))
    assert weighted["weights"]["margins"][0]["groups"][1]["reported"] == pytest.approx(0.5)
    found = Study.open(tmp_path / "study")
    assert found.question("form", "vote", class_name="guests").as_json() == alone[1]
    assert found.cross("form", "home", "vote", class_name="members").class_name == "members"
    for confidence in (0, 95):
        with pytest.raises(ValueError, match=f"such as .*, not {confidence}"):
            found.question("form", "vote", confidence=confidence)
    printed(*words, "--report", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Classes of people" in page
    assert "guests minus members" in page
    assert "the difference of the two shares may be another number" in page
    for row in alone[1]["values"]:
        assert f"{100 * row['estimate']:.1f}%<small>{100 * row['low']:.1f}% to {100 * row['high']:.1f}%" in page
    printed(*study, "export", "form", "--out", tmp_path / "tallies.csv")
    lines = (tmp_path / "tallies.csv").read_text().splitlines()
    assert lines[0] == '"period","class","view","output","count","reports"'
    for wrong in (
        ["--by", "class", "--where", "class=guests"],
        ["--by", "class", "--margins", tmp_path / "margins.toml"],
        ["--where", "class=guests", "--margins", tmp_path / "margins.toml"],
        ["--by", "class", "--plot", tmp_path / "no.png"],
        ["--pool", "precision"],
    ):
        printed(*words, "--question", "vote", *wrong, code=2)
    assert "no class 'strangers'" in printed(*words, "--question", "vote", "--where", "class=strangers", code=65)


def test_a_warning_names_why_a_period_has_no_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    """Only a period with too few devices is said to have too few; the warning about another one gives its reason."""
    reason = NotAsked("no view that asks age has reports of every class")
    warn_refused([("period 1", NotEnough("too few")), ("period 2", reason)], 20)
    assert capsys.readouterr().err.splitlines() == [
        "Warning: each of these has fewer than 20 devices and is left out: period 1",
        f"Warning: period 2: {reason}",
    ]
