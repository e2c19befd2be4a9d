"""Properties of item sets: the predicted error is that of the estimate, and every estimated share is possible."""

import random
from itertools import combinations

import numpy as np
import pytest
from scipy import optimize

from aggregator.author.audit import audit
from aggregator.author.lint import lint
from aggregator.estimate import query
from aggregator.estimate.distribution import project
from aggregator.estimate.error import campaign_error, lip_mse_bound, prior_mse
from aggregator.estimate.estimator import estimate
from aggregator.estimate.shown_inputs import ShownInputs
from aggregator.estimate.tally import Tally
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.registry import decoder_of
from aggregator.planner.choice import candidates, chosen_channel
from aggregator.planner.plan import plan
from protocol.campaign import Campaign
from protocol.channels import Blocks
from protocol.domain import DITHER_BYTES, Items
from protocol.exact import NANONATS
from protocol.notions import Ldp, Lip
from protocol.notions.classes import Classes
from protocol.views import plain_views
from tests.aggregator.matrix import dense

ITEMS, PADDING, PEOPLE = 30, 5, 3000
DOMAIN = Items(PADDING, ITEMS)
QUESTION = PlannedQuestion(DOMAIN, Ldp(2 * NANONATS))


def unsigned_campaign(channel, notion=QUESTION.notion, minimum=100, domain=DOMAIN, classes=()):
    return Campaign("Basket", "What?", "", "Market", domain, notion, "any", plain_views(channel), 0, 86_400, 86_400,
                    1, minimum, "open", classes)  # fmt: skip


def counts_of(channel, inputs, draw):
    """Return the features of one report of each person, drawn by the channel's ``sample``."""
    counts = np.zeros(channel.features, dtype=np.int64)
    for x in inputs:
        y = channel.sample(x, draw.randbytes(channel.rand_bytes))
        places = (
            [y]
            if not channel.unary
            else [x for x in range(channel.input_count) if y >> (channel.input_count - 1 - x) & 1]
        )
        counts[places] += 1
    return counts


@pytest.mark.parametrize("mechanism", ["oue", "triples"])
def test_the_plan_states_the_error_of_the_estimate(mechanism):
    """The standard error that ``plan`` states for n reports is the root mean square error of the estimated shares of
    people with each item.

    The estimate states the same error. 30 items, padding 5, 2 nats: 25 surveys of 500 people with sets of 4 or 5 items,
    drawn by the domain and the channel. The mean of 750 squares varies by 5.2% or a little more, so a difference of 25%
    has a probability below 1e-4. A failure means a wrong error; a plan for shares of reports would be off by a factor
    of 5.
    """
    row = next(row for row in plan(QUESTION, 500) if row.mechanism == mechanism)
    channel, draw = row.candidate.channel, random.Random(1)
    squares, stated = [], []
    for _ in range(25):
        inputs = [
            DOMAIN._choice(tuple(sorted(draw.sample(range(ITEMS), 4 + (draw.random() < 2 / 7)))), draw.getrandbits(64))
            for _ in range(500)
        ]
        found = estimate(unsigned_campaign(channel), Tally(counts_of(channel, inputs, draw), 500))
        squares.append((found.raw - PADDING / (ITEMS + PADDING)) ** 2)
        stated.append(found.se)
    assert np.mean(squares) == pytest.approx(row.se**2, rel=0.25)
    assert np.sqrt(np.mean(np.square(stated))) == pytest.approx(row.se, rel=0.05)


def test_plan_audit_lint_and_estimate_use_the_same_shares():
    """Errors and influences in every command refer to shares of people who have an item.

    With 30 items, padding 5, 2 nats and 3,000 reports, projective geometry has a standard error of 7.7%, needs about
    7,200 people for 5%, and one report has the influence of 10.5 people.
    """
    row = next(row for row in plan(QUESTION, PEOPLE, target_errors=(0.05,)) if row.mechanism == "projective")
    channel = row.candidate.channel
    distribution = np.full(DOMAIN.size, 1 / DOMAIN.size)
    decoder = decoder_of(channel)
    variances = decoder.variances(decoder.forward(distribution))[:ITEMS] * PADDING**2 / PEOPLE
    assert row.se == pytest.approx(np.sqrt(variances.mean())) == pytest.approx(0.077, abs=0.001)
    assert row.people_for[0.05] == pytest.approx(7200, rel=0.02)
    assert row.candidate.people_per_report == pytest.approx(10.5, abs=0.1)
    found = audit(unsigned_campaign(channel))
    assert found.raw_mse / PEOPLE == pytest.approx(row.mse)
    estimated = estimate(unsigned_campaign(channel), Tally(np.full(channel.features, 10), 10 * channel.features))
    assert found.people_per_report == row.candidate.people_per_report == estimated.influence.people_per_report
    # If all inputs are reported equally often, 1/7 of the people have each item.
    warnings = " ".join(lint(unsigned_campaign(channel, minimum=500)))
    assert "If all items were equally frequent, each share would be 14.29%" in warnings
    assert "equally frequent" not in " ".join(lint(unsigned_campaign(channel, minimum=2000)))


def test_the_stated_error_of_classes_is_that_of_all_people():
    """The stated error of a campaign with classes is that of the estimated shares of all people."""
    channels = (chosen_channel("projective", QUESTION)[1],) * 2
    notion = Classes.of((QUESTION.notion,) * 2)
    asked = unsigned_campaign(Blocks(0, ((1, DOMAIN.size), (2, DOMAIN.size)), channels), notion, classes=("a", "b"))
    mse, _ = campaign_error(asked)
    decoder = decoder_of(channels[0])
    distribution = decoder.forward(np.full(DOMAIN.size, 1 / DOMAIN.size))
    counts = np.rint(np.concatenate([distribution, distribution]) * 10**6).astype(np.int64)
    found = estimate(asked, Tally(counts, int(counts.sum())))
    assert np.sqrt(mse / counts.sum() / ITEMS) == pytest.approx(np.sqrt(np.mean(found.se**2)), rel=1e-3)


