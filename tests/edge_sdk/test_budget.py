"""Caps: the answers that they refuse, and the changes that an owner may make."""

from __future__ import annotations

import itertools
import math

import pytest

from edge_sdk import BudgetPolicy
from edge_sdk.budget.policy import Commitment
from edge_sdk.errors import BudgetRefused
from tests.edge_sdk.conftest import OPENS, WEEK, agreed, campaign
from tests.edge_sdk.test_roles import of_declared


@pytest.mark.parametrize("wrong", [-1, math.nan, math.inf, "much", 10**7, True])
def test_a_cap_must_be_a_privacy_level(wrong):
    """The constructor of a policy refuses a cap that is not a valid privacy level."""
    for policy in ({"lifetime": wrong}, {"per_campaign": wrong}, {"window": (60, wrong)}):
        with pytest.raises(ValueError, match=r"number|cap"):
            BudgetPolicy(**policy)


@pytest.mark.parametrize("seconds", [0, -1, 1.5])
def test_a_window_is_a_whole_number_of_seconds(seconds):
    """A window of zero, a negative number or a fraction of seconds is refused."""
    with pytest.raises(ValueError, match="whole number"):
        BudgetPolicy(window=(seconds, 1))


def test_a_cap_is_rounded_down():
    """A fraction of a nanonat in a cap cannot be spent."""
    assert BudgetPolicy(lifetime=0.1234567899).caps()[0].nanonats == 123456789


def test_without_caps_of_the_owner_a_device_has_a_lifetime_cap(open_device):
    """If its owner names no cap, a device has a lifetime cap of eight nats, and refuses a campaign that may cost
    more."""
    device = open_device(budget=None)
    assert device.budget.remaining == 8.0
    device.join(campaign())
    with pytest.raises(BudgetRefused, match="8 nats of 8 nats"):
        device.join(campaign("Too much", level=2 * 10**9))


def test_consent_reserves_the_worst_case_and_charges_reduce_it(open_device):
    """Consent moves the worst case from the remaining to the reserved amount; answers move it to the spent amount."""
    device = open_device(lifetime=10)
    campaign_id = device.join(campaign()).campaign_id
    assert device.budget.remaining == 10
    device.consent(campaign_id)
    device.consent(campaign_id)
    assert (device.budget.spent, device.budget.reserved, device.budget.remaining) == (0, 6, 4)
    device.answer(campaign_id, "none")
    assert (device.budget.spent, device.budget.reserved, device.budget.remaining) == (1, 5, 4)


def test_two_campaigns_that_fit_alone_do_not_fit_together(open_device):
    """Two campaigns that do not fit together can both be joined; the second consent is refused, although the first
    campaign has no answers yet."""
    device = open_device(lifetime=10)
    first, second = (device.join(campaign(title)).campaign_id for title in ("One", "Two"))
    device.consent(first)
    with pytest.raises(BudgetRefused, match="leaves 4 nats of 10 nats"):
        device.consent(second)
    assert not device.consented(second)


def test_forgetting_is_advised_only_if_it_may_release_something(open_device):
    """A campaign that fits under the whole lifetime cap may fit after another one is forgotten. One that exceeds the
    whole cap never fits, under the cap for one campaign nothing can be released, and without consents nothing is
    reserved."""
    with open_device(budget=BudgetPolicy(10)) as device:
        agreed(device, campaign())
        with pytest.raises(
            BudgetRefused, match=r"4 nats of 10 nats .*: forget a campaign to release its reserve for unused slots$"
        ):
            device.join(campaign("Another"))
    with pytest.raises(BudgetRefused, match=r"the lifetime cap leaves 5 nats of 5 nats .*: do not take part$"):
        open_device(budget=BudgetPolicy(5)).join(campaign())
    with pytest.raises(BudgetRefused, match=r"the campaign cap leaves 5 nats of 5 nats .*: do not take part$"):
        open_device(budget=BudgetPolicy(10, per_campaign=5)).join(campaign())
    for policy, advice in ((BudgetPolicy(6), "do not take part"), (BudgetPolicy(10, window=(WEEK, 6)), "wait until")):
        with open_device(budget=policy) as device:
            device.answer(agreed(device, campaign()), "none")
            device.forget()
            with pytest.raises(BudgetRefused, match=f"leaves 5 nats of 6 nats .*: {advice}"):
                device.join(campaign("Another", answers=6, periods=1))
    with open_device(budget=BudgetPolicy(9)) as device:
        joined = device.join(of_declared()).campaign_id
        with pytest.raises(BudgetRefused, match=r"leaves 6 nats of 9 nats .*: do not take part$"):
            device.choose_prior(joined, 3)


