"""A distribution that a few forged reports move less.

A channel mostly has more outputs than inputs, so honest counts hang together. An output that comes far more often than
any shares explain is brought down to what they do, and the shares are made of what is left; honest counts stay what
they are, but for one output in hundreds (Huber 1964, of residuals; shares by maximum likelihood, which lets no share be
negative to explain a forgery).

It is set beside the estimate where the screen alarms, and never in its place. Where any counts could be honest, nothing
is brought down, and only the influence tells what forgeries may do.
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
    """The shares that believed counts make, projected as ``distribution.project`` does.

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
