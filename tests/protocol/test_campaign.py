"""Properties of campaigns (SPEC 7)."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import codec, domain, envelope, exact, notions
from protocol.campaign import (
    Campaign,
    campaign_id,
    decode_campaign,
    encode_campaign,
    open_campaign,
    seal_campaign,
    unverified_campaign,
)
from protocol.channels import Hadamard, RandomizedResponse
from protocol.envelope import Kind
from protocol.errors import BadData, CampaignError, OutsideSchedule, Uncertified
from protocol.keys import AuthorKey, SigningKey
from tests.altered import altered, flipped
from tests.families.hadamard import truth_of
from tests.families.response import cover_of
from tests.fuzz.targets import campaign_target
from tests.vectors.generate import GERMAN, OPENS, WEEK, in_german, of_classes, unsigned_campaign

KEY = SigningKey(bytes(range(32)))
OTHER = SigningKey(bytes(32))
NAT = exact.NANONATS


def made(**changes: Any) -> Campaign:
    return unsigned_campaign(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"purpose": "", "mechanism": ""},
        {"question": "Two\nlines?", "purpose": "Three\n\nlines."},
        {"enrolment": "enrolled", "answers_per_period": 4096, "minimum_devices": 2**40},
        {"opens": 0, "closes": 1, "period_seconds": 2**40},
        {"domain": domain.Grid(0, 5, 0, 1, 1)},
        {"domain": domain.Buckets((0, 1, 2, 3, 5), 1)},
        {"notion": notions.HighLow(2 * NAT, 5, (0, 4))},
        {"channel": RandomizedResponse(5, (cover_of(NAT, 5),))},
        {name: getattr(in_german(), name) for name in ("domain", "views", "language", "translations")},
    ],
)
def test_a_campaign_decodes_to_itself(changes: dict[str, Any]) -> None:
    """decode(encode(c)) = c, including the certificate, and the signed file opens to c under its author's key."""
    campaign = made(**changes)
    again = decode_campaign(encode_campaign(campaign))
    assert again == campaign
    assert again.certificate == campaign.certificate
    data = seal_campaign(campaign, KEY)
    signed = open_campaign(data, [OTHER.public, KEY.public])
    assert (signed.campaign, signed.author, signed.data) == (campaign, KEY.public, data)
    assert signed.id == campaign_id(data) == hashlib.sha256(data).digest()[:16]
    assert unverified_campaign(data) == campaign


@pytest.mark.parametrize(
    "changes",
    [
        {"title": ""},
        {"title": " "},
        {"title": "t" * 201},
        {"title": "two\nlines"},
        {"question": "\n \n"},
        {"question": "\x07"},
        {"question": "q" * 2001},
        {"purpose": "p" * 2001},
        {"organisation": ""},
        {"organisation": "a\u2028b"},
        {"mechanism": "\x1b[2J"},
        {"domain": domain.Values(("a", "b", "c", "d"))},
        {"opens": -1},
        {"closes": OPENS},
        {"closes": 2**40 + 1},
        {"period_seconds": 0},
        {"period_seconds": 1},
        {"period_seconds": 2**40 + 1},
        {"answers_per_period": 0},
        {"answers_per_period": 4097},
        {"minimum_devices": 0},
        {"minimum_devices": 2**40 + 1},
        {"enrolment": "closed"},
    ],
)
def test_parts_that_do_not_fit_are_refused(changes: dict[str, Any]) -> None:
    """The constructor refuses a campaign whose fields are outside their limits or do not fit each other."""
    with pytest.raises(CampaignError):
        made(**changes)


UNSEEN = "\u200b\u200e\u200f\u061c\ufeff\xad\u2060\u2064\u3164\u202e\u2067\U000e0041\x1b\u200c\u200d"
OWN = ("title", "question", "purpose", "organisation", "mechanism", "contact", "retention")
SAID = ("title", "question", "purpose", "organisation", "contact", "retention")


@pytest.mark.parametrize("unseen", UNSEEN, ids=lambda unseen: f"U+{ord(unseen):04X}")
def test_no_signed_text_has_an_invisible_character(unseen: str) -> None:
    """A character that is invisible or changes the direction of other characters is refused in every text of a
    campaign, including labels, classes and translations, at the start, inside and at the end."""
    for text in (unseen + "ab", f"a{unseen}b", "ab" + unseen):
        for name in OWN:
            with pytest.raises(CampaignError):
                made(**{name: text})
        for name in SAID:
            with pytest.raises(CampaignError):
                replace(GERMAN, **{name: text})
        for name in ("labels", "classes"):
            with pytest.raises(CampaignError):
                replace(GERMAN, **{name: (text,)})
        with pytest.raises(BadData):
            made(domain=domain.Values((text, "b", "c", "d", "e")))
        with pytest.raises(BadData):
            domain.Items(1, (text, "b"))
        with pytest.raises(CampaignError):
            replace(of_classes(), classes=("members", text))
        for link in ("notice", "language"):
            with pytest.raises(CampaignError):
                made(**{link: f"https://a.example/{text}" if link == "notice" else text})
        with pytest.raises(CampaignError):
            made(addresses=(f"https://{text}.example",))


@pytest.mark.parametrize("name", ["question", "purpose", "retention"])
def test_a_text_of_several_lines_may_have_line_feeds_only(name: str) -> None:
    """A line feed is allowed in the texts of several lines, another line break is not, and the error says so. A title
    has one line."""
    assert getattr(made(**{name: "one\ntwo"}), name) == "one\ntwo"
    with pytest.raises(CampaignError, match=rf"the {name} has .* line breaks other than line feeds$"):
        made(**{name: "one\r\ntwo"})
    with pytest.raises(CampaignError, match=r"the title has .* changes of direction and line breaks$"):
        made(title="one\ntwo")


