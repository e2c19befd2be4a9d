"""Simulate the expected errors of ordered values: of their distribution, of its deciles, and of the share of a range.

The maximum-likelihood distribution of a wave and the projection are not linear in the counts, so these errors have no
formula. They are simulated with a few surveys of people from each of three reference shapes. The reports are drawn from
the exact distribution of the outputs, and the shares are estimated with the methods of ``estimate``. The seed is fixed,
so that the same question always has the same plan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from aggregator.estimate.distribution import project_unequal
from aggregator.estimate.merged import MergedChannel
from aggregator.estimate.smoothed import smoothed_sets
from aggregator.families.decoder import Floats, Integers, NotInvertible
from aggregator.families.registry import decoder_of
from protocol.channels import Channel

SURVEYS = 2
"""Number of simulated surveys for each shape."""

SEED = 20201

BLOCKS = 128
"""Maximum number of values in a simulated estimate of a wave; more values are merged."""

RANGE = 0.4
"""The part of the values that a range covers."""


@dataclass(frozen=True)
class OrderedError:
    """Mean errors over the reference shapes.

    Attributes:
        distance: the Wasserstein distance between the estimated and the true distribution, as a part of the distance
            from the first to the last value, if the values are evenly spaced.
        decile: the mean absolute error of the nine deciles, as a part of the distance from the first to the last value.
        in_range: the mean absolute error of the share of a range with the part ``RANGE`` of the values, over all such
            ranges.
    """

    distance: float
    decile: float
    in_range: float


NO_ESTIMATE = OrderedError(np.inf, np.inf, np.inf)

_DECILES = np.arange(1, 10) / 10 - 1e-12


def reference_shapes(size: int) -> tuple[Floats, ...]:
    """Return three distributions, (k,): a hill, Beta(2, 5); two peaks; and the hill with half of the people at one
    value."""
    x = (np.arange(size) + 0.5) / size
    hill = x * (1 - x) ** 4
    peaks = 0.6 * np.exp(-0.5 * ((x - 0.3) / 0.08) ** 2) + 0.4 * np.exp(-0.5 * ((x - 0.7) / 0.1) ** 2)
    hill, peaks = hill / hill.sum(), peaks / peaks.sum()
    spike = 0.5 * hill
    spike[int(0.4 * size)] += 0.5
    return hill, peaks, spike


@lru_cache(maxsize=256)
def simulated_error(channels: Channel | tuple[Channel, ...], reports: int, surveys: int = SURVEYS) -> OrderedError:
    """Return the expected errors of a channel with ordered inputs, or of several classes of people together.

    Args:
        channels: a channel, or a channel for each class; classes have equal size and equal shares.
        reports: n, the number of reports of all classes.
        surveys: the number of simulated surveys for each shape.
    Returns:
        The errors; infinite if a channel has no estimate of ordered values or of single values.
    """
    channels = channels if isinstance(channels, tuple) else (channels,)
    size, class_reports = channels[0].input_count, math.ceil(reports / len(channels))
    try:
        classes = [_OrderedEstimator(channel) for channel in channels]
    except NotInvertible:
        return NO_ESTIMATE
    wide = max(1, round(RANGE * size))
    generator = np.random.default_rng(SEED)
    distances, deciles, ranges = [], [], []
    shapes = [shape for shape in reference_shapes(size) for _ in range(surveys)]
    estimates = [estimator.estimated(shapes, class_reports, generator) for estimator in classes]
    for shape, *shares in zip(shapes, *estimates, strict=True):
        true, share = np.searchsorted(np.cumsum(shape), _DECILES), sum(shares) / len(classes)
        off = np.concatenate([[0.0], np.cumsum(share - shape)])
        distances.append(float(np.abs(off[1:-1]).sum()) / (size - 1))
        estimated = np.minimum(np.searchsorted(np.cumsum(share), _DECILES), size - 1)
        deciles.append(float(np.abs(estimated - true).mean()) / (size - 1))
        ranges.append(float(np.abs(off[wide:] - off[:-wide]).mean()))
    return OrderedError(*(float(np.mean(errors)) for errors in (distances, deciles, ranges)))


class _OrderedEstimator:
    """The default estimator of ordered values, applied to simulated reports.

    Raises:
        NotInvertible: the channel has no unbiased estimate.
    """

    def __init__(self, channel: Channel) -> None:
        self._decoder, size = decoder_of(channel), channel.input_count
        if self._decoder.by_value:
            even = np.full(size, 1 / size)
            self._variances = self._decoder.variances(self._decoder.forward(even))
        else:
            self._merged = MergedChannel.of(self._decoder, BLOCKS)

    def estimated(self, shapes: Sequence[Floats], reports: int, generator: np.random.Generator) -> list[Floats]:
        """Return the estimate, (k,), from one simulated survey of each shape."""
        if self._decoder.by_value:
            return [self._by_value(shape, reports, generator) for shape in shapes]
        counts = np.stack([self._drawn(shape, reports, generator) for shape in shapes])
        merged = np.add.reduceat(counts, self._merged.starts, axis=1)
        return [self._merged.of_numbers(share) for share in smoothed_sets(self._merged.channel, merged)]

    def _drawn(self, shape: Floats, reports: int, generator: np.random.Generator) -> Integers:
        """Return simulated counts of the outputs for people of one shape, (m,)."""
        distribution = self._decoder.forward(shape)
        return generator.multinomial(reports, distribution / distribution.sum())

    def _by_value(self, shape: Floats, reports: int, generator: np.random.Generator) -> Floats:
        decoder = self._decoder
        if decoder.one_hot:
            raw = decoder.invert(self._drawn(shape, reports, generator) / reports)
        # Bits are counted one by one, so their errors are nearly normal and nearly independent.
        else:
            variances = decoder.variances(decoder.forward(shape))
            raw = shape + generator.normal(size=decoder.input_count) * np.sqrt(variances / reports)
        return project_unequal(raw, self._variances, reports)
