"""The regions of a map: each part at the finest resolution that its reports support.

A district is significant if its simultaneous interval lies above zero. A cell that is not significant is drawn as part
of the smallest significant district around it. Such cells show the rest of the district's share, spread evenly over
them. So the resolution of the picture adapts to the reports, and its shares still sum to one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aggregator.estimate.result import Estimate
from aggregator.families.decoder import Floats, Integers


@dataclass(frozen=True)
class Regions:
    """A map cut into regions.

    Attributes:
        region_of: (k,) the region of each cell.
        resolutions: (r,) index of each region's resolution in the estimate.
        districts: (r,) number of each region's district in that resolution.
        share: (r,) share of the people in each region's district but in no finer region inside it.
        significant: (r,) whether each region's district is significant; if not, even the share of the district of the
            coarsest resolution may be zero.
    """

    region_of: Integers
    resolutions: Integers
    districts: Integers
    share: Floats
    significant: NDArray[np.bool_]

    @property
    def density(self) -> Floats:
        """Share of each cell, (k,), with the share of a region spread evenly over its cells."""
        return (self.share / np.maximum(np.bincount(self.region_of, minlength=len(self.share)), 1))[self.region_of]


def regions(estimate: Estimate) -> Regions:
    """Return the regions of an estimate; without views, each cell is a region.

    A district that crosses a district of a coarser resolution does not become a region.
    """
    if not estimate.resolutions:
        cells = np.arange(estimate.size)
        return Regions(cells, np.zeros_like(cells), cells, estimate.share, estimate.above_zero)
    first = estimate.resolutions[0]
    region_of, share = first.districts.copy(), first.share.tolist()
    district_ids = [(0, z) for z in range(first.size)]
    significant = first.above_zero.tolist()
    for place, resolution in enumerate(estimate.resolutions[1:], 1):
        for z in np.flatnonzero(resolution.above_zero).tolist():
            cells = np.flatnonzero(resolution.districts == z)
            around = region_of[cells[0]]
            if (region_of[cells] == around).all():
                region_of[cells] = len(share)
                share[around] = max(share[around] - float(resolution.share[z]), 0.0)
                share.append(float(resolution.share[z]))
                district_ids.append((place, z))
                significant.append(True)
    resolutions, districts = np.array(district_ids, dtype=np.int64).T
    return Regions(region_of, resolutions, districts, np.array(share), np.array(significant, dtype=np.bool_))
