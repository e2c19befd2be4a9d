"""Choose the share of the devices that is asked at each resolution of a map, by the least expected error.

The error of the unbiased estimate is not a useful criterion, because it is least if every device is asked for the
finest cell. Real maps are sparse: few cells contain most people. The estimate first finds the districts with many
people, and then the cells inside them. So the expected error is computed for a reference map that is as uneven as real
maps: the people of each district are distributed over its inner districts by Zipf's law. Nothing is simulated.

``aggregator.estimate.tree`` computes the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from aggregator.families.decoder import Floats

UNEVEN = 1.5
"""The exponent of Zipf's law in the reference map. The check-ins of 5,011 people in the United States, in
cells of a fifth of a degree, are about as uneven within a square of five by five."""

THRESHOLD = 0.7
"""The projection finds shares above this times sqrt(2 ln m) standard errors, where m is the number of districts with
which a share is compared. For reference maps with exponents 1, 1.5 and 2, the errors computed with this threshold
have the same order as simulated errors."""

NOISE = 0.4
"""A kept share adds this part of its standard error to the total variation: half the mean of |N|, N standard normal."""

PARTS = 20
"""The number of equal parts into which the devices are divided."""

LARGEST = 1 << 17
"""Maximum number of districts of a reference map; a larger map is computed with fewer districts in each district."""


class ReferenceMap:
    """An uneven map with several resolutions, and the expected errors at each resolution.

    Attributes:
        fans: for each resolution, the number of districts inside a district of the next coarser resolution.
        shares: for each resolution, the shares of its districts.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        """Make the reference map with these numbers of districts.

        Args:
            sizes: the number of districts of each resolution, the coarsest first.
        """
        if not sizes or any(fine < coarse for coarse, fine in zip([1, *sizes], sizes, strict=False)):
            raise ValueError(
                "the resolutions are not in order: begin with the coarsest; the number of districts must not decrease"
            )
        self.fans = [max(1, round(fine / coarse)) for coarse, fine in zip([1, *sizes], sizes, strict=False)]
        self.shares: list[Floats] = []
        self._drawn: list[int] = []
        shares, left = np.ones(1), LARGEST
        for fan in self.fans:
            drawn = min(fan, max(1, left // len(shares)))
            parts = np.arange(1, drawn + 1) ** -UNEVEN
            shares = np.outer(shares, parts / parts.sum()).ravel()
            self.shares.append(shares)
            self._drawn.append(drawn)

    def standard_errors(self, variances: Sequence[float]) -> list[float]:
        """Return the standard error of a district's combined estimate at each resolution.

        Args:
            variances: for each resolution, the variance of a district's share from the reports at this resolution;
                infinite without reports.

        Source: the two passes of ``aggregator.estimate.tree``, for equal variances within a resolution.
        """
        z = [math.inf] * len(variances)
        for level in range(len(variances) - 1, -1, -1):
            below = self.fans[level + 1] * z[level + 1] if level + 1 < len(variances) else math.inf
            own = variances[level]
            z[level] = min(own, below) if math.isinf(max(own, below)) else own * below / (own + below)
        found, above = [], 0.0
        for each, fan in zip(z, self.fans, strict=True):
            above = each * (1 - 1 / fan) + above / fan**2
            found.append(math.sqrt(above))
        return found

    def expected_variation(self, variances: Sequence[float]) -> list[float]:
        """Return the expected total variation at each resolution, from 0 to 1.

            sum of share (1 - found) + NOISE se sum of found,    found = (found of the parent) Phi(share / se - t)

        Here ``found`` is the probability that a district is found; a district is not found if its parent is not. t is
        ``THRESHOLD`` sqrt(2 ln m), where m is the number of districts inside a district of the next coarser resolution
        that has reports.

        Args:
            variances: see ``standard_errors``.
        """
        found, variation, m = np.ones(1), [], 1
        errors = self.standard_errors(variances)
        for level, (shares, fan, drawn, se) in enumerate(zip(self.shares, self.fans, self._drawn, errors, strict=True)):
            m = fan if level == 0 or math.isfinite(variances[level - 1]) else m * fan
            found = np.repeat(found, drawn)
            if math.isinf(se):
                variation.append(1.0)
                found = np.zeros_like(found)
                continue
            if se > 0:
                found = found * special.ndtr(shares / se - THRESHOLD * math.sqrt(2 * math.log(max(m, 2))))
            variation.append(min(1.0, float(shares @ (1 - found)) + NOISE * se * float(found.sum())))
        return variation


def best_weights(
    sizes: Sequence[int], variances: Sequence[float], reports: int, wanted: int | None = None
) -> tuple[int, ...]:
    """Return the weights of the resolutions that minimise the expected error of the map.

    The objective is the sum of the expected total variations of the wanted resolution and all coarser resolutions,
    because readers look at the whole map first. The search moves a twentieth of the devices from one resolution to
    another as long as the objective falls.

    Args:
        sizes: the number of districts of each resolution, the coarsest first.
        variances: for each resolution, the variance of one report's contribution to a district's share
            (``expected_mse`` / size).
        reports: n, the number of reports of all resolutions together.
        wanted: the index of the finest resolution that will be read; by default the finest of all.
    Returns:
        Integers that sum to ``PARTS``, at least 1 up to the wanted resolution and 0 for finer resolutions.
    Raises:
        ValueError: the index of the finest wanted resolution is out of range, or not below ``PARTS``.
    """
    count = len(sizes) if wanted is None else wanted + 1
    if not 0 < count <= min(len(sizes), PARTS):
        raise ValueError(f"the finest wanted resolution must be 0 to {min(len(sizes), PARTS) - 1}, not {count - 1}")
    reference = ReferenceMap(sizes[:count])

    def error(weights: Sequence[int]) -> float:
        own = [v * PARTS / (reports * w) for v, w in zip(variances, weights, strict=False)]
        return sum(reference.expected_variation(own))

    weights = [PARTS // count + (level < PARTS % count) for level in range(count)]
    least = error(weights)
    while True:
        moved = [
            [w - (level == source) + (level == target) for level, w in enumerate(weights)]
            for source in range(count)
            for target in range(count)
            if source != target and weights[source] > 1
        ]
        best = min(((error(each), each) for each in moved), default=(math.inf, weights))
        if best[0] >= least:
            return (*weights, *[0] * (len(sizes) - count))
        least, weights = best
