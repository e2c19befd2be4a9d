"""Properties of the estimates of a form: single questions, tables of two questions, and the test of association.

The slow references use dense matrices: the response R, a left inverse from unit vectors, and the covariance of one
report's contribution, summed over outputs. Surveys are drawn with fixed seeds, so no test fails by chance.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from aggregator.estimate.form import NotAsked, answered_indicator, pooled_question, shares_among
from aggregator.estimate.form_ratio import Ratio
from aggregator.estimate.form_table import centred, cross_table, fitted, shrunk
from aggregator.estimate.form_view import FormView, covariances
from aggregator.estimate.interval import critical_value
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import Decoder, Floats
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.projective.recipe import projective
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from aggregator.families.sets.recipe import subset_selection
from aggregator.reproduce.simulated_people import drawn_tally
from protocol.channels import Channel
from protocol.exact import NANONATS

SIZES = (3, 4, 2)
PAIRS = list(itertools.combinations(range(len(SIZES)), 2))


@cache
def outputs_of(channel: Channel) -> tuple[Floats, Floats]:
    """Return the features of each possible word, (words, m), and the words' probabilities, (k, words), for small
    channels."""
    decoder = decoder_of(channel)
    if decoder.one_hot:
        return np.eye(decoder.features), np.array([decoder.forward(unit) for unit in np.eye(decoder.input_count)])
    words = [
        np.array(word) for word in itertools.product((0, 1), repeat=channel.input_count) if sum(word) == channel.ones
    ]
    inside = decoder.forward(np.eye(channel.input_count)[0])[0]
    distribution = np.array([[inside if word[x] else 1 - inside for word in words] for x in range(channel.input_count)])
    having = np.array([[bool(word[x]) for word in words] for x in range(channel.input_count)])
    distribution /= np.where(having, having.sum(axis=1, keepdims=True), (~having).sum(axis=1, keepdims=True))
    return np.array(words, dtype=np.float64), distribution


decoder = cache(decoder_of)


def view_of(questions: Sequence[int], channel: Channel, table: Floats, n: int, rng: np.random.Generator) -> FormView:
    """Return a view whose reports are drawn from its channel."""
    words, distribution = outputs_of(channel)
    drawn = rng.multinomial(n, np.maximum(table.ravel() @ distribution, 0) / (table.ravel() @ distribution).sum())
    tally = Tally((drawn @ words).astype(np.int64), n)
    return FormView(tuple(questions), tuple(SIZES[q] for q in questions), decoder(channel), tally)


def survey(truth: Floats, n: int, rng: np.random.Generator, channels: dict[tuple[int, ...], Channel]) -> list[FormView]:
    """Return the views of a form with ``n`` people each; ``truth`` is the joint distribution of all questions."""
    return [
        view_of(asked, channel, truth.sum(axis=tuple(q for q in range(len(SIZES)) if q not in asked)), n, rng)
        for asked, channel in channels.items()
    ]


@cache
def channels_of(level: int = NANONATS) -> dict[tuple[int, ...], Channel]:
    """Return a channel of a different family for each pair of questions, and one for a single question."""
    return {
        (0, 1): projective(12, level),
        (0, 2): subset_selection(6, level),
        (1, 2): hadamard(8, level),
        (1,): randomized_response(4, level),
    }


def unrelated() -> Floats:
    """Return a joint distribution, (3, 4, 2), in which all questions are independent."""
    p, q, r = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.7, 0.3])
    return np.asarray(p[:, None, None] * q[:, None] * r)


def increments(decoder: Decoder, words: Floats) -> Floats:
    """Return the contribution of each word to the estimate of each input, (words, k)."""
    units = np.eye(decoder.input_count)
    constants = np.array([decoder.intercept(unit) for unit in units])
    return words @ np.array([decoder.adjoint(unit) for unit in units]).T + constants


@pytest.mark.parametrize("asked", list(channels_of()))
def test_variances_and_covariances_are_those_of_dense_matrices(asked: tuple[int, ...]) -> None:
    """Covariances of a view, its margins and their variances equal those of dense matrices."""
    channel = channels_of()[asked]
    words, distribution = outputs_of(channel)
    decoder, p = decoder_of(channel), np.random.default_rng(3).dirichlet(np.ones(channel.input_count))
    adds = increments(decoder, words)
    assert np.allclose(distribution @ adds, np.eye(channel.input_count), atol=1e-9), (
        "the words and their probabilities are not the channel's"
    )
    dense = (adds - p).T @ ((p @ distribution)[:, None] * (adds - p))
    v = np.random.default_rng(4).normal(size=channel.input_count)
    assert np.allclose(covariances(decoder, decoder.forward(p), v), dense @ v, atol=1e-8)
    shape = tuple(SIZES[q] for q in asked)
    view = FormView(asked, shape, decoder, Tally((decoder.forward(p) * 2**40).astype(np.int64), 2**40))
    for place, question in enumerate(asked):
        sums = np.array([view.lift(question, unit) for unit in np.eye(shape[place])])
        assert np.allclose(view.marginal(question, p), sums @ p)
        assert np.allclose(view.variances[question].shown, np.diag(sums @ dense @ sums.T), rtol=1e-6)


def test_a_question_is_estimated_from_all_views_that_ask_it() -> None:
    """A question is estimated from all views that ask it, with weights n / V, with less error than from one view."""
    rng, truth = np.random.default_rng(5), unrelated()
    views = survey(truth, 5_000, rng, channels_of())
    for question, holding in ((0, 2), (1, 3), (2, 2)):
        found = pooled_question(views, question)
        assert len(found.views) == holding
        assert found.weights.sum() == pytest.approx(1)
        precision = [view.tally.reports / view.variances[question].even.mean() for view in found.views]
        assert np.allclose(found.weights, np.array(precision) / sum(precision))
        parts = [view.marginal(question, view.linear.raw) for view in found.views]
        by_hand = sum(w * part for w, part in zip(found.weights, parts, strict=True))
        assert np.allclose(found.raw, by_hand)
        alone = min((view.variances[question].shown / 5_000).mean() for view in found.views)
        assert found.variances.mean() < alone, "several views must be more precise than the best single one"
        unit = np.eye(SIZES[question])[1]
        assert found.covariances(unit)[1] == pytest.approx(found.variances[1], rel=1e-6)


def test_an_ordered_question_is_estimated_by_the_projection() -> None:
    """With 20 values and much noise, the mean Wasserstein distance of 20 surveys is at most .8 times as large if the
    views state that the values are ordered."""
    rng, places = np.random.default_rng(9), (np.arange(20) + 0.5) / 20
    truth = places * (1 - places) ** 4
    distribution, decoder = np.outer(truth / truth.sum(), (0.6, 0.4)), decoder_of(projective(40, NANONATS))
    off = []
    for _ in range(20):
        counts = rng.multinomial(4_000, decoder.forward(distribution.ravel()))
        view = FormView((0, 1), distribution.shape, decoder, Tally(counts, 4_000))
        found = [pooled_question([one], 0).share for one in (replace(view, ordered_questions=frozenset({0})), view)]
        off.append([np.abs(np.cumsum(share - distribution.sum(axis=1))).sum() for share in found])
    by_projection, by_empirical_bayes = np.mean(off, axis=0)
    assert by_projection < 0.8 * by_empirical_bayes


def test_weights_do_not_depend_on_the_answers() -> None:
    """The weights of the views are the same for two surveys with different answers."""
    weights = []
    for seed, truth in enumerate((unrelated(), np.eye(24)[5].reshape(SIZES))):
        weights.append(pooled_question(survey(truth, 3_000, np.random.default_rng(seed), channels_of()), 1).weights)
    assert np.array_equal(*weights)


def test_stated_errors_of_a_question_are_the_observed_ones() -> None:
    """Over 200 surveys the estimate of a question is unbiased, and its mean squared error is the stated variance.

    n: 200 surveys of 4,000 reports; each of 8 bounds is five standard deviations, alpha = 6 * 10^-7 for the normal
    approximation of one. A failure means a biased estimate or wrong errors; the seed is fixed.
    """
    rng, truth = np.random.default_rng(6), unrelated()
    found = [pooled_question(survey(truth, 4_000, rng, channels_of()), 1) for _ in range(200)]
    off = np.array([one.raw for one in found]) - truth.sum(axis=(0, 2))
    variance = np.mean([one.variances for one in found], axis=0)
    # In 200 surveys, five standard deviations of a relative mean square are 5 sqrt(2 / 200) = .5, and those of a mean
    # are .35 standard errors.
    assert np.abs((off**2).mean(axis=0) / variance - 1).max() < 0.5
    assert np.abs(off.mean(axis=0) / np.sqrt(variance)).max() < 0.35


@pytest.mark.parametrize("bottom", [0.9, 0.2, 0.04])
def test_the_interval_of_a_ratio_inverts_the_fieller_test(bottom: float) -> None:
    """The interval of a ratio has exactly the values that Fieller's test does not reject, found on a grid."""
    ratio = Ratio(np.array([0.02, 0.01]), np.array([1e-4, 2e-4]), bottom, 3e-4, np.array([5e-5, -1e-5]))
    low, high = ratio.intervals(0.05)
    t = np.linspace(-3, 3, 600_001)
    for x in range(2):
        num, variance = ratio.top[x] - t * bottom, ratio.top_variances[x] - 2 * t * ratio.covariances[x] + t**2 * 3e-4
        kept = t[num**2 <= critical_value(0.05) ** 2 * variance]
        assert low[x] == pytest.approx(kept.min(), abs=2e-5)
        assert high[x] == pytest.approx(kept.max(), abs=2e-5)


