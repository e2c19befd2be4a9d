"""Properties of estimates weighted to known margins: of classes, which are public, and of questions of a form.

The package samplics weights the people themselves; estimates weight the contents of their reports. If reports have no
noise (expected counts), both give the same figures. Surveys are drawn with fixed seeds, so no test fails by chance.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from aggregator.author.toml_section import DraftError
from aggregator.estimate.class_weights import raked
from aggregator.estimate.classes import pooled_decoder
from aggregator.estimate.estimator import estimate
from aggregator.estimate.form import NotAsked, answered_indicator, pooled_question, shares_among
from aggregator.estimate.form_result import estimate_form
from aggregator.estimate.form_view import FormView
from aggregator.estimate.form_weights import Calibration, PooledForm, weighted_question, weighted_table
from aggregator.estimate.method import MethodRefused
from aggregator.estimate.tally import Tally
from aggregator.estimate.weighting import KnownMargin, MarginRefused
from aggregator.families.decoder import Floats, Integers
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from aggregator.families.sets.recipe import subset_selection
from aggregator.population import read_population
from aggregator.reproduce.simulated_people import drawn_tally
from protocol.channels import Channel
from protocol.domain import Values
from protocol.domain.form import Form, FormQuestion
from protocol.exact import NANONATS
from tests.aggregator import test_classes, test_forms

SIZES = (2, 3, 4)
PAIRS = tuple(itertools.combinations(range(len(SIZES)), 2))
NAMES = ("sex", "region", "work")
MANY = 2**48
"""A number of people so large that expected counts have no noise above 1e-12."""


def form_of(sizes: tuple[int, ...] = SIZES, skippable: tuple[int, ...] = ()) -> Form:
    """Return a form of questions with the values v0, v1, ..."""
    return Form(
        tuple(
            FormQuestion(name, "?", Values(tuple(f"v{x}" for x in range(size))), place in skippable)
            for place, (name, size) in enumerate(zip(NAMES, sizes, strict=True))
        )
    )


def channel_of(cells: int, level: int) -> Channel:
    return subset_selection(cells, level) if cells > 6 else randomized_response(cells, level)


def survey(distribution: Floats, n: int, rng: np.random.Generator | None, level: int = 2 * NANONATS) -> list[FormView]:
    """Return the views of all pairs with ``n`` people each, drawn from the ``distribution`` over all questions, or the
    expected counts without ``rng``."""
    found = []
    for pair in PAIRS:
        table = distribution.sum(axis=3 - sum(pair))
        channel = channel_of(table.size, level)
        decoder = decoder_of(channel)
        if rng is None:
            tally = Tally(np.rint(decoder.forward(table.ravel()) * n).astype(np.int64), n)
        else:
            tally = drawn_tally(channel, decoder, table.ravel(), n, rng)
        found.append(FormView(pair, table.shape, decoder, tally))
    return found


def known(question: int, shares: Floats, groups: tuple[int, ...] | None = None) -> KnownMargin:
    names = tuple(f"g{x}" for x in range(len(shares)))
    return KnownMargin(NAMES[question], question, names, shares, np.array(groups or range(len(shares))))


def people() -> Floats:
    """Return the answers of people, (400, 3); every combination occurs."""
    rng = np.random.default_rng(1)
    every = np.array(list(itertools.product(*map(range, SIZES))))
    return np.concatenate([every, every[rng.choice(len(every), 400 - len(every), p=rng.dirichlet(np.ones(24)))]])


def distribution_of(answers: Floats, weights: Floats | None = None) -> Floats:
    cells, _ = np.histogramdd(answers, bins=[np.arange(size + 1) - 0.5 for size in SIZES], weights=weights)
    return np.asarray(cells / cells.sum())


class Numpy:
    """Weights of people, computed with numpy."""

    def poststratify(self, group: Integers, shares: Floats) -> Floats:
        return shares[group] * len(group) / np.bincount(group, minlength=len(shares))[group]

    def calibrate(self, columns: Floats, totals: Floats) -> Floats:
        return 1 + columns @ np.linalg.solve(columns.T @ columns, totals - columns.sum(axis=0))

    def rake(self, groups: Sequence[Integers], shares: Sequence[Floats]) -> Floats:
        weights = np.ones(len(groups[0]))
        for _ in range(500):
            for group, share in zip(groups, shares, strict=True):
                weights *= (share * len(group) / np.bincount(group, weights=weights, minlength=len(share)))[group]
        return weights


class Samplics:
    """Weights of people, computed by the package samplics."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the package and its dependencies have deprecations
            from samplics.weighting import SampleWeight
        self.samplics = SampleWeight()

    def poststratify(self, group: Integers, shares: Floats) -> Floats:
        control = {x: share * len(group) for x, share in enumerate(shares)}
        return self.samplics.poststratify(np.ones(len(group)), control=control, domain=group)

    def calibrate(self, columns: Floats, totals: Floats) -> Floats:
        control = {str(place): total for place, total in enumerate(totals)}
        return self.samplics.calibrate(np.ones(len(columns)), columns, control=control)

    def rake(self, groups: Sequence[Integers], shares: Sequence[Floats]) -> Floats:
        n, names = len(groups[0]), [str(place) for place in range(len(groups))]
        control = {name: {x: n * s for x, s in enumerate(one)} for name, one in zip(names, shares, strict=True)}
        return self.samplics.rake(
            np.ones(n), margins=dict(zip(names, groups, strict=True)), control=control, tol=1e-14, ctrl_tol=1e-14,
            max_iter=5000,
        )  # fmt: skip


