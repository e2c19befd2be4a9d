"""The comparison of mechanisms for numbers: its computed errors are those of surveys."""

from __future__ import annotations

import numpy as np
import pytest

from aggregator.estimate import query
from aggregator.estimate.tally import Tally
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from benchmarks.numbers import beta, by_tree, errors, rounding
from protocol.domain import Buckets
from protocol.exact import NANONATS
from tests.aggregator.campaigns import unsigned_campaign


def test_the_error_of_a_rounded_mean_is_that_of_surveys() -> None:
    """The computed variance, with that of the people, is the squared standard error of an estimate from 10^9
    expected reports."""
    domain, channel, p = Buckets.of([-1, 0, 1]), randomized_response(3, NANONATS), beta(64)
    decoder, numbers, n = decoder_of(channel), 2 * (np.arange(64) + 0.5) / 64 - 1, 10**9
    distribution = decoder.forward(np.array([np.interp(numbers, [-1, 0, 1], unit) @ p for unit in np.eye(3)]))
    found = query.mean(unsigned_campaign(domain, channel), Tally.of(np.rint(n * distribution).astype(np.int64)))
    people = float(p @ (numbers - p @ numbers) ** 2)
    assert n * found.se**2 == pytest.approx(rounding(decoder, domain, numbers, p) + people, rel=1e-6)


def test_the_truth_has_no_error_and_a_shift_has_one_step() -> None:
    """The truth has no error; a distribution shifted by one of k numbers has an error of 1 / (k - 1) of the range,
    and of one step."""
    p = np.r_[beta(60), np.zeros(4)]
    assert errors(p, p) == (0, 0, 0)
    distance, deciles, ranges = errors(np.roll(p, 1), p)
    assert (distance, deciles) == pytest.approx((1 / 63, 1))
    assert ranges > 0


def test_the_error_of_a_hierarchy_vanishes_with_many_people() -> None:
    """With 10^9 people the error of a hierarchy vanishes, even if the number of values is not a multiple of the block
    sizes.

    The seed is fixed.
    """
    for k in (64, 99):
        found = by_tree(beta(k), 10**9)(np.random.default_rng(1))
        assert found.sum() == pytest.approx(1)
        assert errors(found, beta(k))[0] < 5e-4
