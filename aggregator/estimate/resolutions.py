"""Estimates of the shares of a campaign with views, at every resolution.

Each view is a survey of different devices. The views whose districts nest form a tree, and each resolution of the tree
is estimated from all views of the tree together. A view outside the tree is estimated from its own survey and from the
views of the tree whose districts lie inside its districts. The estimates of the tree do not use views outside the tree.

The districts of a view without reports are estimated from the other views. If no view of the finest resolution has
reports, the values have no unbiased estimate, and the share of each coarser district is spread evenly over its values.

``tree`` combines the views, and ``view_estimate`` assembles the estimate of a campaign.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aggregator.estimate import interval, tree
from aggregator.estimate.classes import view_decoder
from aggregator.estimate.groups import GROUPS
from aggregator.estimate.interval import Interval, Intervals
from aggregator.estimate.interval_estimates import Shares
from aggregator.estimate.linear import Linear, unbiased_estimate
from aggregator.estimate.tally import Tally
from aggregator.estimate.tree import CombinedEstimate, NotNested, Tree, TreePasses, ViewEstimate, parent_of
from aggregator.families.decoder import Decoder, Floats, Integers, NotInvertible
from protocol.campaign import Campaign
from protocol.domain import Domain
from protocol.views import Coarse, Identity, Map, View

FINEST = "1"
"""The name of the finest resolution, that of the single values."""


class ValueOrDistrict(NamedTuple):
    """A value, or a district of a coarser resolution.

    Attributes:
        resolution: the name of the resolution, as ``name_of`` returns it; ``FINEST`` for a value.
        number: the index of the value or district.
    """

    resolution: str
    number: int


def name_of(map_: Map) -> str:
    """Return the name of a resolution in tables: the number of values on each side of a district, or the map's name."""
    if isinstance(map_, Identity):
        return FINEST
    return str(map_.factor) if isinstance(map_, Coarse) else map_.name


@dataclass(frozen=True)
class Resolution(Shares):
    """Shares of the k_j districts of one resolution.

    Attributes:
        domain: the domain of the answers.
        map: the map from a value to its district.
        districts: (k,) the district of each value.
        reports: the number of reports of the view's own devices.
        rough: (k_j,) whether too few of the view's reports affect the district for ``se`` to be reliable.
    """

    domain: Domain
    map: Map
    districts: Integers
    reports: int
    rough: NDArray[np.bool_]

    @property
    def name(self) -> str:
        """The name of the resolution in tables."""
        return name_of(self.map)

    def label(self, z: int) -> str:
        """Return the name of district ``z`` in tables.

        Args:
            z: the index of the district, 0 .. k_j - 1.
        """
        return self.map.label(self.domain, z)


@dataclass(frozen=True)
class CountedView:
    """A view with the reports of its devices.

    Attributes:
        districts: (k,) the district of each value.
        linear: the unbiased estimate of the districts' shares; None without reports.
    """

    view: View
    districts: Integers
    decoder: Decoder
    tally: Tally
    linear: Linear | None

    @classmethod
    def of(cls, campaign: Campaign, place: int, tally: Tally) -> CountedView:
        """Return the view at position ``place`` of the campaign, with its unbiased estimate.

        Raises:
            NotInvertible: a view with reports has no unbiased estimate.
        """
        view = campaign.views[place]
        districts = np.array([view.map.input(campaign.domain, x) for x in range(campaign.domain.size)], dtype=np.int64)
        decoder = view_decoder(campaign, place, tally)
        return cls(view, districts, decoder, tally, unbiased_estimate(decoder, tally) if tally.reports else None)

    @cached_property
    def own_estimate(self) -> ViewEstimate | None:
        """The estimate from the view's own reports; None without reports."""
        if self.linear is None:
            return None
        n = self.tally.reports
        even = self.decoder.forward(np.bincount(self.districts) / len(self.districts))
        shown = self.tally.counts / n
        # If all reports are identical, their variance is zero, and rounding may make it negative.
        spreads = [
            (distribution, np.maximum(self.decoder.variances(distribution), 0.0) / n) for distribution in (even, shown)
        ]
        reference_variances, estimated = (
            tree.independent(self.decoder, distribution, variances) for distribution, variances in spreads
        )
        effect = 1.0 if self.linear.effect is None else self.linear.effect
        return ViewEstimate(self.linear.raw, reference_variances, estimated * effect)


