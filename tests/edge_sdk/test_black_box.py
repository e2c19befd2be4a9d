"""The privacy level, measured on the reports that a device really makes."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import pytest
from scipy.stats import beta

from aggregator.families.mechanism import PlannedQuestion
from aggregator.planner.catalogue import CATALOGUE
from aggregator.planner.choice import chosen_channel
from edge_sdk import BudgetPolicy, Device
from protocol import envelope, exact
from protocol.campaign import Campaign, open_campaign, seal_campaign
from protocol.channels import Channel, RandomizedResponse
from protocol.domain import Buckets, Grid, Values
from protocol.notions import Block, Geo, Graded, HighLow, Ldp, Lip, Matrix, MutualInformation
from protocol.report import Report
from protocol.views import Districts, Identity, View, plain_views
from tests.edge_sdk.conftest import AUTHOR, OPENS, response

pytestmark = pytest.mark.slow

NAT = exact.NANONATS
ALPHA = 1e-6


def values(k: int) -> Values:
    return Values(tuple(f"v{x}" for x in range(k)))


LEVELS = ((0, NAT, 2 * NAT), (NAT, 0, NAT), (2 * NAT, NAT, 0))
SQUARE = Grid(0, 2, 0, 2, 1)
QUESTIONS = {
    **dict.fromkeys(("randomized-response", "hadamard", "projective"), PlannedQuestion(values(3), Ldp(NAT))),
    **dict.fromkeys(("subset", "triples"), PlannedQuestion(values(4), Ldp(NAT))),
    **dict.fromkeys(("rappor", "oue"), PlannedQuestion(values(2), Ldp(NAT))),
    **dict.fromkeys(("utility-rappor", "utility-oue"), PlannedQuestion(values(3), HighLow(NAT, 3, (0, 1)))),
    **dict.fromkeys(
        ("graded", "idue", "idue-opt1", "idue-opt2"), PlannedQuestion(values(3), Graded.over([NAT, 2 * NAT, 2 * NAT]))
    ),
    **dict.fromkeys(
        ("lip-response", "lip-windows", "lip-table", "lip-estimable", "oue-lip"),
        PlannedQuestion(values(3), Lip(NAT, (5, 3, 1))),
    ),
    "lip-centre": PlannedQuestion(values(3), Lip(NAT, (5, 3, 1), 5 * 10**7)),
    **dict.fromkeys(("lip-symmetric",), PlannedQuestion(values(2), Lip(NAT, (4, 1)))),
    **dict.fromkeys(("lip-published", "random-sampling"), PlannedQuestion(values(2), Lip(NAT, (3, 2)))),
    "best-in-blocks": PlannedQuestion(values(5), Block.over(NAT, [0, 0, 1, 1, 1])),
    "binary-optimum": PlannedQuestion(values(2), Matrix(2 * NAT, ((0, NAT), (2 * NAT, 0)))),
    "designed": PlannedQuestion(values(3), Matrix(2 * NAT, LEVELS)),
    "planar": PlannedQuestion(SQUARE, Geo.between(NAT, 1, [0, 1], [0, 1])),
    "mutual-information": PlannedQuestion(values(2), MutualInformation(NAT // 10, (3, 2))),
}
QUESTIONS |= {
    mechanism.name: asked
    for asked in (*QUESTIONS.values(), PlannedQuestion(Buckets.of([0, 1, 2]), Ldp(NAT)))
    for mechanism in CATALOGUE
    if mechanism.name not in QUESTIONS and callable(mechanism.recipe_for(asked))
}
"""The question of each mechanism. A mechanism without a question above gets a question for numbers if it has a channel
for one, and otherwise the last question above for which it has a channel."""


def test_every_mechanism_is_measured() -> None:
    """This file has a question for every mechanism of the catalogue, and for no others."""
    assert set(QUESTIONS) == {mechanism.name for mechanism in CATALOGUE}


def emitted(campaign: Campaign, x: int, draws: int, view: int = 0) -> Counter[int]:
    """Return the outputs in the signed reports of ``draws`` devices that answer ``x``, with the operating system's
    randomness.

    All devices have this view: a device with another view is discarded, and a new one is made.

    One store is used for all devices: between two answers the memo, the used slots and the queue are emptied, as in a
    new device. All other steps are the device's real path.
    """
    data = seal_campaign(campaign, AUTHOR)
    opened = open_campaign(data, [AUTHOR.public]).campaign
    answer = campaign.domain.parse(campaign.domain.label(x))
    outputs: Counter[int] = Counter()
    with Device.open(":memory:", [AUTHOR.public], BudgetPolicy(lifetime=1000), clock=lambda: OPENS) as device:
        campaign_id = device.join(data).campaign_id
        if device.records.campaigns.find(campaign_id).view != view:
            return emitted(campaign, x, draws, view)
        device.consent(campaign_id)
        for _ in range(draws):
            sealed = device.answer(campaign_id, answer).envelope
            outputs.update(Report.decode(envelope.decode(sealed).unverified).outputs(opened, view))
            with device._store.transaction():
                for table in ("memo", "used", "reading", "outbox", "ledger"):
                    device._store.execute(f"DELETE FROM {table}")  # noqa: S608  # a table named above
    return outputs


def unsigned_campaign(name: str) -> Campaign:
    question = QUESTIONS[name]
    name, channel = chosen_channel(name, question)
    return Campaign(
        "t", "q", "p", "o", question.domain, question.notion, name, plain_views(channel), OPENS, OPENS + 9, 9, 1, 1,
        "enrolled",
    )  # fmt: skip


def exposed(campaign: Campaign) -> tuple[int, int]:
    """Return the two inputs that the audit found easiest to distinguish; under a prior, the pair of the LDP level."""
    witness = campaign.certificate.witness
    if witness.other is not None:
        return witness.x, witness.other
    everything = range(campaign.channel.input_count)
    found = campaign.channel.loss(everything, everything)
    assert found.other is not None
    return found.x, found.other


def lower_bound(one: Counter[int], other: Counter[int], draws: int) -> float:
    """Return a lower bound on the level of ``one`` against ``other``, with confidence 1 - ``ALPHA`` (Clopper-Pearson).

    The bound on each of the 2 x outputs probabilities fails with probability ALPHA / (2 x outputs), so all bounds hold
    with probability 1 - ALPHA.
    """
    share = ALPHA / (2 * len(set(one) | set(other)))
    most = -math.inf
    for y, count in one.items():
        low = beta.ppf(share, count, draws - count + 1)
        high = beta.ppf(1 - share, other[y] + 1, draws - other[y]) if other[y] < draws else 1.0
        most = max(most, math.log(low / high))
    return most


def measured(campaign: Campaign, pair: tuple[int, int], draws: int) -> float:
    first, second = (emitted(campaign, x, draws) for x in pair)
    return lower_bound(first, second, draws)


def declared(channel: Channel, pair: tuple[int, int]) -> float:
    """Return the level of the pair's first input against the second, computed from the integers."""
    level = channel.loss([pair[0]], [pair[1]]).level
    assert level is not None
    return exact.nats(level)


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_measured_level_never_exceeds_the_declared_one(name: str) -> None:
    """The lower confidence bound on epsilon, from reports of the device's real path, is at most the level of the worst
    pair, which is computed from integers.

    n: 600 reports of each of two inputs; alpha = 1e-6. A higher bound would mean that the device leaks more than it
    declares. The long test also checks that the device adds no unnecessary noise, which takes more reports.
    """
    campaign = unsigned_campaign(name)
    pair = exposed(campaign)
    assert measured(campaign, pair, 600) <= declared(campaign.channel, pair)


