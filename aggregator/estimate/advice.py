"""Warnings of an estimate, to be read before using the estimate."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np

from aggregator.estimate.distribution import projected_shares
from aggregator.estimate.pooled import Pooled
from aggregator.estimate.prior_test import PriorTest
from aggregator.estimate.robust import MAX_ROBUST_INPUTS, robust_shares
from aggregator.estimate.shown_inputs import ShownInputs
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import Decoder, Floats, NotInvertible
from protocol.domain import Domain

MOVED = 5e-4
"""Values whose robust share differs from the projected share by less than this are not named in the warning."""

UNKNOWN = 0.5
"""If a standard error is above this, the interval covers nearly all possible shares, so the reports contain
almost no information about the value."""

WITHOUT_INTERVALS = "shares without intervals"
"""Start of the warning about shares without standard errors."""

EXPLAINED = "docs/ESTIMATES.md explains the methods"
"""A phrase for every warning that names a method."""

ROBUST = "a robust estimate, which counts an output at most as often as the counts of the other outputs can explain,"
"""Start of the sentence that compares the robust estimate with the main one."""

ONE_DEVICE = (
    "all reports come from one device, or from very few: they do not show how much people differ, so there are no "
    "standard errors and no intervals"
)

NOTHING_FINEST = (
    "there are no reports at the finest resolution: each district's share is spread evenly over its values, without "
    "intervals"
)


def noisy(se: Floats) -> list[str]:
    """Return a list with a warning if the standard error of any value is above ``UNKNOWN``, else an empty list.

    Args:
        se: (k,) the standard errors of the shares.
    """
    unknown = int(np.count_nonzero(se > UNKNOWN))
    if not unknown:
        return []
    return [
        f"at {unknown} of {len(se)} values the standard error is above {UNKNOWN:.0%} (up to "
        f"{np.nanmax(se):.0%}): the shares printed there are mostly noise. More reports, fewer values, or a channel "
        "with less noise would help"
    ]


def outside(shares: Floats, low: Floats, high: Floats, confidence: float) -> list[str]:
    """Return a list with a warning if MMSE shares lie outside the simultaneous intervals, which do not depend on the
    prior, else an empty list.

    Args:
        shares: (k,) the MMSE estimates of the shares.
        low, high: (k,) the simultaneous intervals.
        confidence: the confidence level of the intervals.
    """
    beyond = int(np.count_nonzero((shares < low) | (shares > high)))
    if not beyond:
        return []
    return [
        f"the prior looks wrong: at {beyond} of {len(shares)} values the estimate, which depends on the prior "
        f"(method 'mmse'), lies outside the simultaneous {confidence:.0%} intervals, which do not depend on it. More "
        f"reports do not correct this; use method 'map' or 'projection' ({EXPLAINED})"
    ]


def beside_robust(
    domain: Domain, decoder: Decoder, tally: Tally, prior: Floats | None, shown_inputs: ShownInputs
) -> list[str]:
    """Return a list with one sentence that compares a robust estimate with the projection of all reports; empty if no
    robust estimate is computed."""
    if decoder.input_count > MAX_ROBUST_INPUTS or not decoder.one_hot or isinstance(decoder, Pooled):
        return []
    share, independent = tally.counts / tally.reports, math.ceil(tally.reports / tally.max_outputs)
    with suppress(NotInvertible):
        less = robust_shares(decoder, share, independent, prior, shown_inputs)
        shares = projected_shares(decoder, decoder.invert(share), tally.reports, prior, shown_inputs)
        return [_compared(domain, shown_inputs, shares, less)]
    return []


def _compared(domain: Domain, shown_inputs: ShownInputs, shares: Floats, less: Floats) -> str:
    """Return a sentence that compares a robust estimate with the projection of all reports."""
    shares, less = (shown_inputs.possible(shown_inputs.shares(column)) for column in (shares, less))
    largest = np.argsort(-np.abs(shares - less), kind="stable")[:3].tolist()
    moved = [
        f"{domain.label(x)}: {less[x]:.2%}, not {shares[x]:.2%}" for x in largest if abs(shares[x] - less[x]) >= MOVED
    ]
    if not moved:
        return f"{ROBUST} gives nearly the same shares as method 'projection' ({EXPLAINED})"
    return (
        f"{ROBUST} gives {'; '.join(moved)} (both by method 'projection'; {EXPLAINED}). The estimate above counts "
        "every report"
    )


def contradicted(tested: PriorTest, method: str, decoder: Decoder) -> str:
    """Return the warning for a prior that the reports contradict, with advice on the method to use."""
    finding = (
        f"the prior looks wrong: the outputs contradict it (p-value {max(tested.p_value, 1e-16):.1g}; chi-square "
        f"{tested.statistic:.0f}, about {tested.freedom} under a right prior)"
    )
    if method == "mmse":
        return (
            f"{finding}. The estimate depends on the prior, and more reports do not correct this; use method "
            f"{_recovers(decoder)} ({EXPLAINED})"
        )
    if method == "map":
        return f"{finding}. The estimate departs from the prior where the reports contradict it"
    return finding


def _recovers(decoder: Decoder) -> str:
    return "'map' or 'projection'" if isinstance(decoder, Pooled) else "'map', or 'em' if there are many reports"