@dataclass(frozen=True)
class Views:
    """The views of a campaign with their reports.

    Attributes:
        counted: the views, in increasing order of the number of districts.
        tree: the positions in ``counted`` of the views that form the tree, the coarsest view first.
    """

    counted: tuple[CountedView, ...]
    tree: tuple[int, ...]

    @classmethod
    def of(cls, campaign: Campaign, parts: Sequence[Tally]) -> Views:
        """Return the views of a campaign. The chain of nested views with the most reports forms the tree.

        Args:
            campaign: the campaign.
            parts: the tally of each view; at least one has reports.
        Raises:
            NotInvertible: a view with reports has no unbiased estimate.
        """
        counted = [CountedView.of(campaign, place, part) for place, part in enumerate(parts)]
        counted.sort(key=lambda view: view.decoder.input_count)
        return cls(tuple(counted), _largest_chain(counted))

    def combined(self) -> list[CombinedEstimate | None]:
        """Return the linear estimate of each view's districts; None if no view with reports distinguishes them."""
        estimates: list[CombinedEstimate | None] = [None] * len(self.counted)
        for place, estimate in zip(self.tree, self._combine(self.tree), strict=True):
            estimates[place] = estimate
        for place in range(len(self.counted)):
            if estimates[place] is None:
                inside = [other for other in self.tree if other != place and self._nested(place, other)]
                chain = [place, *inside]
                if inside or self.counted[place].own_estimate is not None:
                    estimates[place] = self._combine(chain)[0]
        return estimates

    def passes(self) -> TreePasses:
        """Return the passes through the tree of views."""
        return TreePasses.of(self.nested(self.tree), [self.counted[place].own_estimate for place in self.tree])

    def nested(self, places: Sequence[int]) -> Tree:
        """Return the tree that the views at the positions ``places`` form."""
        return Tree.of([self.counted[place].districts for place in places])

    def _combine(self, places: Sequence[int]) -> list[CombinedEstimate]:
        return tree.combine(self.nested(places), [self.counted[place].own_estimate for place in places])

    def _nested(self, coarse: int, fine: int) -> bool:
        return _is_nested(self.counted[coarse].districts, self.counted[fine].districts)


@dataclass(frozen=True)
class TreeShares:
    """Unbiased shares of one resolution, from all views of the tree together.

    Attributes:
        map: the map from a value to its district.
        raw, se: (k_j,) the unbiased shares and their standard errors.
    """

    map: Map
    raw: Floats
    se: Floats
    _level: int
    _counted: tuple[CountedView, ...]
    _passes: TreePasses

    @classmethod
    def of(cls, campaign: Campaign, tally: Tally) -> list[TreeShares]:
        """Return the shares of every resolution of the tree, the coarsest first.

        Raises:
            NotInvertible: there are no reports at the finest resolution.
        """
        views = Views.of(campaign, tally.by_view)
        counted = tuple(views.counted[place] for place in views.tree)
        combined = views.combined()
        estimates = [estimate for place in views.tree if (estimate := combined[place]) is not None]
        if len(estimates) < len(counted) or counted[-1].view.map != Identity():
            raise NotInvertible(
                "there are no reports at the finest resolution, so differences between single values cannot be "
                "estimated: compare the coarser resolutions of each estimate"
            )
        passes = views.passes()
        return [
            cls(counted_view.view.map, estimate.raw, estimate.se, level, counted, passes)
            for level, (counted_view, estimate) in enumerate(zip(counted, estimates, strict=True))
        ]

    def intervals(self, alpha: float) -> Interval:
        """Return lower and upper ends, not clipped, shape (k_j,); each misses its share with probability ``alpha``."""
        return interval.normal(self.raw, self.se, alpha)

    @property
    def furthest(self) -> Floats:
        """Bounds on how far one device can move each share, shape (k_j,); a device has one view."""
        reach = [None if view.linear is None else view.linear.furthest for view in self._counted]
        alone = [
            [bound if number == place else None for number, bound in enumerate(reach)] for place in range(len(reach))
        ]
        furthest: Floats = np.max([self._passes.furthest(self._level, bounds) for bounds in alone], axis=0)
        return furthest

    @property
    def filled(self) -> NDArray[np.bool_]:
        """True for each group of devices that has a report of any view, shape (GROUPS,)."""
        filled: NDArray[np.bool_] = np.any([view.linear.filled for view in self._counted if view.linear], axis=0)
        return filled

    def by_group(self) -> Iterator[Floats]:
        """Yield for each group of devices the contribution of its reports of all views to the estimate, minus the
        estimate times the group's fraction of the reports, (k_j,)."""
        nothing = repeat(None, GROUPS)
        by_view = (nothing if view.linear is None else view.linear.by_group() for view in self._counted)
        for contributions in zip(*by_view, strict=True):
            yield self._passes.estimate(self._level, contributions, 0.0)


