"""Simulated people send what real devices would: the same bytes from the same dice."""

import pytest

from aggregator import simulate
from aggregator.design import mechanisms
from edge_sdk import BudgetPolicy, Device
from protocol import exact
from protocol.campaign import Campaign, open_campaign, seal_campaign
from protocol.domain import Buckets, Values
from protocol.keys import SigningKey
from protocol.notions import Ldp

AUTHOR = SigningKey(bytes(range(32)))
OPENS, DAY = 1_800_000_000, 86_400


@pytest.mark.parametrize(
    ("domain", "answers"),
    [(Values(("red", "green", "blue")), ("red", "green", "blue")), (Buckets.of([0, 10, 40]), (3, 10, 25, 39))],
)
def test_a_device_with_the_same_dice_sends_the_same_bytes(domain, answers, tmp_path):
    """For every person, the outbox of a device that joined, consented and answered is what the simulation wrote."""
    channel = mechanisms.hadamard(domain.size, exact.NANONATS)
    terms = Campaign(
        "T", "Q?", "", "O", domain, Ldp(exact.NANONATS), "hadamard", channel, OPENS, OPENS + 9 * DAY, DAY, 1, 1, "open"
    )
    signed = open_campaign(seal_campaign(terms, AUTHOR), [AUTHOR.public])
    truth = simulate.Truth(answers, (5,) * len(answers))
    (sent,) = simulate.population(terms, signed.id, truth, period=3, seed=7)
    order = simulate.shuffled(truth, seed=7)
    outboxes = b""
    for person, which in enumerate(order):
        dice = simulate.dice(7, person)
        with Device.open(
            ":memory:", [AUTHOR.public], BudgetPolicy(lifetime=100), clock=lambda: OPENS + 3 * DAY, urandom=dice
        ) as device:
            campaign_id = device.join(signed.data).campaign_id
            device.consent(campaign_id)
            device.answer(campaign_id, answers[which])
            device.outbox.export(tmp_path / f"{person}.htr")
        outboxes += (tmp_path / f"{person}.htr").read_bytes()
    assert outboxes == sent.reports