def test_the_error_of_a_ratio_is_that_of_its_gradient() -> None:
    """The standard error of a ratio is that of the delta method."""
    ratio = Ratio(np.array([0.3]), np.array([4e-4]), 0.8, 3e-4, np.array([2e-4]))
    gradient = np.array([1 / 0.8, -0.3 / 0.8**2])
    assert ratio.se[0] ** 2 == pytest.approx(gradient @ np.array([[4e-4, 2e-4], [2e-4, 3e-4]]) @ gradient)


def test_a_ratio_with_a_denominator_near_zero_has_the_interval_0_to_1() -> None:
    """If the denominator is within its error of zero, the interval is 0 to 1."""
    low, high = Ratio(np.array([0.01]), np.array([1e-4]), 0.01, 1e-4, np.array([0.0])).intervals(0.05)
    assert (low, high) == (0, 1)


def test_shares_omit_skipped_answers() -> None:
    """Shares without skipped answers sum to one.

    In at least 84 of 100 surveys all simultaneous intervals contain the truth; the seed is fixed.
    """
    rng, truth, held = np.random.default_rng(7), unrelated(), 0
    true = truth.sum(axis=(0, 2))[:3] / truth.sum(axis=(0, 2))[:3].sum()
    for _ in range(100):
        pooled = pooled_question(survey(truth, 4_000, rng, channels_of()), 1)
        found = shares_among(pooled, answered_indicator(len(pooled.raw), True), 0.95)
        assert len(found.share) == 3
        assert found.share.sum() == pytest.approx(1)
        assert (found.simultaneous_low <= found.low).all()
        assert (found.high <= found.simultaneous_high).all()
        held += int(((found.simultaneous_low <= true) & (true <= found.simultaneous_high)).all())
    # Of 100 surveys, at least 95 are expected; 84 is 5 standard deviations below.
    assert held >= 84