def _is_nested(coarse: Integers, fine: Integers) -> bool:
    try:
        parent_of(coarse, fine)
    except NotNested:
        return False
    return True


def _largest_chain(counted: Sequence[CountedView]) -> tuple[int, ...]:
    """Return the positions of the chain of nested views with the most reports; its last view has reports."""
    best: list[tuple[int, tuple[int, ...]]] = []
    for place, view in enumerate(counted):
        before = [best[other] for other in range(place) if _is_nested(counted[other].districts, view.districts)]
        reports, chain = max(before, key=lambda candidate: (candidate[0], len(candidate[1])), default=(0, ()))
        best.append((reports + view.tally.reports, (*chain, place)))
    answered = [chain for chain, view in zip(best, counted, strict=True) if view.tally.reports]
    return max(answered, key=lambda candidate: (candidate[0], len(candidate[1])))[1]


def resolutions(campaign: Campaign, views: Views, *, confidence: float, method: str) -> list[Resolution]:
    """Return the estimate of each resolution, the coarsest first; the last resolution is that of the values.

    Args:
        campaign: the campaign.
        views: the views of the campaign with their reports.
        confidence: the confidence level of the intervals.
        method: ``projection`` projects inside each district of the next coarser resolution; ``linear`` returns the
            unbiased estimates as shares.
    """
    combined = views.combined()
    in_tree = [estimate for place in views.tree if (estimate := combined[place]) is not None]
    shares = dict(zip(views.tree, tree.consistent(views.nested(views.tree), in_tree), strict=True))
    finest = views.counted[views.tree[-1]].districts
    people = shares[views.tree[-1]][finest] / np.bincount(finest)[finest]
    by_map: dict[Map, Resolution] = {}
    for place, (counted_view, estimate) in enumerate(zip(views.counted, combined, strict=True)):
        rough = None if counted_view.linear is None else counted_view.linear.rough
        if estimate is None:
            share = np.bincount(counted_view.districts, people).astype(np.float64)
        else:
            share = shares[place] if place in shares else tree.consistent(views.nested([place]), [estimate])[0]
            share = estimate.raw if method == "linear" else share
        by_map[counted_view.view.map] = _resolution(
            campaign.domain,
            counted_view.view.map,
            counted_view.districts,
            counted_view.tally.reports,
            estimate,
            share,
            rough,
            confidence,
        )
    if Identity() not in by_map:
        by_map[Identity()] = _resolution(
            campaign.domain, Identity(), np.arange(campaign.domain.size), 0, None, people, None, confidence
        )
    return sorted(by_map.values(), key=lambda resolution: resolution.size)


def _resolution(
    domain: Domain,
    map_: Map,
    districts: Integers,
    reports: int,
    combined: CombinedEstimate | None,
    share: Floats,
    rough: NDArray[np.bool_] | None,
    confidence: float,
) -> Resolution:
    nothing = np.full_like(share, np.nan)
    raw, se = (nothing, nothing) if combined is None else (combined.raw, combined.se)
    intervals = Intervals.of(partial(interval.normal, raw, se), confidence, len(share)).possible(se, share)
    rough = np.zeros(len(share), dtype=np.bool_) if rough is None else rough
    return Resolution(raw, se, *intervals, share, domain, map_, districts, reports, rough)
