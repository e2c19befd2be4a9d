"""Recipes of mechanisms that send a set of values: subset selection, and triples, whose reports have fewer bits."""

from __future__ import annotations

import math

from aggregator.families.mechanism import BITS, TRIPLES, Mechanism, for_ldp
from aggregator.families.rounding import D, ceil
from aggregator.families.support import outside_weight, support_error
from protocol import exact
from protocol.channels.sets.subset import SubsetSelection
from protocol.channels.sets.triples import MAX_TRIPLES_INPUTS, Triples, ring_size_for
from protocol.channels.support import ONE
from protocol.errors import ChannelError
from protocol.exact import exp_lower


def subset_error(size: int, ones: int, level: int) -> float:
    """Return the expected squared error of one report of subset selection, summed over the values, at uniform shares;
    with ``ones`` = 1, that of randomised response.

        p* = d E / (d E + k - d),   q* = p* (d - 1) / (k - 1) + (1 - p*) d / (k - 1),   E = e^level      (MATH 4.1)

    Args:
        size: k, the number of values, at least 2; unlike in ``subset_selection`` there is no maximum.
        ones: d, the number of values in a set, 1 .. k - 1.
        level: the LDP level in nanonats.
    """
    E = math.exp(exact.nats(level))
    inside = ones * E / (ones * E + size - ones)
    return support_error(size, inside, (ones - inside) / (size - 1))


def subset_selection(size: int, level: int) -> SubsetSelection:
    """Return subset selection with the set size d, at least 2, that gives the least error.

    Source: Ye, Barg 2018, section IV: d near k / (e^eps + 1).

    Args:
        size: k, the number of values, 3 .. 62.
        level: the LDP level in nanonats.
    Raises:
        ChannelError: ``size`` is outside this range.
    """
    if size < 3:
        raise ChannelError(
            "subset selection needs at least 3 inputs; for two, use randomised response, which is optimal"
        )
    ones = min(range(2, size), key=lambda d: subset_error(size, d, level))
    support, others = math.comb(size - 1, ones - 1), math.comb(size - 1, ones)
    if others == 1:  # with a single set outside S_x, no set is left for the remainder
        return SubsetSelection(size, ones, outside_weight(support, others, level))
    return SubsetSelection(size, ones, ceil(D * ONE, exp_lower(level) * support + D * others))


def triples(size: int, level: int) -> Triples:
    """Return subset selection with d = 3 on a Steiner triple system, in about 2 log2 k - 2 bits.

    If k is 2 to 5 times e^eps and eps is 2 to 5, the error exceeds that of the best set size by at most a tenth. Below
    about 1.8 e^eps randomised response has a smaller error; above about 5 e^eps, projective response.

    Source: Ye, Barg 2018, section IV; Bose 1939.

    Args:
        size: k, the number of values, 2 .. 4095.
        level: the LDP level in nanonats.
    Raises:
        ChannelError: ``size`` is outside this range.
    """
    support, others = _triples_with(size)
    return Triples(size, ceil(D * ONE, exp_lower(level) * support + D * others))


def _triples_with(size: int) -> tuple[int, int]:
    """Return cs and K - cs, the numbers of triples with and without a given point, in the smallest system with at least
    ``size`` points."""
    ring = ring_size_for(size)
    support = (3 * ring - 1) // 2
    return support, (ring - 1) * support


MECHANISMS = (
    Mechanism(
        "subset",
        "a random subset; subsets with the true value are more likely than the others; k bits",
        "Ye, Barg 2018",
        BITS,
        for_ldp(subset_selection, 62, 4),
    ),
    Mechanism(
        "triples",
        "a triple of values from a public list; triples with the true value are more likely than the others",
        "Ye, Barg 2018, d = 3, on a Steiner triple system (Bose 1939)",
        TRIPLES,
        for_ldp(triples, MAX_TRIPLES_INPUTS, 4),
    ),
)
