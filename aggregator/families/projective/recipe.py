"""The recipe of projective response, which finds the field and the dimension with the least error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import accumulate, takewhile

from aggregator.families.blocks.recipe import for_ldp_block_and_high_low, high_low
from aggregator.families.mechanism import TRANSFORM, Mechanism, PlannedQuestion, Recipe
from aggregator.families.support import outside_weight, support_error
from protocol import exact
from protocol.channels import Channel
from protocol.channels.projective.channel import ProjectiveResponse
from protocol.channels.projective.field import orders
from protocol.channels.projective.geometry import MAX_DIMENSION, MAX_POINTS
from protocol.notions import HighLow

NO_WORSE = 1.001
"""The ratio up to which two errors are treated as equal; the channel with fewer bits is then used."""

USUAL_SHARES = (0.1, 0.5)
"""Shares of people with a sensitive value that are tried, beside s / k, if the draft does not give the share."""


def projective_error(size: int, order: int, dimension: int, level: int) -> float:
    """Return the expected squared error of one report of projective response, summed over the values, at uniform
    shares.

        p* = E cs / Z,   q* = (E ci + cs - ci) / Z,   Z = E cs + K - cs,   E = e^level                   (MATH 4.1)

    Args:
        size: k, the number of values.
        order, dimension: q and t of the geometry; ``sizes`` returns its ci, cs and K.
        level: the LDP level in nanonats.
    """
    E = math.exp(exact.nats(level))
    shared, support, points = sizes(order, dimension)
    Z = E * support + points - support
    return support_error(size, E * support / Z, (E * shared + support - shared) / Z)


def projective(size: int, level: int) -> ProjectiveResponse:
    """Return projective response over the field and the dimension with the least error.

    Source: Feldman, Nelson, Nguyen, Talwar 2022, section 3, with the field chosen by its exact error instead of the
    prime nearest e^eps + 1.

    Args:
        size: k, the number of values.
        level: the LDP level in nanonats.
    """
    offers = [
        (projective_error(size, order, dimension, level), bits, order, dimension)
        for order, dimension, bits in geometries(size)
    ]
    return _geometry(size, level, offers)


def projective_high_low_error(
    size: int, sensitive: int, sensitive_share: float, order: int, dimension: int, level: int
) -> float:
    """Return the expected squared error of one report of a high-low channel, summed over all values.

    The sensitive values use projective response. Shares are uniform within each set of values (MATH 5.2).

        one report adds al 1[Y in S_x] + be 1[Y is one of the K points] + ga to a sensitive x,
        al = 1 / (p* - q*),   be = -al (q* - qB) / (1 - tau),   ga = -al q* - be,
        tau = K c,   qB = cs c,   c = 1 / (E cs + K - cs),   E = e^level

    Args:
        size: k, the number of all values.
        sensitive: s, the number of sensitive values, below k.
        sensitive_share: the share of people with a sensitive value.
        order, dimension: q and t of the geometry; ``sizes`` returns its ci, cs and K.
        level: the level in nanonats.
    """
    E = math.exp(exact.nats(level))
    shared, support, points = sizes(order, dimension)
    c = 1 / (E * support + points - support)
    truth, other, hidden, tau = E * support * c, (E * shared + support - shared) * c, support * c, points * c
    al = 1 / (truth - other)
    be = -al * (other - hidden) / (1 - tau)
    ga = -al * other - be
    p, open_share = sensitive_share / sensitive, (1 - sensitive_share) / (size - sensitive)
    inside = sensitive_share + (1 - sensitive_share) * tau
    hit = p * truth + (sensitive_share - p) * other + (1 - sensitive_share) * hidden
    of_sensitive = hit * (al + be + ga) ** 2 + (inside - hit) * (be + ga) ** 2 + (1 - inside) * ga**2 - p**2
    of_open = open_share / (1 - tau) - open_share**2
    return sensitive * of_sensitive + (size - sensitive) * of_open


def projective_for_high_low(
    size: int, sensitive: int, level: int, sensitive_share: float | None = None
) -> ProjectiveResponse:
    """Return projective response for the sensitive values, with the best field order for the whole high-low channel.

    With a larger order, a report reveals more about a sensitive value, but other values give sensitive outputs more
    often. So the best order depends on the share of people with a sensitive value. If this share is not given, the
    order minimises the largest ratio of its error to the best error, over the shares s / k and ``USUAL_SHARES``.

    Args:
        size: k, the number of all values.
        sensitive: s, the number of sensitive values, 2 .. k - 1.
        level: the level in nanonats.
        sensitive_share: the share of people with a sensitive value, above 0 and below 1; None if it is unknown.
    """
    shapes = list(geometries(sensitive))
    losses = [0.0] * len(shapes)
    for assumed in (sensitive / size, *USUAL_SHARES) if sensitive_share is None else (sensitive_share,):
        errors = [projective_high_low_error(size, sensitive, assumed, q, t, level) for q, t, _ in shapes]
        losses = [max(loss, error / min(errors)) for loss, error in zip(losses, errors, strict=True)]
    return _geometry(sensitive, level, [(loss, bits, q, t) for loss, (q, t, bits) in zip(losses, shapes, strict=True)])


def _geometry(size: int, level: int, offers: list[tuple[float, int, int, int]]) -> ProjectiveResponse:
    """Return the channel with the fewest bits among the ``offers`` (error, bits, q, t) whose error is at most
    ``NO_WORSE`` times the least."""
    enough = NO_WORSE * min(error for error, _, _, _ in offers)
    _, _, order, dimension = min((bits, error, q, t) for error, bits, q, t in offers if error <= enough)
    _, support, points = sizes(order, dimension)
    return ProjectiveResponse(size, order, dimension, outside_weight(support, points - support, level))


def sizes(order: int, dimension: int) -> tuple[int, int, int]:
    """Return ci, cs and K: the numbers of points that two hyperplanes share, of a hyperplane, and of the space."""
    shared, support, points = list(accumulate((order**f for f in range(dimension)), initial=0))[-3:]
    return shared, support, points


@cache
def _orders_of_planes() -> tuple[int, ...]:
    """Return the field orders q for which a space of dimension t >= 3, with more than q^2 points, can be a channel."""
    return tuple(takewhile(lambda order: order**2 < MAX_POINTS, orders()))


def geometries(size: int) -> Iterator[tuple[int, int, int]]:
    """Yield (q, t, output bits) for every projective space with at least ``size`` points; for t = 2, a line, only for
    the smallest.

    On a line S_x is a single point, as in randomised response, so additional points only increase the error.
    """
    line = next(orders(max(size - 1, 2)), None)
    if line is not None:
        yield line, 2, line.bit_length()
    for order in _orders_of_planes():
        for dimension in range(3, MAX_DIMENSION + 1):
            points = (order**dimension - 1) // (order - 1)
            if points > MAX_POINTS:
                break
            if points >= size:
                yield order, dimension, (points - 1).bit_length()


def _recipe(question: PlannedQuestion) -> Recipe | str:
    """Return the recipe for the notion of ``question``, or the reason why there is no recipe for this notion."""
    notion = question.notion
    if not isinstance(notion, HighLow):
        return for_ldp_block_and_high_low(projective)(question)

    def inner(sensitive: int, level: int) -> Channel:
        return projective_for_high_low(notion.size, sensitive, level, question.sensitive_share)

    return lambda: high_low(notion.size, notion.sensitive, notion.level, inner)


MECHANISMS = (
    Mechanism(
        "projective", "a point of a projective space, about log2 k bits", "Feldman et al. 2022", TRANSFORM, _recipe
    ),
)
