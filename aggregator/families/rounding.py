"""Integer arithmetic of recipes: the scale of e^eps, and division that rounds up.

A recipe in closed form solves its inequality with the rational lower bound N / D of e^eps, N =
``protocol.exact.exp_lower``, and rounds each probability in the direction that reveals less. So the channel satisfies
the level by construction. A recipe that optimises in floats does so at a slightly lower level. The certificate checks
the level of every channel.
"""

from protocol.exact import EXP_BITS

D = 1 << EXP_BITS
"""The denominator of the lower bound of e^eps."""

LEVEL_RESERVE = 1e-9
"""The part of a level that is reserved for rounding of probabilities computed in floating point."""


def ceil(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