def test_a_campaign_above_its_level_is_refused() -> None:
    """A channel one unit above its level makes no campaign; a certificate cannot be passed in, and no field can be
    changed."""
    with pytest.raises(Uncertified):
        made(channel=Hadamard(truth_of(NAT) + 1, 5))
    with pytest.raises(TypeError):
        made(certificate=made().certificate)
    with pytest.raises(FrozenInstanceError):
        made().opens = 0  # type: ignore[misc]  # the field is frozen


def test_a_campaign_with_another_number_of_fields_is_refused() -> None:
    """A campaign with one field more or fewer is refused, so no field can be hidden from an older reader."""
    fields = codec.decode(encode_campaign(made()), limit=2**16)
    assert isinstance(fields, list)
    for wrong in (fields[:-1], [*fields, 0], [*fields, []]):
        with pytest.raises(CampaignError, match="22 fields"):
            decode_campaign(codec.encode(wrong))


@pytest.mark.parametrize("place", range(22))
@pytest.mark.parametrize("wrong", [b"bytes", -1, [], [[]], [1], "", 2**64 - 1])
def test_a_wrong_value_of_a_field_is_refused(place: int, wrong: codec.Value) -> None:
    """A wrong value of any field raises BadData and no other exception. An empty text or array is accepted if the field
    may be empty."""
    fields = codec.decode(encode_campaign(made()), limit=2**16)
    assert isinstance(fields, list)
    fields[place] = wrong
    valid = (place in (2, 6, 16, 17, 18, 19, 21) and wrong == "") or (place in (14, 15, 20) and wrong == [])
    if valid:
        assert decode_campaign(codec.encode(fields))
    else:
        with pytest.raises(BadData):
            decode_campaign(codec.encode(fields))


def test_no_bit_can_be_flipped() -> None:
    """A signed campaign with any bit flipped does not open, and reading it unverified raises only BadData."""
    data = seal_campaign(made(), KEY)
    for bit in range(8 * len(data)):
        with pytest.raises(BadData):
            open_campaign(flipped(data, bit), [KEY.public])
        with contextlib.suppress(BadData):
            unverified_campaign(flipped(data, bit))


@given(altered(st.sampled_from((made(), in_german())).map(encode_campaign), least=1))
def test_mutated_campaigns_raise_bad_data(payload: bytes) -> None:
    """A payload with bytes changed, lost and inserted is a campaign or raises BadData, and no other exception."""
    campaign_target(payload)


def test_only_trusted_authors_and_campaigns_open() -> None:
    """An unknown author, another kind of envelope, and an author's payload under another author's key id are
    refused."""
    data = seal_campaign(made(), KEY)
    with pytest.raises(
        CampaignError, match=f"no trusted author has the key {AuthorKey(KEY.public).fingerprint_text[:10]}"
    ):
        open_campaign(data, [OTHER.public])
    with pytest.raises(CampaignError, match="of kind report"):
        open_campaign(envelope.seal(Kind.REPORT, KEY, encode_campaign(made())), [KEY.public])
    swapped = data.replace(KEY.id, OTHER.id)
    with pytest.raises(BadData) as refused:
        open_campaign(swapped, [KEY.public, OTHER.public])
    assert refused.value.stage == "signature"


def test_a_payload_is_not_parsed_before_its_signature_verifies() -> None:
    """A payload that cannot be parsed and has a wrong signature is refused for its signature."""
    with pytest.raises(BadData) as refused:
        open_campaign(flipped(envelope.seal(Kind.CAMPAIGN, KEY, b"\xc1")), [KEY.public])
    assert refused.value.stage == "signature"


def test_a_campaign_above_the_size_limit_is_refused() -> None:
    """A campaign of more than 64 KiB is refused by encoder and decoder. With a LIP prior, whose weights raise the
    limit, a campaign of this size opens."""
    size = 4000
    labels = domain.Values(tuple(f"{x:020d}" for x in range(size)))
    flat = RandomizedResponse(size, (cover_of(NAT, size),))
    large = made(domain=labels, channel=flat)
    with pytest.raises(CampaignError, match="65536 bytes"):
        seal_campaign(large, KEY)
    with pytest.raises(CampaignError, match="65536 bytes"):
        open_campaign(envelope.seal(Kind.CAMPAIGN, KEY, encode_campaign(large)), [KEY.public])
    with_prior = made(domain=labels, channel=flat, notion=notions.Lip(NAT, (1,) * size))
    assert open_campaign(seal_campaign(with_prior, KEY), [KEY.public]).campaign == with_prior


@given(st.integers(0, 2**30), st.integers(1, 2**20), st.integers(1, 2**20), st.data())
def test_every_second_of_a_campaign_is_in_one_period(opens: int, length: int, period: int, data: st.DataObject) -> None:
    """Every second of the campaign lies in one period 0 .. periods - 1, and no second outside the campaign lies in a
    period."""
    campaign = made(opens=opens, closes=opens + length, period_seconds=period)
    assert campaign.period_at(opens) == 0
    assert campaign.period_at(opens + length - 1) == campaign.periods - 1
    now = data.draw(st.integers(opens, opens + length - 1))
    found = campaign.period_at(now)
    assert opens + found * period <= now < opens + (found + 1) * period
    for outside in (opens - 1, opens + length, opens + length + period):
        with pytest.raises(OutsideSchedule):
            campaign.period_at(outside)


def test_the_worst_case_counts_values_or_answers() -> None:
    """The worst case of a device is min(k, periods * answers) draws, each at the certificate's cost."""
    assert made().periods == 5
    assert made().worst_case == 5 * NAT
    assert made(closes=OPENS + WEEK, answers_per_period=2).worst_case == 2 * NAT
    assert made(closes=OPENS + 3600).max_draws == 2
