"""Reports and enrolments, the messages of a device (SPEC 8).

A report places its outputs in numbered slots of a period. Each slot of a device takes one output, so the slot alone
reveals a replay, a duplicate and an answer above the quota.

``protocol.channels`` samples the outputs; the study decides which devices may send.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from protocol import codec, envelope, exact, keys, personal
from protocol.campaign import CAMPAIGN_ID_BYTES, MAX_ANSWERS_PER_PERIOD, Campaign
from protocol.envelope import Envelope, Kind
from protocol.errors import ReportError
from protocol.notions.declared_prior import DeclaredPrior

MAX_PERIOD = 2**32 - 1
MAX_SLOT = 2**16 - 1


@dataclass(frozen=True)
class Report:
    """Outputs of one device for one campaign and period, in slots ``slot``, ``slot`` + 1, ...

    Attributes:
        campaign_id: 16 bytes.
        period: the number of the period, from 0.
        slot: the number of the first output's slot, from 0 within the period; with transcripts, the number of the
            device's earlier reports in the campaign.
        count: number of outputs, at least 1.
        packed: the outputs, each in ``output_bits`` bits of the campaign, most significant bit first, zero-padded to
            whole bytes.
    Raises:
        ReportError: an attribute is invalid, or does not fit the others.
    """

    campaign_id: bytes
    period: int
    slot: int
    count: int
    packed: bytes

    def __post_init__(self) -> None:
        if len(self.campaign_id) != CAMPAIGN_ID_BYTES:
            raise ReportError(f"a campaign id must be {CAMPAIGN_ID_BYTES} bytes, not {len(self.campaign_id)}")
        if not (0 <= self.period <= MAX_PERIOD and 0 <= self.slot <= MAX_SLOT):
            raise ReportError(
                f"a period must lie in 0 .. {MAX_PERIOD} and a slot in 0 .. {MAX_SLOT}, not {self.period} and "
                f"{self.slot}"
            )
        if not 1 <= self.count <= MAX_ANSWERS_PER_PERIOD:
            raise ReportError(f"a report must carry 1 to {MAX_ANSWERS_PER_PERIOD} outputs, not {self.count}")

    @classmethod
    def of(
        cls,
        campaign_id: bytes,
        campaign: Campaign,
        period: int,
        slot: int,
        outputs: Sequence[int],
        view: int | None = None,
    ) -> Report:
        """Return the report of ``outputs``.

        Args:
            view: index of the device's view; None in a plain campaign.
        Raises:
            ReportError: the report does not fit the campaign.
        """
        report = cls(campaign_id, period, slot, len(outputs), pack(outputs, campaign.output_bits))
        report.require_fit(campaign, view)
        return report

    def encode(self) -> bytes:
        """Return the payload of the report's envelope."""
        return codec.encode([self.campaign_id, self.period, self.slot, self.count, self.packed])

    @classmethod
    def decode(cls, payload: bytes) -> Report:
        """Return the report of a payload. Whether it fits its campaign is not checked.

        Raises:
            CodecError: the payload is too long, or not canonical msgpack.
            ReportError: wrong fields, or an invalid report.
        """
        value = codec.decode(payload, limit=envelope.MAX_PAYLOAD[Kind.REPORT])
        campaign_id, period, slot, count, packed = codec.fields(value, 5, "a report", ReportError)
        return cls(
            codec.octets(campaign_id, "a campaign id", ReportError),
            codec.integer(period, "a period", ReportError),
            codec.integer(slot, "a slot", ReportError),
            codec.integer(count, "a number of outputs", ReportError),
            codec.octets(packed, "the outputs", ReportError),
        )

    def outputs(self, campaign: Campaign, view: int | None) -> tuple[int, ...]:
        """Return the outputs of the report, from the first slot on.

        Args:
            view: index of the view of the device that sent it; None in a plain campaign.
        Raises:
            ReportError: wrong length, padding that is not zero, or an output that the channel does not have.
        """
        channel = campaign.channel if view is None else campaign.views[view].channel
        outputs = unpack(self.packed, self.count, campaign.output_bits)
        if not all(map(channel.emits, outputs)):
            raise ReportError(
                "each output must be an output of the channel of the device's view: draw it from that channel"
            )
        return outputs

    def require_fit(self, campaign: Campaign, view: int | None = None) -> None:
        """Refuse a report that does not fit a campaign.

        Args:
            view: index of the view of the device that sent it; None in a plain campaign.
        Raises:
            ReportError: outside the periods or the quota, or as for ``outputs``.
        """
        self.outputs(campaign, view)
        codec.integer(self.period, "the period of a report", ReportError, 0, campaign.periods - 1)
        codec.integer(self.count, "the number of outputs", ReportError, 1, campaign.answers_per_period)
        last = self.slot + self.count - 1
        codec.integer(last, "the last slot of a report", ReportError, 0, campaign.slots(self.period) - 1)

    def seal(self, key: keys.SigningKey) -> bytes:
        """Return the signed envelope.

        Raises:
            ValueError: the report is longer than an envelope allows.
        """
        return envelope.seal(Kind.REPORT, key, self.encode())


