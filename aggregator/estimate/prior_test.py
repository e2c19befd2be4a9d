"""A chi-square test of the prior: whether outputs are as frequent as the prior predicts.

The statistic is Pearson's: the sum over cells of (count - expected)^2 / expected, whose law under a right prior is
nearly chi-square. Outputs that are expected rarely are joined with their neighbours.

What is done where a prior fails: result. How one is used: method.

Source: Pearson 1900; Cochran 1954 for the least expectation of a cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from aggregator.estimate.pooled import Pooled
from aggregator.estimate.transcript import TranscriptDecoder
from aggregator.families.decoder import Decoder, Floats, Integers

ALPHA = 0.001
"""Probability, nearly, that a right prior is called wrong."""

LEAST_EXPECTED = 5.0
"""Reports that a cell must be expected to have."""

CELLS = 2
"""Cells for each value, at most: shares of k values differ in k - 1 ways, and every further cell is noise."""


@dataclass(frozen=True)
class PriorTest:
    """The result of the test of a prior.

    Attributes:
        statistic: Pearson's.
        freedom: cells, less one.
        p_value: probability that a right prior gives a statistic as large.
    """

    statistic: float
    freedom: int
    p_value: float

    @property
    def rejected(self) -> bool:
        """Whether the test rejects the prior."""
        return self.p_value < ALPHA

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form."""
        return {
            "statistic": self.statistic,
            "freedom": self.freedom,
            "p_value": self.p_value,
            "alpha": ALPHA,
            "rejected": self.rejected,
        }


def prior_test(decoder: Decoder, prior: Floats, counts: Integers, reports: int, most: int = 1) -> PriorTest | None:
    """Test ``prior`` by the counts of the outputs; None where it cannot be tested.

    It cannot be tested if reports are counted bit by bit, if channels depend on transcripts, or if there are too few
    reports for two cells. With classes, the numbers of reports by class are taken as given, which makes the test
    slightly conservative.

    Args:
        prior: (k,); a pooled decoder has the priors of its classes itself.
        counts: (m,) of the outputs.
        most: reports of the device that sent most. Its reports may all be one output, so that many reports count for
            one.
    """
    if not decoder.one_hot or isinstance(decoder, TranscriptDecoder):
        return None
    law = decoder.predicted if isinstance(decoder, Pooled) else decoder.forward(prior)
    expected = law * (reports / most)
    least = max(LEAST_EXPECTED, float(expected.sum()) / (CELLS * decoder.inputs))
    # A cell ends with the output at which the expectation of all so far has reached another multiple of the least.
    cell = np.floor((np.cumsum(expected) - expected) / least).astype(np.int64)
    _, cell = np.unique(cell, return_inverse=True)
    awaited = np.bincount(cell, weights=expected)
    found = np.bincount(cell, weights=counts / most)
    if awaited[-1] < least and len(awaited) > 1:  # what is left over joins the last whole cell
        awaited[-2:-1] += awaited[-1:]
        found[-2:-1] += found[-1:]
        awaited, found = awaited[:-1], found[:-1]
    if len(awaited) < 2:
        return None
    statistic = float(((found - awaited) ** 2 / awaited).sum())
    freedom = len(awaited) - 1
    return PriorTest(statistic, freedom, float(special.chdtrc(freedom, statistic)))
