"""The local prior and what it lets an observer believe."""

from __future__ import annotations

import math
import random

import pytest

from edge_sdk import prior
from edge_sdk.prior import belief
from protocol import exact
from protocol.channels import Blocks, Hadamard
from tests.edge_sdk.conftest import response


def test_belief_is_bayes_rule():
    """After a report of randomised response, belief is P e^eps / (P e^eps + 1 - P), by hand."""
    found = belief(response(4, 10**9), 10**9, {2: 1}, 2)
    assert found.before == pytest.approx(2 / 5)
    assert found.after == pytest.approx(0.4 * math.e / (0.4 * math.e + 0.6))


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_is_never_below_the_exact_belief(seed, monkeypatch):
    """Where a channel is too large to walk through, what is said instead is at least as much."""
    dice = random.Random(seed)
    counts = {dice.randrange(6): dice.randrange(9) for _ in range(3)}
    half = exact.exp_lower(10**9)
    for channel in (response(6, 10**9), Hadamard((half << 64) // (half + (1 << 96)), 6)):
        for x in (None, 0, 5):
            walked = belief(channel, 10**9, counts, x)
            with monkeypatch.context() as patch:
                patch.setattr(prior, "MOST_CELLS", 0)
                bounded = belief(channel, 10**9, counts, x)
            assert bounded.before == walked.before
            assert bounded.after >= walked.after - 1e-12
            assert walked.after >= walked.before


def test_a_channel_without_bound_says_that_all_may_be_known():
    """An infinite level allows certainty."""
    channel = Blocks(1 << 125, ((1, 2), (0, 1)), (Hadamard(3 << 62, 2),))
    assert belief(channel, None, {}, 2).after == 1.0
