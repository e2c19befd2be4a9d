"""Estimates at several resolutions from surveys of different people, one survey for each resolution.

Each view asks different people for a district of one size. If each district of a resolution lies in one district of the
next coarser resolution, the resolutions form a tree. The best linear unbiased estimate of every district then takes two
passes through the tree (Hay, Rastogi, Miklau, Suciu 2010, sec. 4; here variances may differ):

    up      z = w raw + (1 - w) sum of the children's z,     w = V_c / (V + V_c)
    down    est = z + v (est of the parent - sum of z in the parent) / V_c

V is the variance of the district's own survey, V_c the variance of the sum of its children, and v the variance of z.
The parent of the coarsest districts is the whole map, with share 1. The weights use variances under a reference
distribution, because variances estimated from the same reports would bias large shares downwards.

The estimates are linear in the reports, so their errors follow from the errors of the surveys. The consistent shares
are projected inside each parent, from the coarsest resolution to the finest. Inside each parent they are mixed with an
even spread, by the estimated concentration of people (``concentration``).

``resolutions`` chooses the views that form the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from aggregator.estimate.concentration import Children
from aggregator.families.decoder import Decoder, Floats, Integers

ROUNDS = 60
"""The number of iterations of ``independent``, after which the relative error is at most 10^-9."""


class NotNested(ValueError):
    """A district of a finer resolution lies in several districts of a coarser resolution."""


@dataclass(frozen=True)
class Tree:
    """The districts of several resolutions, the coarsest first.

    Attributes:
        parents: for each resolution, (k_j,), the index of each district's parent in the next coarser resolution; all 0
            for the coarsest.
        values: for each resolution, (k_j,), the number of values in each district.
    """

    parents: tuple[Integers, ...]
    values: tuple[Integers, ...]

    @classmethod
    def of(cls, districts: Sequence[Integers]) -> Tree:
        """Return the tree of the given resolutions.

        Args:
            districts: for each resolution, the coarsest first, (k,), the district of each value; every district has a
                value.
        Raises:
            NotNested: a district lies in several districts of a coarser resolution.
        """
        parents = [np.zeros(int(districts[0].max()) + 1, dtype=np.int64)]
        for coarse, fine in pairwise(districts):
            parents.append(parent_of(coarse, fine))
        return cls(tuple(parents), tuple(np.bincount(district) for district in districts))

    @property
    def sizes(self) -> list[int]:
        """The number of districts of each resolution."""
        return [len(parent) for parent in self.parents]

    def sums(self, resolution: int, numbers: Floats) -> Floats:
        """Return for each district of the next coarser resolution the sum of its children's numbers.

        Args:
            resolution: the index of the children's resolution.
            numbers: (k_j,) a number for each child.
        """
        parents = self.sizes[resolution - 1] if resolution else 1
        return np.bincount(self.parents[resolution], numbers, parents).astype(np.float64)

    def even(self, resolution: int, above: Floats) -> Floats:
        """Return the shares of a resolution's districts if people are spread evenly inside each parent."""
        values = self.values[resolution].astype(np.float64)
        return (above / self.sums(resolution, values))[self.parents[resolution]] * values


def parent_of(coarse: Integers, fine: Integers) -> Integers:
    """Return the index of the coarse district that contains each fine district.

    Args:
        coarse, fine: (k,) the district of each value.
    Raises:
        NotNested: a district lies in several districts of a coarser resolution.
    """
    parent = np.zeros(int(fine.max()) + 1, dtype=np.int64)
    parent[fine] = coarse
    if not np.array_equal(parent[fine], coarse):
        raise NotNested(
            "a district of a finer resolution lies in several districts of a coarser one: estimate each view by itself"
        )
    return parent


@dataclass(frozen=True)
class ViewEstimate:
    """The estimate of one view's districts from its own reports.

    Attributes:
        raw: (k_j,) the unbiased shares.
        reference_variances: (k_j,) the variances of ``raw`` under the reference distribution, for the weights.
        variances: (k_j,) the variances of ``raw`` estimated from the reports, for the standard errors.
    """

    raw: Floats
    reference_variances: Floats
    variances: Floats


