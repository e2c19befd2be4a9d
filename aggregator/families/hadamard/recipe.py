"""The recipe of Hadamard response."""

from __future__ import annotations

from aggregator.families.blocks.recipe import for_ldp_block_and_high_low
from aggregator.families.mechanism import TRANSFORM, Mechanism
from aggregator.families.rounding import D
from protocol.channels import Hadamard
from protocol.channels.hadamard.channel import HADAMARD_SCALE
from protocol.exact import exp_lower


def hadamard(size: int, level: int) -> Hadamard:
    """Return Hadamard response, in which a report reveals at most one bit for any k (Acharya, Sun, Zhang 2019).

    Args:
        size: k, the number of values.
        level: the LDP level in nanonats.
    """
    return Hadamard(_truth(level), size)


def _truth(level: int) -> int:
    """Return 2^64 e^eps / (e^eps + 1), rounded down."""
    N = exp_lower(level)
    return (N << HADAMARD_SCALE) // (N + D)


MECHANISMS = (
    Mechanism(
        "hadamard",
        "a column of Hadamard's matrix, whose entry for the true value is more often +1 than -1, about log2 k bits",
        "Acharya, Sun, Zhang 2019; Acharya et al. 2020",
        TRANSFORM,
        for_ldp_block_and_high_low(hadamard),
    ),
)
