"""Local information privacy with transcripts: each report's channel is derived from the device's earlier reports.

The notion assumes an observer who knows all reports of the device in the campaign, and so can compute a posterior. The
rule derives the next channel from that posterior, in exact integers. Then each report changes the logarithm of a
value's probability by at most the level, and t reports change it by at most t times the level:

    P(x | y_1 .. y_t) / P(x) = product over s of P(x | y_1 .. y_s) / P(x | y_1 .. y_(s-1))

If all channels were derived from the first prior, their levels would not add up in this way. The posterior is not
rounded, so no error accumulates: its weights are integers that grow with the number of reports.

The person's value may change. With a drift, the observer expects that before each period the value is drawn again, from
the start prior, with that probability, and otherwise stays. The bound then applies to the value of every period.

The module ``personal`` defines the rule, the posterior and the drift. The device and the study store the earlier
reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from protocol import codec, exact, personal
from protocol.channels import Channel, Loss
from protocol.channels.response.channel import RESPONSE_STEPS, RandomizedResponse
from protocol.errors import NotionError, Uncertified
from protocol.notions.information import MAX_PRIOR_WEIGHT, Lip
from protocol.notions.notion import Certificate, Notion

MAX_TRANSCRIPT = 64
"""Maximum number of periods with transcripts: the posterior's weights grow by up to 17 bytes in each period."""


@dataclass(frozen=True)
class TranscriptPrior(Notion):
    """LIP at ``level`` for every report, under the posterior of the device's earlier reports in the campaign.

    Attributes:
        prior: k positive integers, before any report.
        drift: 2^16 times the probability that the value is drawn again before a period.
    Raises:
        NotionError: an attribute is invalid, or does not fit the others.
    """

    level: int
    prior: tuple[int, ...]
    drift: int = 0
    name: ClassVar[str] = "transcript-lip"
    lip_levels_add: ClassVar[bool] = True

    def __post_init__(self) -> None:
        # Constructing this notion checks the prior and the level, which have the same limits.
        Lip(self.level, self.prior)
        size = len(self.prior)
        if size > personal.MAX_DECLARED_VALUES:
            raise NotionError(
                f"a campaign with transcripts must have 2 to {personal.MAX_DECLARED_VALUES} values, not {size}"
            )
        if not 0 <= self.drift < personal.DRIFT_ONE:
            raise NotionError(f"a drift must lie in 0 .. {personal.DRIFT_ONE - 1}, not {self.drift}")

    @property
    def input_count(self) -> int | None:
        return len(self.prior)

    def covers_sets(self, dummies: int) -> bool:
        # The dither that chooses an item stays the same, so the item of a changed set depends on the earlier item.
        return not self.assumes_independent_inputs

    @property
    def assumes_independent_inputs(self) -> bool:
        # The drift draws a value again independently.
        return self.drift > 0

    def prior_after(self, earlier: Iterable[tuple[int, int]], period: int) -> tuple[int, ...]:
        """Return an observer's prior for ``period`` after the device's earlier reports: positive integer weights of any
        size.

        Args:
            earlier: (period, output) of the earlier reports, by increasing period, all before ``period``.
        Raises:
            ValueError: the periods do not increase, or are not all before ``period``.
        """
        return self.priors_before((*earlier, (period, 0)))[-1]

    def priors_before(self, reports: Iterable[tuple[int, int]]) -> list[tuple[int, ...]]:
        """Return, for each report, an observer's prior for its period after the reports before it.

        Args:
            reports: (period, output), by increasing period; the last output changes nothing.
        Raises:
            ValueError: the periods do not increase.
        """
        priors: list[tuple[int, ...]] = []
        prior, latest = self.prior, None
        for period, y in reports:
            # Before the first report the prior is the start prior, and mixing it with itself does not change it.
            if latest is not None:
                then, output = latest
                prior = self._aged(personal.posterior(prior, self.channel_of(prior), output), then, period)
            priors.append(prior)
            latest = period, y
        return priors

    def _aged(self, prior: tuple[int, ...], last: int, period: int) -> tuple[int, ...]:
        """Return the prior for ``period``, computed from the posterior after a report in period ``last``.

        The drift is applied once for each period after ``last``, up to and including ``period``.
        """
        if last >= period:
            raise ValueError(f"the periods of a device's reports must increase: period {period} is not after {last}")
        for _ in range(period - last if self.drift else 0):
            prior = personal.prior_after_drift(prior, self.prior, self.drift)
        return prior

    def channel_of(self, prior: Sequence[int]) -> RandomizedResponse:
        """Return the channel of a report, given an observer's prior before it."""
        return personal.lip_response(prior, self.level)

    def certificate_of(self, prior: Sequence[int]) -> Certificate:
        """Return the certificate of ``channel_of(prior)`` under ``prior``, whose weights may be larger than a notion
        allows.

        Raises:
            Uncertified: the channel does not satisfy the level under ``prior``.
        """
        channel = self.channel_of(prior)
        loss = channel.loss_against_prior(prior)
        level = loss.level
        if level is None or not exact.satisfies(loss.numerator, loss.denominator, self.level):
            raise Uncertified(
                f"after this transcript, the rule's channel does not satisfy the campaign's level of "
                f"{exact.in_nats(self.level)} (nats: see docs/GLOSSARY.md): the device must not answer"
            )
        return Certificate(self.level, level, self.ldp_level(channel), loss, self.lip_levels_add)

    def audit_steps(self, channel: Channel) -> int:
        # These are the steps for the rule's channel; any other channel is refused before its ratios are computed.
        return channel.input_count * 2 * RESPONSE_STEPS

    def audit(self, channel: Channel) -> tuple[bool, int, Loss]:
        if channel != self.channel_of(self.prior):
            raise Uncertified("the channel must be the one that the rule of transcripts gives for the start prior")
        return Lip(self.level, self.prior).audit(channel)

    def encode(self) -> codec.Value:
        return [self.name, self.level, list(self.prior), self.drift]

    @classmethod
    def from_wire(cls, value: codec.Value) -> TranscriptPrior:
        _, level, weights, drift = codec.fields(value, 4, cls.name, NotionError)
        return cls(
            codec.integer(level, "a level", NotionError),
            codec.integers(weights, "a prior weight", NotionError, 0, MAX_PRIOR_WEIGHT),
            codec.integer(drift, "a drift", NotionError, 0, personal.DRIFT_ONE - 1),
        )
