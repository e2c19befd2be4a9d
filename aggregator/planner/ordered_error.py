"""The error to expect of ordered values: of their distribution, its deciles, and the share of people in a range.

The most likely distribution of a wave is not linear in the counts, and a projection is not either, so these errors have
no formula. They are simulated: a few crowds of three reference shapes, whose reports are drawn from the exact law
of the channel's outputs and estimated as ``estimate`` does it. The random numbers are fixed, so that the same question
has the same plan wherever it is made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggregator.estimate import distribution
from aggregator.estimate.merged import Merged
from aggregator.estimate.reported import Reported
from aggregator.estimate.smoothed import smoothed
from aggregator.families.decoder import Decoder, Floats, NotInvertible
from aggregator.families.registry import decoder_of
from protocol.channels import Channel

CROWDS = 2
"""Crowds of each shape."""

SEED = 20201

BLOCKS = 128
"""Values that are told apart in an estimate of a wave, at most."""

RANGE = 0.4
"""The part of the values that a range holds."""


@dataclass(frozen=True)
class OrderedError:
    """The mean error over the reference shapes.

    Attributes:
        distance: Wasserstein distance of the estimated distribution from the true one, as a part of the distance from
            the first to the last value, values evenly spaced.
        decile: mean absolute error of the nine deciles, as a part of the same distance.
        in_range: mean absolute error of the share of people in a range of ``RANGE`` of the values, over all such.
    """

    distance: float
    decile: float
    in_range: float


NO_ESTIMATE = OrderedError(np.inf, np.inf, np.inf)

_DECILES = np.arange(1, 10) / 10 - 1e-12


def reference_shapes(size: int) -> tuple[Floats, ...]:
    """(k,) each: one hill, Beta(2, 5); two peaks; and a hill where half of all people hold the same value."""
    x = (np.arange(size) + 0.5) / size
    hill = x * (1 - x) ** 4
    peaks = 0.6 * np.exp(-0.5 * ((x - 0.3) / 0.08) ** 2) + 0.4 * np.exp(-0.5 * ((x - 0.7) / 0.1) ** 2)
    hill, peaks = hill / hill.sum(), peaks / peaks.sum()
    spike = 0.5 * hill
    spike[int(0.4 * size)] += 0.5
    return hill, peaks, spike


def simulated_error(channel: Channel, reports: int, crowds: int = CROWDS) -> OrderedError:
    """Return the errors to expect of a channel with ordered inputs.

    Infinite where the channel has no estimate that reads its inputs as ordered or one by one.

    Args:
        reports: n.
        crowds: of each shape.
    """
    decoder, size = decoder_of(channel), channel.inputs
    wide = max(1, round(RANGE * size))
    generator = np.random.default_rng(SEED)
    distances, deciles, ranges = [], [], []
    for shape in reference_shapes(size):
        true = np.searchsorted(np.cumsum(shape), _DECILES)
        for _ in range(crowds):
            try:
                share = _estimated(decoder, shape, reports, generator)
            except NotInvertible:
                return NO_ESTIMATE
            off = np.concatenate([[0.0], np.cumsum(share - shape)])
            distances.append(float(np.abs(off[1:-1]).sum()) / (size - 1))
            found = np.minimum(np.searchsorted(np.cumsum(share), _DECILES), size - 1)
            deciles.append(float(np.abs(found - true).mean()) / (size - 1))
            ranges.append(float(np.abs(off[wide:] - off[:-wide]).mean()))
    return OrderedError(*(float(np.mean(errors)) for errors in (distances, deciles, ranges)))


def _estimated(decoder: Decoder, shape: Floats, reports: int, generator: np.random.Generator) -> Floats:
    """(k,) what ``estimate`` makes of one crowd by its default method for ordered values."""
    law = decoder.forward(shape)
    if not decoder.by_value:
        merged = Merged.of(decoder, generator.multinomial(reports, law / law.sum()), BLOCKS)
        return merged.spread(smoothed(merged).share)
    even = np.full(decoder.inputs, 1 / decoder.inputs)
    variances = decoder.variances(decoder.forward(even))
    if decoder.one_hot:
        raw = decoder.invert(generator.multinomial(reports, law / law.sum()) / reports)
    else:  # bits are counted one by one; their errors are nearly normal, and nearly independent
        raw = shape + generator.normal(size=decoder.inputs) * np.sqrt(decoder.variances(law) / reports)
    return distribution.project(raw, Reported(decoder.inputs), variances)
