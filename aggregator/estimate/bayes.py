"""Empirical Bayes: what the crowd of values says about each value.

One idea: with many values and much noise, most raw estimates are noise, and how large shares tend to be can be learnt
from all of them together. The law of the shares is fitted to the raw estimates, and each value's share is its mean
given its own raw estimate and that law:

    raw[x] ~ N(p[x], se[x]^2),   p[x] ~ G,   G by maximum likelihood on a grid     (Kiefer, Wolfowitz 1956; MATH 6.1)

Standard errors that differ say something of the shares: in a block that many people are in, both are large. So each
octave of them has a law of its own, which leans on the common one where the octave has few values. A standard error is
estimated too, and grows with its own raw estimate: octaves begin where fewest lie, so that values which are alike are
not parted by their noise.

Values that stand out of the noise keep their raw estimate: they need no help, and a common law would bend them.
What the reports themselves make most likely is in ``likelihood``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aggregator.estimate.decoders.decoder import Floats
from aggregator.estimate.distribution import project

STANDS_OUT = 4.0
"""A raw estimate of more than this many standard errors is kept."""

GRID = 64
"""Points of the law of the shares, beside 0."""

FINEST, WIDEST = 0.02, 10.0
"""The grid spans these parts of the least and of the largest standard error: a share below cannot be told from 0, and
one above stands out."""

ROUNDS = 300
LEANING = 1.0
"""The common law counts for as many values in the law of an octave."""

BIN = 1 / 16
"""A law is fitted to the raw estimates in bins of this many standard errors ..."""

BINS_PER_OCTAVE = 4
"""... and these parts of an octave of standard errors."""

PHASES = 16
"""Where octaves may begin; the fewest values lie within one such part on either side."""

CHUNK = 8192
"""Values whose means are taken at once: bounds the memory at CHUNK x GRID numbers."""


def empirical_bayes(raw: Floats, se: Floats) -> Floats:
    """The distribution of posterior means under the law of the shares that fits the raw estimates best.

    Args:
        raw: (k,) unbiased estimates.
        se: (k,) their standard errors; may differ, and be 0 where a value is known exactly.
    Returns:
        (k,) not negative, sums to one. O(k * GRID).
    """
    kept = raw > STANDS_OUT * se
    left = 1 - raw[kept].sum()
    unsure = np.flatnonzero(~kept & (se > 0))
    if left <= 0 or not len(unsure):
        return project(raw)
    shares: Floats = np.where(kept, raw, 0.0)
    grid = np.concatenate([[0.0], np.geomspace(FINEST * se[unsure].min(), WIDEST * se[unsure].max(), GRID)])
    phase = _phase(se[se > 0])
    octave = np.floor(np.log2(se[unsure]) + phase).astype(np.int64)
    for of, law in _laws(raw[se > 0], se[se > 0], grid, phase).items():
        members = unsure[octave == of]
        shares[members] = _means(raw[members], se[members], grid, law)
    small = shares[unsure].sum()
    if small == 0:
        return project(shares)
    shares[unsure] *= left / small
    return shares


def _phase(se: Floats) -> float:
    """What is added to a standard error's logarithm, so that octaves begin where fewest of them lie."""
    part = np.floor(np.log2(se) % 1.0 * PHASES).astype(np.int64) % PHASES
    lie = np.bincount(part, minlength=PHASES)
    near = lie + np.roll(lie, 1)  # the part that begins there, and the one before
    return float(-np.argmin(near) / PHASES)


def _laws(raw: Floats, se: Floats, grid: Floats, phase: float) -> dict[int, Floats]:
    """The weights of ``grid`` in each octave of the standard errors."""
    # Bins lie within octaves, so the mean of a bin's standard errors lies in the octave of each.
    heights = round(2 * WIDEST / BIN) + 1
    height = np.round(np.clip(raw / se, -WIDEST, WIDEST) / BIN).astype(np.int64)
    width = np.floor((np.log2(se) + phase) * BINS_PER_OCTAVE).astype(np.int64)
    bins, place, count = np.unique(width * heights + height + heights // 2, return_inverse=True, return_counts=True)
    octave = bins // heights // BINS_PER_OCTAVE
    likelihood = _likelihood(np.bincount(place, raw) / count, np.bincount(place, se) / count, grid)
    even = np.full(len(grid), 1 / len(grid))
    common = _most_likely(likelihood, count, even, 0.0)
    octaves = np.unique(octave).tolist()
    if len(octaves) == 1:
        return {octaves[0]: common}
    return {of: _most_likely(likelihood[octave == of], count[octave == of], common, LEANING) for of in octaves}


def _most_likely(likelihood: Floats, count: NDArray[np.int64], start: Floats, leaning: float) -> Floats:
    """The weights that explain the bins best, by expectation maximisation, pulled to ``start`` by ``leaning`` values.

    Stopped after ``ROUNDS``: what would still change are weights of shares that explain the bins equally well.
    """
    law, whole = start, count.sum() + leaning
    for _ in range(ROUNDS):
        law = (law * ((count / (likelihood @ law)) @ likelihood) + leaning * start) / whole
    return law


def _likelihood(raw: Floats, se: Floats, grid: Floats) -> Floats:
    """(k, g) likelihood of each raw estimate at each share of the grid, relative to the largest of its row."""
    z = ((raw[:, np.newaxis] - grid) / se[:, np.newaxis]) ** 2 / 2
    relative: Floats = np.exp(z.min(axis=1, keepdims=True) - z)
    return relative


def _means(raw: Floats, se: Floats, grid: Floats, law: Floats) -> Floats:
    means = np.empty(len(raw))
    for begin in range(0, len(raw), CHUNK):
        some = slice(begin, begin + CHUNK)
        weighted = _likelihood(raw[some], se[some], grid) * law
        means[some] = weighted @ grid / weighted.sum(axis=1)
    return means