# samplics takes seconds to load, so the short test has the same formulas in numpy.
of_people = pytest.mark.parametrize("library", [Numpy, pytest.param(Samplics, marks=pytest.mark.long)])


@of_people
@pytest.mark.parametrize("by", [(0,), (1,), (0, 1), (0, 1, 2)])
def test_without_noise_a_weighted_form_equals_its_weighted_people(library: type, by: tuple[int, ...]) -> None:
    """Without noise a weighted form equals its weighted people: post-stratification for one margin, calibration for
    several.

    Calibration is the linear form of raking.
    """
    answers, rng, weigh = people(), np.random.default_rng(2), library()
    shares = {place: rng.dirichlet(np.full(SIZES[place], 9.0)) for place in by}
    if len(by) == 1:
        weights = weigh.poststratify(answers[:, by[0]], shares[by[0]])
    else:
        columns = [(answers[:, q] == x).astype(float) for q in by for x in range(SIZES[q] - 1)]
        totals = np.array([1.0, *(share for q in by for share in shares[q][:-1])]) * len(answers)
        weights = weigh.calibrate(np.column_stack([np.ones(len(answers)), *columns]), totals)
    true = distribution_of(answers, weights)
    calibration = Calibration(
        PooledForm(survey(distribution_of(answers), MANY, None), form_of()), [known(q, shares[q]) for q in by]
    )
    for place in range(3):
        others = tuple(q for q in range(3) if q != place)
        assert np.allclose(weighted_question(calibration, place).raw, true.sum(axis=others), atol=1e-9, rtol=0)
    least, most = calibration.range
    assert (least, most) == pytest.approx((weights.min(), weights.max()), abs=1e-6), (
        "the range of the weights is not that of the people"
    )
    if by == (0, 1):
        assert np.allclose(weighted_table(calibration, 0, 1).raw, true.sum(axis=2).ravel(), atol=1e-9, rtol=0)


@of_people
def test_raked_shares_of_classes_are_those_of_weighted_people(library: type) -> None:
    """Raked and post-stratified shares of classes are those of the weighted people, to 1e-9."""
    rng, weigh = np.random.default_rng(3), library()
    classes = rng.choice(6, 500, p=rng.dirichlet(np.full(6, 4.0)))
    members = np.bincount(classes, minlength=6) / 500
    town, age = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2])
    shares = rng.dirichlet(np.full(2, 9.0)), rng.dirichlet(np.full(3, 9.0))
    margins = [
        KnownMargin("class", None, tuple(map(str, range(len(one)))), one, of)
        for one, of in zip(shares, (town, age), strict=True)
    ]
    weights = weigh.rake([town[classes], age[classes]], shares)
    assert np.allclose(raked(members, margins), np.bincount(classes, weights=weights) / 500, atol=1e-9, rtol=0)
    of_each = rng.dirichlet(np.full(6, 5.0))
    weights = weigh.poststratify(classes, of_each)
    found = raked(members, [KnownMargin("class", None, tuple("abcdef"), of_each, np.arange(6))])
    assert np.allclose(found, np.bincount(classes, weights=weights) / 500, atol=1e-9, rtol=0)


def by_class(*shares: float) -> list[KnownMargin]:
    names = ("careful", "open") if len(shares) == 2 else test_classes.NAMES
    return [KnownMargin("class", None, names, np.array(shares), np.arange(len(shares)))]