def test_caps_are_only_lowered(open_device, place):
    """A higher cap that is set after a restart does not raise a cap; a new kind of cap is added."""
    with open_device(place, budget=BudgetPolicy(lifetime=5, per_campaign=3)):
        pass
    with open_device(place, budget=BudgetPolicy(lifetime=9, window=(60, 2.0))) as device:
        caps = {cap.kind: cap.nanonats for cap in device.budget.caps}
    assert caps == {"lifetime": 5 * 10**9, "campaign": 3 * 10**9, "window": 2 * 10**9}


@pytest.mark.parametrize(
    "lower", [BudgetPolicy(lifetime=5), BudgetPolicy(per_campaign=5), BudgetPolicy(window=(WEEK, 1))]
)
def test_a_cap_lowered_below_what_is_reserved_holds_at_once(open_device, lower):
    """If a cap is lowered below the reserved amount, every value is refused from then on, also a value outside the
    domain."""
    device = open_device()
    campaign_id = agreed(device, campaign())
    device.answer(campaign_id, "none")
    device.lower_caps(lower)
    for value in ("none", "primary", "no such value"):
        with pytest.raises(BudgetRefused, match="lowered"):
            device.answer(campaign_id, value)
    assert device.budget.spent == 1


def test_a_window_cap_counts_the_worst_window(open_device):
    """A window of a week can touch two weekly periods, so its cap must have room for two answers."""
    data = campaign()
    with pytest.raises(BudgetRefused, match=f"window cap of {WEEK} s leaves 1.9 nats of 1.9 nats"):
        open_device(budget=BudgetPolicy(1000, window=(WEEK, 1.9))).join(data)
    device = open_device(budget=BudgetPolicy(1000, window=(WEEK, 2)))
    device.consent(device.join(data).campaign_id)
    with pytest.raises(BudgetRefused):
        device.join(campaign("Another"))


def test_spending_of_forgotten_campaigns_counts_in_the_window(open_device, clock):
    """After forgetting, a window cap has room again only once a whole window has passed."""
    device = open_device(budget=BudgetPolicy(1000, window=(WEEK, 2)))
    campaign_id = agreed(device, campaign(periods=100))
    device.answer(campaign_id, "none")
    device.forget(campaign_id)
    other = campaign("Another", periods=100)
    with pytest.raises(BudgetRefused, match="leaves 1 nat of 2 nats"):
        device.join(other)
    clock.now += WEEK - 1
    with pytest.raises(BudgetRefused):
        device.join(other)
    clock.now += 1
    device.consent(device.join(other).campaign_id)


def test_a_carry_has_the_time_of_the_latest_charge(open_device, clock):
    """The spending of a forgotten campaign has the time of its latest charge, even if the clock is set back before the
    campaign is forgotten."""
    device = open_device(budget=BudgetPolicy(1000, window=(WEEK, 2)))
    campaign_id = agreed(device, campaign(periods=100))
    clock.now += 3 * WEEK
    device.answer(campaign_id, "none")
    clock.now = OPENS
    device.forget(campaign_id)
    assert [entry.time for entry in device.ledger if entry.kind.name == "CARRY"] == [OPENS + 3 * WEEK]


@pytest.mark.parametrize("period", [1, 2, 3, 7])
def test_the_worst_window_equals_the_maximum_over_all_windows(period):
    """The closed form of the worst window equals the maximum over windows that start at every second."""
    for seconds, answers, inputs in itertools.product(range(1, 25), (1, 3), (2, 5, 1000)):
        commitment = Commitment(10, inputs, answers, period, 9)
        touched = max(
            len({second // period for second in range(start, start + seconds) if second < 9 * period})
            for start in range(9 * period)
        )
        assert commitment.worst_within(seconds) == 10 * min(inputs, answers * touched)
        assert commitment.worst_within(seconds) <= commitment.worst_case == 10 * min(inputs, 9 * answers)


def test_the_ledger_lists_every_event_in_order(open_device, clock):
    """The ledger lists reservation, charge, and after forgetting carry and release, in order and with their amounts."""
    device = open_device()
    campaign_id = agreed(device, campaign())
    for value in ("none", "primary", "none"):
        device.answer(campaign_id, value)
        clock.now += WEEK
    assert [(entry.time, entry.kind.name, entry.nats) for entry in device.ledger] == [
        (OPENS, "RESERVE", 6.0),
        (OPENS, "CHARGE", 1.0),
        (OPENS + WEEK, "CHARGE", 1.0),
    ]
    device.forget(campaign_id)
    assert [(entry.kind.name, entry.nats) for entry in device.ledger] == [
        ("RESERVE", 6.0),
        # Forgetting counts all values as different.
        ("CARRY", 3.0),
        ("RELEASE", 3.0),
    ]
    assert {entry.campaign_id for entry in device.ledger} == {campaign_id}
