"""Estimate the shares of a campaign with views, at every resolution."""

from __future__ import annotations

import numpy as np

from aggregator.campaign_facts import counted_noun, view_name
from aggregator.estimate.advice import NOTHING_FINEST, ONE_DEVICE
from aggregator.estimate.forgeries import find_forgeries_in_tally
from aggregator.estimate.method import MethodRefused
from aggregator.estimate.minimum import devices_of, require_enough
from aggregator.estimate.names import VIEW_METHODS
from aggregator.estimate.resolutions import Views, resolutions
from aggregator.estimate.result import Estimate, Influence
from aggregator.estimate.tally import Tally
from aggregator.estimate.view_balance import find_view_imbalance
from protocol.campaign import Campaign


def estimate_views(
    campaign: Campaign,
    campaign_id: bytes,
    tally: Tally,
    method: str | None,
    confidence: float,
    forged: int | None,
    class_name: str | None,
) -> Estimate:
    """Return the estimate of a campaign with views, with all its resolutions.

    Args:
        campaign_id: the id of the campaign; empty if it is not signed.
        method: one of ``VIEW_METHODS``; None uses the first.
        confidence, forged, class_name: see ``estimator.estimate``.
    Raises:
        NotEnough: fewer devices than the campaign's minimum.
        MethodRefused: ``method`` is not one of ``VIEW_METHODS``.
        NotInvertible: a view with reports has no unbiased estimate.
    """
    require_enough(campaign, tally)
    method = method or VIEW_METHODS[0]
    if method not in VIEW_METHODS:
        raise MethodRefused(f"a campaign with views needs method {' or '.join(VIEW_METHODS)}, not {method[:40]!r}")
    views = Views.of(campaign, tally.by_view)
    estimates = resolutions(campaign, views, confidence=confidence, method=method)
    warnings: list[str] = []
    for counted_view in views.counted:
        name = view_name(campaign.domain, counted_view.view)
        if counted_view.linear is None:
            warnings.append(
                f"no device that is asked for {name} has answered: the shares of this view come from other views"
            )
            continue
        if counted_view.linear.between is not None and not counted_view.linear.between.freedom:
            warnings.append(f"{name}: {ONE_DEVICE}")
        forgeries = find_forgeries_in_tally(counted_view.decoder, counted_view.tally, counted_noun(campaign))
        warnings.extend(f"{name}: {finding}" for finding in forgeries)
    # For a class whose devices have several reports each, only a lower bound on their number is known.
    known = not any(part.correlated is not None and part.correlated.is_partial for part in tally.by_view)
    devices = np.array([devices_of(part) for part in tally.by_view])
    if known and (chosen := find_view_imbalance(campaign.domain, campaign.views, devices)) is not None:
        warnings.append(chosen)
    weight = max(
        counted_view.decoder.people_per_report * tally.reports / counted_view.tally.reports
        for counted_view in views.counted
        if counted_view.linear
    )
    finest = estimates[-1]
    if np.isnan(finest.raw).all():
        warnings.append(NOTHING_FINEST)
    return Estimate(
        finest.raw, finest.se, *finest.intervals, finest.share,
        campaign, campaign_id, tally.reports, method, confidence, tally.refused, tally.version,
        Influence(weight, tally.reports, forged), tuple(warnings), int(devices.sum()) if known else None,
        class_name=class_name, rough=finest.rough, resolutions=tuple(estimates),
    )  # fmt: skip