def test_a_weighted_estimate_is_the_weighted_sum_of_the_classes() -> None:
    """The estimate is the sum of the classes' estimates by dense left inverses, times their population shares; the
    error is that within classes."""
    campaign, tally = test_classes.TALLIES["mixed-4000"]
    shares = np.array([0.7, 0.3])
    found = estimate(campaign, tally, margins=by_class(*shares))
    raw, variance, first = np.zeros(5), np.zeros(5), 0
    for share, inverse in zip(shares, test_classes.left_inverses(campaign, tally), strict=True):
        counts = tally.counts[first : first + len(inverse)]
        distribution = counts / counts.sum()
        raw += share * distribution @ inverse
        variance += share**2 * (distribution @ inverse**2 - (distribution @ inverse) ** 2) / counts.sum()
        first += len(inverse)
    assert np.allclose(found.raw, raw)
    assert np.allclose(found.se, np.sqrt(variance))
    weighting = found.weighting
    assert weighting is not None
    members = pooled_decoder(campaign, tally).members
    assert (weighting.min_weight, weighting.max_weight) == pytest.approx(tuple(sorted(shares / members)))
    assert np.allclose(weighting.group_shares[0], members)
    plain = estimate(campaign, tally)
    assert weighting.people_per_report_unweighted == pytest.approx(plain.influence.people_per_report)
    assert weighting.people_per_report == found.influence.people_per_report
    assert found.as_json()["weights"]["margins"][0]["groups"][0]["population"] == 0.7
    assert plain.as_json()["weights"] is None
    same = estimate(campaign, tally, margins=by_class(*members))
    assert np.allclose(same.raw, plain.raw)
    assert same.weighting is not None
    assert same.weighting.design_effect == pytest.approx(1)


def test_the_influence_of_a_forged_report_is_larger_with_weights() -> None:
    """The largest change by one more report of any output equals the stated influence, within 5%.

    It is larger than the influence without weights.
    """
    campaign, tally = test_classes.TALLIES["mixed-4000"]
    margins = by_class(0.2, 0.8)
    found = estimate(campaign, tally, margins=margins, method="linear")
    moved = 0.0
    for output in range(len(tally.counts)):
        counts = tally.counts.copy()
        counts[output] += 1
        more = estimate(campaign, Tally.of(counts), margins=margins, method="linear")
        moved = max(moved, float(np.abs(more.raw - found.raw).max()) * (tally.reports + 1))
    assert moved == pytest.approx(found.influence.people_per_report, rel=0.05)
    assert found.weighting is not None
    assert found.influence.people_per_report > found.weighting.people_per_report_unweighted


def biased(distribution: Floats, axis: int, odds: float) -> Floats:
    """Return the distribution of the people who answer, if those with value 0 of a question answer ``odds`` times as
    often."""
    shape = [1] * distribution.ndim
    shape[axis] = distribution.shape[axis]
    found = distribution * np.where(np.arange(distribution.shape[axis]) == 0, odds, 1.0).reshape(shape)
    return np.asarray(found / found.sum())


def test_the_influence_of_a_forged_report_in_a_form_is_larger_with_weights() -> None:
    """The largest change by one more report of any view equals the stated influence, within 2%.

    It is larger than the influence without weights.
    """
    distribution = distribution_of(people())
    views = survey(distribution, 4_000, np.random.default_rng(4))
    margins = [known(0, np.array([0.3, 0.7])), known(1, np.array([0.5, 0.2, 0.3]))]
    found = weighted_question(Calibration(PooledForm(views, form_of()), margins), 2)
    weighting, all_people, moved = found.weighting, 12_000, 0.0
    for place, view in enumerate(views):
        d = round(float(view.tally.counts.sum() / view.tally.reports))  # number of bits that a report sets
        words = np.eye(len(view.tally.counts)) if d == 1 else [
            np.isin(np.arange(len(view.tally.counts)), chosen)
            for chosen in itertools.combinations(range(len(view.tally.counts)), d)
        ]  # fmt: skip
        for word in words:
            tally = Tally(view.tally.counts + word.astype(np.int64), view.tally.reports + 1)
            more = [*views[:place], FormView(view.questions, view.shape, view.decoder, tally), *views[place + 1 :]]
            raw = weighted_question(Calibration(PooledForm(more, form_of()), margins), 2).raw
            moved = max(moved, float(np.abs(raw - found.raw).max()) * all_people)
    # The stated influence is a gradient. The change by one report among 4,000 differs from it by about 1 / 4,000 times
    # the weights.
    assert moved == pytest.approx(weighting.people_per_report, rel=0.02)
    assert weighting.people_per_report > weighting.people_per_report_unweighted


