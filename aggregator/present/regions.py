"""The regions of a map: each part at the finest resolution that its reports support.

A district holds where its simultaneous interval lies above zero. A cell that does not is drawn as part of the district
around it that does, and shows what is left of that district's share, spread evenly; so a picture is no finer than what
is known, and its shares still sum to one.
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
        of: (k,) the region of each cell.
        resolutions: (r,) the place of each region's resolution among those of the estimate.
        districts: (r,) the number of its district there.
        share: (r,) the share of the district's people who are in no finer region inside it.
        holds: (r,) whether its district holds; where not, even the coarsest resolution may be empty there.
    """

    of: Integers
    resolutions: Integers
    districts: Integers
    share: Floats
    holds: NDArray[np.bool_]

    @property
    def density(self) -> Floats:
        """(k,) the share of each cell, where a region's is spread evenly."""
        density: Floats = (self.share / np.maximum(np.bincount(self.of, minlength=len(self.share)), 1))[self.of]
        return density


def regions(found: Estimate) -> Regions:
    """Return the regions of an estimate; of one without views each cell is one.

    A resolution whose districts cross those of a coarser one adds nothing where they do.
    """
    if not found.resolutions:
        cells = np.arange(found.size)
        return Regions(cells, np.zeros_like(cells), cells, found.share, found.above_zero)
    first = found.resolutions[0]
    of, share = first.districts.copy(), first.share.tolist()
    where = [(0, z) for z in range(first.size)]
    holds = first.above_zero.tolist()
    for place, each in enumerate(found.resolutions[1:], 1):
        for z in np.flatnonzero(each.above_zero).tolist():
            cells = np.flatnonzero(each.districts == z)
            around = of[cells[0]]
            if (of[cells] == around).all():
                of[cells] = len(share)
                share[around] = max(share[around] - float(each.share[z]), 0.0)
                share.append(float(each.share[z]))
                where.append((place, z))
                holds.append(True)
    resolutions, districts = np.array(where, dtype=np.int64).T
    return Regions(of, resolutions, districts, np.array(share), np.array(holds, dtype=np.bool_))
