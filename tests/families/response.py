"""Responses (SPEC 5.2) for tests: channels, refused wire forms, and a second decoder written from SPEC alone."""

from __future__ import annotations

from benchmarks import joining
from protocol import exact
from protocol.channels import RandomizedResponse
from protocol.channels.response.channel import RESPONSE_SCALE
from protocol.notions import Lip
from tests.families.shapes import EXP_ONE, MOST, NAT, ONE, DecodedChannel, Shapes, at_edges, big, first_above


def cover_of(level: int, size: int) -> int:
    """Return the cover weight of k-ary randomised response at ``level``: ceil(2^64 / (e^level + k - 1))."""
    odds = exact.exp_lower(level)
    return -(-(EXP_ONE << RESPONSE_SCALE) // (odds + (size - 1) * EXP_ONE))


def second_decoder(k: int, cover: list[int]) -> DecodedChannel:
    c = cover * k if len(cover) == 1 else cover
    rest = 2**64 - sum(c)
    return DecodedChannel(
        k, k, 64, 8,
        lambda x, y: c[y] + (rest if x == y else 0),
        lambda x, rand: x if big(rand) >= sum(c) else first_above(big(rand), c),
    )  # fmt: skip


RESPONSE = RandomizedResponse(4, (cover_of(NAT, 4),))
UNEQUAL = RandomizedResponse(3, (ONE // 8, ONE // 16, ONE // 32 + 1))

SHAPES = Shapes(
    small={
        "response of equal weights": RESPONSE,
        "response of unequal weights": UNEQUAL,
        "response that always gives the true input": RandomizedResponse(2, (0,)),
        "response whose output is independent of the input": RandomizedResponse(2, (ONE // 2,)),
    },
    large={
        "response, k = 43,750": (
            RandomizedResponse(43_750, (cover_of(8 * NAT, 43_750),)),
            [(0, 0), (0, 1), (43_749, 43_749)],
        ),
    },
    refused={
        "response of one input": ["response", 1, [1]],
        "response of too many inputs": ["response", 2**20 + 1, [1]],
        "response with two weights for three inputs": ["response", 3, [1, 2]],
        "response with equal weights written out": ["response", 3, [7, 7, 7]],
        "response with equal covers that sum to more than one": ["response", 2, [2**63 + 1]],
        "response with unequal covers that sum to more than one": ["response", 2, [2**63, 2**63 + 1]],
        "response with no weight": ["response", 2, []],
        "response with a negative weight": ["response", 2, [-1]],
    },
    more={
        "response, one weight of zero": RandomizedResponse(3, (0, ONE // 4, ONE // 2)),
        "response, unequal covers that sum to one": RandomizedResponse(3, (ONE // 4, ONE // 4, ONE // 2)),
        **{f"response, k = {k}": RandomizedResponse(k, (cover_of(NAT, k),)) for k in (2, 3, 7, 8)},
    },
    drawn={"response": RandomizedResponse(1000, (cover_of(6 * NAT, 1000),))},
    costly={
        "response lip": (Lip(MOST, joining._prior(200)), joining._response(200)),
        "response ball": (Lip(MOST, joining._prior(200), 10**8), joining._response(200)),
    },
    rands=at_edges(lambda channel, _: [channel.cover_of(y) for y in range(channel.output_count)]),
    second_decoder=second_decoder,
)