@dataclass(frozen=True)
class CombinedEstimate:
    """The linear estimate of one resolution from the surveys of all resolutions.

    Attributes:
        raw: (k_j,) the unbiased shares, which sum to the shares of the parents.
        variances: (k_j,) the variances of ``raw``, estimated from the reports.
        reference_variances: (k_j,) the variance under the reference distribution of z, the estimate from the district's
            own subtree.
        excess: the sum of the variances of z estimated from the reports, divided by the sum of ``reference_variances``.
    """

    raw: Floats
    variances: Floats
    reference_variances: Floats
    excess: float

    @cached_property
    def se(self) -> Floats:
        """Standard errors of ``raw``, shape (k_j,)."""
        return np.sqrt(self.variances)


def independent(decoder: Decoder, distribution: Floats, variances: Floats) -> Floats:
    """Return v such that independent numbers with the variances v, conditioned on their sum, have the variances
    ``variances``.

    The estimates of one survey usually sum to one, so their errors are correlated: for k equal districts, each pair has
    the correlation -1 / (k - 1). If the channel has a few more outputs than there are districts, the sum varies a
    little. Independent numbers with the variances v, conditioned so that the variance of their sum is s, have the same
    correlations, and the variances v - c v^2 with c = (sum(v) - s) / sum(v)^2. The sum is known in the tree, so the
    estimates can be treated as independent.

    Args:
        decoder: the decoder of the survey's channel.
        distribution: (m,) the mean features at which ``variances`` were computed.
        variances: (k,) the variances of the survey's estimates.
    Returns:
        (k,) v; ``variances`` itself if the variance of the sum is at least that of independent numbers.
    """
    total, alone = float(variances.sum()), float(decoder.variances(distribution).sum())
    if len(variances) == 1 or total <= 0 or alone <= 0:
        return variances
    of_sum = total * min(decoder.variance(np.ones(decoder.input_count), distribution) / alone, 1.0)
    v = variances
    for _ in range(ROUNDS):
        sum_of_v = float(v.sum())
        v = variances / np.maximum(1 - v * (sum_of_v - of_sum) / sum_of_v**2, 0.5)
    return v


