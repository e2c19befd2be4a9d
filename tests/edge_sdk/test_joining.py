"""Joining: what a device refuses before a person is ever asked (promise 13)."""

from __future__ import annotations

import random
from contextlib import contextmanager

import pytest

from edge_sdk.errors import BudgetRefused, ConsentMissing, StoreError, UnknownCampaign
from protocol import codec, envelope
from protocol.campaign import campaign_id, open_campaign
from protocol.envelope import Kind
from protocol.errors import BadData, CampaignError, OutsideSchedule
from protocol.keys import SigningKey
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, campaign


def test_the_terms_tell_the_person_what_they_agree_to(open_device, clock):
    """Who asks, why, when, at what level and at what worst cost: all from the signed bytes."""
    data = campaign()
    terms = open_device().join(data)
    assert terms.campaign_id == campaign_id(data)
    assert (terms.title, terms.organisation) == ("Highest education", "Town library")
    assert (terms.opens, terms.closes, terms.period_seconds) == (OPENS, OPENS + 10 * WEEK, WEEK)
    assert (terms.level, terms.cost, terms.worst_case) == (1.0, 1.0, 6.0)
    assert terms.values == LABELS
    assert "2.72 times" in terms.notion


def test_joining_twice_changes_nothing_and_needs_no_trust_the_second_time(open_device, clock, place):
    """A joined campaign is remembered with its author."""
    data = campaign()
    with open_device(place) as device:
        terms = device.join(data)
        assert device.join(data) == terms
    with open_device(place, trust=[]) as device:
        assert device.join(data) == terms
        assert device.campaigns == [terms.campaign_id]


def test_an_author_nobody_trusts_is_refused(open_device, clock):
    """A campaign is joined only under a key this session trusts, and the error says to name it."""
    stranger = SigningKey(bytes(32))
    with pytest.raises(CampaignError, match="no trusted author"):
        open_device().join(campaign(author=stranger))
    with pytest.raises(CampaignError, match="public key"):
        open_device(trust=[]).join(campaign())
    assert open_device().campaigns == []


def test_every_altered_bit_is_refused(open_device, clock):
    """No single bit of a signed campaign can be flipped: 1,000 of them, and all of its ends."""
    data = campaign()
    device = open_device()
    bits = sorted(
        {*range(64), *range(8 * len(data) - 64, 8 * len(data)), *random.Random(1).sample(range(8 * len(data)), 1000)}
    )
    for bit in bits:
        altered = bytearray(data)
        altered[bit // 8] ^= 1 << bit % 8
        with pytest.raises(BadData):
            device.join(bytes(altered))
    assert device.campaigns == []


def test_what_is_not_on_the_disk_is_not_joined(open_device, monkeypatch):
    """A campaign whose row could not be written is not joined in this process either."""
    device, data = open_device(), campaign()
    transaction = device._store.transaction

    @contextmanager
    def full():
        with transaction():
            yield
            raise StoreError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(device._store, "transaction", full)
        with pytest.raises(StoreError, match="full"):
            device.join(data)
    assert device.campaigns == []
    with pytest.raises(UnknownCampaign):
        device.campaign(campaign_id(data))
    assert device.join(data).campaign_id in device.campaigns


@pytest.mark.parametrize("data", [b"", b"\x95", b"not a campaign", bytes(1000)])
def test_what_is_no_campaign_is_refused(open_device, clock, data):
    """Other bytes are bad data, not a crash."""
    with pytest.raises(BadData):
        open_device().join(data)


def test_bytes_after_the_campaign_and_unknown_fields_are_refused(open_device, clock):
    """A signed campaign cannot be extended, not even by its author."""
    data = campaign()
    with pytest.raises(BadData):
        open_device().join(data + b"\x00")
    fields = codec.decode(envelope.decode(data).unverified, limit=10**6)
    extended = envelope.seal(Kind.CAMPAIGN, AUTHOR, codec.encode([*fields, "new field"]))
    with pytest.raises(CampaignError, match="15 fields"):
        open_device().join(extended)


def test_another_kind_of_envelope_is_no_campaign(open_device, clock):
    """An envelope of another kind is refused even under a trusted key."""
    with pytest.raises(CampaignError, match="carries a report"):
        open_device().join(envelope.seal(Kind.REPORT, AUTHOR, envelope.decode(campaign()).unverified))


def test_a_campaign_that_is_over_is_not_joined_and_one_to_come_is(open_device, clock):
    """Expiry is enforced on joining and on consent; the future is fine."""
    data = campaign()
    clock.now = OPENS + 10 * WEEK
    with pytest.raises(OutsideSchedule, match="closed"):
        open_device().join(data)
    clock.now = 0
    device = open_device()
    terms = device.join(data)
    clock.now = OPENS + 10 * WEEK
    with pytest.raises(OutsideSchedule):
        device.consent(terms.campaign_id)
    assert not device.consented(terms.campaign_id)


def test_another_edition_of_a_campaign_takes_nothing_over(open_device, clock):
    """An author who signs the campaign anew, as it was before or for longer, has another campaign: the terms that were
    agreed to stay, nobody has agreed to the other, and its worst case is reserved beside the first one's."""
    device = open_device(lifetime=13.0)
    agreed = device.join(campaign(level=10**9))
    device.consent(agreed.campaign_id)
    for edition in (campaign(level=2 * 10**9, periods=1), campaign(level=10**8, periods=20)):
        other = device.join(edition)
        assert other.campaign_id != agreed.campaign_id
        assert not device.consented(other.campaign_id)
        with pytest.raises(ConsentMissing):
            device.answer(other.campaign_id, LABELS[0])
    assert device.join(campaign(level=10**9)) == agreed
    with pytest.raises(BudgetRefused):
        device.join(campaign(level=2 * 10**9))
    assert device.consented(agreed.campaign_id)


def test_a_worst_case_that_does_not_fit_is_refused_with_both_numbers(open_device, clock):
    """A device that cannot reserve does not join."""
    device = open_device(lifetime=5.5)
    with pytest.raises(BudgetRefused, match=r"6 nats at worst, and the lifetime cap leaves 5.5 of 5.5"):
        device.join(campaign())
    assert device.campaigns == []


def test_a_stored_campaign_is_audited_again_when_it_is_used(open_device, clock, place):
    """Bytes that were changed in the store are refused as damaged, never answered."""
    with open_device(place) as device:
        joined = device.join(campaign()).campaign_id
        device.consent(joined)
        with device._store.transaction():
            device._store.execute("UPDATE joined SET data = CAST(data || x'00' AS BLOB)")
    with open_device(place) as device, pytest.raises(StoreError, match="damaged"):
        device.answer(joined, "none")


def test_an_unknown_id_is_refused_by_every_command(open_device, clock):
    """Nothing is known of a campaign that was never joined."""
    device = open_device()
    for ask in (
        device.terms,
        device.consent,
        device.consented,
        device.enrolment,
        device.preview,
        device.prior,
        device.forget,
    ):
        with pytest.raises(UnknownCampaign):
            ask(bytes(16))


def test_stored_campaigns_open_like_fresh_ones(open_device, clock, place):
    """What is stored is the signed bytes themselves."""
    data = campaign()
    with open_device(place) as device:
        device.join(data)
        [[author, stored]] = device._store.rows("SELECT author, data FROM joined")
    assert open_campaign(stored, [author]).data == data