RESOLUTIONS = tuple(
    View(1, one, response(one.input_count(SQUARE), NAT)) for one in (Identity(), Districts(((0, 2), (1, 2))))
)


@pytest.mark.parametrize("view", range(len(RESOLUTIONS)))
@pytest.mark.parametrize("draws", [600, pytest.param(40_000, marks=pytest.mark.long)])
def test_the_measured_level_of_a_view_is_at_most_the_stated_one(view: int, draws: int) -> None:
    """The lower confidence bound on the level of two cells, from reports of devices of one view, is at most the level
    of their images in this view, which is 0 for two cells of one district.

    n: 600 reports of each of four cells, and 40,000 in the long test; alpha = 1e-6 for each pair.
    """
    campaign = Campaign(
        "t", "q", "p", "o", SQUARE, Ldp(NAT), "randomized-response", RESOLUTIONS, OPENS, OPENS + 9, 9, 1, 1, "enrolled",
    )  # fmt: skip
    channel, counts = RESOLUTIONS[view].channel, [emitted(campaign, x, draws, view) for x in range(4)]
    for x, other in permutations(range(4), 2):
        inputs = tuple(RESOLUTIONS[view].map.input(SQUARE, one) for one in (x, other))
        limit = declared(channel, inputs)
        assert limit == (1.0 if inputs[0] != inputs[1] else 0.0)
        assert lower_bound(counts[x], counts[other], draws) <= limit


@pytest.mark.long
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_measured_level_is_near_the_declared_one(name: str) -> None:
    """With 67 times as many reports, the bound is at most the declared level and at least .8 times it, less .05.

    n: 40,000 reports of each of two inputs; alpha = 1e-6. For a correct device, the expected bound is five standard
    errors above the lower limit of the test.
    """
    campaign = unsigned_campaign(name)
    pair = exposed(campaign)
    found, limit = measured(campaign, pair, 40_000), declared(campaign.channel, pair)
    assert 0.8 * limit - 0.05 <= found <= limit


@pytest.mark.long
def test_the_bound_from_a_million_reports_is_within_5_percent_of_the_level() -> None:
    """With 500,000 reports of each of two inputs and alpha = 1e-6, the bound for randomised response is within 5% of
    the declared level."""
    campaign = unsigned_campaign("randomized-response")
    pair = exposed(campaign)
    found, limit = measured(campaign, pair, 500_000), declared(campaign.channel, pair)
    assert 0.95 * limit <= found <= limit


def test_a_leaking_channel_is_detected() -> None:
    """For draws from a channel of 1.2 nats, ``lower_bound`` is above 1 nat, so the other tests can fail."""
    leaky = RandomizedResponse(2, (round(2**64 / (math.exp(1.2) + 1)),))
    draws = 20_000
    counts = [
        Counter(leaky.sample(x, seed.to_bytes(8, "big")) for seed in range(0, 2**64, 2**64 // draws)) for x in (0, 1)
    ]
    assert lower_bound(counts[0], counts[1], draws) > 1
