"""The level, measured from outside: what the device path really emits (promise 6)."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest
from scipy.stats import beta

from edge_sdk import BudgetPolicy, Device
from protocol import envelope, exact
from protocol.campaign import Campaign, open_campaign, seal_campaign
from protocol.channels import Channel, Hadamard, RandomizedResponse
from protocol.domain import Values
from protocol.notions import Ldp
from protocol.report import Report
from tests.edge_sdk.conftest import AUTHOR, OPENS, response

LEVEL = 10**9
ALPHA = 1e-6


def emitted(channel: Channel, x: int, draws: int) -> Counter[int]:
    """Outputs in the signed reports of ``draws`` devices that answer ``x``, with the operating system's randomness.

    One store stands for all of them: between two answers the memo, the used slots and the queue are emptied, as they
    are in a new device. Everything in between is the device's own path.
    """
    domain = Values(tuple(f"v{value}" for value in range(channel.inputs)))
    terms = Campaign("t", "q", "p", "o", domain, Ldp(LEVEL), "m", channel, OPENS, OPENS + 9, 9, 1, 1, "enrolled")
    data = seal_campaign(terms, AUTHOR)
    opened = open_campaign(data, [AUTHOR.public]).terms
    outputs: Counter[int] = Counter()
    with Device.open(":memory:", [AUTHOR.public], BudgetPolicy(lifetime=100), clock=lambda: OPENS) as device:
        campaign_id = device.join(data).campaign_id
        device.consent(campaign_id)
        for _ in range(draws):
            sealed = device.answer(campaign_id, f"v{x}").envelope
            outputs.update(Report.decode(envelope.decode(sealed).unverified).outputs(opened))
            with device._store.transaction():
                for table in ("memo", "used", "outbox", "ledger"):
                    device._store.execute(f"DELETE FROM {table}")  # noqa: S608
    return outputs


def lower_bound(channel: Channel, draws: int) -> float:
    """A level that the channel of the device exceeds, with confidence 1 - ``ALPHA``: Clopper-Pearson on every output.

    The bound on each of the 2 x outputs probabilities fails with ALPHA / (4 outputs), so all hold with 1 - ALPHA.
    """
    share = ALPHA / (4 * channel.outputs)
    counts = [emitted(channel, x, draws) for x in (0, 1)]
    most = -math.inf
    for (one, other), y in itertools.product([counts, counts[::-1]], range(channel.outputs)):
        if one[y]:
            low = beta.ppf(share, one[y], draws - one[y] + 1)
            high = beta.ppf(1 - share, other[y] + 1, draws - other[y]) if other[y] < draws else 1.0
            most = max(most, math.log(low / high))
    return most


def hadamard(k: int) -> Hadamard:
    """Plain Hadamard response at ``LEVEL``."""
    numerator, one = exact.exp_lower(LEVEL), 1 << exact.EXP_BITS
    return Hadamard((numerator << 64) // (numerator + one), 0, ((1, k),))


@pytest.mark.parametrize(
    ("channel", "draws", "tight"),
    [
        (response(2, LEVEL), 5_000, 0.75),
        (hadamard(3), 5_000, 0.5),
        pytest.param(response(2, LEVEL), 500_000, 0.95, marks=pytest.mark.long),
    ],
    ids=["response-2", "hadamard-3", "response-2-long"],
)
def test_the_measured_level_never_exceeds_the_declared_one(channel, draws, tight):
    """The lower confidence bound on eps of the device's real path is at most the declared level.

    n: ``draws`` reports of each of two inputs; alpha = 1e-6. A bound above 1 nat would mean that the device leaks more
    than it declares; one below ``tight`` that it adds noise nobody asked for.
    """
    found = lower_bound(channel, draws)
    assert found <= exact.nats(LEVEL)
    assert found >= tight * exact.nats(LEVEL)


def test_the_measure_sees_a_channel_that_leaks():
    """The same measurement of a channel of 1.2 nats is above 1, so the test above can fail."""
    leaky = RandomizedResponse(2, (round(2**64 / (math.exp(1.2) + 1)),))
    draws = 20_000
    counts = [
        Counter(leaky.sample(x, seed.to_bytes(8, "big")) for seed in range(0, 2**64, 2**64 // draws)) for x in (0, 1)
    ]
    low = beta.ppf(ALPHA / 8, counts[0][0], draws - counts[0][0] + 1)
    high = beta.ppf(1 - ALPHA / 8, counts[1][0] + 1, draws - counts[1][0])
    assert math.log(low / high) > 1
