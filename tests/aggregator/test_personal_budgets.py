"""Budgets that depend on the value and on a person's class (Gu et al. 2020, sec. IV-A): from draft to device and
estimate."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest

from aggregator.author.draft import read_draft
from aggregator.author.toml_section import DraftError
from aggregator.estimate.estimator import estimate
from aggregator.intake.ingest import ingest
from aggregator.study import Study
from aggregator.truth_file import Truth
from edge_sdk import BudgetPolicy, Device
from protocol import exact
from protocol.campaign import open_campaign, seal_campaign
from protocol.keys import SigningKey
from protocol.notions.classes import class_channels
from tests.aggregator.simulated import population

NAT, OPENS = exact.NANONATS, 1_767_225_600
BUDGETS = {"open": (2.0, 2.0, 1.0, 0.5), "careful": (1.0, 1.0, 0.5, 0.25)}
"""The level of each class of the draft, in nats, by value."""

DRAFT = """
title = "Diagnosis"
question = "Which?"
organisation = "Clinic"
[domain]
kind = "values"
values = ["none", "cold", "diabetes", "HIV"]
[privacy]
notion = "{notion}"
default = 2.0
budgets = {{ HIV = 0.5, diabetes = 1.0 }}
[classes.open]
[classes.careful]
default = 1.0
budgets = {{ HIV = 0.25, diabetes = 0.5 }}
[schedule]
opens = 2026-01-01
closes = 2027-01-01
[limits]
minimum_reports = 1
"""
KEY = SigningKey(bytes(range(32)))


def signed_of(tmp_path, text: str):
    (tmp_path / "draft.toml").write_text(text)
    return open_campaign(seal_campaign(read_draft(tmp_path / "draft.toml"), KEY), [KEY.public])


@pytest.mark.parametrize(("notion", "bound"), [("minid", min), ("avgid", lambda a, b: (a + b) / 2)])
def test_each_class_satisfies_its_budgets(tmp_path, notion: str, bound) -> None:
    """For each pair of values no output is more than e^bound times as likely from one value as from the other, with the
    bound of the class's budgets; all is computed from the integers."""
    campaign = signed_of(tmp_path, DRAFT.format(notion=notion)).campaign
    assert campaign.classes == tuple(BUDGETS)
    channels = class_channels(campaign.channel, 2)
    assert channels[0] != channels[1]
    for channel, budgets in zip(channels, BUDGETS.values(), strict=True):
        for x, other in permutations(range(4), 2):
            most = Fraction(exact.exp_lower(round(bound(budgets[x], budgets[other]) * NAT)), 1 << exact.EXP_BITS)
            for y in range(channel.output_count):
                assert channel.weight(x, y) <= most * channel.weight(other, y)


def test_devices_are_charged_by_the_certificate_of_their_class(tmp_path) -> None:
    """A device of each class is charged by its class's certificate.

    The simultaneous 99.9% intervals for simulated people of both classes contain the true shares.
    """
    signed = signed_of(tmp_path, DRAFT.format(notion="minid"))
    costs = [found.cost for found in signed.campaign.certificate.class_certificates]
    assert costs[1] < costs[0]
    for name, cost in zip(BUDGETS, costs, strict=True):
        policy = BudgetPolicy(lifetime=10.0)
        with Device.open(":memory:", [KEY.public], policy, clock=lambda: OPENS) as device:
            joined = device.join(signed.data).campaign_id
            device.consent(joined, as_class=name)
            assert device.answer(joined, "HIV").cost_nanonats == cost
    study = Study.create(tmp_path / "study")
    study.import_campaign(signed.data, [KEY.public], "diagnosis")
    counts, places = (300, 100, 180, 40, 20), (0, 0, 1, 1, 1)
    truth = Truth(("none", "cold", "none", "diabetes", "HIV"), counts, places)
    batch = tmp_path / "batch.htr"
    batch.write_bytes(b"".join(one.reports for one in population(signed.campaign, signed.id, truth, 0, seed=1)))
    assert ingest(study, [batch], now=OPENS).accepted == sum(counts)
    found = estimate(signed, study.tally(signed), confidence=0.999)
    shares = truth.shares(signed.campaign.domain)
    assert ((found.simultaneous_low <= shares) & (shares <= found.simultaneous_high)).all()  # the seed is fixed


def test_each_class_may_have_different_sensitive_values(tmp_path) -> None:
    """A class has the sensitive values of its own section, or those of the draft if its section has none."""
    high_low = (
        DRAFT[: DRAFT.index("[privacy]")]
        + """
[privacy]
notion = "high-low"
epsilon = 1.0
sensitive = ["HIV"]
[classes.open]
[classes.careful]
sensitive = ["diabetes", "HIV"]
"""
        + DRAFT[DRAFT.index("[schedule]") :]
    )
    notions = signed_of(tmp_path, high_low).campaign.notion.notions
    assert [notion.sensitive for notion in notions] == [(3,), (2, 3)]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("budgets = { Gout = 1.0 }", "Gout"),
        ("default = 0.0000001", "a budget must be from"),
        ("epsilom = 1.0", "epsilom"),
        ("notion = 'ldp'", "notion"),
    ],
)
def test_invalid_entries_of_a_class_are_refused(tmp_path, entry: str, message: str) -> None:
    """Unknown values, budgets out of range and entries that a class cannot have are refused, with the value, the rule
    or the entry."""
    text = DRAFT.format(notion="minid").replace("default = 1.0\n", f"{entry}\n")
    if entry.startswith("budgets"):
        text = text.replace("budgets = { HIV = 0.25, diabetes = 0.5 }\n", "")
    with pytest.raises(DraftError, match=message):
        signed_of(tmp_path, text)
