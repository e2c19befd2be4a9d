"""Estimates at several resolutions from surveys of different people, one survey for each resolution.

Each view asks its own part of the people for a district of one size. Where each district of a resolution lies in one
district of the next coarser one, the resolutions form a tree, and the best linear estimate of every district takes two
passes through it (Hay, Rastogi, Miklau, Suciu 2010, sec. 4; here with variances that differ):

    up      z = w raw + (1 - w) sum of the children's z,     w = V_c / (V + V_c)
    down    est = z + v (est of the parent - sum of z in the parent) / V_c

V is the variance of the district's own survey, V_c that of the sum of its children, v that of z. Everybody lives
somewhere, so the parent of the coarsest districts has share 1. The variances that weigh are those under a reference
law. Variances estimated from the same reports would draw large shares down.

The estimates are linear in the reports, so their errors follow from those of the surveys. The consistent shares are
projected inside each parent, from the coarsest resolution to the finest.

Which views form the tree, and what an estimate says besides: resolutions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from aggregator.families.decoder import Decoder, Floats, Integers

CENTRED = 1e-9
"""A survey whose estimates sum to one with a variance below this part of all variances has estimates that do."""

ROUNDS = 60
"""How often ``independent`` repeats its step, which leaves an error of a part in 10^9 or less."""


class NotNested(ValueError):
    """A district of a finer resolution lies in several districts of a coarser one."""


@dataclass(frozen=True)
class Tree:
    """The districts of several resolutions, the coarsest first.

    Attributes:
        parents: of each resolution, (k_j,) the district of the next coarser one that each district lies in; all 0 for
            the coarsest.
        inputs: of each resolution, (k_j,) the number of answers in each district.
    """

    parents: tuple[Integers, ...]
    inputs: tuple[Integers, ...]

    @classmethod
    def of(cls, districts: Sequence[Integers]) -> Tree:
        """Return the tree of some resolutions.

        Args:
            districts: of each resolution, the coarsest first, (k,) the district of each answer; no number is unused.
        Raises:
            NotNested
        """
        parents = [np.zeros(int(districts[0].max()) + 1, dtype=np.int64)]
        for coarse, fine in pairwise(districts):
            parents.append(parent_of(coarse, fine))
        return cls(tuple(parents), tuple(np.bincount(each).astype(np.int64) for each in districts))

    @property
    def sizes(self) -> list[int]:
        """The number of districts of each resolution."""
        return [len(each) for each in self.parents]

    def sums(self, level: int, numbers: Floats) -> Floats:
        """(k_level,) numbers of districts -> their sums in the districts of the next coarser resolution."""
        parents = self.sizes[level - 1] if level else 1
        return np.bincount(self.parents[level], numbers, parents).astype(np.float64)


def parent_of(coarse: Integers, fine: Integers) -> Integers:
    """Return the coarse district that each fine district lies in.

    Args:
        coarse, fine: (k,) the district of each answer.
    Raises:
        NotNested
    """
    parent = np.zeros(int(fine.max()) + 1, dtype=np.int64)
    parent[fine] = coarse
    if not np.array_equal(parent[fine], coarse):
        raise NotNested("a district of a finer resolution lies in several districts of a coarser one")
    return parent


@dataclass(frozen=True)
class Survey:
    """What one view says of its own districts.

    Attributes:
        raw: (k_j,) unbiased shares.
        weighing: (k_j,) their variances under the reference law, by which they are weighed.
        variances: (k_j,) their variances as the reports show them, for the errors.
    """

    raw: Floats
    weighing: Floats
    variances: Floats


@dataclass(frozen=True)
class Combined:
    """The linear estimate of one resolution from the surveys of all.

    Attributes:
        raw: (k_j,) unbiased shares, which sum to those of the parents.
        variances: (k_j,) of ``raw``, as the reports show them.
        weighing: (k_j,) the variance under the reference law of what the district's own subtree says.
    """

    raw: Floats
    variances: Floats
    weighing: Floats

    @cached_property
    def se(self) -> Floats:
        """(k_j,) standard errors."""
        return np.sqrt(self.variances)


def independent(decoder: Decoder, law: Floats, variances: Floats) -> Floats:
    """Return variances of independent numbers that have these variances once their sum is known.

    The estimates of one survey usually sum to one, so their errors are related: of k districts that are alike, each two
    have the correlation -1 / (k - 1). Numbers with variances v that are independent, given their sum, have the
    variances v - v^2 / sum(v), and relate in the same way. The tree knows the sum, so it can take them for independent.

    Args:
        decoder: of the survey's channel.
        law: (m,) mean features at which ``variances`` were taken.
        variances: (k,) of the survey's estimates.
    Returns:
        (k,) v; ``variances`` where the survey's estimates do not sum to one.
    """
    total = variances.sum()
    if len(variances) == 1 or decoder.variance(np.ones(decoder.inputs), law) > CENTRED * decoder.variances(law).sum():
        return variances
    v = variances
    for _ in range(ROUNDS if total > 0 else 0):
        v = variances / np.maximum(1 - v / v.sum(), 0.5)
    return v


def combine(tree: Tree, surveys: Sequence[Survey | None]) -> list[Combined]:
    """Return the best linear estimate of every district.

    Time is linear in the number of districts.

    Args:
        surveys: of each resolution; None where nobody was asked. The finest has one.
    """
    finest = len(surveys) - 1
    up: list[Combined] = []
    weights: list[Floats] = []
    for level in range(finest, -1, -1):
        survey = surveys[level]
        if level == finest:
            if survey is None:
                raise ValueError("the finest resolution of a tree has a survey")
            up.append(Combined(survey.raw, survey.variances, survey.weighing))
            weights.append(np.ones_like(survey.raw))
            continue
        below = up[-1]
        raw, variances, weighing = (
            tree.sums(level + 1, numbers) for numbers in (below.raw, below.variances, below.weighing)
        )
        w = np.zeros_like(raw)
        if survey is not None:
            both = weighing + survey.weighing
            w = np.divide(weighing, both, out=np.ones_like(both), where=both > 0)
            raw = w * survey.raw + (1 - w) * raw
            variances = w**2 * survey.variances + (1 - w) ** 2 * variances
            weighing = w * survey.weighing
        up.append(Combined(raw, variances, weighing))
        weights.append(w)
    return _down(tree, surveys, up[::-1], weights[::-1])


def _down(
    tree: Tree, surveys: Sequence[Survey | None], up: Sequence[Combined], weights: Sequence[Floats]
) -> list[Combined]:
    """Spread what the parents know to their children.

    The error of a parent's estimate is kept in two parts that are independent: A of all surveys outside its subtree,
    and b times the error of its own z. Its child's estimate is

        est = (1 + g u) z + g (A + b w raw of the parent + u (sum of the siblings' z)),    u = b (1 - w) - 1

    with g the child's part of V_c, so the same two parts of the child's error follow from the parent's.
    """
    found: list[Combined] = []
    above, outside, own, survey_error = np.ones(1), np.zeros(1), np.zeros(1), np.zeros(1)
    w = np.zeros(1)
    for level, z in enumerate(up):
        parent = tree.parents[level]
        whole, variances, weighing = (tree.sums(level, each) for each in (z.raw, z.variances, z.weighing))
        count = tree.sums(level, np.ones_like(z.raw))
        even = 1 / count[parent]
        g = np.divide(z.weighing, weighing[parent], out=even, where=weighing[parent] > 0)
        raw = z.raw + g * (above - whole)[parent]
        u = own * (1 - w) - 1
        a = outside + (own * w) ** 2 * survey_error
        siblings = np.maximum(variances[parent] - z.variances, 0)
        outside = g**2 * (a[parent] + u[parent] ** 2 * siblings)
        own = 1 + g * u[parent]
        found.append(Combined(raw, outside + own**2 * z.variances, z.weighing))
        survey = surveys[level]
        above, w = raw, weights[level]
        survey_error = np.zeros_like(raw) if survey is None else survey.variances
    return found


def consistent(tree: Tree, combined: Sequence[Combined]) -> list[Floats]:
    """Return shares that are not negative and add up, from the coarsest resolution to the finest.

    Inside each parent the children's shares are those nearest to their estimates among all that sum to the share of
    the parent: max(est - c v, 0), distances weighed by the variance under the reference law.

    Returns:
        of each resolution, (k_j,) shares that sum to one.
    """
    shares: list[Floats] = []
    above = np.ones(1)
    for level, each in enumerate(combined):
        above = project_inside(each.raw, each.weighing, tree.parents[level], above)
        shares.append(above)
    return shares


def project_inside(raw: Floats, variances: Floats, parent: Integers, share: Floats) -> Floats:
    """Return the numbers nearest to ``raw`` that are not negative and have the sum ``share`` inside each parent.

    Args:
        raw: (k,)
        variances: (k,) squared distances are divided by them; all zero: not.
        parent: (k,) of each number; every parent has a number.
        share: (parents,) not negative.

    Source: Euclidean projection onto the simplex, Duchi et al. 2008, fig. 1, for all parents at once.
    """
    v = np.maximum(variances, 1e-9 * variances.max()) if variances.max() > 0 else np.ones_like(variances)
    height = raw / v
    order = np.lexsort((-height, parent))
    of, first = parent[order], np.searchsorted(parent[order], np.arange(len(share)))
    sums, widths = (_running(numbers[order], first, of) for numbers in (raw, v))
    c = (sums - share[of]) / widths
    kept = height[order] > c
    kept[first] = True  # unless by rounding, or where the share is 0
    last = np.maximum.reduceat(np.where(kept, np.arange(len(raw)), 0), first)
    inside: Floats = np.maximum(raw - c[last][parent] * v, 0)
    return inside


def _running(numbers: Floats, first: Integers, of: Integers) -> Floats:
    """(k,) running sums that begin anew at each of ``first``."""
    running = np.cumsum(numbers)
    before = running[first] - numbers[first]
    begun: Floats = running - before[of]
    return begun