def nearest(raw, items, padding):
    """Return the projection of item sets, computed as a quadratic program."""
    size = items + padding
    rules = [{"type": "eq", "fun": lambda p: p.sum() - 1}]
    rules += [{"type": "eq", "fun": lambda p, x=x: p[x] - p[items]} for x in range(items + 1, size)]
    found = optimize.minimize(
        lambda p: ((p - raw) ** 2).sum(), np.full(size, 1 / size), jac=lambda p: 2 * (p - raw), method="SLSQP",
        bounds=[(0, 1 / padding)] * items + [(0, 1)] * padding, constraints=rules,
        options={"ftol": 1e-15, "maxiter": 500},
    )  # fmt: skip
    return found.x


@pytest.mark.parametrize(("items", "padding", "noise"), [(3, 2, 0.1), (6, 3, 0.3), (2, 5, 0.2), (8, 2, 1.0), (4, 4, 2)])
def test_the_projection_of_item_sets_is_the_quadratic_program(items, padding, noise):
    """The projection is the nearest possible distribution: items have at most 1 / l, dummies are equal, and the sum
    is one."""
    draw = np.random.default_rng(items)
    for _ in range(6):
        raw = 1 / (items + padding) + noise * draw.standard_normal(items + padding)
        found = project(raw, ShownInputs(items, padding))
        assert found.sum() == pytest.approx(1)
        np.testing.assert_allclose(found, nearest(raw, items, padding), atol=2e-6)


def test_the_error_of_a_person_is_computed_over_the_items():
    """Under a prior the error of one person, the bound for every mechanism and the error without a report are for
    items, times l squared.

    They equal sums over every input and output, and increase in this order: bound, error, error without a report.
    """
    domain, prior = Items(3, 2), (6, 5, 3, 3, 3)
    question = PlannedQuestion(domain, Lip(NANONATS, prior))
    distribution, alone = np.array(prior) / sum(prior), prior_mse(prior, ShownInputs.of(domain))
    assert alone == pytest.approx(9 * (distribution[:2] * (1 - distribution[:2])).sum())
    bound = lip_mse_bound(NANONATS, prior, ShownInputs.of(domain))
    weighed = 0
    for _, one in candidates(question):
        if isinstance(one, str) or one.channel.unary:
            continue
        joint = distribution[:, np.newaxis] * dense(one.channel)
        after = joint / joint.sum(axis=0)
        slow = sum(joint[x, y] * ((np.eye(5)[x] - after[:, y])[:2] ** 2).sum() for x, y in np.ndindex(joint.shape))
        assert one.person_mse == pytest.approx(9 * slow)
        assert bound <= one.person_mse * (1 + 1e-9)
        assert one.person_mse <= alone * (1 + 1e-9)
        weighed += 1
    assert weighed >= 5
    found = audit(unsigned_campaign(chosen_channel("lip", question)[1], question.notion, domain=domain))
    assert found.mse_bound == bound <= found.mse


def distributions():
    """Yield distributions of inputs whose raw shares leave 0 .. 1: all people have the first items, and no person the
    last."""
    for held in (1, PADDING - 1, PADDING):
        p = np.zeros(DOMAIN.size)
        p[:held] = 1 / PADDING
        p[ITEMS:] = (1 - p.sum()) / PADDING
        yield p


@pytest.mark.parametrize("mechanism", ["oue", "triples", "randomized-response"])
def test_every_estimated_share_of_item_sets_is_possible(mechanism):
    """With 2,000 reports every estimated share of people is in 0 .. 1, and all shares sum to at most l.

    Several raw shares are above 1. Counts of people have ordered intervals inside 0 .. 2,000.
    """
    row = next(row for row in plan(QUESTION, PEOPLE) if row.mechanism == mechanism)
    channel, draw = row.candidate.channel, np.random.default_rng(3)
    above = 0
    for p in distributions():
        distribution = decoder_of(channel).forward(p)
        for _ in range(4):
            counts = draw.binomial(2000, distribution) if channel.unary else draw.multinomial(2000, distribution)
            tally = Tally(counts, 2000)
            for method in (None, "projection", "empirical-bayes", *(() if channel.unary else ("em",))):
                found = estimate(unsigned_campaign(channel), tally, method=method)
                assert (found.share >= 0).all()
                assert (found.share <= 1).all()
                assert found.share.sum() <= PADDING * (1 + 1e-9)
            above += int((found.raw > 1).sum())
            x = int(np.argmax(found.raw))
            answer = query.value_share(unsigned_campaign(channel), tally, x).times(2000, "people")
            assert 0 <= answer.low <= answer.estimate <= answer.high <= 2000
            assert answer.raw == pytest.approx(2000 * found.raw[x])
    assert above


def test_every_set_of_a_small_catalogue_is_possible():
    """The projection leaves the distribution of every set of items unchanged."""
    domain = Items(3, 4)
    for size in range(5):
        for held in combinations(range(4), size):
            p = np.zeros(domain.size)
            for x, dithers in domain.dither_counts(held).items():
                p[x] = dithers / 2 ** (8 * DITHER_BYTES)
            np.testing.assert_allclose(project(p, ShownInputs.of(domain)), p, atol=1e-12)
