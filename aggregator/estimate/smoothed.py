"""Expectation maximisation with smoothing; cross-validation chooses the strength of the smoothing.

The maximum-likelihood distribution of ordered numbers has peaks that are noise. So each step of expectation
maximisation may be followed by a step of smoothing of strength s,

    p <- (1 - s) p + s K p,     K a triangular kernel, about 1/64 of the range wide at half its height

Li et al. 2020 (section 5.5) smooth fully, s = 1. Full smoothing is best for smooth shapes, and doubles the error if
many people have the same number, such as 40 hours a week. So the reports are split into two halves, and each half is
fitted with every strength. The largest strength whose likelihood on the other half is close to the best likelihood is
used.

docs/BENCHMARKS.md has measurements.
"""

from __future__ import annotations

import hashlib

import numpy as np

from aggregator.estimate.merged import MergedReports
from aggregator.families.decoder import Floats, Integers

STRENGTHS = (0.0, 1 / 64, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)

ENOUGH = 0.5
"""The strongest smoothing whose held-out log-likelihood is within this many nats of the best is used. With 0, equal
shares had 1.13 times the error of full smoothing; with 1 or more, the errors of spikes and of two peaks are larger."""

PARTS = 128
"""The kernel falls to half its height at a distance of 1 / ``PARTS`` of the range, but not before the next block: the
narrowest kernel has the weights 1/4, 1/2, 1/4."""

STILL = 1e-3
"""A fit has converged if a round moves the distribution function by less than this fraction of 1 / sqrt(n)
everywhere."""

MAX_SMOOTHING_STEPS = 600

SLACK = 0.1
"""The log-likelihood of all reports, in nats, that an accelerated step may lose compared with a plain step."""

MIN_STEP = 0.1
"""An accelerated step keeps each share at or above this fraction of its value after the plain steps."""


def smoothed_shares(merged: MergedReports) -> Floats:
    """Return the distribution of ordered numbers, smoothed with the strength that cross-validation selects.

    The same counts always give the same result.

    Returns:
        (K,) the shares of the blocks.
    """
    distribution: Floats = smoothed_sets(merged.channel, merged.counts[np.newaxis])[0]
    return distribution


def smoothed_sets(matrix: Floats, counts: Integers) -> Floats:
    """Return the smoothed distribution of each of several sets of reports of one channel, computed together.

    Args:
        matrix: (K, M) the probability of each block of outputs, above zero for blocks with reports.
        counts: (R, M) the number of reports of each set in each block of outputs.
    Returns:
        (R, K) the distributions.
    """
    sets, strengths = len(counts), np.array(STRENGTHS)
    # For each set of reports, every strength is fitted to the first half and to the second half.
    halves = np.stack([_halved(reports) for reports in counts])
    fitted = _fits(
        matrix, np.repeat(halves.reshape(2 * sets, -1), len(strengths), axis=0), np.tile(strengths, 2 * sets)
    )
    log_distribution = np.log(fitted @ matrix).reshape(sets, 2, len(strengths), -1)
    held_out = np.einsum("rfsm,rfm->rs", log_distribution, halves[:, ::-1])
    good = held_out >= held_out.max(axis=1, keepdims=True) - ENOUGH
    return _fits(matrix, counts, np.where(good, strengths, 0).max(axis=1))


def _halved(counts: Integers) -> Integers:
    """Return the counts of both halves of the reports, (2, M); blocks of outputs without reports do not affect the
    split."""
    halved = np.zeros((2, len(counts)), dtype=np.int64)
    halved[:, counts > 0] = random_halves(counts[counts > 0])
    return halved


def random_halves(counts: Integers) -> tuple[Integers, Integers]:
    """Return the counts of two random halves; each report is in either half with probability 1/2. The random generator
    is seeded with the counts.

    The counts of a half are drawn from binomial distributions, so the number of reports is not limited.
    """
    seed = hashlib.sha256(np.ascontiguousarray(counts, dtype="<i8").tobytes()).digest()
    half = np.random.default_rng(int.from_bytes(seed, "big")).binomial(counts, 0.5)
    return half, counts - half


def _fits(matrix: Floats, counts: Integers, strengths: Floats) -> Floats:
    """Return the fixed points of expectation maximisation with smoothing, for R sets of reports together.

    Rounds of two steps are accelerated (SQUAREM: Varadhan, Roland 2008).

    Args:
        matrix: (K, M) the probability of each block of outputs.
        counts: (R, M) the number of reports in each block of outputs; a set without reports gets equal shares.
        strengths: (R,) the strength of the smoothing of each set.
    Returns:
        (R, K) the distributions.
    """
    distributions = np.full((len(counts), len(matrix)), 1 / len(matrix))
    reports = counts.sum(axis=1)
    left = np.flatnonzero(reports)  # with very few reports, one half may be empty
    for _ in range(MAX_SMOOTHING_STEPS // 3):
        if not len(left):
            break
        p, total, strength = distributions[left], reports[left], strengths[left]
        weights = counts[left] / total[:, np.newaxis]
        first, _ = _step(matrix, p, weights, strength)
        second, value = _step(matrix, first, weights, strength)
        bend = second - 2 * first + p
        curvature = np.linalg.norm(bend, axis=1)
        moved = np.linalg.norm(first - p, axis=1)
        length = np.maximum(1, np.divide(moved, curvature, out=np.ones_like(moved), where=curvature > 0))[:, np.newaxis]
        far = np.maximum(p + 2 * length * (first - p) + length**2 * bend, MIN_STEP * second)
        after, far_value = _step(matrix, far / far.sum(axis=1, keepdims=True), weights, strength)
        better = total * far_value >= total * value - SLACK
        reached = np.where(better[:, np.newaxis], after, second)
        still = np.abs(np.cumsum(reached - p, axis=1)).max(axis=1) * np.sqrt(total) < STILL
        distributions[left] = reached
        left = left[~still]
    return distributions


def _step(matrix: Floats, p: Floats, weights: Floats, strengths: Floats) -> tuple[Floats, Floats]:
    """Return the next distributions, shape (R, K), and the log-likelihoods of ``p`` in nats per report, (R,)."""
    distribution = p @ matrix
    moved = p * ((weights / distribution) @ matrix.T)
    moved /= moved.sum(axis=1, keepdims=True)
    return _smooth(moved, strengths), (weights * np.log(distribution)).sum(axis=1)


def _smooth(p: Floats, strengths: Floats) -> Floats:
    """Return (1 - s) p + s K p, shape (R, K). The kernel K is two moving averages, mirrored at the ends."""
    size = p.shape[1]
    width = min(max(2, round(2 * size / PARTS)), size)
    spread = np.concatenate([p[:, : width - 1][:, ::-1], p, p[:, size - width + 1 :][:, ::-1]], axis=1)
    for _ in range(2):
        ends = np.concatenate([np.zeros((len(p), 1)), np.cumsum(spread, axis=1)], axis=1)
        spread = (ends[:, width:] - ends[:, :-width]) / width
    s = strengths[:, np.newaxis]
    mixed: Floats = (1 - s) * p + s * np.maximum(spread, 0)
    return mixed
