"""Simulated surveys on a map: the views of devices, the counted outputs, and the errors of estimates.

No reports are made. Each person's cell is drawn from the true shares, and the view with the views' weights. The counts
of a view are then one draw from the exact distribution of its channel's outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aggregator.estimate.distribution import total_variation
from aggregator.estimate.error import expected_mse
from aggregator.estimate.tree import CombinedEstimate, Tree, ViewEstimate, combine, independent
from aggregator.families.decoder import Decoder, Floats, Integers
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.registry import decoder_of
from aggregator.planner.choice import AUTO, chosen_channel
from aggregator.planner.resolutions import PARTS, best_weights
from aggregator.reproduce.simulated_people import drawn_tally, values
from protocol.channels import Channel
from protocol.exact import NANONATS
from protocol.notions import Ldp

ROWS, COLUMNS = 125, 350
SURVEYS = 20
TARGETS = {100_000: (0.75, 0.47, 0.19), 546_659: (0.60, 0.34, 0.11)}
"""The target total variation distances at cells, squares of 5 x 5 and squares of 25 x 25, by number of people."""


def districts(factor: int) -> Integers:
    """Return for each of the k cells the index of its square of ``factor`` by ``factor`` cells: (k,)."""
    row, column = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
    return row // factor * -(-COLUMNS // factor) + column // factor


def view_estimate(
    channel: Channel, decoder: Decoder, districts: Integers, people: Floats, n: int, rng: np.random.Generator
) -> ViewEstimate:
    """Return the estimate of one resolution from a simulated survey, which asks ``n`` people for their district.

    Args:
        districts: the district of each value: (k,).
        people: the true shares of the values: (k,).
    """
    share = drawn_tally(channel, decoder, np.bincount(districts, people), n, rng).counts / n
    even = decoder.forward(np.bincount(districts) / len(districts))
    reference_variances, shown = (
        independent(decoder, distribution, decoder.variances(distribution) / n) for distribution in (even, share)
    )
    return ViewEstimate(decoder.invert(share), reference_variances, shown)


class Resolutions:
    """A tree of resolutions with its channels, the planner's weights, and its estimates."""

    def __init__(self, maps: Sequence[Integers], n: int, mechanism: str = AUTO) -> None:
        """Choose channels and weights.

        Args:
            maps: for each resolution, the coarsest first, the district of each cell: (k,).
            n: the number of people.
            mechanism: the mechanism of every channel.
        """
        self.n, self.maps = n, maps
        self.tree = Tree.of(maps)
        sizes = self.tree.sizes
        self.channels = [chosen_channel(mechanism, PlannedQuestion(values(size), Ldp(NANONATS)))[1] for size in sizes]
        variances = [expected_mse(channel) / size for channel, size in zip(self.channels, sizes, strict=True)]
        self.weights = best_weights(sizes, variances, n)
        self.decoders = [decoder_of(channel) for channel in self.channels]

    def views(self, people: Floats, rng: np.random.Generator) -> list[CombinedEstimate]:
        """Return the linear estimate of each resolution from one simulated survey."""
        counts = rng.multinomial(self.n, np.array(self.weights) / PARTS).tolist()
        views = zip(self.channels, self.decoders, self.maps, counts, strict=True)
        return combine(self.tree, [view_estimate(*view, people, n, rng) for *view, n in views])

    def variations(self, people: Floats, shares: Sequence[Floats]) -> list[float]:
        """Return the total variation between estimated and true shares at each resolution, the finest first."""
        truths = [np.bincount(district, people) for district in self.maps]
        return [total_variation(a, b) for a, b in zip(shares, truths, strict=True)][::-1]


def means(errors: Sequence[Sequence[float]]) -> str:
    """Return the mean over the surveys at each resolution, as text."""
    return " / ".join(f"{error:.3f}" for error in np.mean(errors, axis=0))