@dataclass(frozen=True)
class Enrolment:
    """The introduction of a device's public key for one campaign, signed with the secret key that belongs to it.

    Attributes:
        campaign_id: 16 bytes.
        public: the public key, 32 bytes.
        prior: the prior that the person declares in a campaign for declared priors; None in every other campaign.
            It is public.
        personal_level: the personal level in nanonats, declared with the prior; 0 for the campaign's level.
    Raises:
        ReportError: the declared prior is invalid.
    """

    campaign_id: bytes
    public: bytes
    prior: tuple[int, ...] | None = None
    personal_level: int = 0

    def __post_init__(self) -> None:
        if self.prior is not None:
            personal.require_declared(self.prior)

    def encode(self) -> bytes:
        """Return the payload of the enrolment's envelope."""
        declared = [] if self.prior is None else [personal.declaration_value(self.prior, self.personal_level)]
        return codec.encode([self.campaign_id, self.public, *declared])

    def seal(self, key: keys.SigningKey) -> bytes:
        """Return the signed envelope; ``key`` is the secret key of ``public``."""
        return envelope.seal(Kind.ENROLMENT, key, self.encode())

    @classmethod
    def open(cls, sealed: Envelope, campaign: Campaign | None = None) -> Enrolment:
        """Return the enrolment in an envelope, verified under the key that it introduces.

        Args:
            campaign: the enrolment's campaign, which it must fit; None if ``require_fit`` is called later.
        Raises:
            BadData: a check of stage codec, report, key, envelope or signature failed.
        """
        if sealed.kind is not Kind.ENROLMENT:
            raise ReportError(
                f"the envelope has kind {sealed.kind.name.lower()}, not enrolment: give a device's enrolment"
            )
        unverified = cls.decode(sealed.unverified)
        sealed.require_key(unverified.public)
        if campaign is not None:
            unverified.require_fit(campaign)
        sealed.open(unverified.public)
        return unverified

    @classmethod
    def decode(cls, payload: bytes) -> Enrolment:
        """Return the enrolment of an unverified payload.

        Raises:
            CodecError: the payload is too long, or not canonical msgpack.
            ReportError: wrong fields, or an invalid declared prior.
        """
        value = codec.decode(payload, limit=envelope.MAX_PAYLOAD[Kind.ENROLMENT])
        declares = isinstance(value, list) and len(value) == 3
        campaign_id, public, *declared = codec.fields(value, 3 if declares else 2, "an enrolment", ReportError)
        public = codec.octets(public, "a public key", ReportError, keys.PUBLIC_BYTES)
        campaign_id = codec.octets(campaign_id, "a campaign id", ReportError, CAMPAIGN_ID_BYTES)
        return cls(campaign_id, public, *(personal.declaration_of(declared[0]) if declares else ()))

    def require_fit(self, campaign: Campaign) -> None:
        """Refuse an enrolment that does not fit a campaign.

        Raises:
            ReportError: the declared prior is missing, superfluous or of the wrong size, or the personal level is not
                below the campaign's.
        """
        size = campaign.notion.size if isinstance(campaign.notion, DeclaredPrior) else 0
        if self.prior and not size:
            raise ReportError("this campaign takes no declared prior: enrol without one")
        if len(self.prior or ()) != size:
            raise ReportError(
                f"an enrolment in this campaign must declare a prior of {size} values, not of {len(self.prior or ())}"
            )
        if self.personal_level >= campaign.notion.level:
            raise ReportError(
                f"a personal level must be below the campaign's, {exact.in_nats(campaign.notion.level)} "
                "(nats: see docs/GLOSSARY.md)"
            )


def packed_bytes(count: int, bits: int) -> int:
    """Return the length in bytes of ``count`` packed outputs of ``bits`` bits."""
    return (count * bits + 7) // 8


def pack(outputs: Sequence[int], bits: int) -> bytes:
    """Return outputs of ``bits`` bits each as bytes, most significant bit first, zero-padded at the end.

    Raises:
        ReportError: an output needs more than ``bits`` bits.
    """
    number = 0
    for output in outputs:
        if not 0 <= output < 1 << bits:
            raise ReportError(f"an output of this campaign must be below 2^{bits}")
        number = number << bits | output
    length = packed_bytes(len(outputs), bits)
    return (number << (8 * length - bits * len(outputs))).to_bytes(length, "big")


def unpack(packed: bytes, count: int, bits: int) -> tuple[int, ...]:
    """Return the outputs of packed bytes, the inverse of ``pack``.

    Raises:
        ReportError: the length is wrong, or the padding is not zero.
    """
    length = packed_bytes(count, bits)
    if len(packed) != length:
        raise ReportError(f"{count} x {bits} bits of outputs must have a length of {length} B, not {len(packed)}")
    number = int.from_bytes(packed, "big")
    padding = 8 * length - bits * count
    if number & ((1 << padding) - 1):
        raise ReportError("the padding bits after the last output must be zero")
    number >>= padding
    if count == 1:
        return (number,)
    mask = (1 << bits) - 1
    return tuple(number >> bits * (count - 1 - place) & mask for place in range(count))
