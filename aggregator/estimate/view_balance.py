"""Test of views: whether the numbers of devices with each view agree with the weights of the views.

A device's view follows from its public key. Honest keys are random, so the numbers of devices by view are multinomial
with the weights, for any answers. An attacker who generates many keys and uses only keys with one view has more
influence on the estimate of this view. This test detects the attack.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from aggregator.campaign_facts import view_name
from aggregator.estimate.forgeries import FALSE_ALARM
from aggregator.families.decoder import Integers
from protocol.domain import Domain
from protocol.views import View


def find_view_imbalance(domain: Domain, views: Sequence[View], devices: Integers) -> str | None:
    """Return the problem found in the numbers of devices by view, as a sentence; None without a problem.

    The number of devices with one view is binomial, so the test is exact. It uses both tails for each view, with the
    significance level ``FALSE_ALARM`` for all views together.

    Args:
        domain, views: the domain and the views of the campaign.
        devices: (J,) the number of devices with each view that have answered.
    """
    total = int(devices.sum())
    if len(views) == 1 or not total:
        return None
    weights = np.array([view.weight for view in views], dtype=np.float64)
    part = weights / weights.sum()
    # The tails of the binomial are P(N >= n) = I(part; n, total - n + 1) and P(N <= n) = 1 - P(N >= n + 1).
    upper = np.where(devices > 0, special.betainc(np.maximum(devices, 1), total - devices + 1, part), 1.0)
    lower = np.where(devices < total, special.betaincc(devices + 1, np.maximum(total - devices, 1), part), 1.0)
    tail = np.minimum(upper, lower)
    place = int(np.argmin(tail))
    if tail[place] >= FALSE_ALARM / (2 * len(views)):
        return None
    expected = part[place] * total
    return (
        f"the view of {view_name(domain, views[place])} has {int(devices[place]):,} of {total:,} devices, where its "
        f"weight predicts {expected:,.0f}: "
        + (
            "keys look as if they were chosen for their view"
            if devices[place] > expected
            else "devices with this view are missing, or keys were chosen for other views"
        )
    )
