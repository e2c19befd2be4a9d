"""Graded projective response: its decoder equals matrices, no design of a search is better, and a survey is run from
its draft."""

import numpy as np
import pytest

from aggregator import simulation
from aggregator.author.audit import audit, levels_request
from aggregator.estimate.error import expected_mse
from aggregator.estimate.estimator import estimate
from aggregator.estimate.interval import intervals, standard_errors
from aggregator.families.bits.idue import idue
from aggregator.families.graded import recipe
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.projective.recipe import projective
from aggregator.families.registry import decoder_of
from aggregator.intake.ingest import ingest
from aggregator.planner.choice import AUTO, candidates, chosen_channel
from aggregator.reproduce.simulated_people import values
from aggregator.study import Study
from aggregator.truth_file import Truth
from edge_sdk import BudgetPolicy, Device
from protocol import exact, notions
from protocol.campaign import open_campaign, seal_campaign
from protocol.channels import GradedProjective
from protocol.errors import Uncertified
from protocol.notions import Graded, Matrix
from tests.aggregator.campaigns import campaign_of_draft
from tests.aggregator.fleet import AUTHOR
from tests.aggregator.matrix import dense
from tests.aggregator.simulated import population
from tests.families.graded import graded

NAT = exact.NANONATS
CHANNELS = {
    f"q={q} t={t} k={len(halves)}": graded(q, t, [half * NAT // 2 for half in halves])
    for q, t, halves in [(2, 2, (1, 3)), (5, 2, (1, 3, 3, 2, 1)), (2, 3, (4, 1, 1, 4, 2)), (3, 3, (1, 2) * 6 + (3,))]
}


def budgets(nats, sizes, function="minid"):
    """Return a graded notion whose classes of values follow one another."""
    return Graded.over([int(e * NAT) for e, size in zip(nats, sizes, strict=True) for _ in range(size)], function)


def made(notion):
    [(_, one)] = candidates(PlannedQuestion(values(notion.input_count), notion), mechanisms=recipe.MECHANISMS)
    return one


def test_all_points_of_a_geometry_need_no_balance():
    """If there is an input for each point, the raw shares sum to one without balancing, and the variances are
    finite."""
    decoder = decoder_of(recipe.graded([[0], [1, 2]], np.array([[0.5, 0.5], [0.5, 2.0]])))
    assert decoder.input_count == decoder.features
    share = np.array([0.5, 0.3, 0.2])
    assert decoder.invert(share).sum() == pytest.approx(1)
    assert decoder.invert(share) == pytest.approx(decoder.uncorrected.invert(share))
    assert np.isfinite(decoder.variances(share)).all()


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS)
def test_the_fast_decoder_is_the_dense_one(channel, balanced):
    """Passes, estimates and variances equal those of matrices from the channel's weights.

    The estimate is unbiased, and no report contributes more than the stated extremes. The balanced estimate sums to
    one, and its variance at uniform shares is at most 1.02 times the least one of all unbiased estimates.
    """
    k, rng, distribution = channel.input_count, np.random.default_rng(1), dense(channel)
    decoder = decoder_of(channel) if balanced else decoder_of(channel).uncorrected
    inverse = np.array([decoder.adjoint(unit) for unit in np.eye(k)]).T
    np.testing.assert_allclose(distribution @ inverse, np.eye(k), atol=1e-9)
    if balanced:
        np.testing.assert_allclose(inverse.sum(axis=1), 1)
    p, w, share = (
        rng.dirichlet(np.ones(k)),
        rng.normal(size=channel.output_count),
        rng.dirichlet(np.ones(channel.output_count)),
    )
    np.testing.assert_allclose(decoder.forward(p), p @ distribution)
    np.testing.assert_allclose(decoder.forward_squares(p), p @ distribution**2)
    np.testing.assert_allclose(decoder.backward(w), distribution @ w)
    np.testing.assert_allclose(decoder.invert(share), share @ inverse)
    np.testing.assert_allclose(decoder.variances(share), share @ inverse**2 - (share @ inverse) ** 2)
    assert (decoder.contribution_bounds.largest >= inverse.max(axis=0) - 1e-9).all()
    assert (decoder.contribution_bounds.smallest <= inverse.min(axis=0) + 1e-9).all()
    assert (decoder.ceiling >= distribution.max(axis=0)).all()
    # The base of the steps is off by at most the slack for all people, and by all of it for some people.
    units = np.eye(channel.output_count, dtype=np.int64)
    steps = decoder.binomial_steps(units[0], 1)
    reached = np.array([decoder.binomial_steps(unit, 1).counts[0] for unit in units])
    off = np.abs(np.eye(k) - steps.base - steps.heights[0] * (distribution @ reached))
    np.testing.assert_allclose(off.max(axis=0), steps.slack, atol=1e-12)
    # This is the least variance of all unbiased estimates at equal shares (Aitken 1935).
    even = np.full(k, 1 / k)
    least = np.trace(np.linalg.inv(distribution / (even @ distribution) @ distribution.T)) - 1 / k
    found = decoder.variances(even @ distribution).sum()
    assert least * (1 - 1e-9) <= found
    assert not balanced or found <= 1.02 * least


@pytest.mark.parametrize("reports", [100, 20_000])
@pytest.mark.parametrize("name", ["q=2 t=3 k=5", "q=3 t=3 k=13"])
def test_intervals_have_nominal_coverage(name, reports):
    """The coverage of the 95% interval of each value is at least 92.5% over 1,000 surveys of a random distribution.

    The numbers of reports are small and large. With a coverage of exactly 95% the test fails with alpha = 3e-4; the
    seed is fixed. A failure means that the intervals are too narrow.
    """
    channel = CHANNELS[name]
    decoder, rng = decoder_of(channel), np.random.default_rng(4)
    p = rng.dirichlet(np.full(channel.input_count, 0.5))
    held = np.zeros(channel.input_count)
    for counts in rng.multinomial(reports, decoder.forward(p), 1000):
        share = counts / reports
        raw, se = decoder.invert(share), standard_errors(decoder, share, reports)
        steps, bounds = decoder.binomial_steps(counts, reports), decoder.contribution_bounds
        low, high = intervals(steps, raw, se, 0.05, bounds=bounds)
        held += (low <= p) & (p <= high)
    assert held.min() >= 925


@pytest.mark.parametrize(
    ("nats", "sizes", "function", "most"),
    [
        ((1, 2), (1, 999), "minid", 1.09),
        ((1, 2), (50, 950), "minid", 1.05),
        ((0.5, 1, 2), (50, 150, 800), "minid", 1.10),
        ((1, 2), (50, 950), "avgid", 1.05),
        ((1, 2), (2, 8), "minid", 0.97),
    ],
)
def test_the_error_is_near_that_of_idue_with_few_bits(nats, sizes, function, most):
    """The certified channel has at most ``most`` times IDUE's expected squared error, with at most log2 k + 3 bits a
    report.

    The error is below that of plain LDP at the smallest budget, and ``auto`` chooses the channel.
    """
    notion = budgets(nats, sizes, function)
    one = made(notion)
    assert one.certificate.audited_level <= notion.level
    assert one.raw_mse <= most * expected_mse(idue(notion))
    assert one.channel.output_bits <= (notion.input_count - 1).bit_length() + 2
    assert one.raw_mse < expected_mse(projective(notion.input_count, min(notion.budgets)))
    assert chosen_channel(AUTO, PlannedQuestion(values(notion.input_count), notion))[0] == "graded"


def test_no_other_weights_have_less_error():
    """None of 200 x 200 pairs of outside weights that satisfy the bounds of two classes has less error, to 1e-9.

    The geometry is the same. With either outside weight smaller by a millionth the channel is not certified.
    """
    notion = budgets((1, 2), (3, 10))
    channel = made(notion).channel
    assert isinstance(channel, GradedProjective)
    geometry = channel.geometry
    f = geometry.support / geometry.point_count
    w = np.linspace(0.3, 0.9999, 200)
    inside = (1 - (1 - f) * w) / f
    allowed = (inside <= np.e * w)[:, np.newaxis] & (inside <= np.e**2 * w)
    allowed &= (inside[:, np.newaxis] <= np.e * w) & (inside <= np.e * w[:, np.newaxis])
    errors = (3 / (1 - w[:, np.newaxis]) ** 2 + 10 / (1 - w) ** 2)[allowed]
    own = [weight * geometry.point_count / (1 << channel.scale) for weight in channel.outside]
    assert 3 / (1 - own[0]) ** 2 + 10 / (1 - own[1]) ** 2 <= errors.min() * (1 + 1e-9)
    for place in range(2):
        less = list(channel.outside)
        less[place] -= less[place] // 1_000_000 // geometry.support * geometry.support
        with pytest.raises(Uncertified):
            notions.certify(GradedProjective(channel.order, channel.dimension, tuple(less), channel.runs), notion)


def test_classes_of_a_matrix_are_those_that_may_be_exchanged():
    """Two inputs are in one class if and only if exchanging them leaves the matrix of bounds unchanged.

    The matrix has unbounded entries, and for several pairs one direction has the larger bound. The channel is certified
    for it, and has less error than plain LDP at the smallest bound.
    """
    of = [0, 1, 1, 2, 0, 2, 2, 1]
    bounds = [[1, 2, 3], [1, 2, -1], [2, 2, 4]]
    rows = tuple(
        tuple(0 if x == y else max(bounds[c][d] * NAT, -1) for y, d in enumerate(of)) for x, c in enumerate(of)
    )
    notion = Matrix(4 * NAT, rows)
    classes = recipe.equal_inputs(notion)
    assert sorted(map(tuple, classes)) == [(0, 4), (1, 2, 7), (3, 5, 6)]
    for x in range(8):
        for other in range(8):
            places = list(range(8))
            places[x], places[other] = other, x
            same = all(rows[a][b] == rows[places[a]][places[b]] for a in range(8) for b in range(8))
            assert same == any({x, other} <= set(members) for members in classes)
    one = made(notion)
    assert one.certificate.audited_level <= notion.level
    assert one.raw_mse < expected_mse(projective(8, NAT))


def test_unsuited_notions_are_refused():
    """A notion with a single class, and one whose values must be indistinguishable, are refused with a reason."""
    assert "2 to 64 classes" in made(budgets((1,), (5,)))
    rows = ((0, 0, NAT), (0, 0, NAT), (NAT, NAT, 0))
    assert "a bound of zero between two values" in made(Matrix(NAT, rows))


DRAFT = """
title = "Words"
question = "Which word?"
organisation = "Town library"
[domain]
kind = "values"
values = {values}
[privacy]
notion = "minid"
budgets = {{v0 = 1.0, v1 = 1.0, v2 = 1.0}}
default = 2.0
[schedule]
opens = 2026-12-01
closes = 2027-01-01
[limits]
minimum_reports = 300
"""


def test_a_draft_in_classes_gets_graded_response_and_a_correct_estimate(tmp_path):
    """For 1,000 values in two classes the draft gets graded response, and the estimate of simulated people is correct.

    A device joins and answers too. The simultaneous 99.9% intervals of both frequent values and of one without
    people contain their shares. The seed is fixed; at most one seed in a thousand would fail.
    """
    text = DRAFT.format(values=[f"v{x}" for x in range(1000)])
    campaign = campaign_of_draft(text)
    assert (campaign.mechanism, campaign.channel.family, campaign.channel.output_bits) == ("graded", "graded", 11)
    signed = open_campaign(seal_campaign(campaign, AUTHOR), [AUTHOR.public])
    assert 1 < audit(campaign, levels_request(campaign)).as_json()["levels"]["ldp"] <= 2
    dice = simulation.random_source(2, 0)
    with Device.open(
        ":memory:", [AUTHOR.public], BudgetPolicy(lifetime=100), clock=lambda: campaign.opens, urandom=dice
    ) as device:
        campaign_id = device.join(signed.data).campaign_id
        device.consent(campaign_id)
        device.answer(campaign_id, "v0")
        device.outbox.export(tmp_path / "one.htr")
    study = Study.create(tmp_path / "study")
    study.import_campaign(signed.data, [AUTHOR.public], "words")
    truth = Truth(("v0", "v500"), (240, 160))
    sent = population(campaign, signed.id, truth, 0, 1, 1)
    (tmp_path / "all.htr").write_bytes(b"".join(part.reports for part in sent))
    assert ingest(study, [tmp_path / "all.htr", tmp_path / "one.htr"], now=campaign.opens).accepted == 401
    found = estimate(signed, study.tally(signed), confidence=0.999)
    for x, share in ((0, 241 / 401), (500, 160 / 401), (7, 0)):
        assert found.simultaneous_low[x] <= share <= found.simultaneous_high[x]
    assert found.raw[500] > 4 * found.se[500]