LARGE = (333_333, 4 * NANONATS)
"""About 10^6 people, a third for each pair of three questions, at 4 nats."""


@pytest.mark.parametrize(
    ("by", "surveys", "n", "level", "least", "most"),
    [
        ((0,), 25, 8_000, 2 * NANONATS, 0.88, 0.995),
        ((0, 1), 25, 8_000, 2 * NANONATS, 0.88, 0.995),
        pytest.param((0,), 400, *LARGE, 0.93, 0.97, marks=pytest.mark.long),
        pytest.param((0, 1), 400, *LARGE, 0.93, 0.97, marks=pytest.mark.long),
    ],
)
def test_weighted_shares_are_near_the_truth_and_their_intervals_have_nominal_coverage(
    by: tuple[int, ...], surveys: int, n: int, level: int, least: float, most: float
) -> None:
    """If people of one sex answer three times as often, weighting to known margins reduces the total variation to a
    third or less.

    The coverage of 95% intervals of four values is between ``least`` and ``most``: over 100 intervals its standard
    deviation is .022 to .044 (those of one survey are correlated), over 1,600 .0055 to .011. A failure means a bias, or
    a standard error that is wrong by a fifth, in the long test by a tenth.
    """
    cells = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]), np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])
    distribution = np.einsum("s,sr,sw->srw", [0.5, 0.5], *cells)
    answered, true, rng = biased(distribution, 0, 3.0), distribution.sum(axis=(0, 1)), np.random.default_rng(5)
    margins = [known(q, distribution.sum(axis=tuple(other for other in range(3) if other != q))) for q in by]
    held, off = 0, []
    for _ in range(surveys):
        views = survey(answered, n, rng, level)
        weighted = weighted_question(Calibration(PooledForm(views, form_of()), margins), 2)
        found = shares_among(weighted, np.ones(len(weighted.raw)), 0.95)
        assert found.share.sum() == pytest.approx(1)
        held += int(((found.low <= true) & (true <= found.high)).sum())
        off.append([np.abs(share - true).sum() for share in (found.share, pooled_question(views, 2).share)])
    weighted, unweighted = np.mean(off, axis=0)
    assert weighted <= unweighted / 3
    assert least <= held / (4 * surveys) <= most


def test_the_error_is_that_of_the_gradient_in_every_report() -> None:
    """Variances equal those of numerical derivatives of the estimate in each count of each view (delta method)."""
    rng, margins, distribution = np.random.default_rng(8), [known(0, np.array([0.3, 0.7]))], distribution_of(people())
    views = []
    for pair in PAIRS:
        decoder, table = (
            decoder_of(randomized_response(SIZES[pair[0]] * SIZES[pair[1]], NANONATS)),
            distribution.sum(3 - sum(pair)),
        )
        tally = Tally.of(rng.multinomial(9_000, decoder.forward(table.ravel())))
        views.append(FormView(pair, table.shape, decoder, tally))
    found = weighted_question(Calibration(PooledForm(views, form_of()), margins), 2)
    dense = np.zeros((4, 4))
    for place, view in enumerate(views):
        slopes = []
        for unit in np.eye(len(view.tally.counts), dtype=np.int64):
            ends = []
            for counts in (view.tally.counts + unit, view.tally.counts - unit):
                other = FormView(view.questions, view.shape, view.decoder, Tally(counts, view.tally.reports))
                changed = [*views[:place], other, *views[place + 1 :]]
                ends.append(weighted_question(Calibration(PooledForm(changed, form_of()), margins), 2).raw)
            slopes.append((ends[0] - ends[1]) / 2)
        share, slope = view.tally.counts / view.tally.reports, np.array(slopes)
        slope -= share @ slope
        dense += view.tally.reports * slope.T @ (share[:, np.newaxis] * slope)
    assert np.allclose(found.variances, np.diag(dense), rtol=1e-3)
    v = np.array([1.0, -1.0, 0.5, 0.0])
    assert np.allclose(found.covariances(v), dense @ v, rtol=1e-3, atol=1e-8)