@dataclass(frozen=True)
class TreePasses:
    """The two passes through a tree, which depend on the reference distribution and not on the reports.

    Attributes:
        survey_weights: for each resolution, (k_j,), w, the weight of the district's own survey; 0 without reports.
        part: for each resolution, (k_j,), g, the district's part of its parent's correction; sums to 1 inside a parent.
        reference_variances: for each resolution, (k_j,), the variance of z under the reference distribution.
    """

    tree: Tree
    survey_weights: tuple[Floats, ...]
    part: tuple[Floats, ...]
    reference_variances: tuple[Floats, ...]

    @classmethod
    def of(cls, tree: Tree, estimates: Sequence[ViewEstimate | None]) -> TreePasses:
        """Return the passes for the given estimates, one for each resolution; an estimate is None without reports.

        Raises:
            ValueError: the finest resolution has no reports.
        """
        if estimates[-1] is None:
            raise ValueError("the finest resolution of a tree must have reports, and here it has none")
        reference_variances = [estimates[-1].reference_variances]
        survey_weights = [np.ones_like(reference_variances[0])]
        for resolution in range(len(estimates) - 2, -1, -1):
            below, own_estimate = tree.sums(resolution + 1, reference_variances[0]), estimates[resolution]
            w = np.zeros_like(below)
            if own_estimate is not None:
                both = below + own_estimate.reference_variances
                w = np.divide(below, both, out=np.ones_like(both), where=both > 0)
                below = w * own_estimate.reference_variances
            reference_variances.insert(0, below)
            survey_weights.insert(0, w)
        part = []
        for resolution, variances in enumerate(reference_variances):
            parent = tree.parents[resolution]
            parent_sums, count = (
                tree.sums(resolution, numbers)[parent] for numbers in (variances, np.ones_like(variances))
            )
            part.append(np.divide(variances, parent_sums, out=1 / count, where=parent_sums > 0))
        return cls(tree, tuple(survey_weights), tuple(part), tuple(reference_variances))

    def up(self, estimates: Sequence[ViewEstimate | None]) -> list[tuple[Floats, Floats]]:
        """Return the estimates z of each resolution, and their variances estimated from the reports, both (k_j,)."""
        raw = self._up([None if estimate is None else estimate.raw for estimate in estimates])
        variances = self._up([None if estimate is None else estimate.variances for estimate in estimates], power=2)
        return list(zip(raw, variances, strict=True))

    def _up(self, numbers: Sequence[Floats | None], power: int = 1) -> list[Floats]:
        estimates: list[Floats] = []
        for resolution in range(len(numbers) - 1, -1, -1):
            number, w = numbers[resolution], self.survey_weights[resolution]
            z = (1 - w) ** power * self.tree.sums(resolution + 1, estimates[0]) if estimates else np.zeros_like(w)
            estimates.insert(0, z if number is None else z + w**power * number)
        return estimates

    def estimate(self, resolution: int, numbers: Sequence[Floats | None], total: float) -> Floats:
        """Return the estimate of a resolution, which is linear in the estimates of the surveys.

        Args:
            resolution: the index of the resolution.
            numbers: for each resolution, (k_j,), its survey's estimate or a contribution to it; None without reports.
            total: the sum of all shares, or the contribution's part of that sum.
        """
        above = np.array([total])
        for level, z in enumerate(self._up(numbers)[: resolution + 1]):
            above = z + self.part[level] * (above - self.tree.sums(level, z))[self.tree.parents[level]]
        return above

    def furthest(self, resolution: int, numbers: Sequence[Floats | None]) -> Floats:
        """Return a bound on the absolute value of ``estimate`` with a sum of 0, shape (k_j,).

        Args:
            resolution: the index of the resolution.
            numbers: for each resolution, (k_j,), bounds on the absolute values of the survey's estimates.
        """
        above = np.zeros(1)
        for level, z in enumerate(self._up(numbers)[: resolution + 1]):
            parent = self.tree.parents[level]
            above = z + self.part[level] * ((above + self.tree.sums(level, z))[parent] - 2 * z)
        return above

    def adjoint(self, resolution: int, v: Floats) -> tuple[float, list[Floats]]:
        """Return the coefficients of the surveys in the estimate of v . p.

        Args:
            resolution: the index of the resolution of ``v``.
            v: (k_j,) the weight of each district.
        Returns:
            a constant, and for each survey the coefficients of its estimates, (k_j,), zero without reports; v . est is
            the constant plus the scalar products of coefficients and estimates.
        """
        est, of_z = v, [np.zeros_like(w) for w in self.survey_weights]
        for level in range(resolution, -1, -1):
            above = self.tree.sums(level, self.part[level] * est)
            of_z[level] = est - above[self.tree.parents[level]]
            est = above
        constant = float(est[0])
        for level in range(len(of_z) - 1):
            of_z[level + 1] = (
                of_z[level + 1] + ((1 - self.survey_weights[level]) * of_z[level])[self.tree.parents[level + 1]]
            )
        return constant, [w * coefficients for w, coefficients in zip(self.survey_weights, of_z, strict=True)]


