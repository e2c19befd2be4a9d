"""Joining: the campaigns that a device refuses before it asks the person."""

from __future__ import annotations

import json
import random
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from edge_sdk.errors import BudgetRefused, ConsentMissing, NotJoined, StoreError
from edge_sdk.transport.upload import address
from protocol import codec, envelope
from protocol.address import host_of
from protocol.campaign import campaign_id, open_campaign, seal_campaign
from protocol.domain import Values
from protocol.envelope import Kind
from protocol.errors import BadData, CampaignError, NotInDomain, OutsideSchedule
from protocol.keys import SigningKey
from protocol.texts import Texts
from tests.altered import flipped
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, agreed, campaign
from tests.vectors import generate
from tests.vectors.generate import GERMAN, informed, of_classes


def test_the_terms_contain_the_signed_conditions(open_device):
    """The terms contain organisation, purpose, dates, level and worst case, all from the signed bytes."""
    data = campaign()
    terms = open_device().join(data)
    assert terms.campaign_id == campaign_id(data)
    assert (terms.title, terms.organisation) == ("Highest education", "Town library")
    assert (terms.opens, terms.closes, terms.period_seconds) == (OPENS, OPENS + 10 * WEEK, WEEK)
    assert (terms.level, terms.cost, terms.worst_case) == (1.0, 1.0, 6.0)
    assert terms.values == LABELS
    assert "2.8 times as likely" in terms.promise.text()


def described_campaign(**changes) -> bytes:
    """Return an open campaign with every optional text, in three languages."""
    return seal_campaign(informed(opens=OPENS, closes=OPENS + WEEK, **changes), AUTHOR)


def test_the_terms_contain_addresses_and_contact(open_device):
    """The terms contain addresses, hosts, contact, retention, notice, possible answers and withdrawal, as signed."""
    device = open_device()
    data = described_campaign()
    terms = device.join(data)
    signed = open_campaign(data, [AUTHOR.public]).campaign
    assert terms.addresses == signed.addresses
    assert terms.hosts == ("study.library.example", "127.0.0.1:8000")
    assert (terms.contact, terms.retention, terms.notice) == (signed.contact, signed.retention, signed.notice)
    assert (terms.language, terms.languages) == ("en", ("en", "de", "pt-br"))
    assert terms.values == terms.shown == signed.domain.labels
    said = terms.as_json()
    for name in ("addresses", "hosts", "contact", "retention", "notice", "values", "language"):
        assert said[name] == (list(value) if isinstance(value := getattr(terms, name), tuple) else value), name
    assert "cannot be withdrawn" in said["withdrawal"]


def test_every_signed_address_can_be_sent_to():
    """For every address in the campaigns of the vectors, the sender connects to the host that the terms show."""
    cases = json.loads((Path(generate.__file__).parent / "campaign.json").read_text(encoding="utf-8"))["cases"]
    signed = {one for case in cases for one in case.get("addresses", ())}
    assert len(signed) >= 8
    for one in signed:
        to = address(one)
        assert (f"[{to.host}]" if ":" in to.host else to.host) == host_of(one).removesuffix(f":{to.port}")
        assert to.secure == one.startswith("https://")


def test_the_terms_are_in_the_persons_language_and_answers_are_not(open_device):
    """Texts, values and classes are shown in the requested language, and otherwise as written; the labels to answer
    with, and the cost, are the same in every language."""
    device = open_device()
    joined = device.join(described_campaign()).campaign_id
    own, german, other = (device.terms(joined, language) for language in (None, "de_AT", "fr"))
    assert other == own
    assert (german.title, german.language) == ("Höchster Abschluss", "de")
    assert german.shown == GERMAN.labels
    assert (german.values, german.worst_case, german.addresses) == (own.values, own.worst_case, own.addresses)
    partly = device.terms(joined, "pt-BR")
    assert (partly.title, partly.organisation, partly.shown) == ("Escolaridade", own.organisation, own.values)
    device.consent(joined)
    device.answer(joined, german.values[german.shown.index("Bachelor")])
    with pytest.raises(NotInDomain):
        device.answer(joined, "Bachelor")

    classes = replace(
        of_classes(), opens=OPENS, closes=OPENS + WEEK, language="en",
        translations=(Texts("de", "T", "F?", classes=("Mitglieder", "Gäste")),),
    )  # fmt: skip
    joined = device.join(seal_campaign(classes, AUTHOR)).campaign_id
    assert [(one.name, one.shown) for one in device.terms(joined, "de").classes] == [
        ("members", "Mitglieder"),
        ("guests", "Gäste"),
    ]


def test_a_translation_without_labels_does_not_check_the_campaigns_labels_again(monkeypatch):
    """Many short translations do not multiply the checks of a long list."""
    monkeypatch.setattr(Values, "renamed", None)
    translations = tuple(Texts(f"a{letter}", "T", "F?") for letter in "abc")
    assert informed(language="en", translations=translations).translations == translations