def test_margins_and_shares_are_over_the_people_who_answer() -> None:
    """A margin is over the people who answer its question, and a share over those who answer the share's question."""
    distribution = np.random.default_rng(9).dirichlet(np.ones(3 * 3 * 5)).reshape(3, 3, 5)
    form = form_of((2, 3, 4), (0, 2))
    views = survey(distribution, MANY, None)
    found = weighted_question(Calibration(PooledForm(views, form), [known(0, np.array([0.5, 0.5]))]), 2)
    table, skipped = distribution.sum(axis=1), distribution.sum(axis=(1, 2))[2]
    expected = table[2] + (1 - skipped) * sum(0.5 * table[x] / table[x].sum() for x in (0, 1))
    assert np.allclose(found.raw, expected, atol=1e-9)
    shares = shares_among(found, answered_indicator(5, True), 0.95)
    assert np.allclose(shares.raw, expected[:4] / expected[:4].sum(), atol=1e-9)


def test_the_values_of_a_group_are_weighted_together() -> None:
    """A margin over groups of values weights the people of a group together."""
    distribution = distribution_of(people())
    margins = [known(1, np.array([0.25, 0.75]), (0, 1, 1))]
    found = weighted_question(Calibration(PooledForm(survey(distribution, MANY, None), form_of()), margins), 2)
    table = distribution.sum(axis=0)
    halves = table[0], table[1] + table[2]
    assert np.allclose(found.raw, sum(s * h / h.sum() for s, h in zip((0.25, 0.75), halves, strict=True)), atol=1e-9)


def test_invalid_margins_and_methods_are_refused_with_a_message() -> None:
    """Margins that need questions asked together, or groups with too few reports, are refused.

    Repeated and contradictory margins, and methods that cannot be weighted, are refused too.
    """
    views, half = survey(distribution_of(people()), 500, np.random.default_rng(10)), np.array([0.5, 0.5])
    with pytest.raises(NotAsked, match="'sex' and 'region' and 'work' together"):
        _ = weighted_table(Calibration(PooledForm(views, form_of()), [known(0, half)]), 1, 2).raw
    with pytest.raises(NotAsked, match="both 'sex' and 'work'"):
        _ = weighted_question(Calibration(PooledForm(views[:1] + views[2:], form_of()), [known(0, half)]), 2).raw
    few = PooledForm(survey(biased(distribution_of(people()), 0, 1e6), 500, None), form_of())
    with pytest.raises(MarginRefused, match="too few reports from people with sex = 'g1'"):
        Calibration(few, [known(0, half)])
    with pytest.raises(MarginRefused, match="same groups"):
        Calibration(PooledForm(views, form_of()), [known(0, half), known(0, half)])
    campaign, tally = test_classes.TALLIES["mixed-4000"]
    alone = Tally.of(np.where(np.arange(len(tally.counts)) < 8, tally.counts, 0))
    with pytest.raises(MarginRefused, match="nobody in group 'open' has answered"):
        estimate(campaign, alone, margins=by_class(0.5, 0.5))
    with pytest.raises(MethodRefused, match="projection or linear"):
        estimate(*test_classes.TALLIES["lip-4000"], margins=by_class(0.5, 0.3, 0.2), method="map")
    with pytest.raises(MarginRefused, match="contradict"):
        raked(np.array([0.5, 0.0, 0.0, 0.5]), [
            KnownMargin("class", None, ("a", "b"), np.array([0.5, 0.5]), np.array([0, 0, 1, 1])),
            KnownMargin("class", None, ("c", "d"), np.array([0.3, 0.7]), np.array([0, 1, 0, 1])),
        ])  # fmt: skip