def combine(tree: Tree, estimates: Sequence[ViewEstimate | None]) -> list[CombinedEstimate]:
    """Return the best linear estimate of every district.

    Time is linear in the number of districts. In the pass down, the estimate of a parent is A + b z. The part z comes
    from the raw estimates of the districts in the parent's subtree, and A from those of all other districts. The errors
    of A and z are taken as independent. The estimate of a child is

        est = (1 + g u) z + g (A + b w raw of the parent + u (sum of the siblings' z)),    u = b (1 - w) - 1

    so it has the same form: 1 + g u is the child's b, and the second term is its A.

    Args:
        tree: the districts of all resolutions.
        estimates: the estimate of each resolution from its own reports; None without reports. The finest has reports.
    """
    passes = TreePasses.of(tree, estimates)
    combined: list[CombinedEstimate] = []
    above, outside, b, w, own_error = np.ones(1), np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1)
    for resolution, (z, variances) in enumerate(passes.up(estimates)):
        parent, g = tree.parents[resolution], passes.part[resolution]
        u = b * (1 - w) - 1
        a = outside + (b * w) ** 2 * own_error
        siblings = np.maximum(tree.sums(resolution, variances)[parent] - variances, 0)
        above = z + g * (above - tree.sums(resolution, z))[parent]
        outside = g**2 * (a[parent] + u[parent] ** 2 * siblings)
        b = 1 + g * u[parent]
        reference_variances = passes.reference_variances[resolution]
        excess = float(variances.sum() / reference_variances.sum()) if reference_variances.any() else 1.0
        combined.append(CombinedEstimate(above, outside + b**2 * variances, reference_variances, excess))
        own_estimate, w = estimates[resolution], passes.survey_weights[resolution]
        own_error = np.zeros_like(z) if own_estimate is None else own_estimate.variances
    return combined


def consistent(tree: Tree, combined: Sequence[CombinedEstimate]) -> list[Floats]:
    """Return shares that are not negative and sum to the share of their parent, from the coarsest resolution to the
    finest.

    Inside each parent the children's shares are nearest to their estimates among shares that sum to the parent's share:
    max(est - c v, 0), with squared distances divided by the variances under the reference distribution. Below the
    coarsest resolution the shares are mixed with an even spread, by ``concentration``.

    Returns:
        for each resolution, (k_j,), shares that sum to one.
    """
    shares: list[Floats] = []
    above, weight = np.ones(1), 1.0
    for resolution, estimate in enumerate(combined):
        parent = tree.parents[resolution]
        projected = project_inside(estimate.raw, estimate.reference_variances, parent, above)
        if resolution:
            variances = estimate.reference_variances * estimate.excess
            children = Children(estimate.raw, variances, parent, above, projected, tree.even(resolution, above))
            projected, weight = children.mixed(weight)
        shares.append(projected)
        above = projected
    return shares


def project_inside(raw: Floats, variances: Floats, parent: Integers, share: Floats) -> Floats:
    """Return the numbers nearest to ``raw`` that are not negative and have the sum ``share`` inside each parent.

    Args:
        raw: (k,) the unbiased shares.
        variances: (k,) the numbers by which squared distances are divided, unless all are zero.
        parent: (k,) the parent of each number; every parent has a number.
        share: (parents,) the sum inside each parent, not negative.

    Source: Euclidean projection onto the simplex, Duchi et al. 2008, fig. 1, for all parents at once.
    """
    v = np.maximum(variances, 1e-9 * variances.max()) if variances.max() > 0 else np.ones_like(variances)
    height = raw / v
    order = np.lexsort((-height, parent))
    parents, first = parent[order], np.searchsorted(parent[order], np.arange(len(share)))
    sums, widths = (_running(numbers[order], first, parents) for numbers in (raw, v))
    c = (sums - share[parents]) / widths
    above = height[order] > c
    # The first number of each parent is always above c. Because of rounding, or for a share of 0, the comparison may
    # fail for it.
    above[first] = True
    last = np.maximum.reduceat(np.where(above, np.arange(len(raw)), 0), first)
    return np.maximum(raw - c[last][parent] * v, 0)


def _running(numbers: Floats, first: Integers, parents: Integers) -> Floats:
    """Return running sums that restart at each of ``first``, shape (k,)."""
    running = np.cumsum(numbers)
    before = running[first] - numbers[first]
    return running - before[parents]
