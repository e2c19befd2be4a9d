"""Estimates of a campaign in which the channel of each report depends on the device's earlier reports.

The unit of observation is a device with its whole transcript. Devices are counted by transcript, and a transcript
contributes to the estimate the mean contribution of its reports, each decoded by its own channel:

    D[x] = mean over its reports s of ([y_s = x] - c_s[x]) / t_s          Q_s(y|x) = c_s[y] + t_s [y = x]

Given the earlier reports, each term is an unbiased estimate of the indicator of the person's value in that period.
Standard errors are computed between devices, so the dependence between reports of one device does not matter.

``protocol.notions.transcript`` contains the rule for the channels; ``pooled`` and ``estimator`` use the counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np

from aggregator.estimate.pooled import Pooled
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import Floats, Integers
from protocol import exact
from protocol.notions.transcript import TranscriptPrior
from protocol.personal import DRIFT_ONE

SILENT = -1
"""The entry of a period in which the device sent no report."""

CELLS = 2**22
"""The largest product of the numbers of reports and values that are processed together."""

_NO_CHAINS: Integers = np.zeros((0, 0), dtype=np.int64)


@dataclass(frozen=True)
class TranscriptTally(Tally):
    """Counts of devices by transcript.

    Attributes:
        counts: (d,) the number of devices with each transcript.
        reports: the number of devices, regardless of how many reports each sent.
        chains: (d, periods) the distinct transcripts: the output of each period, or ``SILENT``.
        lost: the number of reports that cannot be decoded, since they or an earlier report of the same device are
            repeated or not in order of the periods, or an earlier report is missing.
        period: the only period that is estimated, which is the last of ``chains``; None for all periods.
    """

    refused: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    version: int | None = None
    chains: Integers = field(default_factory=lambda: _NO_CHAINS)
    lost: int = 0
    period: int | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warning about reports that are left out; empty if all reports are used."""
        if not self.lost:
            return ()
        return (
            f"reports left out: {self.lost:,}. These reports, or earlier ones of the same devices, are repeated or out "
            "of order, or an earlier report is missing, so their channels are unknown. If reports are missing, ingest "
            "them",
        )


def transcripts(
    key: Integers, period: Integers, slot: Integers, output: Integers, periods: int, only: int | None = None
) -> tuple[Integers, Integers, int]:
    """Return the transcript of each device, and the number of reports that cannot be decoded.

    The slot of a report is the number of earlier reports of its device. So a transcript continues as long as each of
    the slots 0, 1, 2 ... is present exactly once, in increasing periods. The channels of reports after a gap are
    unknown.

    Args:
        key, period, slot, output: (n,) the device, the period, the slot and the output of each report, in any order.
        periods: the number of columns of the transcripts.
        only: a period; transcripts then end with this period, and only devices with a report in this period are
            returned.
    Returns:
        the keys, (a,), their transcripts, (a, periods), and the number of requested reports that cannot be decoded.
    """
    order = np.lexsort((period, slot, key))
    key, period, slot, output = key[order], period[order], slot[order], output[order]
    first = np.flatnonzero(np.diff(key, prepend=key[:1] - 1))
    device = np.repeat(np.arange(len(first)), np.diff(first, append=len(key)))
    place = np.arange(len(key)) - first[device]
    twice = (device[1:] == device[:-1]) & (slot[1:] == slot[:-1])
    fits = slot == place
    fits[:-1] &= ~twice
    fits[1:] &= (place[1:] == 0) | (period[1:] > period[:-1])
    breaks = np.cumsum(~fits)
    sound = breaks == (breaks[first] - ~fits[first])[device]
    counted = np.ones(len(key), dtype=np.bool_) if only is None else period == only
    lost = int((counted & ~sound).sum())
    decodable = sound if only is None else sound & (period <= only)
    chains = np.full((len(first), periods), SILENT, dtype=np.int64)
    chains[device[decodable], period[decodable]] = output[decodable]
    sent = np.unique(device[sound & counted])
    return key[first[sent]], chains[sent], lost


