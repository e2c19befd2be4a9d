"""Properties of declared priors (SPEC 6.7, 8.3)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.families.bits.recipe import oue
from aggregator.families.hadamard.recipe import hadamard
from protocol import codec, domain, envelope, exact, personal
from protocol.campaign import Campaign, decode_campaign, encode_campaign
from protocol.channels import Channel, RandomizedResponse, Table
from protocol.envelope import MAX_PAYLOAD, Kind
from protocol.errors import BadData, EnvelopeError, NotionError, ReportError, Uncertified
from protocol.keys import SigningKey
from protocol.notions.declared_prior import DeclaredPrior
from protocol.notions.information import Lip
from protocol.notions.notion import certify
from protocol.notions.pairwise import Ldp
from protocol.report import Enrolment
from protocol.views import plain_views
from tests.altered import flipped

NAT = 10**9
KEY = SigningKey(bytes(range(32)))
ID = bytes(16)

priors = st.lists(st.integers(1, 2000), min_size=2, max_size=12)
levels = st.integers(exact.MIN_LEVEL, 8 * NAT)


def unsigned_campaign(size: int = 3, level: int = NAT, channel=None, **changes) -> Campaign:
    notion = DeclaredPrior(level, size)
    fields = {
        "title": "Mood", "question": "How are you?", "purpose": "", "organisation": "Council",
        "domain": domain.Values(tuple(f"v{x}" for x in range(size))), "notion": notion, "mechanism": "lip",
        "views": plain_views(channel or notion.channel_of(notion.uniform)), "opens": 0, "closes": 1000,
        "period_seconds": 10, "answers_per_period": 1, "minimum_devices": 1, "enrolment": "open",
    }  # fmt: skip
    return Campaign(**{**fields, **changes})


@given(priors, levels)
def test_every_declared_prior_has_a_certified_channel(weights: list[int], level: int) -> None:
    """For every prior and level the rule's integers satisfy LIP under that prior, and LDP within twice the level."""
    prior = personal.canonical_prior(weights)
    notion = DeclaredPrior(level, len(prior))
    certificate = notion.certificate_of(prior)
    assert certificate.audited_level <= level
    # The bound is twice the level (Jiang, Li, Tandon 2020, Theorem 1), plus rounding up.
    assert certificate.ldp_level <= 2 * level + 10
    assert notion.channel_of(prior).truth > 0


@given(priors, levels)
def test_the_rule_follows_its_closed_form(weights: list[int], level: int) -> None:
    """The integers over 2^64 are c_m = max(P_m, 1 - b P_m) / (b - 1 + S), within a relative error of 10^-9."""
    whole, factor = sum(weights), math.exp(level / NAT)
    least = [max(weight / whole, 1 - factor * weight / whole) for weight in weights]
    channel = personal.lip_response(weights, level)
    for m, part in enumerate(least):
        assert channel.cover_of(m) / 2**64 == pytest.approx(part / (factor - 1 + sum(least)), rel=1e-9)


@pytest.mark.parametrize("weights", [(), (1,), (0, 1), (-1, 2), (2, 4), (2**20, 1), (1,) * 257])
def test_invalid_weights_are_refused(weights: tuple[int, ...]) -> None:
    """Weights that are too few, too many, zero, negative, too large or not in lowest terms are refused."""
    with pytest.raises(ReportError):
        personal.require_declared(weights)


def test_weights_are_declared_in_lowest_terms() -> None:
    """Weights that differ by a common factor give the same declaration."""
    assert personal.canonical_prior((20, 10, 30)) == personal.canonical_prior((2, 1, 3)) == (2, 1, 3)
    with pytest.raises(ReportError):
        personal.canonical_prior((0, 0))


