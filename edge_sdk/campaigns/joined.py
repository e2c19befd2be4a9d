"""A campaign that a device joined: its verified terms, and the device's own key for it.

A joined campaign turns an input and random bytes into a sealed report. It does not use stores, clocks or budgets. It is
made from its signed bytes, so each process audits the channel again, with the same integers as the sampling.

answers/answering decides when a report is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from edge_sdk.budget.policy import Commitment
from edge_sdk.campaigns.role import NO_ROLE, Role
from protocol.campaign import MAX_ANSWERS_PER_PERIOD, Campaign, SignedCampaign, open_campaign
from protocol.channels import Channel
from protocol.domain import Answer
from protocol.envelope import MAX_PAYLOAD, Kind, sealed_bytes
from protocol.errors import CampaignError
from protocol.keys import SigningKey
from protocol.notions import Certificate
from protocol.notions.declared_prior import DeclaredPrior
from protocol.notions.transcript import TranscriptPrior
from protocol.report import MAX_PERIOD, MAX_SLOT, Enrolment, Report, pack, packed_bytes, unpack
from protocol.views import Map, is_plain

# At run time, these are imported only when terms are shown; answering does not need them.
if TYPE_CHECKING:
    from edge_sdk.campaigns.terms import Terms


@dataclass(frozen=True)
class Joined:
    """One campaign on one device, in one role. Its repr shows no secret.

    Attributes:
        signed: the signed campaign.
        key: the device's key for this campaign.
        role: the class or the declared prior of the person.
        report_prior: in a campaign with transcripts, the prior for which the next report's channel is designed: the
            posterior after the earlier reports. None until ``for_report`` or ``as_drawn`` sets it, and in every other
            campaign.
    """

    signed: SignedCampaign
    key: SigningKey
    role: Role = NO_ROLE
    report_prior: tuple[int, ...] | None = None

    @classmethod
    def open(cls, data: bytes, trusted: Iterable[bytes], device_secret: bytes) -> Joined:
        """Verify, parse and audit a signed campaign, and derive the device's key for it.

        Raises:
            BadData: a check failed.
        """
        signed = open_campaign(data, trusted)
        return cls(signed, SigningKey.for_campaign(device_secret, signed.id))

    @property
    def campaign(self) -> Campaign:
        """The verified campaign."""
        return self.signed.campaign

    def with_role(self, role: Role) -> Joined:
        return self if role == self.role else replace(self, role=role)

    def for_report(self, earlier: Sequence[tuple[int, bytes]], period: int) -> Joined:
        """Return the campaign with the channel for a report in ``period``; without transcripts, this campaign.

        Args:
            earlier: (period, packed output) of the earlier reports.
        """
        notion = self.campaign.transcript
        if notion is None:
            return self
        return replace(self, report_prior=notion.prior_after(self._outputs(earlier), period))

    def as_drawn(self, reports: Sequence[tuple[int, bytes]]) -> list[Joined]:
        """Return, for each report, the campaign with the channel from which the report was drawn.

        Args:
            reports: (period, packed output) of all reports from this device.
        """
        notion = self.campaign.transcript
        if notion is None:
            return [self] * len(reports)
        return [replace(self, report_prior=prior) for prior in notion.priors_before(self._outputs(reports))]

    def _outputs(self, reports: Sequence[tuple[int, bytes]]) -> list[tuple[int, int]]:
        bits = self.campaign.output_bits
        return [(period, unpack(packed, 1, bits)[0]) for period, packed in reports]

    @cached_property
    def view(self) -> int:
        """The index of this device's view; it depends only on the device's key for the campaign."""
        return self.signed.view_of(self.key.public)

    @property
    def map(self) -> Map:
        """The map from an answer to the input of this device's view."""
        return self.campaign.views[self.view].map

    def input(self, value: Answer, dither: bytes) -> int:
        """Return the input of this device's view for an answer. The device stores this input and draws outputs for it.

        Raises:
            NotInDomain: the question does not allow the answer.
        """
        domain = self.campaign.domain
        return self.map.input(domain, self.map.index(domain, value, dither))

    def label(self, x: int) -> str:
        """Return the name of the view's input ``x``; the answer's label if the view does not coarsen."""
        return self.map.label(self.campaign.domain, x)

    @property
    def _derived(self) -> tuple[DeclaredPrior | TranscriptPrior, tuple[int, ...]] | None:
        """The notion and the prior that determine this person's channel; None if it is the campaign's channel."""
        notion = self.campaign.notion
        if isinstance(notion, DeclaredPrior) and self.role.prior is not None:
            return notion, self.role.prior
        if isinstance(notion, TranscriptPrior) and self.report_prior is not None:
            return notion, self.report_prior
        return None

    @property
    def complete(self) -> bool:
        """True if the role has the class or the prior that the campaign asks for."""
        declares_prior = isinstance(self.campaign.notion, DeclaredPrior)
        return (self.role.class_index is None) == (not self.campaign.classes) and (self.role.prior is None) == (
            not declares_prior
        )

    @property
    def _class_index(self) -> int:
        """The index of the person's class; before consent, that of the most expensive class; 0 without classes."""
        if self.role.class_index is not None:
            return self.role.class_index
        return max(range(max(1, len(self.campaign.classes))), key=self.campaign.worst_case_of)

    @cached_property
    def channel(self) -> Channel:
        """The channel of this person's answers, over the inputs of this device's view."""
        campaign = self.campaign
        if self._derived:
            notion, prior = self._derived
            if isinstance(notion, DeclaredPrior):
                return notion.channel_of(prior, campaign.channel, self.role.level)
            return notion.channel_of(prior)
        return campaign.channel_of(self._class_index, self.view)

    @property
    def rand_bytes(self) -> int:
        """Number of random bytes drawn for an answer; it does not depend on role or answer."""
        return self.campaign.views[self.view].channel.rand_bytes

    @cached_property
    def certificate(self) -> Certificate:
        campaign = self.campaign
        if self._derived:
            notion, prior = self._derived
            if isinstance(notion, DeclaredPrior):
                return notion.certificate_of(prior, campaign.channel, self.role.level)
            return notion.certificate_of(prior)
        return campaign.certificate_of(self._class_index, self.view)

    @property
    def shown(self) -> Joined:
        """This campaign as terms and previews show it: with the uniform prior, if the person has to declare a prior and
        has not done so."""
        notion = self.campaign.notion
        if isinstance(notion, DeclaredPrior) and self.role.prior is None:
            return self.with_role(replace(self.role, prior=notion.uniform))
        return self

    @cached_property
    def terms(self) -> Terms:
        """The terms in the campaign's original language."""
        return self.terms_in(None)

    def terms_in(self, language: str | None) -> Terms:
        """Return the terms in the person's language if the campaign has it, else in its original language."""
        from edge_sdk.campaigns.terms import Terms

        return Terms.of(self.signed, self.shown.certificate, self.role.class_index, self.view, language)

    @property
    def commitment(self) -> Commitment:
        """The commitment of this device for its role and view."""
        return self._commitment(self.certificate.cost, self.view)

    @property
    def commitments(self) -> list[Commitment]:
        """The different commitments of all views in this person's class, the most expensive first.

        All of them must fit under the caps, whatever the device's view is, so that taking part does not reveal the
        view.
        """
        if is_plain(self.campaign.views):
            return [self.commitment]
        class_index, views = self._class_index, range(len(self.campaign.views))
        commitments = [self._commitment(self.campaign.certificate_of(class_index, view).cost, view) for view in views]
        return sorted(set(commitments), key=lambda commitment: (-commitment.worst_case, -commitment.cost))

    def max_commitment(self, priors: Iterable[tuple[int, ...]]) -> Commitment:
        """Return an upper bound of the commitments over ``priors``.

        Raises:
            CampaignError: the campaign asks for no prior.
        """
        notion = self.campaign.notion
        if not isinstance(notion, DeclaredPrior):
            raise CampaignError(
                f"{self.campaign.title!r} asks for no prior, so a prior cannot change its cost: declare none"
            )
        return self._commitment(notion.max_cost(priors, self.campaign.channel), self.view)

    def _commitment(self, cost: int, view: int) -> Commitment:
        campaign = self.campaign
        return Commitment(
            cost, campaign.max_draws_of(view), campaign.answers_per_period, campaign.period_seconds, campaign.periods
        )

    def draw(self, x: int, rand: bytes) -> bytes:
        """Return an output for ``x``, packed."""
        channel = self.channel
        # Each class has its own outputs, so a report shows the class.
        if self.campaign.classes:
            first = self._class_index * channel.input_count
            channel, x = self.campaign.views[self.view].channel, first + x
        # Bytes are drawn for the campaign's channel; the person's channel may need fewer.
        return pack([channel.sample(x, rand[: channel.rand_bytes])], self.campaign.output_bits)

    def report(self, period: int, slot: int, *packed: bytes) -> bytes:
        """Return the sealed report of outputs in consecutive slots; equal arguments give equal bytes.

        Args:
            packed: the outputs, each packed by itself.
        """
        together, bits = packed[0], self.campaign.output_bits
        if len(packed) > 1:
            together = pack([unpack(output, 1, bits)[0] for output in packed], bits)
        report = Report(self.signed.id, period, slot, len(packed), together)
        report.require_fit(self.campaign, self.view)
        return report.seal(self.key)

    @property
    def max_outputs(self) -> int:
        """The maximum number of outputs in one report."""
        emptiest = len(Report(self.signed.id, MAX_PERIOD, MAX_SLOT, MAX_ANSWERS_PER_PERIOD, b"").encode())
        # The length of fewer than 2^16 bytes takes at most one byte more than that of an empty byte string.
        room = MAX_PAYLOAD[Kind.REPORT] - emptiest - 1
        return min(MAX_ANSWERS_PER_PERIOD, 8 * room // self.campaign.output_bits)

    @cached_property
    def longest_report(self) -> int:
        """The length in bytes of the longest report with one output; no report is made."""
        campaign = self.campaign
        last = campaign.periods - 1
        empty = bytes(packed_bytes(1, campaign.output_bits))
        return sealed_bytes(len(Report(self.signed.id, last, campaign.slots(last) - 1, 1, empty).encode()))

    @property
    def longest_enrolment(self) -> int:
        """The length of the enrolment in bytes; the maximum if the prior is not declared yet. Nothing is signed."""
        length = sealed_bytes(len(self._enrolment().encode()))
        size = self.campaign.notion.size if isinstance(self.campaign.notion, DeclaredPrior) else 0
        if self.role.prior is not None or not size:
            return length
        # The head of the array of weights takes at most three bytes. A weight of 2^16 or more takes five bytes, and
        # weights whose sum is 2^20 include at most 16 of these; any other weight takes at most three bytes. A level
        # adds the head of an array (one byte) and a number (at most nine bytes).
        return length + 10 + 3 + 3 * size + 2 * min(size, 16)

    def enrolment(self) -> bytes:
        """Return the sealed enrolment, which introduces the device's key for this campaign."""
        return self._enrolment().seal(self.key)

    def _enrolment(self) -> Enrolment:
        return Enrolment(self.signed.id, self.key.public, self.role.prior, self.role.level)
