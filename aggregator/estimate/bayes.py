"""Empirical Bayes: each share's posterior mean under a distribution fitted to all raw estimates.

With many values and much noise, most raw estimates are mostly noise. But the typical size of the shares can be
estimated from all raw estimates together. The distribution of the shares is fitted to the raw estimates, and each
value's share is its posterior mean given its own raw estimate:

    raw[x] ~ N(p[x], se[x]^2),   p[x] ~ G,   G by maximum likelihood on a grid     (Kiefer, Wolfowitz 1956; MATH 6.1)

Standard errors that differ are informative: in a block with many people, shares and errors are both large. So the
standard errors are divided into octaves (ranges from s to 2 s), and each octave has a distribution of shares. If an
octave has few values, its distribution is shrunk towards the common distribution. Standard errors are estimated too,
and grow with the raw estimates. So the octave boundaries are placed where the fewest values lie, and noise seldom
separates similar values.

A value is shrunk towards a share in proportion to the number of values that have about this share. An isolated value
keeps its raw estimate; a value that is like a hundred others is estimated from all of them.

``likelihood`` maximises the likelihood of the reports instead.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aggregator.estimate.distribution import project
from aggregator.families.decoder import Floats

GRID = 64
"""The number of grid points of the distribution of shares between ``SMALLEST_POINT`` and ``NEAR``, in addition to 0."""

SMALLEST_POINT, NEAR = 0.02, 5.0
"""The grid points extend from ``SMALLEST_POINT`` times the smallest to ``NEAR`` times the largest standard error.
Smaller shares cannot be distinguished from 0. Above this range, grid points are placed only where raw estimates lie."""

APART = 0.5
"""Grid points above the range of ``NEAR`` are multiples of a step, which is at most this fraction of a standard error
and more than half of this fraction."""

FAR = 64.0
"""A raw estimate of more than this many standard errors is not shrunk, because shrinkage could hardly improve it."""

HALFWAY = 5.0
"""Values are shrunk halfway towards a share if about this many values lie within a standard error of the share."""

LARGE = 2.0
"""The correction of the sum changes small shares in proportion to their size. A share of this many standard errors
changes by half of that proportion, and a much larger share hardly changes."""

ROUNDS = 300
LEANING = 1.0
"""In the distribution of an octave, the common distribution has the weight of this many values."""

BIN = 1 / 16
"""Raw estimates are binned before the fit, in bins with this width in standard errors."""

COARSER = 4
"""Beyond ``NEAR``, bins are this many times as wide."""

BINS_PER_OCTAVE = 4
"""Each octave of standard errors is divided into this many parts, with separate bins."""

LEAST = -10.0
"""Raw estimates below this many standard errors share the lowest bin."""

PHASES = 16
"""The number of candidate offsets of the octaves. The offset with the fewest values next to a boundary is used."""

CHUNK = 1024
"""The number of values whose means are computed together. They are neighbours in size, so their grid points stay in
the cache."""

BEYOND = 9.0
"""Grid points more than this many standard errors from a value have a likelihood below floating-point precision."""


def empirical_bayes(raw: Floats, se: Floats) -> Floats:
    """Return the posterior mean of each share under the distribution of shares that fits the raw estimates best.

    The means need not sum to one. The difference is distributed over the values in proportion to

        m(x) / (1 + (m(x) / (LARGE se(x)))^4)      for a mean m(x),

    so values that are large compared with their noise hardly change.

    Args:
        raw: (k,) unbiased estimates.
        se: (k,) the standard errors of ``raw``; 0 where a value is known exactly.
    Returns:
        (k,) shares, not negative, with the sum one. Time O(k * GRID).
    """
    unsure = np.flatnonzero((se > 0) & (raw <= FAR * se))
    if not len(unsure):
        return project(raw)
    shares: Floats = np.maximum(raw, 0)
    shares[unsure] = _posterior_means(raw[unsure], se[unsure])
    noise = (LARGE * se) ** 4
    loose = shares * np.divide(noise, noise + shares**4, out=np.zeros_like(noise), where=noise > 0)
    missing = 1 - shares.sum()
    if missing <= -loose.sum() or not loose.any():
        return project(shares)
    shares += loose * (missing / loose.sum())
    return shares


def _posterior_means(raw: Floats, se: Floats) -> Floats:
    """Return the posterior mean of each value. A value is shrunk towards a share in proportion to the number of values
    near this share.

        near(g) = n * sum over grid points h of distribution(h) * exp(-((g - h) / se)^2 / 2)
        pull(g) = 1 / (1 + (HALFWAY / near(g))^4),      with n values in the octave

    Without this weighting, the fitted distribution has an atom at nearly every large raw estimate, and neighbouring
    values with different shares get the same estimate.
    """
    grid = _grid(raw, se)
    phase = _phase(se)
    octave = np.floor(np.log2(se) + phase).astype(np.int64)
    means = np.empty(len(raw))
    for number, distribution in _distributions(raw, se, grid, phase).items():
        members = np.flatnonzero(octave == number)
        typical = np.full(len(grid), np.exp(np.log(se[members]).mean()))
        near = len(members) * (_likelihood(grid, typical, grid) @ distribution)
        pull = near**4 / (near**4 + HALFWAY**4)
        members = members[np.argsort(raw[members])]
        for begin in range(0, len(members), CHUNK):
            some = members[begin : begin + CHUNK]
            width = BEYOND * se[some].max()
            nearby = slice(*np.searchsorted(grid, [max(raw[some[0]], 0) - width, max(raw[some[-1]], 0) + width]))
            weighted = _likelihood(raw[some], se[some], grid[nearby]) * distribution[nearby]
            unshrunk = np.maximum(raw[some], 0)
            mean = weighted @ (pull * grid)[nearby] + weighted @ (1 - pull[nearby]) * unshrunk
            means[some] = mean / weighted.sum(axis=1)
    return means


def _grid(raw: Floats, se: Floats) -> Floats:
    """Return the grid points of the distribution of shares, in increasing order from 0."""
    above = raw > NEAR * se
    step = APART * np.exp2(np.floor(np.log2(se[above])))
    rounded = np.round(raw[above] / step) * step
    return np.unique(np.concatenate([[0.0], np.geomspace(SMALLEST_POINT * se.min(), NEAR * se.max(), GRID), rounded]))


def _phase(se: Floats) -> float:
    """Return the offset of the logarithms of standard errors that puts the fewest values near an octave boundary."""
    part = np.floor(np.log2(se) % 1.0 * PHASES).astype(np.int64) % PHASES
    lie = np.bincount(part, minlength=PHASES)
    beside_boundary = lie + np.roll(lie, 1)
    return float(-np.argmin(beside_boundary) / PHASES)


def _distributions(raw: Floats, se: Floats, grid: Floats, phase: float) -> dict[int, Floats]:
    """Return the fitted weights of the grid points, by octave of the standard errors."""
    # Each bin lies within one octave, so the mean of its standard errors lies in that octave too.
    above = np.maximum(raw / se, LEAST) - LEAST
    near = np.minimum(above, NEAR - LEAST)
    height = np.round((near + (above - near) / COARSER) / BIN).astype(np.int64)
    heights = int(height.max()) + 1
    width = np.floor((np.log2(se) + phase) * BINS_PER_OCTAVE).astype(np.int64)
    bins, place, count = np.unique(width * heights + height, return_inverse=True, return_counts=True)
    octave = bins // heights // BINS_PER_OCTAVE
    likelihood = _likelihood(np.bincount(place, raw) / count, np.bincount(place, se) / count, grid)
    even = np.full(len(grid), 1 / len(grid))
    common = _most_likely(likelihood, count, even, 0.0)
    octaves = np.unique(octave).tolist()
    if len(octaves) == 1:
        return {octaves[0]: common}
    return {
        number: _most_likely(likelihood[octave == number], count[octave == number], common, LEANING)
        for number in octaves
    }


def _most_likely(likelihood: Floats, count: NDArray[np.int64], start: Floats, leaning: float) -> Floats:
    """Return the maximum-likelihood weights of the grid points, computed by expectation maximisation.

    The iteration stops after ``ROUNDS`` rounds. Later rounds only move weight between shares that explain the bins
    equally well.

    Args:
        likelihood: (bins, g) the likelihood of each bin's raw estimate at each grid point.
        count: (bins,) the number of values in each bin.
        start: (g,) the weights at the start; they count as much as ``leaning`` values.
    """
    distribution, total = start, count.sum() + leaning
    for _ in range(ROUNDS):
        distribution = (distribution * ((count / (likelihood @ distribution)) @ likelihood) + leaning * start) / total
    return distribution


def _likelihood(raw: Floats, se: Floats, grid: Floats) -> Floats:
    """Return the likelihood of each raw estimate at each grid point, (k, g), divided by the largest of its row."""
    z = raw[:, np.newaxis] - grid
    z /= se[:, np.newaxis]
    z *= z
    z -= z.min(axis=1, keepdims=True)
    z *= -0.5
    return np.exp(z, out=z)