def test_a_second_join_changes_nothing_and_needs_no_trusted_author(open_device, place):
    """A second join changes nothing, and needs no trusted author, because the store has the campaign and its author."""
    data = campaign()
    with open_device(place) as device:
        terms = device.join(data)
        assert device.join(data) == terms
    with open_device(place, trust=[]) as device:
        assert device.join(data) == terms
        assert device.campaigns == [terms.campaign_id]


def test_an_untrusted_author_is_refused(open_device):
    """A campaign is joined only if the session trusts its author's key; the error says to name the key."""
    stranger = SigningKey(bytes(32))
    with pytest.raises(CampaignError, match="no trusted author"):
        open_device().join(campaign(author=stranger))
    with pytest.raises(CampaignError, match="public key"):
        open_device(trust=[]).join(campaign())
    assert open_device().campaigns == []


def test_an_altered_bit_is_refused(open_device):
    """A signed campaign with a single bit flipped is refused, for 1,000 random bits and the 64 bits at each end."""
    data = campaign()
    device = open_device()
    bits = sorted(
        {*range(64), *range(8 * len(data) - 64, 8 * len(data)), *random.Random(1).sample(range(8 * len(data)), 1000)}
    )
    for bit in bits:
        with pytest.raises(BadData):
            device.join(flipped(data, bit))
    assert device.campaigns == []


def test_a_campaign_that_was_not_stored_is_not_joined(open_device, monkeypatch):
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
    with pytest.raises(NotJoined):
        device.campaign(campaign_id(data))
    assert device.join(data).campaign_id in device.campaigns


@pytest.mark.parametrize("data", [b"", b"\x95", b"not a campaign", bytes(1000)])
def test_bytes_without_a_campaign_are_refused(open_device, data):
    """Bytes that are not a campaign are refused as bad data."""
    with pytest.raises(BadData):
        open_device().join(data)


def test_bytes_after_the_campaign_and_unknown_fields_are_refused(open_device):
    """A signed campaign cannot be extended, not even by its author."""
    data = campaign()
    with pytest.raises(BadData):
        open_device().join(data + b"\x00")
    fields = codec.decode(envelope.decode(data).unverified, limit=10**6)
    extended = envelope.seal(Kind.CAMPAIGN, AUTHOR, codec.encode([*fields, "new field"]))
    with pytest.raises(CampaignError, match="22 fields"):
        open_device().join(extended)


def test_an_envelope_of_another_kind_is_refused(open_device):
    """An envelope of another kind is refused even under a trusted key."""
    with pytest.raises(CampaignError, match="of kind report"):
        open_device().join(envelope.seal(Kind.REPORT, AUTHOR, envelope.decode(campaign()).unverified))


def test_an_ended_campaign_is_refused_and_a_future_one_accepted(open_device, clock):
    """A campaign that is over is refused on joining and on consent; a future campaign is accepted."""
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


def test_another_edition_is_another_campaign_without_consent(open_device):
    """If an author signs the campaign again with other terms, it is another campaign: the accepted terms stay, the new
    campaign has no consent, and its worst case must fit beside the first one's."""
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


def test_a_worst_case_that_does_not_fit_is_refused_with_both_numbers(open_device):
    """A device that cannot reserve the worst case does not join; the error states the worst case and the remaining
    budget."""
    device = open_device(lifetime=5.5)
    with pytest.raises(BudgetRefused, match=r"up to 6 nats, but the lifetime cap leaves 5.5 nats of 5.5 nats"):
        device.join(campaign())
    assert device.campaigns == []


def test_a_stored_campaign_is_audited_again_when_it_is_used(open_device, place):
    """A campaign whose bytes were changed in the store is refused as damaged and never answered."""
    with open_device(place) as device:
        joined = agreed(device, campaign())
        with device._store.transaction():
            device._store.execute("UPDATE joined SET data = CAST(data || x'00' AS BLOB)")
    with open_device(place) as device, pytest.raises(StoreError, match="damaged"):
        device.answer(joined, "none")


def test_an_unknown_campaign_is_refused(open_device):
    """``terms``, ``consent``, ``consented``, ``enrolment``, ``preview``, ``history`` and ``forget`` refuse a campaign
    that was never joined."""
    device = open_device()
    for ask in (
        device.terms,
        device.consent,
        device.consented,
        device.enrolment,
        device.preview,
        device.history,
        device.forget,
    ):
        with pytest.raises(NotJoined):
            ask(bytes(16))


def test_a_stored_campaign_has_the_signed_bytes(open_device, place):
    """The store has the signed bytes of a campaign, which open again under the stored author's key."""
    data = campaign()
    with open_device(place) as device:
        device.join(data)
        [[author, stored]] = device._store.rows("SELECT author, data FROM joined")
    assert open_campaign(stored, [author]).data == data