def test_centring_removes_means_and_shrinking_lowers_singular_values() -> None:
    """Centring removes the means of rows and columns; shrinking lowers the singular values, at most to 0."""
    rng = np.random.default_rng(8)
    tables = rng.normal(size=(5, 6, 4))
    inside = centred(tables)
    a, b = (np.eye(k) - 1 / k for k in (6, 4))
    assert np.allclose(inside, a @ tables @ b)
    s = np.linalg.svd(shrunk(tables[0], 1.5), compute_uv=False)
    assert np.allclose(s, np.sqrt(np.maximum(np.linalg.svd(tables[0], compute_uv=False) ** 2 - 1.5**2, 0)))
    assert not shrunk(tables[0], 1e6).any()


def test_a_fitted_table_has_its_margins_and_its_odds() -> None:
    """A fitted table has the given margins and the odds ratios of its start; rows with share 0 stay empty."""
    rng = np.random.default_rng(9)
    table, rows, columns = rng.dirichlet(np.full(20, 2.0)).reshape(5, 4), rng.dirichlet(np.ones(5)), np.eye(4)[0] / 2
    columns = columns + 1 / 8
    found = fitted(table, rows, columns)
    assert np.allclose(found.sum(axis=1), rows, atol=1e-8)
    assert np.allclose(found.sum(axis=0), columns, atol=1e-8)
    odds = [t[0, 0] * t[3, 2] / (t[0, 2] * t[3, 0]) for t in (found, table)]
    assert odds[0] == pytest.approx(odds[1])
    empty = fitted(table - 0.04, np.array([0, 0.5, 0.5, 0, 0]), columns)
    assert not empty[[0, 3, 4]].any()
    assert empty.sum() == pytest.approx(1)


