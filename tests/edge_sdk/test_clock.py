"""A clock that ran ahead: the owner can set it right, and no spent budget is refunded."""

from __future__ import annotations

import contextlib
import inspect

import pytest

from edge_sdk import BudgetPolicy, Device
from edge_sdk.__main__ import main
from edge_sdk.answers.answering import latest_recorded_time
from edge_sdk.errors import BudgetRefused, QuotaReached, StoreClosed, StoreError
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, agreed, campaign
from tests.edge_sdk.test_daemon import CLOCK_SECONDS, PERIOD, world

__all__ = ["world"]


def test_a_unit_whose_clock_ran_ahead_continues_after_set_clock(world):
    """The unit is silent until the date that the clock once showed. After ``set_clock`` it takes readings from now on
    and refills no budget, and the slots that it used ahead of time stay used when their time comes."""
    one = world()
    one.until(OPENS + 1)
    one.now = OPENS + 5 * PERIOD
    one.until(one.now + 1)
    assert one.slots()[-1] == (5, 0)
    spent, ledger = one.device.budget, one.device.ledger
    one.now = float(OPENS + PERIOD)
    assert [one.unit.step() for _ in range(2)] == [CLOCK_SECONDS] * 2
    with Device.open(one.configuration.store, clock=lambda: one.now) as owner:
        assert any("clock --set" in str(said) for said in owner.doctor().values())
        assert owner.set_clock() == [one.unit.campaign_id]
        assert (owner.budget, owner.ledger) == (spent, ledger)
        assert owner.set_clock() == []
    one.until(OPENS + 5 * PERIOD + 1)
    sealed = set(one.reports())
    assert {(period, 0, 4) for period in range(1, 5)} <= sealed, "the bundle of a period that is over is missing"
    assert len(one.asked) == 2 + 4 * 4, "slot 0 of period 5 was read again"


def test_setting_the_clock_refills_no_budget(open_device, clock):
    """Under dates out of order, each slot is filled once, and the lifetime cap holds."""
    device = open_device(lifetime=6)
    joined = agreed(device, campaign(periods=6))
    for week in (0, 4, 1, 5, 2, 0, 3, 4, 1):
        clock.now = OPENS + week * WEEK
        device.set_clock()
        with contextlib.suppress(QuotaReached):
            device.answer(joined, LABELS[week])
    assert device.budget.spent <= 6
    assert device.records.slots.used(device.records.campaigns.number(joined)) == 6


def test_the_clock_is_not_set_if_a_window_cap_has_no_room(open_device, clock):
    """The clock is not set if the cap of a window has no room for both the campaign's worst case and the answers that
    have dates in the future."""
    device = open_device(budget=BudgetPolicy(lifetime=1000, window=(WEEK, 2)))
    joined = agreed(device, campaign(periods=10))
    clock.now = OPENS + 5 * WEEK
    device.answer(joined, "none")
    clock.now = OPENS + WEEK
    floor = latest_recorded_time(device.records, joined)
    later = "answers dated after the current time may have cost 1 nat, but the window cap of 604800 s leaves "
    with pytest.raises(BudgetRefused, match=f"{later}.* of 2 nats .*: wait, or forget a campaign"):
        device.set_clock()
    assert latest_recorded_time(device.records, joined) == floor
    clock.now = OPENS + 5 * WEEK
    assert device.set_clock() == []


def test_a_consent_of_a_clock_that_ran_ahead_is_taken_back_to_now(open_device, clock):
    """A campaign that was agreed to under a later date accepts answers again once the clock is set."""
    device = open_device()
    clock.now = OPENS + 5 * WEEK
    joined = agreed(device, campaign())
    clock.now = OPENS
    assert device.set_clock() == [joined]
    assert device.answer(joined, "none").period == 0


def test_the_command_shows_and_sets_the_clock(place, capsys):
    """``clock`` shows the latest recorded time of a campaign; ``clock --set`` resets it to the current time."""
    with Device.open(place, [AUTHOR.public], clock=lambda: 2**36) as device:
        joined = agreed(device, campaign(opens=0, periods=1, period_seconds=2**38))
    assert main(["--store", str(place), "clock"]) == 0
    out = capsys.readouterr().out
    assert "latest recorded time 4147-" in out
    assert "lowered" not in out
    assert main(["--store", str(place), "clock", "--set"]) == 0
    out = capsys.readouterr().out
    assert f"campaigns whose recorded time was lowered:\n  {joined.hex()}\n" in out
    assert "4147" not in out


def test_a_closed_device_raises_store_closed(open_device):
    """After ``close``, every use of the store raises StoreClosed; a second ``close`` does nothing."""
    device = open_device()
    joined = device.join(campaign()).campaign_id
    device.close()
    device.close()
    for use in (
        lambda: device.budget,
        lambda: device.ledger,
        lambda: device.campaigns,
        lambda: device.consent(joined),
        lambda: device.answer(joined, "none"),
        lambda: device.outbox.send(),
        lambda: len(device.outbox),
        device.forget,
        device.doctor,
    ):
        with pytest.raises(StoreClosed, match="closed") as raised:
            use()
        assert isinstance(raised.value, StoreError)


@pytest.mark.parametrize("wrong", [None, 3, "x", 1.5, [], object()])
def test_a_value_of_a_wrong_type_is_a_type_error(open_device, tmp_path, wrong):
    """A campaign id of a wrong type raises TypeError in every call, and so do a wrong campaign, notice, policy, author,
    invitation and language; the error names the expected type."""
    device = open_device()
    joined = agreed(device, campaign())
    others = {
        "answer": ["none"], "collect": ["none"], "choose_class": [1.0], "choose_prior": [1.0], "parse": ["none"],
        "present_code": ["x"], "set_address": ["https://study.example"],
    }  # fmt: skip
    asking = [
        name
        for name, method in inspect.getmembers(Device, inspect.isfunction)
        if "campaign_id" in inspect.signature(method).parameters and not name.startswith("_") and name != "forget"
    ]
    assert len(asking) > 15
    takers = [device.join, device.close_early, device.lower_caps, device.accept, device.trust_author]
    calls = [lambda taker=taker: taker(wrong) for taker in [*takers, device.distrust_author]]
    calls += [lambda name=name: getattr(device, name)(wrong, *others.get(name, [])) for name in asking]
    calls += [lambda: Device.open(":memory:", [wrong])]
    # None means all campaigns in these calls.
    if wrong is not None:
        calls += [lambda: device.forget(wrong), lambda: device.outbox.send(campaign_id=wrong)]
        calls += [lambda: device.outbox.export(tmp_path / "out", wrong)]
    if wrong not in (None, "x"):
        calls += [lambda: device.terms(joined, wrong)]
    for call in calls:
        with pytest.raises(TypeError, match=r"bytes|BudgetPolicy|fetch_invited|AuthorKey|text"):
            call()
