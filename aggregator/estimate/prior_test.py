"""Chi-square test of the prior, which compares the counts of outputs with the counts that the prior predicts.

The statistic is Pearson's: the sum over cells of (count - expected)^2 / expected. Under a right prior its distribution
is nearly chi-square. Outputs with a small expected count are joined with their neighbours.

``estimator`` chooses the method if the test rejects, and ``method`` describes the use of priors.

Source: Pearson 1900; Cochran 1954 for the smallest expected count of a cell.
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
"""The approximate probability that a right prior is rejected."""

MIN_EXPECTED = 5.0
"""The smallest expected count that a cell may have."""

CELLS = 2
"""Maximum number of cells per value: k shares have k - 1 degrees of freedom, and further cells only add noise."""


@dataclass(frozen=True)
class PriorTest:
    """The result of the test of a prior.

    Attributes:
        statistic: Pearson's chi-square statistic.
        freedom: the degrees of freedom: the number of cells minus one.
        p_value: the probability of a statistic at least this large if the prior is right.
    """

    statistic: float
    freedom: int
    p_value: float

    @property
    def rejected(self) -> bool:
        return self.p_value < ALPHA

    def as_json(self) -> dict[str, Any]:
        return {
            "statistic": self.statistic,
            "freedom": self.freedom,
            "p_value": self.p_value,
            "alpha": ALPHA,
            "rejected": self.rejected,
        }


def prior_test(
    decoder: Decoder, prior: Floats, counts: Integers, reports: int, max_outputs: int = 1
) -> PriorTest | None:
    """Return the test of ``prior`` against the counts of the outputs; None if the prior cannot be tested.

    A prior cannot be tested if reports are counted bit by bit, if channels depend on transcripts, or if there are too
    few reports for two cells. With classes, the numbers of reports by class are taken as given, which makes the test
    slightly conservative.

    Args:
        decoder: the decoder of the campaign.
        prior: (k,) the prior; a pooled decoder uses the priors of its classes instead.
        counts: (m,) the counts of the outputs.
        reports: n, the number of reports.
        max_outputs: the largest number of reports of one device. All reports of a device may repeat one output, so the
            counts are divided by this number.
    """
    if not decoder.one_hot or isinstance(decoder, TranscriptDecoder):
        return None
    distribution = decoder.predicted if isinstance(decoder, Pooled) else decoder.forward(prior)
    expected = distribution * (reports / max_outputs)
    minimum = max(MIN_EXPECTED, float(expected.sum()) / (CELLS * decoder.input_count))
    cell, collected, last = np.zeros(len(expected), dtype=np.int64), 0.0, 0
    for output, count in enumerate(expected.tolist()):
        cell[output] = last
        collected += count
        if collected >= minimum:
            collected, last = 0.0, last + 1
    # The outputs after the last full cell belong to it.
    cell = np.minimum(cell, max(last - 1, 0))
    awaited = np.bincount(cell, weights=expected)
    observed = np.bincount(cell, weights=counts / max_outputs)
    if len(awaited) < 2:
        return None
    statistic = float(((observed - awaited) ** 2 / awaited).sum())
    freedom = len(awaited) - 1
    return PriorTest(statistic, freedom, float(special.chdtrc(freedom, statistic)))
