"""Privacy budgets that depend on the value and on a person's class, with graded projective response in each class."""

from __future__ import annotations

import numpy as np
import pytest

from aggregator.author.classes import class_choice, side_by_side
from aggregator.estimate.classes import ClassesDecoder
from aggregator.estimate.interval import intervals, standard_errors
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.registry import decoder_of
from aggregator.planner.choice import AUTO
from protocol import channels, codec, exact, notions
from protocol.channels import GradedProjective
from protocol.domain import Values
from protocol.notions import Classes, Graded
from tests.aggregator.matrix import dense

NAT = exact.NANONATS
SEED = 20261122
K = 12
BUDGETS = ((0.5, 2.0), (1.0, 3.0))
"""The budgets of the first value and of the other values in each class of people, in nats."""
NOTIONS = tuple(Graded.over([int(first * NAT), *[int(rest * NAT)] * (K - 1)], "minid") for first, rest in BUDGETS)


@pytest.fixture(scope="module")
def made():
    """The choice for each class, and the channel of blocks."""
    choices = [class_choice(AUTO, PlannedQuestion(Values(tuple("abcdefghijkl")), notion)) for notion in NOTIONS]
    return choices, side_by_side(choices)[1]


def test_classes_take_the_graded_response(made):
    """``auto`` gives each class graded response, and each block is certified at its class's budgets."""
    choices, blocks = made
    assert [one.mechanism.name for one in choices] == ["graded", "graded"]
    certificate = notions.certify(blocks, Classes.of(NOTIONS))
    assert [one.audited_level <= one.declared_level for one in certificate.class_certificates] == [True, True]
    assert channels.decode(codec.decode(codec.encode(blocks.encode()), limit=2**20)) == blocks


def test_the_decoder_of_the_blocks_is_the_dense_one(made):
    """The adjoint of unit vectors inverts the matrix of integers, so the estimate of class and value together is
    unbiased."""
    _, blocks = made
    decoder, matrix = decoder_of(blocks), dense(blocks)
    left = np.array([decoder.adjoint(unit) for unit in np.eye(2 * K)]).T
    assert matrix @ left == pytest.approx(np.eye(2 * K), abs=1e-7)
    distribution = np.random.default_rng(SEED).dirichlet(np.ones(blocks.output_count))
    assert decoder.invert(distribution) == pytest.approx(distribution @ left, abs=1e-7)
    assert decoder.variances(distribution) == pytest.approx(
        distribution @ left**2 - (distribution @ left) ** 2, rel=1e-6
    )


@pytest.mark.parametrize("people", [400, 20_000])
def test_intervals_for_all_people_have_nominal_coverage(made, people):
    """Over 300 surveys with fixed shares in each class, the estimate for all people is unbiased and the 95% intervals
    have nominal coverage.

    The mean estimate of each value is within 5 standard errors (alpha 6e-7 a value). Of the 3,600 single 95% intervals
    at most 6.5% miss (alpha below 1e-3 if at least 2,200 of them are independent). With 20,000 people the intervals of
    the last survey are narrower than 4.2 standard errors; normal ones have 3.92. A failure means a biased estimate or
    intervals of a wrong width.
    """
    choices, _ = made
    draw = np.random.default_rng(SEED)
    distributions = draw.dirichlet(np.ones(K), 2)
    sizes = np.array([people * 2 // 5, people * 3 // 5])
    members = sizes / people
    decoders = [decoder_of(one.channel) for one in choices]
    pooled = ClassesDecoder(decoders, members, None)
    outputs = [
        draw.multinomial(n, one.forward(p), size=300) for n, one, p in zip(sizes, decoders, distributions, strict=True)
    ]
    truth, raws, missed = members @ distributions, [], 0
    for counts in map(np.concatenate, zip(*outputs, strict=True)):
        raw, se = pooled.invert(counts / people), standard_errors(pooled, counts / people, people)
        low, high = intervals(pooled.binomial_steps(counts, people), raw, se, 0.05, bounds=pooled.contribution_bounds)
        missed += int(((truth < low) | (high < truth)).sum())
        raws.append(raw)
    found = np.array(raws)
    assert (np.abs(found.mean(axis=0) - truth) < 5 * found.std(axis=0) / np.sqrt(len(found))).all()
    assert missed <= 0.065 * found.size
    if people == 20_000:
        assert ((high - low) < 4.2 * se).all()


def test_the_slack_for_all_people_is_the_weighted_mean_of_the_classes(made):
    """The slack of the exact intervals for all people is the mean of the slacks of the classes, weighted by their
    reports.

    Slack is the allowance for reports of people with other values. It is above 0 for each value.
    """
    choices, _ = made
    assert all(isinstance(one.channel, GradedProjective) for one in choices)
    decoders = [decoder_of(one.channel) for one in choices]
    counts = [np.full(one.features, 7) for one in decoders]
    sizes = np.array([part.sum() for part in counts])
    pooled = ClassesDecoder(decoders, sizes / sizes.sum(), None).binomial_steps(
        np.concatenate(counts), int(sizes.sum())
    )
    alone = [one.binomial_steps(part, int(part.sum())).slack for one, part in zip(decoders, counts, strict=True)]
    assert pooled.slack == pytest.approx(sizes / sizes.sum() @ np.array(alone))
    assert (np.asarray(pooled.slack) > 0).all()
