"""Opting out: the data that is deleted, and the amounts that stay counted."""

from __future__ import annotations

import sqlite3

import pytest

from edge_sdk import BudgetPolicy, Device
from edge_sdk.errors import BudgetRefused, ConsentMissing, NotJoined, QuotaReached, StoreError
from edge_sdk.store.sqlite import Store
from edge_sdk.store.sqlite_errors import raising_store_errors
from tests.edge_sdk.conftest import LABELS, OPENS, WEEK, agreed, campaign


def files(place):
    """Return the content of all files of the store."""
    return b"".join(path.read_bytes() for path in sorted(place.iterdir()))


def history(device, clock, campaign_id):
    """Answer in ten periods; return byte strings that would reveal these answers."""
    secrets = []
    for period in range(10):
        clock.now = OPENS + period * WEEK
        secrets.append(device.answer(campaign_id, LABELS[period % 4]).envelope[-40:])
    return secrets


@pytest.mark.parametrize("everything", [False, True])
def test_no_old_byte_is_left_in_any_file(open_device, clock, place, everything):
    """After forgetting, no report, dither, title or label is in the store's files, while it is open or closed."""
    device = open_device(place)
    campaign_id = agreed(device, campaign("Distinctive title"))
    secrets = [*history(device, clock, campaign_id), b"Distinctive title", b"doctorate"]
    [[dither]] = device._store.rows("SELECT dither FROM consent")
    secrets.append(dither)
    assert all(piece in files(place) for piece in secrets)
    device.forget(None if everything else campaign_id)
    assert not [piece for piece in secrets if piece in files(place)]
    device.close()
    assert not [piece for piece in secrets if piece in files(place)]


def test_the_memo_leaves_no_row_and_no_free_page(open_device, clock, place):
    """After forgetting, the tables contain only the campaign's id, its spent total and its used slots, and the database
    has no free page."""
    device = open_device(place)
    campaign_id = agreed(device, campaign())
    history(device, clock, campaign_id)
    device.forget(campaign_id)
    remaining = {"joined": 0, "consent": 0, "memo": 0, "outbox": 0, "upload": 0, "known": 1, "used": 10, "ledger": 2}
    for table, left in remaining.items():
        assert device._store.rows(f"SELECT count(*) FROM {table}") == [(left,)], table  # noqa: S608  # a table named above
    assert device._store.rows("PRAGMA freelist_count") == [(0,)]


def test_other_campaigns_are_untouched(open_device):
    """Forgetting one campaign leaves the answers and the queue of another."""
    device = open_device()
    first, second = agreed(device, campaign("One")), agreed(device, campaign("Two"))
    kept = device.answer(second, "none").envelope
    device.answer(first, "none")
    device.forget(first)
    assert device.answer(second, "none").envelope == kept
    assert device.campaigns == [second]
    assert len(device.outbox) == 2


def test_joining_again_does_not_refill_the_budget(open_device, clock):
    """Earlier spending counts against a second consent, under the lifetime cap and under the campaign's cap."""
    for policy in (BudgetPolicy(lifetime=7), BudgetPolicy(lifetime=1000, per_campaign=7)):
        clock.now = OPENS
        device = open_device(budget=policy)
        data = campaign()
        campaign_id = agreed(device, data)
        history(device, clock, campaign_id)
        device.forget(campaign_id)
        assert (device.budget.spent, device.budget.reserved) == (6, 0)
        with pytest.raises(BudgetRefused, match="leaves 1 nat of 7 nats"):
            device.join(data)


def test_the_budget_after_forgetting_does_not_depend_on_the_answers(open_device, clock):
    """After ten answers with one, four or six different values, forgetting leaves the same budget."""
    left = []
    for changes in (1, 4, 6):
        clock.now = OPENS
        device = open_device(lifetime=20)
        campaign_id = agreed(device, campaign())
        for period in range(10):
            clock.now = OPENS + period * WEEK
            device.answer(campaign_id, LABELS[period % changes])
        assert device.budget.spent == changes
        device.forget(campaign_id)
        left.append((device.budget.spent, device.budget.remaining))
    assert left == [(6, 14)] * 3


def test_forgetting_after_a_few_answers_releases_the_rest(open_device, clock):
    """After two answers, even equal ones, two costs stay counted, and the rest of the worst case is released."""
    device = open_device(lifetime=20)
    campaign_id = agreed(device, campaign())
    for period in range(2):
        clock.now = OPENS + period * WEEK
        device.answer(campaign_id, "none")
    device.forget(campaign_id)
    assert (device.budget.spent, device.budget.remaining) == (2, 18)


def test_joining_again_answers_no_period_twice(open_device):
    """Used slots stay used, so a forgotten campaign draws no second output in a period."""
    device = open_device()
    data = campaign(answers=2)
    campaign_id = agreed(device, data)
    device.answer(campaign_id, "none")
    device.forget(campaign_id)
    agreed(device, data)
    assert device.answer(campaign_id, "none").slot == 1
    with pytest.raises(QuotaReached):
        device.answer(campaign_id, "primary")
    assert device.budget.spent == 2


def test_joining_again_needs_consent_again_and_keeps_the_key(open_device):
    """Consent is deleted, but the key is not, so the study counts one device and not two."""
    device = open_device()
    data = campaign(enrolment="enrolled")
    before = device.enrolment(agreed(device, data))
    device.forget()
    campaign_id = device.join(data).campaign_id
    with pytest.raises(ConsentMissing):
        device.answer(campaign_id, "none")
    device.consent(campaign_id)
    assert device.enrolment(campaign_id) == before


def test_a_forgotten_campaign_is_unknown_to_every_process(open_device, place):
    """Another process that had the campaign open cannot answer it any more."""
    one, other = open_device(place), open_device(place)
    campaign_id = agreed(one, campaign())
    other.answer(campaign_id, "none")
    one.forget(campaign_id)
    with pytest.raises(NotJoined):
        other.answer(campaign_id, "none")
    # Forgetting again is harmless.
    one.forget(campaign_id)


def test_a_full_disk_does_not_deny_that_the_campaign_is_forgotten(open_device, place, monkeypatch):
    """If the old bytes cannot be erased, the campaign is forgotten, and the error does not say that nothing was
    changed."""
    device = open_device(place)
    campaign_id = agreed(device, campaign("Distinctive title"))

    def full(store):
        with raising_store_errors(store.folder):
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorname = "SQLITE_FULL"
            raise error

    monkeypatch.setattr(Store, "vacuum", full)
    with pytest.raises(StoreError, match=r"is forgotten, but .*: the disk is full") as refused:
        device.forget(campaign_id)
    assert "changed nothing" not in str(refused.value)
    assert device.campaigns == []


def test_a_reader_that_keeps_old_bytes_alive_is_reported(open_device, place, monkeypatch):
    """If old bytes cannot be cleared because another process reads, forget reports this; a second run clears them."""
    monkeypatch.setattr("edge_sdk.store.sqlite.WAIT_SECONDS", 0.05)
    device = open_device(place)
    campaign_id = agreed(device, campaign("Distinctive title"))
    reader = Device.open(place)
    reader._store._connection.execute("BEGIN")
    reader._store.rows("SELECT count(*) FROM outbox")
    with pytest.raises(StoreError, match="they are erased the next time a campaign is forgotten"):
        device.forget(campaign_id)
    reader._store._connection.execute("COMMIT")
    reader.close()
    device.forget(campaign_id)
    assert b"Distinctive title" not in files(place)
