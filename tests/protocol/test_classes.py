"""Properties of classes of people (SPEC 6.8, 7)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from protocol import codec, domain, personal
from protocol.campaign import Campaign, decode_campaign, encode_campaign
from protocol.channels import Blocks, RandomizedResponse, Table
from protocol.errors import BadData, CampaignError, NotionError, Uncertified
from protocol.notions.classes import MAX_CLASSES, Classes, class_channels
from protocol.notions.declared_prior import DeclaredPrior
from protocol.notions.information import Lip
from protocol.notions.notion import certify
from protocol.notions.pairwise import Ldp
from protocol.views import plain_views

NAT = 10**9
K = 4
PRIORS = ((40, 30, 20, 10), (1, 1, 4, 4), (25, 25, 25, 25))
NOTIONS = (Lip(NAT, PRIORS[0]), Lip(2 * NAT, PRIORS[1]), Ldp(NAT // 2))
CHANNELS = (
    personal.lip_response(PRIORS[0], NAT),
    personal.lip_response(PRIORS[1], 2 * NAT),
    personal.choice_channel(K, NAT // 2),
)


def runs(classes: int, size: int = K) -> tuple[tuple[int, int], ...]:
    return tuple((block, size) for block in range(1, classes + 1))


def blocks(*channels) -> Blocks:
    return Blocks(0, runs(len(channels)), channels)


CHANNEL, NOTION = blocks(*CHANNELS), Classes.of(NOTIONS)


def campaign(channel=CHANNEL, **changes) -> Campaign:
    fields = {
        "title": "Crops",
        "question": "What do you grow?",
        "purpose": "",
        "organisation": "Council",
        "domain": domain.Values(("wheat", "rye", "oats", "hay")),
        "notion": NOTION,
        "mechanism": "lip",
        "views": plain_views(channel),
        "opens": 0,
        "closes": 1000,
        "period_seconds": 10,
        "answers_per_period": 1,
        "minimum_devices": 1,
        "enrolment": "open",
        "classes": ("farmers", "gardeners", "others"),
    }
    return Campaign(**{**fields, **changes})


def test_each_class_has_the_certificate_of_its_channel() -> None:
    """The certificate of a class is that of its own channel under its own notion."""
    assert certify(CHANNEL, NOTION).class_certificates == tuple(map(certify, CHANNELS, NOTIONS))


def test_the_certificate_of_all_classes_has_the_largest_levels() -> None:
    """Audited and LDP levels are the largest of any class; outputs of different classes are not compared, although they
    reveal the class."""
    whole, each = certify(CHANNEL, NOTION), certify(CHANNEL, NOTION).class_certificates
    assert whole.declared_level == 2 * NAT
    assert whole.audited_level == max(one.audited_level for one in each)
    assert whole.ldp_level == max(one.ldp_level for one in each)
    assert CHANNEL.loss(range(12), range(12)).level is None


def test_the_witness_is_in_the_whole_channel() -> None:
    """The witness names inputs and an output of the whole channel, whose weights give the witness's ratio."""
    pair = Classes.of((Ldp(NAT // 2), Ldp(NAT)))
    channel = blocks(personal.choice_channel(K, NAT // 3), personal.choice_channel(K, NAT))
    witness = certify(channel, pair).witness
    assert witness.x // K == witness.other // K == 1
    assert channel.weight(witness.x, witness.y) > channel.weight(witness.other, witness.y) > 0
    assert channel.weight(witness.x, witness.y) * witness.denominator == (
        channel.weight(witness.other, witness.y) * witness.numerator
    )


@pytest.mark.parametrize("place", range(3))
def test_one_class_above_its_level_refuses_the_campaign(place: int) -> None:
    """A campaign is refused if one class is ten nanonats above its level, even if the others satisfy theirs."""
    channels = list(CHANNELS)
    worse = NOTIONS[place].level + 10
    channels[place] = personal.lip_response(PRIORS[place], worse) if place < 2 else personal.choice_channel(K, worse)
    with pytest.raises(Uncertified, match=f"class {place + 1}"):
        certify(blocks(*channels), NOTION)


@pytest.mark.parametrize(
    "channel",
    [
        Table(tuple((2**61, 2**61) for _ in range(12))),
        RandomizedResponse(12, (2**60,)),
        Blocks(0, ((1, 4), (2, 4), (0, 4)), CHANNELS[:2]),
        Blocks(0, ((1, 8), (2, 4)), (personal.choice_channel(8, 100_000_000), CHANNELS[2])),
        Blocks(0, ((1, 2), (2, 4), (1, 2), (3, 4)), CHANNELS),
    ],
)
def test_a_channel_without_a_block_for_each_class_is_refused(channel) -> None:
    """Channels that are not one block of k inputs for each class, in order, are refused."""
    with pytest.raises(Uncertified, match="blocks"):
        certify(channel, NOTION)


@pytest.mark.parametrize(
    "made",
    [
        lambda: Classes.of(NOTIONS[:1]),
        lambda: Classes(NAT, NOTIONS),
        lambda: Classes(3 * NAT, NOTIONS),
        lambda: Classes.of((Ldp(NAT),) * (MAX_CLASSES + 1)),
        lambda: Classes.of((NOTION, Ldp(NAT))),
        lambda: Classes.of((DeclaredPrior(NAT, 4), Ldp(NAT))),
        lambda: Classes.of((Lip(NAT, (1, 1, 1)), Lip(NAT, (1, 1)))),
        lambda: Classes.of(()),
    ],
)
def test_invalid_classes_are_refused(made) -> None:
    """A single class, too many classes, nested classes, a level other than the largest, and notions over different
    values are refused."""
    with pytest.raises(NotionError):
        made()


def test_a_campaign_of_classes_decodes_to_itself() -> None:
    """decode(encode(c)) = c for campaigns of classes, with certificate and classes."""
    made = campaign()
    again = decode_campaign(encode_campaign(made))
    assert again == made
    assert again.classes == ("farmers", "gardeners", "others")
    assert again.certificates == made.certificates


@pytest.mark.parametrize(
    "changes",
    [
        {"classes": ()},
        {"classes": ("a", "b")},
        {"classes": ("a", "b", "b")},
        {"classes": ("a", "b", " c")},
        {"classes": ("a", "b", "")},
        {"classes": ("a", "b", "c\n")},
        {"classes": ("a", "b", "c" * 201)},
        {"domain": domain.Values(("wheat", "rye", "oats"))},
        {"notion": Ldp(NAT), "channel": personal.choice_channel(K, NAT)},
        {"domain": domain.Values(tuple("abcdefghijkl"))},
    ],
)
def test_classes_and_notion_and_channel_fit(changes) -> None:
    """A campaign is refused unless each class has one name, one notion and one block of k inputs."""
    with pytest.raises(CampaignError):
        campaign(**changes)


def test_the_wire_form_accepts_only_texts() -> None:
    """The names of classes must be an array of texts, and the field cannot be left out."""
    fields = codec.decode(encode_campaign(campaign()), limit=10**6)
    for wrong in (7, "farmers", [1, 2, 3], [["farmers"], "b", "c"]):
        with pytest.raises(BadData):
            decode_campaign(codec.encode([*fields[:14], wrong, *fields[15:]]))
    with pytest.raises(CampaignError, match="22 fields"):
        decode_campaign(codec.encode(fields[:14]))


def test_costs_are_those_of_the_class() -> None:
    """The worst case of a campaign is that of its costliest class; each class costs the LDP level of its own
    channel."""
    made = campaign()
    assert made.worst_case == max(one.ldp_level for one in made.certificates) * 4
    assert all(one.cost == one.ldp_level for one in made.certificates)
    assert made.certificates[2].cost <= NAT // 2 < made.certificates[0].cost
    assert campaign(closes=20).worst_case == made.certificate.ldp_level * 2


def test_the_inputs_of_a_class_are_a_block() -> None:
    """input_of(x, c) = c k + x, which is an input of the block of class c only."""
    made = campaign()
    for place in range(3):
        for x in range(K):
            joint = made.input_of(x, place)
            for y in range(12):
                expected = CHANNELS[place].weight(x, y - 4 * place) << 64 if 4 * place <= y < 4 * place + 4 else 0
                assert made.channel.weight(joint, y) == expected
    assert made.class_index_of("gardeners") == 1
    with pytest.raises(CampaignError, match="farmers, gardeners, others"):
        made.class_index_of("strangers")
    assert class_channels(made.channel, 3) == CHANNELS


def test_a_campaign_without_classes_is_one_class() -> None:
    """With classes = () a campaign has one certificate, and inputs are not shifted."""
    made = campaign(notion=Ldp(NAT), channel=personal.choice_channel(K, NAT), classes=())
    assert made.certificates == (made.certificate,)
    assert made.input_of(3, 0) == 3
    assert replace(made, title="Other").classes == ()