class TranscriptDecoder(Pooled):
    """The decoder whose features are the observed transcripts. It has one class, in which all people have the start
    prior."""

    def __init__(self, notion: TranscriptPrior, chains: Integers, period: int | None = None) -> None:
        """Compute the contributions, likelihoods and posteriors of the transcripts.

        Args:
            notion: the campaign's notion.
            chains: (d, periods) the transcripts, each with at least one output.
            period: see ``TranscriptTally``.
        """
        self.classes, self.input_count, self.features = 1, len(notion.prior), len(chains)
        self.members = np.ones(1)
        self._start = np.array(notion.prior, dtype=np.float64)
        self._start /= self._start.sum()
        self.priors = self._start[np.newaxis]
        self.drift = notion.drift / DRIFT_ONE
        # These floats approximate the integers of protocol.personal.lip_response and of TranscriptPrior.prior_after.
        self._factor = exact.exp_lower(notion.level) / (1 << exact.EXP_BITS)
        shape = len(chains), self.input_count
        self._contributed, self._likelihood, self._posterior = np.zeros(shape), np.ones(shape), np.zeros(shape)
        self._scale, self._ceiling = np.zeros(len(chains)), np.zeros(len(chains))
        counted = (chains != SILENT) if period is None else (chains != SILENT) & (np.arange(chains.shape[1]) == period)
        parts = counted / counted.sum(axis=1, keepdims=True)
        step = max(1, CELLS // (chains.shape[1] * self.input_count))
        for begin in range(0, len(chains), step):
            some = slice(begin, begin + step)
            self._read(some, chains[some], parts[some])

    def _read(self, some: slice, chains: Integers, parts: Floats) -> None:
        """Compute the contributions, likelihoods and posteriors of some transcripts, period by period."""
        start = self._start
        expected = np.tile(start, (len(chains), 1))
        passed: list[tuple[Integers, Floats, Floats]] = []
        for time, outputs in enumerate(chains.T):
            rows = np.flatnonzero(outputs != SILENT)
            cells = np.arange(len(rows)), outputs[rows]
            prior = expected[rows]
            minimum = np.maximum(prior, 1 - self._factor * prior)
            truth = (self._factor - 1) / (self._factor - 1 + minimum.sum(axis=1))
            cover = minimum * (truth / (self._factor - 1))[:, np.newaxis]
            contributions = -cover
            contributions[cells] += 1
            self._contributed[some][rows] += contributions * (parts[rows, time] / truth)[:, np.newaxis]
            distribution = np.repeat(cover[cells][:, np.newaxis], self.input_count, axis=1)
            distribution[cells] += truth
            self._multiply(some, rows, distribution)
            prior = prior * distribution
            prior /= prior.sum(axis=1, keepdims=True)
            expected[rows] = prior
            if self.drift:
                passed.append((rows, prior, distribution))
                expected = (1 - self.drift) * expected + self.drift * start
        self._posterior[some] = self._smoothed(passed, parts) if self.drift else expected

    def _multiply(self, some: slice, rows: Integers, distribution: Floats) -> None:
        """Multiply the likelihoods by that of one more report, and scale their maximum to 1 to prevent underflow."""
        likelihood = self._likelihood[some][rows] * distribution
        maximum = likelihood.max(axis=1)
        self._likelihood[some][rows] = likelihood / maximum[:, np.newaxis]
        self._scale[some][rows] += np.log(maximum)
        self._ceiling[some][rows] += np.log(distribution.max(axis=1))  # an upper bound for any sequence of values

    def _smoothed(self, passed: list[tuple[Integers, Floats, Floats]], parts: Floats) -> Floats:
        """Return the mean of P(value | transcript) over the requested periods, by the forward-backward algorithm."""
        start = self._start
        mean, later = np.zeros((len(parts), self.input_count)), np.ones((len(parts), self.input_count))
        for time in range(len(passed) - 1, -1, -1):
            rows, filtered, distribution = passed[time]
            both = filtered * later[rows]
            mean[rows] += both * (parts[rows, time] / both.sum(axis=1))[:, np.newaxis]
            later[rows] *= distribution
            later = (1 - self.drift) * later + self.drift * (later @ start)[:, np.newaxis]
            later /= later.max(axis=1, keepdims=True)
        return mean

    def posterior_mean(self, mean_features: Floats) -> Floats:
        """Return the mean of P(value | transcript) over devices and the periods in which they answered, shape (k,)."""
        return mean_features @ self._posterior

    def forward(self, p: Floats) -> Floats:
        """Return the probabilities of the observed transcripts under ``p`` if values do not change, scaled to the sum
        one, shape (d,)."""
        distribution: Floats = (self._likelihood @ p) * np.exp(self._scale - self._scale.max())
        distribution /= distribution.sum()
        return distribution

    def _forward(self, p: Floats) -> Floats:
        """Return the likelihood of each transcript up to a factor, which cancels in a posterior."""
        distribution: Floats = self._likelihood @ p[0]
        return distribution

    def _forward_squares(self, p: Floats) -> Floats:
        squares: Floats = self._likelihood**2 @ p[0]
        return squares

    def _backward(self, w: Floats) -> Floats:
        return (w @ self._likelihood)[np.newaxis]

    def _invert(self, mean_features: Floats) -> Floats:
        return (mean_features @ self._contributed)[np.newaxis]

    def _moments(self, mean_features: Floats) -> Floats:
        return (mean_features @ self._contributed**2)[np.newaxis]

    def adjoint(self, v: Floats) -> Floats:
        return self._contributed @ v

    def _contributions(self, counts: Integers) -> tuple[Floats, Integers]:
        return self._contributed, np.repeat(counts[:, np.newaxis], self.input_count, axis=1)

    @property
    def ceiling(self) -> Floats:
        return np.minimum(np.exp(self._ceiling), 1)

    @cached_property
    def people_per_report(self) -> float:
        return float(np.abs(self._contributed).max())
