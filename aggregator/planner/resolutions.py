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
"""A share that the projection does not set to zero adds this fraction of its standard error to the total variation:
half the mean of |N|, N standard normal."""

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
        Raises:
            ValueError: there is no resolution, or a finer resolution has fewer districts.
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
            direct = variances[level]
            z[level] = min(direct, below) if math.isinf(max(direct, below)) else direct * below / (direct + below)
        errors, above = [], 0.0
        for variance, fan in zip(z, self.fans, strict=True):
            above = variance * (1 - 1 / fan) + above / fan**2
            errors.append(math.sqrt(above))
        return errors

    def expected_variation(self, variances: Sequence[float]) -> list[float]:
        """Return the expected total variation at each resolution, from 0 to 1.

            sum of share (1 - d) + NOISE se sum of d,    d = (d of the parent) Phi(share / se - t)

        Here d is the probability that a district is detected; a district is not detected if its parent is not. t is
        ``THRESHOLD`` sqrt(2 ln m), where m is the number of districts inside a district of the next coarser resolution
        that has reports.

        Args:
            variances: see ``standard_errors``.
        """
        detected, variation, m = np.ones(1), [], 1
        errors = self.standard_errors(variances)
        for level, (shares, fan, drawn, se) in enumerate(zip(self.shares, self.fans, self._drawn, errors, strict=True)):
            m = fan if level == 0 or math.isfinite(variances[level - 1]) else m * fan
            detected = np.repeat(detected, drawn)
            if math.isinf(se):
                variation.append(1.0)
                detected = np.zeros_like(detected)
                continue
            if se > 0:
                detected = detected * special.ndtr(shares / se - THRESHOLD * math.sqrt(2 * math.log(max(m, 2))))
            variation.append(min(1.0, float(shares @ (1 - detected)) + NOISE * se * float(detected.sum())))
        return variation


def best_weights(sizes: Sequence[int], variances: Sequence[float], reports: int) -> tuple[int, ...]:
    """Return the weights of the resolutions that minimise the expected error of the map.

    The objective is the sum of the expected total variations of all resolutions, because readers look at the whole map
    first. The search moves a twentieth of the devices from one resolution to another as long as the objective falls.

    Args:
        sizes: the number of districts of each resolution, the coarsest first.
        variances: for each resolution, the variance of one report's contribution to a district's share
            (``expected_mse`` / size).
        reports: n, the number of reports of all resolutions together.
    Returns:
        Integers that sum to ``PARTS``, each at least 1.
    Raises:
        ValueError: there is no resolution, there are more than ``PARTS``, or a finer one has fewer districts.
    """
    count = len(sizes)
    if not 0 < count <= PARTS:
        raise ValueError(f"a map has 1 to {PARTS} resolutions, not {count}: change their number")
    reference = ReferenceMap(sizes)

    def error(weights: Sequence[int]) -> float:
        view_variances = [v * PARTS / (reports * w) for v, w in zip(variances, weights, strict=True)]
        return sum(reference.expected_variation(view_variances))

    weights = [PARTS // count + (level < PARTS % count) for level in range(count)]
    lowest = error(weights)
    while True:
        moved = [
            [w - (level == source) + (level == target) for level, w in enumerate(weights)]
            for source in range(count)
            for target in range(count)
            if source != target and weights[source] > 1
        ]
        best = min(((error(shifted), shifted) for shifted in moved), default=(math.inf, weights))
        if best[0] >= lowest:
            return tuple(weights)
        lowest, weights = best
