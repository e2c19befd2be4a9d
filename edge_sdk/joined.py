"""A campaign that a device joined: its verified terms, and the device's own key for it.

One idea: a joined campaign can turn an input and random bytes into a sealed report, and knows nothing of stores,
clocks or budgets. It is made from signed bytes alone, so the channel is audited at every start of a process, on the
integers that are then sampled.

When a report may be made: device.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from edge_sdk.budget import Commitment
from edge_sdk.terms import Terms
from protocol.campaign import Campaign, SignedCampaign, open_campaign
from protocol.channels import Channel
from protocol.keys import SECRET_BYTES, SigningKey
from protocol.report import Enrolment, Report, pack, packed_bytes, unpack


@dataclass(frozen=True)
class Joined:
    """One campaign on one device. Its repr shows no secret."""

    signed: SignedCampaign
    key: SigningKey

    @classmethod
    def open(cls, data: bytes, trusted: Iterable[bytes], device_secret: bytes) -> Joined:
        """Verify, parse and audit a signed campaign, and derive the device's key for it.

        Raises:
            BadData: at the stage that fails.
        """
        signed = open_campaign(data, trusted)
        return cls(signed, SigningKey.for_campaign(device_secret, signed.id))

    @property
    def campaign(self) -> Campaign:
        """The verified campaign."""
        return self.signed.terms

    @property
    def channel(self) -> Channel:
        """The law that answers are drawn from."""
        return self.campaign.channel

    @cached_property
    def terms(self) -> Terms:
        """What the person is told."""
        return Terms.of(self.signed)

    @property
    def commitment(self) -> Commitment:
        """What it can cost."""
        campaign = self.campaign
        return Commitment(
            campaign.certificate.cost,
            campaign.domain.size,
            campaign.answers_per_period,
            campaign.period_seconds,
            campaign.periods,
        )

    def draw(self, x: int, rand: bytes) -> bytes:
        """An output for ``x``, packed."""
        return pack([self.channel.sample(x, rand)], self.channel.output_bits)

    def report(self, period: int, slot: int, packed: bytes) -> bytes:
        """The sealed report of one packed output; the same bytes for the same arguments."""
        outputs = unpack(packed, 1, self.channel.output_bits)
        return Report.of(self.signed.id, self.campaign, period, slot, outputs).seal(self.key)

    @cached_property
    def longest_report(self) -> int:
        """Bytes of the longest report of one output; signed with a key that nobody uses."""
        last = self.campaign.periods - 1, self.campaign.answers_per_period - 1
        nobody = Joined(self.signed, SigningKey(bytes(SECRET_BYTES)))
        return len(nobody.report(*last, bytes(packed_bytes(1, self.channel.output_bits))))

    def enrolment(self) -> bytes:
        """The sealed enrolment, which introduces the device's key for this campaign."""
        return Enrolment(self.signed.id, self.key.public).seal(self.key)
