"""Integer arithmetic of recipes: the scale of e^eps, and division that rounds up.

Every recipe solves its inequality with the rational lower bound N / D of e^eps, N = ``protocol.exact.exp_lower``, and
rounds up the probability that reveals less. The level then holds by construction; the certificate checks it.
"""

from protocol.exact import EXP_BITS

D = 1 << EXP_BITS
"""The denominator of the lower bound of e^eps."""


def ceil(numerator: int, denominator: int) -> int:
    """Return numerator / denominator, rounded up."""
    return -(-numerator // denominator)