@pytest.mark.parametrize(("surveys", "most"), [(60, 9), pytest.param(400, 30, marks=pytest.mark.long)])
def test_independent_questions_seldom_have_a_significant_association(surveys: int, most: int) -> None:
    """At most 9 of 60 surveys of independent questions have a significant association, for each pair of questions.

    If the test of association rejects 5% of independent pairs, this function fails with a probability of 8e-4 for each
    pair, and in the long test (30 of 400 surveys) with 0.012. The seed is fixed. A failure means that the
    threshold is too low.
    """
    rng, found = np.random.default_rng(10), dict.fromkeys(PAIRS, 0)
    for _ in range(surveys):
        views = survey(unrelated(), 2_000, rng, channels_of())
        for pair in PAIRS:
            found[pair] += cross_table(views, *pair).association.significant
    assert max(found.values()) <= most, found


def related() -> Floats:
    """Return a joint distribution, (3, 4, 2), in which all questions are associated."""
    distribution = unrelated()
    distribution[0, 0] += 0.15
    distribution[1, :, 1] += 0.1
    return np.asarray(distribution / distribution.sum())


@pytest.mark.parametrize(("surveys", "least"), [(60, 52), pytest.param(400, 372, marks=pytest.mark.long)])
def test_simultaneous_intervals_of_all_cells_have_nominal_coverage(surveys: int, least: int) -> None:
    """In at least 52 of 60 surveys all simultaneous 95% intervals contain the truth, for each pair of questions.

    If all intervals of a survey contain the truth in 95% of the surveys, this function fails with a probability of 3e-3
    for each pair, and in the long test (372 of 400 surveys) with 0.03. The seed is fixed. A failure means
    that the intervals are too narrow.
    """
    rng, held, truth = np.random.default_rng(11), dict.fromkeys(PAIRS, 0), related()
    for _ in range(surveys):
        views = survey(truth, 2_000, rng, channels_of())
        for pair in PAIRS:
            table = truth.sum(axis=3 - sum(pair)).ravel()
            cells = cross_table(views, *pair).cells()
            held[pair] += int(((cells.simultaneous_low <= table) & (table <= cells.simultaneous_high)).all())
    assert min(held.values()) >= least, held


def test_a_table_is_nearer_than_its_raw_shares_and_than_no_association() -> None:
    """The shown table is nearer to the truth than the raw shares, and has less than half the distance of independence.

    Means of 20 surveys of 50,000 people for each view at 2 nats, seed fixed. The association is found in each.
    """
    rng, truth = np.random.default_rng(12), related()
    table = truth.sum(axis=2)
    off: list[tuple[float, ...]] = []
    for _ in range(20):
        found = cross_table(survey(truth, 50_000, rng, channels_of(2 * NANONATS)), 0, 1)
        assert found.association.significant
        assert found.association.p_value == 1 / 200
        assert np.allclose(found.share.sum(axis=1), found.rows.share, atol=1e-6)
        assert np.allclose(found.share.sum(axis=0), found.columns.share, atol=1e-6)
        off.append(tuple(np.abs(each - table).sum() for each in (found.share, found.raw, found.unrelated)))
    shown, raw, none = np.mean(off, axis=0)
    assert shown < raw
    assert shown < none / 2


