"""Expectation maximisation with smoothing, as strong as held-out reports confirm.

The most likely distribution of ordered numbers has peaks that are noise. So each step of expectation maximisation may
be followed by a step of smoothing of strength s,

    p <- (1 - s) p + s K p,     K a triangle over about 1/64 of the range

Li et al. 2020 (section 5.5) smooth fully, s = 1. That is best for smooth shapes, and loses by a factor of 2 where many
people hold the same number, such as 40 hours a week. So the reports are split in two, each half is fitted with every
strength, and the strongest whose fits make the other half about as likely as any is taken.

Measured: docs/BENCHMARKS.md.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from aggregator.estimate.merged import Merged
from aggregator.families.decoder import Floats, Integers

STRENGTHS = (0.0, 1 / 64, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)

ENOUGH = 0.5
"""Of strengths whose held-out log-likelihoods differ by no more nats, the strongest is taken. With 0, even shares had
1.13 times the distance that full smoothing has; with 1 and more, spikes and two peaks lose."""

PARTS = 128
"""The kernel's half width is this part of the range, and at least the two neighbours: weights 1/4, 1/2, 1/4."""

STILL = 1e-3
"""A fit has settled when a round moves no point of the distribution function by this part of 1 / sqrt(n)."""

MOST_STEPS = 600

SLACK = 0.1
"""Nats of all reports together that an accelerated step may lose against a plain one."""

LEAST_STEP = 0.1
"""An accelerated step takes no share below this part of what the plain steps left of it."""


@dataclass(frozen=True)
class Smoothed:
    """A distribution of ordered numbers.

    Attributes:
        share: (K,) of the blocks.
        strength: of the smoothing, 0 to 1.
    """

    share: Floats
    strength: float


def smoothed(reports: Merged) -> Smoothed:
    """The distribution of ordered numbers, smoothed as strongly as held-out reports confirm.

    The same counts always give the same result.
    """
    folds = halves(reports.counts)

    def held_out(strength: float) -> float:
        """The log-likelihood, nats, of each half under the fit to the other."""
        return sum(
            float(other @ np.log(_fit(reports.channel, half, strength) @ reports.channel))
            for half, other in (folds, folds[::-1])
        )

    told = {strength: held_out(strength) for strength in STRENGTHS}
    strength = max(one for one, value in told.items() if value >= max(told.values()) - ENOUGH)
    return Smoothed(_fit(reports.channel, reports.counts, strength), strength)


def halves(counts: Integers) -> tuple[Integers, Integers]:
    """Split reports at random in two, each with probability 1/2; the split is a function of the counts.

    Halves of binomial size are drawn without a limit on the number of reports.
    """
    seed = hashlib.sha256(np.ascontiguousarray(counts, dtype="<i8").tobytes()).digest()
    half = np.random.default_rng(int.from_bytes(seed, "big")).binomial(counts, 0.5)
    return half, counts - half


def _fit(channel: Floats, counts: Integers, strength: float) -> Floats:
    """(K,) where steps of expectation maximisation and smoothing come to rest.

    Rounds of two steps are accelerated (SQUAREM: Varadhan, Roland 2008).

    Args:
        counts: (M,) reports in each block of outputs.
    """
    p = np.full(len(channel), 1 / len(channel))
    reports = int(counts.sum())
    if not reports:  # as a half of very few may be
        return p
    weights = counts / reports

    def step(p: Floats) -> tuple[Floats, float]:
        """The next distribution, and the log-likelihood of this one, nats of all reports."""
        law = p @ channel
        moved = p * (channel @ (weights / law))
        moved /= moved.sum()
        return _smooth(moved, strength) if strength else moved, reports * float(weights @ np.log(law))

    for _ in range(MOST_STEPS // 3):
        first, _ = step(p)
        second, value = step(first)
        bend = second - 2 * first + p
        curvature = float(np.linalg.norm(bend))
        length = max(1.0, float(np.linalg.norm(first - p)) / curvature) if curvature > 0 else 1.0
        far = np.maximum(p + 2 * length * (first - p) + length**2 * bend, LEAST_STEP * second)
        after, far_value = step(far / far.sum())
        reached = after if far_value >= value - SLACK else second
        still = np.abs(np.cumsum(reached - p)).max() * np.sqrt(reports) < STILL
        p = reached
        if still:
            break
    return p


def _smooth(p: Floats, strength: float) -> Floats:
    """(1 - s) p + s K p: two running means of the same width make the triangle; mass is mirrored at the ends."""
    width = min(max(2, round(2 * len(p) / PARTS)), len(p))
    spread = np.concatenate([p[: width - 1][::-1], p, p[len(p) - width + 1 :][::-1]])
    for _ in range(2):
        ends = np.concatenate([[0.0], np.cumsum(spread)])
        spread = (ends[width:] - ends[:-width]) / width
    mixed: Floats = (1 - strength) * p + strength * np.maximum(spread, 0)
    return mixed
