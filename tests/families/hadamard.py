"""Hadamard channels (SPEC 5.3) for tests: channels, refused forms, and a second decoder written from SPEC alone."""

from __future__ import annotations

from benchmarks import joining
from protocol import exact
from protocol.channels import Hadamard
from protocol.notions import Geo, Ldp, Lip
from tests.families.shapes import EXP_ONE, MOST, NAT, ONE, DecodedChannel, Shapes, big


def truth_of(level: int) -> int:
    """Return the Hadamard truth weight at ``level``: floor(2^64 e^level / (1 + e^level)), with a lower bound of
    e^level."""
    odds = exact.exp_lower(level)
    return (odds << 64) // (odds + EXP_ONE)


def _rands(channel: Hadamard, x: int) -> list[bytes]:
    """Return byte strings for draws of ``x``: the first number is 0, the maximum, the threshold and the number before
    it, each with three values of the uniform part."""
    width = channel.rand_bytes - 8
    tails = [bytes(width), bytes([0xA5] * width), bytes([0xFF] * width)]
    return [head.to_bytes(8, "big") + tail for head in (0, channel.truth - 1, channel.truth, ONE - 1) for tail in tails]


def second_decoder(k: int, truth: int) -> DecodedChannel:
    m = 1
    while m <= k:
        m *= 2
    log = m.bit_length() - 1

    def agree(x: int, y: int) -> bool:
        return bin(x + 1 & y).count("1") % 2 == 0

    def sample(x: int, rand: bytes) -> int:
        y = big(rand[8:]) % m
        return y if agree(x, y) is (big(rand[:8]) < truth) else y ^ (x + 1 & -(x + 1))

    return DecodedChannel(
        k, m, 63 + log, 8 + -(-log // 8), lambda x, y: truth if agree(x, y) else 2**64 - truth, sample
    )


PLAIN = Hadamard(truth_of(NAT), 5)
POWER_OF_TWO = Hadamard(truth_of(2 * NAT), 4)
_TRUTH = ONE // 4 * 3

SHAPES = Shapes(
    small={
        "Hadamard, plain": PLAIN,
        "Hadamard, k a power of two": POWER_OF_TWO,
    },
    large={"Hadamard, k = 43,750": (Hadamard(truth_of(NAT), 43_750), [(0, 0), (43_749, 65_535), (43_749, 1)])},
    refused={
        "Hadamard with truth weight one half": ["hadamard", 4, ONE // 2],
        "Hadamard with truth weight 0": ["hadamard", 4, 0],
        "Hadamard of one input": ["hadamard", 1, _TRUTH],
        "Hadamard of too many inputs": ["hadamard", 2**20 + 1, _TRUTH],
        "Hadamard with a field too many": ["hadamard", 4, _TRUTH, 0],
    },
    more={f"Hadamard, k = {k}": Hadamard(truth_of(NAT), k) for k in (2, 3, 7, 8)},
    drawn={"Hadamard": Hadamard(truth_of(NAT), 1000)},
    costly={
        "hadamard ldp": (Ldp(MOST), Hadamard(2**63 + 2**62, 200)),
        "hadamard geo": (Geo.between(MOST, 1, [0], range(200)), Hadamard(2**63 + 2**62, 200)),
        "hadamard pairwise": (joining._matrix(24), Hadamard(2**63 + 2**62, 24)),
        "hadamard lip": (Lip(MOST, (1,) * 63), Hadamard(2**63 + 2**62, 63)),
        "hadamard ball": (Lip(MOST, (1,) * 63, 10**8), Hadamard(2**63 + 2**62, 63)),
    },
    rands=_rands,
    second_decoder=second_decoder,
)