def test_a_campaign_of_declared_priors_has_the_uniform_channel() -> None:
    """A campaign for declared priors is certified with the rule's channel for the uniform prior, and with no other."""
    made = unsigned_campaign()
    assert made.certificate == certify(made.channel, Lip(NAT, (1, 1, 1)))
    assert decode_campaign(encode_campaign(made)) == made
    with pytest.raises(Uncertified, match="own-lip"):
        unsigned_campaign(channel=personal.lip_response((1, 1, 1), NAT - 1))
    for size in (1, 257):
        with pytest.raises(NotionError):
            DeclaredPrior(NAT, size)


def error(prior, channel: Channel) -> float:
    """Return 1 minus the mean squared length of the posterior, computed from the channel's integers."""
    rows = [[channel.weight(x, y) / 2**channel.scale for y in range(channel.output_count)] for x in range(len(prior))]
    whole = sum(prior)
    total = 0.0
    for y in range(channel.output_count):
        joint = [weight / whole * row[y] for weight, row in zip(prior, rows, strict=True)]
        total += sum(cell**2 for cell in joint) / sum(joint) if sum(joint) else 0.0
    return 1 - total


@pytest.mark.parametrize("size", [2, 3, 7, 20, 100])
@pytest.mark.parametrize("nats", [0.5, 1.0, 2.0])
def test_a_persons_channel_has_the_smaller_error_of_response_and_offered_channel(size: int, nats: float) -> None:
    """Under skewed and uniform priors a person's channel has the smaller error of the rule's response and the offered
    channel, and satisfies LIP."""
    level = round(nats * NAT)
    offered = hadamard(size, level)
    notion = DeclaredPrior(level, size)
    skewed = [10**4 // rank for rank in range(1, size + 1)]
    for weights in ([5000] + [1 + x for x in range(size - 1)], [1] * size, skewed):
        prior = personal.canonical_prior(weights)
        response = personal.lip_response(prior, level)
        channel = notion.channel_of(prior, offered)
        assert channel in (response, offered)
        assert error(prior, channel) <= min(error(prior, response), error(prior, offered)) + 1e-12
        cost = notion.certificate_of(prior, offered).cost
        assert cost <= (level if channel == offered else 2 * level + 10)
    # For this case, the response alone had a larger error than plain LDP, at up to twice the cost.
    if (size, nats) == (100, 1.0):
        assert channel == offered


def test_an_offered_channel_must_keep_ldp() -> None:
    """A channel that satisfies LDP at the level is certified. A channel above the level, one of bits and one with two
    outputs are refused. An offered channel with the larger error is not used."""
    made = unsigned_campaign(channel=hadamard(3, NAT))
    assert made.certificate == certify(made.channel, Ldp(NAT))
    assert decode_campaign(encode_campaign(made)) == made
    even = RandomizedResponse(3, (2**62,))
    for channel in (hadamard(3, NAT + 10**6), oue(3, NAT), Table(((2**61, 2**61),) * 3)):
        with pytest.raises(Uncertified):
            unsigned_campaign(channel=channel)
    assert unsigned_campaign(channel=even).notion.channel_of((1, 1, 1), even) == personal.lip_response((1, 1, 1), NAT)


@given(st.lists(st.integers(0, 50), min_size=3, max_size=3), st.integers(2, 6))
def test_the_nearest_prior_is_nearest_in_total_variation(counts: list[int], classes: int) -> None:
    """nearest minimises the total-variation distance, and does not depend on the scale of a prior."""
    offered = [(1 + place, 2, 1 + (7 * place) % 5) for place in range(classes)]
    place = personal.nearest_prior(counts, offered)
    assert personal.nearest_prior(counts, [tuple(3 * weight for weight in prior) for prior in offered]) == place
    if sum(counts):

        def distance(prior):
            return sum(abs(c / sum(counts) - w / sum(prior)) for c, w in zip(counts, prior, strict=True))

        assert distance(offered[place]) <= min(map(distance, offered)) + 1e-12
    else:
        assert place == 0


@pytest.mark.parametrize("level", [exact.MIN_LEVEL, NAT, 5 * NAT])
def test_the_choice_of_a_class_satisfies_its_level(level: int) -> None:
    """The channel that chooses a class satisfies LDP at the charged level, and its own level is at most a millionth of
    a nat lower."""
    audited = certify(personal.choice_channel(5, level), Ldp(level)).audited_level
    assert level - 1000 <= audited <= level


# Enrolments


def test_an_enrolment_may_declare_a_prior() -> None:
    """The prior is the third field of the signed payload; without a prior the payload has no third field."""
    plain, declaring = Enrolment(ID, KEY.public), Enrolment(ID, KEY.public, (2, 1, 3))
    assert codec.decode(plain.encode(), limit=200) == [ID, KEY.public]
    assert codec.decode(declaring.encode(), limit=200) == [ID, KEY.public, [2, 1, 3]]
    for enrolment in (plain, declaring):
        assert Enrolment.open(envelope.decode(enrolment.seal(KEY))) == enrolment
    assert len(plain.seal(KEY)) == 134


def test_the_largest_declaration_fits_its_envelope() -> None:
    """The 256 weights whose encoding is longest fit into an enrolment's payload."""
    # Weights from 2^16 take five bytes and weights from 2^8 three; their sum is limited.
    most = (*[2**16] * 15, *[2**8] * 240, 2**8 + 1)
    assert sum(most) <= personal.MAX_DECLARED_WEIGHT < sum(most) + 2**16 - 2**8
    payload = Enrolment(ID, KEY.public, most).encode()
    assert len(payload) <= MAX_PAYLOAD[Kind.ENROLMENT]
    assert Enrolment.open(envelope.decode(Enrolment(ID, KEY.public, most).seal(KEY))).prior == most


@pytest.mark.parametrize("wrong", [[], [1], [0, 1], [2, 4], [1, -1], [2**20, 1], 7, "prior", [1, "2"], [1] * 257])
def test_an_invalid_declaration_is_refused(wrong: codec.Value) -> None:
    """A third field that is not a declared prior is refused before the signature is verified."""
    sealed = envelope.seal(Kind.ENROLMENT, KEY, codec.encode([ID, KEY.public, wrong]))
    for damaged in (sealed, flipped(sealed)):
        with pytest.raises(ReportError):
            Enrolment.open(envelope.decode(damaged))


@pytest.mark.parametrize("wrong", [[5_000_000, 3], [-5_000_000, 3], [[1, 2], 5_000_000_000_000]])
def test_a_refused_declaration_is_not_repeated(wrong: codec.Value) -> None:
    """The error for a weight or a personal level out of range does not name it."""
    with pytest.raises(ReportError) as caught:
        personal.declaration_of(wrong)
    assert "must lie in" in str(caught.value)
    assert "5000" not in str(caught.value).replace(",", "").replace("_", "")


def test_an_enrolment_fits_its_campaign() -> None:
    """An enrolment has a prior if and only if the campaign asks for one, with the same number of values."""
    own, plain = unsigned_campaign(), unsigned_campaign(notion=Ldp(3 * NAT))
    Enrolment(ID, KEY.public, (1, 2, 3)).require_fit(own)
    Enrolment(ID, KEY.public).require_fit(plain)
    for enrolment, campaign in (
        (Enrolment(ID, KEY.public), own),
        (Enrolment(ID, KEY.public, (1, 2)), own),
        (Enrolment(ID, KEY.public, (1, 2, 3)), plain),
    ):
        with pytest.raises(BadData):
            enrolment.require_fit(campaign)
        # The fit is checked after the key id and before the signature.
        with pytest.raises(ReportError):
            Enrolment.open(envelope.decode(flipped(enrolment.seal(KEY))), campaign)
        with pytest.raises(EnvelopeError):
            Enrolment.open(envelope.decode(enrolment.seal(SigningKey(bytes(32)))), campaign)
