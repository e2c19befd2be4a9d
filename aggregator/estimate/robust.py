"""Estimate of a distribution that is less sensitive to a few forged reports.

Most channels have more outputs than inputs, so honest counts satisfy linear constraints. If the count of an output is
far above the largest count that the fitted shares explain, the count is reduced to this largest count, and the shares
are fitted again. Among honest counts, about one output in several hundred is reduced (Huber 1964, applied to
residuals). The shares are fitted by maximum likelihood, so that no negative share explains a forgery.

This estimate is shown beside the main estimate if a test for forged reports raises an alarm, and never replaces it. If
every vector of counts could be honest, no count is reduced; then only the influence bounds the effect of forgeries.
"""

from __future__ import annotations

import numpy as np

from aggregator.estimate import likelihood
from aggregator.estimate.distribution import projected_shares
from aggregator.estimate.shown_inputs import ShownInputs
from aggregator.families.decoder import Decoder, Floats

REACH = 3.0
"""A count is reduced if it is more than this many standard errors above the explained count."""

MAX_ROBUST_INPUTS = 2**12
"""Maximum number of inputs for which a robust estimate is computed beside an estimate; at this number the search takes
seconds."""

ROUNDS = 10
CONVERGED = 1e-5
"""The search has converged if a round moves less than this fraction of the reports."""


def robust_shares(
    decoder: Decoder,
    mean_features: Floats,
    reports: int,
    prior: Floats | None = None,
    shown_inputs: ShownInputs | None = None,
) -> Floats:
    """Return the shares of the reduced counts by method "projection".

    Args:
        decoder: the decoder of the campaign.
        mean_features: (m,) the relative frequency of each output.
        reports: n, the number of reports, or the effective number of reports.
        prior, shown_inputs: see ``distribution.projected_shares``.
    Raises:
        NotInvertible: no unbiased estimate exists.
        ValueError: the outputs of the channel are bit vectors.
    """
    if not decoder.one_hot:
        raise ValueError(
            "a robust estimate needs counts of whole outputs, and here bits are counted one by one: "
            "check ``one_hot`` first"
        )
    reduced, p = mean_features, np.full(decoder.input_count, 1 / decoder.input_count)
    for _ in range(ROUNDS):
        p = likelihood.em(decoder, reduced, reports, p).share
        distribution = decoder.forward(p)
        fewer = np.minimum(
            mean_features, distribution + REACH * np.sqrt(np.maximum(distribution, 1 / reports) / reports)
        )
        fewer /= fewer.sum()
        moved, reduced = float(np.abs(fewer - reduced).sum()), fewer
        if moved < CONVERGED:
            break
    return projected_shares(decoder, decoder.invert(reduced), reports, prior, shown_inputs)
