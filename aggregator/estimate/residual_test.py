"""Residual test: how much more often an output occurred than any distribution of inputs can explain.

Honest counts are spread as a mixture of the channel's rows, and whatever is orthogonal to all rows has mean zero under
every mixture. Of these directions, the projection of y has the most power against forgers who send only output y. Under
the law q of even shares it is:

    w = D^-1 (e_y - R' a),  (R D^-1 R') a = R D^-1 e_y,  D = diag(q),      so R w = 0 and w' D w = w[y]

(the efficient score: Neyman 1959). The same solution for all counts at once gives every output's number, share . w. It
takes one conjugate gradient, whose steps are a pass through the channel and back; a channel with few different singular
values, as all made by design, is done in as many steps. If the channel has no more outputs than inputs, nothing is
orthogonal to all rows, and there is no test.

What is made of it: screen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggregator.families.decoder import Decoder, Floats

STEPS = 30
SETTLED = 1e-7
"""The search ends where the residual is this part of what it was, or after so many steps."""

ROUNDING = 1e-6
"""What is left of an output below this part of it is the search's own error: some shares explain the output."""


@dataclass(frozen=True)
class Direction:
    """The direction of one output: what each report adds to its test statistic.

    Attributes:
        adds: (m,) by the report's output.
        forged: what a report with the output itself adds, above zero; one that is forged, too.
        mean: the most that honest reports add in the mean, whatever the shares: zero, but for rounding.
        variance: the largest mean square of what an honest report adds, whatever its input.
    """

    adds: Floats
    forged: float
    mean: float
    variance: float


def scores(decoder: Decoder, share: Floats) -> Floats:
    """(m,) for each output, the mean of its direction over the reports, in units of its standard error at even shares.

    The units are right where the direction has little but the output itself, and too small elsewhere: they say which
    outputs are worth a closer look.

    Args:
        share: (m,) how often each output came, over the reports.
    """
    inverse = _inverse(decoder)
    found: Floats = _beyond(decoder, inverse, share) / np.sqrt(np.where(inverse > 0, inverse, 1))
    return found


def direction(decoder: Decoder, y: int) -> Direction:
    """Return the most powerful direction against forgers who send output ``y``."""
    unit = np.zeros(decoder.features)
    unit[y] = 1
    inverse = _inverse(decoder)
    adds = _beyond(decoder, inverse, unit)
    mean = max(float(np.abs(decoder.backward(adds)).max()), ROUNDING * float(inverse[y]))
    return Direction(adds, float(adds[y]), mean, float(decoder.backward(adds**2).max()))


def _inverse(decoder: Decoder) -> Floats:
    """(m,) the diagonal of D^-1; 0 for outputs that nobody sends."""
    law = decoder.forward(np.full(decoder.inputs, 1 / decoder.inputs))
    return np.divide(1, law, out=np.zeros_like(law), where=law > 0)


def _beyond(decoder: Decoder, inverse: Floats, counts: Floats) -> Floats:
    """(m,) D^-1 (counts - R' a), where a explains as much of the counts as can be.

    Source: Hestenes, Stiefel 1952, on the normal equations.
    """
    explained = np.zeros(decoder.inputs)
    rest = decoder.backward(inverse * counts)
    step, size = rest, float(rest @ rest)
    enough = SETTLED**2 * size
    for _ in range(STEPS):
        if size <= enough:
            break
        image = decoder.backward(inverse * decoder.forward(step))
        length = size / float(step @ image)
        explained, rest = explained + length * step, rest - length * image
        smaller = float(rest @ rest)
        step, size = rest + smaller / size * step, smaller
    beyond: Floats = inverse * (counts - decoder.forward(explained))
    return beyond
