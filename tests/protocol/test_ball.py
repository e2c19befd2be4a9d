"""The declared ball of priors: the certificate for observers near the campaign's prior (SPEC 6.3)."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction

import pytest

from protocol import codec, exact, notions
from protocol.channels import Bits, Channel, Hadamard, RandomizedResponse, SubsetSelection, Table, Triples, Windows
from protocol.channels.windows.arrangement import WindowType
from protocol.effort import MAX_STEPS
from protocol.errors import NotionError, Uncertified
from protocol.notions import Ldp, Lip, certify
from protocol.notions.information import RADIUS_UNITS
from tests.families import CHANNELS as VECTORS
from tests.protocol.test_levels import corners

NAT = exact.NANONATS
ONE = 1 << 64
MOST = exact.MAX_LEVEL
SEED = 20261121
PRIOR = (9, 5, 2, 1)

_draw = random.Random(SEED)
_cells = [[_draw.randrange(1, 50) for _ in range(6)] for _ in range(4)]
CHANNELS: dict[str, Channel] = {
    "table": Table.rounded([[Fraction(cell, sum(row)) for cell in row] for row in _cells]),
    "response": RandomizedResponse(4, (ONE // 9,)),
    "bits": Bits.over([(1 << 31, 1 << 30), (1 << 31, 1 << 29), (1 << 31, 1 << 30), (3 << 30, 1 << 30)]),
    "subset": SubsetSelection(4, 2, (1 << 128) // 11),
    "triples": Triples(4, (1 << 128) // 17),
    "windows": Windows((3, 1, 2, 5), 4, 2, (), (), (WindowType(1, ONE // 5, ONE // 9, 0, ()),)),
}
# The vectors' channels of four inputs represent the other families.
CHANNELS |= {
    name: channel
    for name, channel in VECTORS.items()
    if channel.input_count == len(PRIOR) and channel.family not in {listed.family for listed in CHANNELS.values()}
}


def worst(channel: Channel, prior: Sequence[int], radius: Fraction) -> Fraction:
    """Return the worst lift over the corners of the ball."""
    rows = [[channel.weight(x, y) for y in range(channel.output_count)] for x in range(channel.input_count)]
    found = Fraction(1)
    for moved in corners([Fraction(mass, sum(prior)) for mass in prior], radius):
        for column in zip(*rows, strict=True):
            mean = sum((mass * weight for mass, weight in zip(moved, column, strict=True)), Fraction())
            if mean:
                found = max(found, max(column) / mean, mean / min(column))
    return found


@pytest.mark.parametrize("radius", [1, 10**7, 5 * 10**7, 3 * 10**8, 999_999_999])
@pytest.mark.parametrize("name", CHANNELS)
def test_the_ball_equals_brute_force(name: str, radius: int) -> None:
    """A certificate's ball is the worst lift for any prior within the radius, rounded up to a nanonat; nothing else of
    the certificate depends on it."""
    channel = CHANNELS[name]
    found = certify(channel, Lip(MOST, PRIOR, radius))
    expected = math.log(worst(channel, PRIOR, Fraction(radius, RADIUS_UNITS))) * NAT
    assert found.ball_level is not None
    assert expected - 1e-3 <= found.ball_level <= expected + 1 + 1e-3
    plain = certify(channel, Lip(MOST, PRIOR))
    assert (plain.audited_level, plain.ldp_level, plain.witness, plain.cost) == (
        found.audited_level, found.ldp_level, found.witness, found.cost,
    )  # fmt: skip


@pytest.mark.parametrize("name", CHANNELS)
def test_the_ball_lies_between_lip_and_ldp(name: str) -> None:
    """The level grows with the radius: it is never below the LIP level, and at radius 1 it is the LDP level. Without a
    radius there is no level of a ball."""
    channel = CHANNELS[name]
    assert certify(channel, Lip(MOST, PRIOR)).ball_level is None
    assert certify(channel, Ldp(MOST)).ball_level is None
    made = [certify(channel, Lip(MOST, PRIOR, radius)) for radius in (1, 10**6, 10**8, 10**9)]
    balls = [one.ball_level for one in made if one.ball_level is not None]
    assert made[0].audited_level <= balls[0]
    assert balls == sorted(balls)
    assert balls[-1] == made[0].ldp_level


def test_the_declared_level_is_satisfied_over_the_ball() -> None:
    """The level that a campaign declares bounds the whole ball; a level that is a nanonat too low is refused."""
    channel = CHANNELS["table"]
    centre = certify(channel, Lip(MOST, PRIOR)).audited_level
    found = certify(channel, Lip(MOST, PRIOR, 5 * 10**7)).ball_level
    assert found is not None
    assert found > centre
    assert certify(channel, Lip(found, PRIOR, 5 * 10**7)).ball_level == found
    for level in (centre, found - 1):
        with pytest.raises(Uncertified, match=r"within the radius 0\.05"):
            certify(channel, Lip(level, PRIOR, 5 * 10**7))
    with pytest.raises(Uncertified):
        certify(channel, Lip(centre - 1, PRIOR, 5 * 10**7))


def test_the_radius_is_in_the_wire_form() -> None:
    """The radius is the fourth field of the notion's wire form, 0 for a notion without a ball. A radius outside 0 to 1
    and a wire form without the field are refused."""
    for notion in (Lip(NAT, PRIOR), Lip(NAT, PRIOR, 1), Lip(NAT, PRIOR, RADIUS_UNITS)):
        wire = codec.decode(codec.encode(notion.encode()), limit=2**10)
        assert notions.decode(wire) == notion
        assert wire == ["lip", NAT, list(PRIOR), notion.radius]
    for radius in (-1, RADIUS_UNITS + 1):
        with pytest.raises(NotionError, match="radius"):
            Lip(NAT, PRIOR, radius)
    with pytest.raises(NotionError):
        notions.decode(["lip", NAT, list(PRIOR)])


def test_a_ball_is_refused_if_the_channel_is_too_large() -> None:
    """Bits of 65 classes are certified for LIP; with a declared ball they are refused, because its level cannot be
    computed."""
    channel = Bits.over([(1 << 31, (1 << 30) + x) for x in range(65)])
    assert certify(channel, Lip(MOST, (1,) * 65)).ball_level is None
    with pytest.raises(Uncertified, match="ball"):
        certify(channel, Lip(MOST, (1,) * 65, 1))


@pytest.mark.parametrize("name", CHANNELS)
def test_ldp_at_the_level_implies_every_ball(name: str) -> None:
    """A channel that is certified for LDP at a level is certified for LIP at this level with every radius."""
    channel = CHANNELS[name]
    level = max(certify(channel, Ldp(MOST)).audited_level, exact.MIN_LEVEL)
    for radius in (0, 1, 10**8, 10**9):
        found = certify(channel, Lip(level, PRIOR, radius))
        assert found.audited_level <= level
        assert found.ball_level is None or found.ball_level <= level


@pytest.mark.parametrize("radius", [0, 5 * 10**7])
def test_a_channel_too_large_to_audit_is_certified_by_ldp(radius: int) -> None:
    """An audit of all outputs for 3,000 values takes too many steps. A channel that satisfies LDP at the level is
    certified with this level for every prior. At a level one nanonat lower only the full audit could decide, so the
    channel is refused."""
    channel = Hadamard((ONE * 731) // 1000, 3000)
    prior = tuple(1 + x % 7 for x in range(3000))
    plain = certify(channel, Ldp(MOST))
    assert Lip.audit_steps(Lip(NAT, prior), channel) > MAX_STEPS
    found = certify(channel, Lip(plain.audited_level, prior, radius))
    assert (found.audited_level, found.ldp_level, found.cost) == (plain.audited_level,) * 3
    assert found.ball_level == (plain.audited_level if radius else None)
    with pytest.raises(Uncertified, match="steps"):
        certify(channel, Lip(plain.audited_level - 1, prior, radius))