FILES = {
    "one": ('shares = { north = 0.5, south = 0.3, west = 0.2 }', None),
    "people": ('people = { north = 500, south = 300, west = 200 }', None),
    "groups": ('groups = { coast = ["north", "west"] }\nshares = { coast = 0.7, south = 0.3 }', None),
    "sum": ('shares = { north = 0.5, south = 0.3, west = 0.3 }', "must sum to 1, but sum to 1.1"),
    "value": ('shares = { north = 0.5, sauth = 0.3, west = 0.2 }', "'sauth'; did you mean 'south'"),
    "missing": ('shares = { north = 0.5, south = 0.5 }', "no number for 'west'"),
    "negative": ('shares = { north = 1.2, south = 0.1, west = -0.3 }', "the number for 'west' must be above zero"),
    "both": ('shares = { north = 1 }\npeople = { north = 1 }', "has both shares and people"),
    "group": ('groups = { coast = ["east"] }\nshares = { coast = 1 }', "no value 'east'; did you mean 'west'"),
    "far": ('groups = { coast = ["beach"] }\nshares = { coast = 1 }', "no value 'beach'; expected a value such as 'n"),
    "twice": ('groups = { a = ["north"], b = ["north"] }\nshares = { a = 1 }', "name the value .north. twice"),
    "everybody": ('groups = { a = ["north", "south", "west"] }\nshares = { a = 1 }', "single group of everybody"),
    "unknown": ('shares = { north = 0.5, south = 0.3, west = 0.2 }\nsouce = "x"', "'souce'; did you mean 'source'"),
    "toml": ("shares = {", "is not TOML"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_margins_is_read_or_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    """A file of margins gives the share of each value, or is refused with one line that says what is wrong."""
    text, refused = FILES[name]
    file = tmp_path / "population.toml"
    file.write_text(f'[[margin]]\nby = "town"\n{text}\n')
    campaign = test_forms.signed_campaign().campaign
    if refused is not None:
        with pytest.raises(DraftError, match=refused) as caught:
            read_population(file, campaign)
        assert "\n" not in str(caught.value)
        return
    (found,) = read_population(file, campaign)
    assert found.shares[found.groups].tolist() == pytest.approx(
        [0.7, 0.3, 0.7] if name == "groups" else [0.5, 0.3, 0.2]
    )


def test_margins_that_do_not_fit_their_campaign_are_refused(tmp_path: Path) -> None:
    """A margin by an unknown question or class, and margins with different numbers of people, are refused.

    Numbers of people become shares.
    """
    file, form, classes = tmp_path / "population.toml", test_forms.signed_campaign().campaign, test_classes.of_classes()
    for text, campaign, refused in (
        ('[[margin]]\nby = "twon"\nshares = {}', form, "no question 'twon'; did you mean 'town'"),
        ('[[margin]]\nby = "town"\nshares = {}', classes, 'by must be "class"'),
        ('[[margin]]\nby = "class"\nshares = { farmers = 0.5, others = 0.5 }', classes, "no number for 'gardeners'"),
        ('[[margin]]\nby = "class"\nshares = { farmer = 1 }', classes, "no class or group 'farmer'"),
        ('margins = 1', form, "margin"),
        ('[[margin]]\nby = "pet"\npeople = { no = 5, yes = 5 }\n[[margin]]\nby = "town"\n'
         'people = { north = 5, south = 5, west = 5 }', form, "10 people and another 15"),
    ):  # fmt: skip
        file.write_text(text)
        with pytest.raises(DraftError, match=refused):
            read_population(file, campaign)
    file.write_text('[[margin]]\nby = "class"\npeople = { farmers = 1, gardeners = 2, others = 5 }\nsource = "Census"')
    (found,) = read_population(file, classes)
    assert (found.shares.tolist(), found.source) == ([0.125, 0.25, 0.625], "Census")


def test_the_json_of_a_form_names_its_weights() -> None:
    """The JSON has the known shares of each margin, and shares and tables are weighted to them."""
    campaign = test_forms.signed_campaign().campaign
    margins = [KnownMargin("town", 0, ("north", "south", "west"), np.array([0.2, 0.3, 0.5]), np.arange(3), "Census")]
    tally = test_forms.tally_of(campaign, 10**7)
    document = estimate_form(campaign, tally, ["pet"], margins=margins).as_json()
    assert document["weights"]["margins"][0]["by"] == "town"
    assert [each["population"] for each in document["weights"]["margins"][0]["groups"]] == [0.2, 0.3, 0.5]
    assert estimate_form(campaign, tally, ["pet"]).as_json()["weights"] is None
    table = test_forms.TRUTH.sum(axis=1)
    table = table / table.sum(axis=1, keepdims=True) * np.array([0.2, 0.3, 0.5])[:, np.newaxis]
    assert [row["raw"] for row in document["values"]] == pytest.approx(table.sum(axis=0).tolist(), abs=1e-4)
    for names in (["town", "pet"], ["pet", "town"]):
        found = estimate_form(campaign, tally, names, margins=margins)
        cells = table if names[0] == "town" else table.T
        assert np.allclose(found.shares.raw, cells.ravel(), atol=1e-4)
        assert np.allclose(found.within[1].raw, cells[1] / cells[1].sum(), atol=1e-3)
