"""Recipes for the best support schemes: projective geometry response, subset selection and triples.

One idea: from input x every output of a set S_x is e^eps times likelier than any other, and for every other input x'
the set S_x is equally likely. Then two probabilities say all about the error,

    p* = P(Y in S_x | x),   q* = P(Y in S_x | x'),
    n MSE = sum over x of th (1 - th) / (p* - q*)^2,   th = q* + p[x] (p* - q*)                        (MATH 4.1)

so a recipe computes it for every size there is and takes the least. Where other values hide among the sensitive ones,
how often they do is a part of the error. These comparisons are in floats and decide nothing about privacy: the integers
are then made of the rational lower bound of e^eps, rounding the weight of the outputs that tell less up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate

from protocol import exact
from protocol.channels.projective import MAX_DIMENSION, MAX_ORDER, MAX_POINTS, ProjectiveGeometry, is_prime
from protocol.channels.subset import SubsetSelection
from protocol.channels.support import ONE
from protocol.channels.triples import Triples, ring_of
from protocol.errors import ChannelError
from protocol.exact import EXP_BITS, exp_lower

D = 1 << EXP_BITS

AS_GOOD = 1.001
"""Errors within a thousandth are as good as each other: the fewer bits win."""

USUAL_PARTS = (0.1, 0.5)
"""Where nobody says which part of the people hold a sensitive value: an even part of them, a tenth or half."""


def support_error(size: int, inside: float, outside: float) -> float:
    """Expected squared error of one report, summed over ``size`` values, at uniform shares          (MATH 4.1).

    Args:
        inside, outside: p* and q*.
    """
    gap = inside - outside
    th = outside + gap / size
    return size * th * (1 - th) / gap**2


def projective_error(size: int, order: int, dimension: int, level: int) -> float:
    """The ``support_error`` of projective geometry response.

        p* = E cs / Z,   q* = (E ci + cs - ci) / Z,   Z = E cs + K - cs                                  (MATH 4.1)

    Args:
        size: k.
        order, dimension: q and t; other than primes are fine here.
        level: nanonats.
    """
    E = math.exp(exact.nats(level))
    shared, support, points = _sizes(order, dimension)
    Z = E * support + points - support
    return support_error(size, E * support / Z, (E * shared + support - shared) / Z)


def subset_error(size: int, ones: int, level: int) -> float:
    """The ``support_error`` of subset selection; with ``ones`` = 1, of randomised response.

        p* = d E / (d E + k - d),   q* = p* (d - 1) / (k - 1) + (1 - p*) d / (k - 1)                     (MATH 4.1)

    Args:
        size: k, of any size here.
        ones: d, 1 .. k - 1.
        level: nanonats.
    """
    E = math.exp(exact.nats(level))
    inside = ones * E / (ones * E + size - ones)
    return support_error(size, inside, (ones - inside) / (size - 1))


def triples_error(size: int, level: int) -> float:
    """The ``support_error`` of triples.

        p* = E cs / Z,   q* = (E + cs - 1) / Z,   Z = E cs + K - cs                              (MATH 4.1, ci = 1)

    Args:
        size: k.
        level: nanonats.
    """
    E = math.exp(exact.nats(level))
    support, others = _triples_with(size)
    Z = E * support + others
    return support_error(size, E * support / Z, (E + support - 1) / Z)


def projective(size: int, level: int, max_bits: int | None = None) -> ProjectiveGeometry:
    """Projective geometry response over the field and dimension of the least error.

    Source: Feldman, Nelson, Nguyen, Talwar 2022, section 3, with the field chosen by its exact error instead of the
    prime nearest e^eps + 1.

    Args:
        size: k.
        level: nanonats.
        max_bits: the most that an output may take; ceil(log2 (k + 1)) is always enough.
    Raises:
        ChannelError: no field has so few points.
    """
    offers = [
        (projective_error(size, order, dimension, level), bits, order, dimension)
        for order, dimension, bits in _geometries(size)
        if max_bits is None or bits <= max_bits
    ]
    if not offers:
        raise ChannelError(f"no projective space of at most 2^{max_bits} points holds {size} values")
    return _geometry(size, level, offers)


def projective_high_low_error(size: int, sensitive: int, part: float, order: int, dimension: int, level: int) -> float:
    """Expected squared error of one report by projective geometry response for the sensitive values of a high-low
    channel, summed over all values, shares being even among the sensitive ones and among the others  (MATH 5.2).

        a report counts al 1[Y in S_x] + be 1[Y in K] + ga for a sensitive x,
        al = 1 / (p* - q*),   be = -al (q* - qB) / (1 - tau),   ga = -al q* - be,
        tau = K c,   qB = cs c,   c = 1 / (E cs + K - cs)

    Args:
        size: k.
        sensitive: s, below k.
        part: of the people who hold a sensitive value.
        order, dimension: q and t; other than primes are fine here.
        level: nanonats.
    """
    E = math.exp(exact.nats(level))
    shared, support, points = _sizes(order, dimension)
    c = 1 / (E * support + points - support)
    own, other, hidden, tau = E * support * c, (E * shared + support - shared) * c, support * c, points * c
    al = 1 / (own - other)
    be = -al * (other - hidden) / (1 - tau)
    ga = -al * other - be
    p, open_share = part / sensitive, (1 - part) / (size - sensitive)
    inside = part + (1 - part) * tau
    hit = p * own + (part - p) * other + (1 - part) * hidden
    of_sensitive = hit * (al + be + ga) ** 2 + (inside - hit) * (be + ga) ** 2 + (1 - inside) * ga**2 - p**2
    of_open = open_share / (1 - tau) - open_share**2
    return sensitive * of_sensitive + (size - sensitive) * of_open


def projective_for_high_low(size: int, sensitive: int, level: int, part: float | None = None) -> ProjectiveGeometry:
    """Projective geometry response of the sensitive values whose order is the best for a high-low channel of all.

    A large order tells more of a sensitive value and hides the others more often, so the best one depends on the part
    of the people who hold a sensitive value. Where that is not said, it is the order that at worst loses least, in
    times the error of the best one, if that part is even, s / k, or one of ``USUAL_PARTS``.

    Args:
        size: k, of all values.
        sensitive: s, 2 .. k - 1.
        level: nanonats.
        part: of the people who hold a sensitive value, above 0 and below 1; None where it is not known.
    """
    geometries = list(_geometries(sensitive))
    losses = [0.0] * len(geometries)
    for assumed in (sensitive / size, *USUAL_PARTS) if part is None else (part,):
        errors = [projective_high_low_error(size, sensitive, assumed, q, t, level) for q, t, _ in geometries]
        losses = [max(loss, error / min(errors)) for loss, error in zip(losses, errors, strict=True)]
    return _geometry(
        sensitive, level, [(loss, bits, q, t) for loss, (q, t, bits) in zip(losses, geometries, strict=True)]
    )


def _geometry(size: int, level: int, offers: list[tuple[float, int, int, int]]) -> ProjectiveGeometry:
    """The channel of the least of (error, bits, q, t)."""
    enough = AS_GOOD * min(error for error, _, _, _ in offers)
    _, _, order, dimension = min((bits, error, q, t) for error, bits, q, t in offers if error <= enough)
    _, support, points = _sizes(order, dimension)
    return ProjectiveGeometry(size, order, dimension, _outside(ONE, support, points - support, level))


def _sizes(order: int, dimension: int) -> tuple[int, int, int]:
    """ci, cs and K: the points that two planes share, of a plane, and all."""
    shared, support, points = list(accumulate((order**f for f in range(dimension)), initial=0))[-3:]
    return shared, support, points


def subset_selection(size: int, level: int) -> SubsetSelection:
    """Subset selection with the d of the least error, from 2.

    Source: Ye, Barg 2018, section IV: d near k / (e^eps + 1).

    Args:
        size: k, 3 .. 62.
        level: nanonats.
    Raises:
        ChannelError: another size.
    """
    if size < 3:
        raise ChannelError("subset selection has at least 3 inputs: for two, randomised response is the best there is")
    ones = min(range(2, size), key=lambda d: subset_error(size, d, level))
    having, lacking = math.comb(size - 1, ones - 1), math.comb(size - 1, ones)
    if lacking == 1:  # no other outside set could take a remainder
        return SubsetSelection(size, ones, _outside(ONE, having, lacking, level))
    return SubsetSelection(size, ones, _ceil(D * ONE, exp_lower(level) * having + D * lacking))


def triples(size: int, level: int) -> Triples:
    """Subset selection with d = 3 on a Steiner triple system, in little more than 2 log2 k - 2 bits.

    Its error is next to the least of any where k is two to five times e^eps: between randomised response, where S_x is
    a single output, and the planes of projective geometry response.

    Source: Ye, Barg 2018, section IV; Bose 1939.

    Args:
        size: k, 2 .. 4095.
        level: nanonats.
    Raises:
        ChannelError: another size.
    """
    support, others = _triples_with(size)
    return Triples(size, _ceil(D * ONE, exp_lower(level) * support + D * others))


def _triples_with(size: int) -> tuple[int, int]:
    """cs and K - cs: how many triples of ``size`` points, and up to five more, hold one of them, and do not."""
    ring = ring_of(size)
    support = (3 * ring - 1) // 2
    return support, (ring - 1) * support


def _geometries(size: int) -> Iterator[tuple[int, int, int]]:
    """(q, t, output bits) of every projective space that holds ``size`` points; of the lines, t = 2, the least one.

    On a line S_x is a single point, as in randomised response, so more points are only worse.
    """
    line = next((order for order in range(max(size - 1, 2), MAX_ORDER) if is_prime(order)), None)
    if line is not None:
        yield line, 2, line.bit_length()
    for order in filter(is_prime, range(2, math.isqrt(MAX_POINTS))):  # a plane has more than q^2 points
        for dimension in range(3, MAX_DIMENSION + 1):
            points = (order**dimension - 1) // (order - 1)
            if points > MAX_POINTS:
                break
            if points >= size:
                yield order, dimension, (points - 1).bit_length()


def _outside(one: int, having: int, lacking: int, level: int) -> int:
    """The least outside weight that keeps the level and makes a row sum to ``one``, where lacking = 1 modulo having."""
    ideal = _ceil(D * one, exp_lower(level) * having + D * lacking)
    return ideal + (one - ideal) % having


def _ceil(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
