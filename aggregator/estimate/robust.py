"""A distribution that is less sensitive to a few forged reports.

Most channels have more outputs than inputs, so honest counts satisfy linear constraints. The count of an output that is
far above what any shares can explain is reduced to the explained count, and the shares are fitted again. Honest counts
are changed in about one output of hundreds (Huber 1964, applied to residuals; shares by maximum likelihood, so that no
negative share explains a forgery).

It is shown beside the estimate when the screen raises an alarm, and never replaces it. If every vector of counts could
be honest, no count is reduced; then only the influence bounds the effect of forgeries.
"""

from __future__ import annotations

import numpy as np

from aggregator.estimate import likelihood
from aggregator.estimate.distribution import project
from aggregator.estimate.reported import Reported
from aggregator.families.decoder import Decoder, Floats

REACH = 3.0
"""Standard errors of an output's count above what the shares explain, within which it is believed."""

LARGEST = 2**12
"""Inputs up to which it is made beside an estimate; the search takes seconds there."""

ROUNDS = 10
SETTLED = 1e-5
"""The search ends where a round moves fewer of the reports than this."""


def robust(decoder: Decoder, share: Floats, reports: int, reported: Reported | None = None) -> Floats:
    """Return the shares fitted to the reduced counts, projected as by ``distribution.project``.

    Args:
        share: (m,) how often each output came, over the reports.
        reports: n, or as many independent ones as they are worth.
        reported: what is made of the shares, as of ``distribution.project``.
    Raises:
        NotInvertible
    """
    if not decoder.one_hot:
        raise ValueError("outputs are believed one by one, and bits are counted together")
    believed, p = share, np.full(decoder.inputs, 1 / decoder.inputs)
    for _ in range(ROUNDS):
        p = likelihood.em(decoder, believed, reports, p).share
        law = decoder.forward(p)
        fewer = np.minimum(share, law + REACH * np.sqrt(np.maximum(law, 1 / reports) / reports))
        fewer /= fewer.sum()
        moved, believed = float(np.abs(fewer - believed).sum()), fewer
        if moved < SETTLED:
            break
    return project(decoder.invert(believed), reported)
