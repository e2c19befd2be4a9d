"""Simulated people send the same bytes as real devices with the same random numbers."""

from functools import partial

import pytest

from aggregator import simulation
from aggregator.families.hadamard.recipe import hadamard
from aggregator.truth_file import Truth
from edge_sdk import BudgetPolicy, Device
from protocol import exact
from protocol.campaign import Campaign, open_campaign, seal_campaign
from protocol.domain import Buckets, Values
from protocol.keys import SigningKey
from protocol.notions import Ldp
from protocol.views import plain_views

AUTHOR = SigningKey(bytes(range(32)))
OPENS, DAY = 1_800_000_000, 86_400


@pytest.mark.parametrize(
    ("domain", "answers"),
    [(Values(("red", "green", "blue")), ("red", "green", "blue")), (Buckets.of([0, 10, 40]), (3, 10, 25, 39))],
)
def test_a_device_with_the_same_random_bytes_sends_the_same_bytes(domain, answers, tmp_path):
    """The outbox of a device that joined, consented and answered in three periods is the simulated panel's batch."""
    channel = hadamard(domain.size, exact.NANONATS)
    campaign = Campaign(
        "T", "Q?", "", "O", domain, Ldp(exact.NANONATS), "hadamard", plain_views(channel), OPENS, OPENS + 9 * DAY, DAY,
        1, 1, "open",
    )  # fmt: skip
    signed = open_campaign(seal_campaign(campaign, AUTHOR), [AUTHOR.public])
    periods, truth = range(3, 6), Truth(answers, (5,) * len(answers))
    (sent,) = simulation.simulate(campaign, signed.id, truth, periods, 0.5, seed=7)
    held = simulation.histories(truth, (), simulation.shuffled(truth, seed=7), len(periods), 0.5, seed=7)
    assert (held[:, 1:] != held[:, :-1]).any()
    outboxes = b""
    for person, groups in enumerate(held.tolist()):
        dice, now = simulation.random_source(7, person), [0]
        now[0] = OPENS + periods[0] * DAY
        with Device.open(
            ":memory:", [AUTHOR.public], BudgetPolicy(lifetime=100), clock=partial(now.__getitem__, 0), urandom=dice
        ) as device:
            campaign_id = device.join(signed.data).campaign_id
            device.consent(campaign_id)
            for period, group in zip(periods, groups, strict=True):
                now[0] = OPENS + period * DAY
                device.answer(campaign_id, answers[group])
            device.outbox.export(tmp_path / f"{person}.htr")
        outboxes += (tmp_path / f"{person}.htr").read_bytes()
    assert outboxes == sent.reports