def test_shares_within_a_row_are_its_cells_divided_by_their_sum() -> None:
    """Shares within a row or column are the table's cells, divided by their sum.

    In at least 84 of 100 surveys all simultaneous intervals of a row contain the truth; the seed is fixed.
    """
    rng, truth, held = np.random.default_rng(13), related(), 0
    table = truth.sum(axis=2)
    true = table[0, :3] / table[0, :3].sum()
    for _ in range(100):
        found = cross_table(survey(truth, 20_000, rng, channels_of()), 0, 1)
        row = found.within(0, 0, skippable=(False, True))
        held += int(((row.simultaneous_low <= true) & (true <= row.simultaneous_high)).all())
        assert row.share.sum() == pytest.approx(1)
        assert np.allclose(row.share, found.share[0, :3] / found.share[0, :3].sum())
    column = found.within(1, 2)
    assert np.allclose(column.share, found.share[:, 2] / found.share[:, 2].sum())
    assert np.allclose(column.raw, found.raw[:, 2] / found.raw[:, 2].sum())
    assert held >= 84  # at least 95 are expected; 84 is 5 standard deviations below


def test_cells_omit_skipped_answers() -> None:
    """Cells without skipped answers sum to one, and each raw share is in its interval."""
    found = cross_table(survey(related(), 20_000, np.random.default_rng(14), channels_of()), 0, 1)
    cells = found.cells(skippable=(True, True))
    assert len(cells.share) == 2 * 3
    assert cells.share.sum() == pytest.approx(1)
    assert cells.raw.sum() == pytest.approx(1)
    assert (cells.low <= cells.raw.clip(0, 1)).all()
    assert (cells.raw.clip(0, 1) <= cells.high).all()


def test_the_test_of_association_is_deterministic() -> None:
    one, other = (cross_table(survey(related(), 900, np.random.default_rng(15), channels_of()), 0, 2) for _ in range(2))
    assert one.association == other.association


def test_a_question_that_no_view_asks_is_refused() -> None:
    """A question or a pair that no view asks is refused, and so is a pair in the wrong order."""
    views = survey(unrelated(), 500, np.random.default_rng(16), {(0, 1): projective(12, NANONATS)})
    with pytest.raises(NotAsked, match="both"):
        cross_table(views, 0, 2)
    with pytest.raises(NotAsked):
        pooled_question(views, 2)
    with pytest.raises(ValueError, match="does not come before"):
        cross_table(views, 1, 0)


def test_simulated_sets_are_drawn_by_their_channel() -> None:
    """Simulated counts of subsets have the channel's mean, and the channel's variance of a query."""
    channel = subset_selection(6, NANONATS)
    p, v, n = np.array([0.5, 0.2, 0.1, 0.1, 0.1, 0.0]), np.array([1.0, 1.0, 0.0, -1.0, 0.0, 0.0]), 2_000
    distribution, rng = decoder(channel).forward(p), np.random.default_rng(17)
    shares = np.array([drawn_tally(channel, decoder(channel), p, n, rng).counts / n for _ in range(300)])
    # Over 300 surveys, means are within 5 standard errors, and relative mean squares within 5 sqrt(2 / 300) = .41.
    assert np.abs(shares.mean(axis=0) - distribution).max() < 5 * np.sqrt(0.25 / n / 300)
    spread = np.var([decoder(channel).query(v, share) for share in shares])
    assert spread / (decoder(channel).variance(v, distribution) / n) == pytest.approx(1, abs=0.41)


def test_a_table_of_two_by_two_is_not_shrunk() -> None:
    """A table of 2 x 2 cells is not shrunk, and a larger one is."""
    views = survey(related(), 500, np.random.default_rng(18), {(0, 2): subset_selection(6, NANONATS)})
    wide = cross_table(views, 0, 2)
    assert wide.edge > 0
    two = FormView((0, 1), (2, 2), decoder_of(randomized_response(4, NANONATS)), Tally.of(np.array([40, 30, 20, 35])))
    small = cross_table([two], 0, 1)
    assert small.edge == 0
    assert np.allclose(centred(small.share), centred(small.raw), atol=0.05)
