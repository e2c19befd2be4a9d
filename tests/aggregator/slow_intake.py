"""Intake of one envelope at a time, as SPEC 10 describes it: the slow reference of ``aggregator.intake``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from protocol.campaign import SignedCampaign
from protocol.envelope import Envelope, Kind, read_batch
from protocol.errors import BadData, KeyRefused, SignatureRefused
from protocol.report import Enrolment, Report


@dataclass
class SlowStudy:
    """A study in dictionaries: campaigns, keys, the first revoked period of each key, and filled slots."""

    campaigns: dict[bytes, SignedCampaign]
    keys: dict[tuple[bytes, bytes], bytes] = field(default_factory=dict)
    revoked: dict[tuple[bytes, bytes], int] = field(default_factory=dict)
    slots: dict[tuple[bytes, int, bytes, int], int] = field(default_factory=dict)

    @classmethod
    def of(cls, campaigns: Iterable[SignedCampaign]) -> SlowStudy:
        return cls({signed.id: signed for signed in campaigns})

    def enrol(self, data: bytes) -> None:
        """Enrol the devices of a batch, as the analyst does."""
        for sealed in read_batch(data):
            assert isinstance(sealed, Envelope)
            enrolment = Enrolment.open(sealed)
            self.keys[enrolment.campaign_id, sealed.key_id] = enrolment.public

    def ingest(self, data: bytes, now: int) -> Counter[str]:
        """Return the number of envelopes with each outcome: a refusal, "accepted", "enrolments" or "ignored"."""
        items = list(read_batch(data))
        enrolments = [item for item in items if isinstance(item, Envelope) and item.kind is Kind.ENROLMENT]
        rest = [item for item in items if not (isinstance(item, Envelope) and item.kind is Kind.ENROLMENT)]
        return Counter(self._enrolment(item) for item in enrolments) + Counter(
            self._report(item, now) if isinstance(item, Envelope) and item.kind is Kind.REPORT else "malformed"
            for item in rest
        )

    def _enrolment(self, sealed: Envelope) -> str:
        refusal = ""
        try:
            Enrolment.open(sealed)
        except (KeyRefused, SignatureRefused):
            refusal = "bad-signature"
        except BadData:
            return "malformed"
        # A well-formed payload names its campaign and key even if the signature is invalid.
        campaign_id, public = sealed.unverified[3:19], sealed.unverified[-32:]
        if not (len(sealed.unverified) == 53 and sealed.unverified[:3] == b"\x92\xc4\x10"):
            return "malformed"
        if campaign_id not in self.campaigns:
            return "unknown-campaign"
        if self.campaigns[campaign_id].campaign.enrolment != "open":
            return "ignored"
        place = campaign_id, sealed.key_id
        if refusal or self.keys.setdefault(place, public) != public:
            return "bad-signature"
        return "enrolments"

    def _report(self, sealed: Envelope, now: int) -> str:
        try:
            report = Report.decode(sealed.unverified)
        except BadData:
            return "malformed"
        signed = self.campaigns.get(report.campaign_id)
        if signed is None:
            return "unknown-campaign"
        place = report.campaign_id, sealed.key_id
        revoked = place in self.revoked and report.period >= self.revoked[place]
        if place not in self.keys and not revoked:
            return "unknown-key"
        if revoked:
            return "revoked-key"
        try:
            sealed.open(self.keys[place])
        except (KeyRefused, SignatureRefused):
            return "bad-signature"
        campaign = signed.campaign
        current = (now - campaign.opens) // campaign.period_seconds if now >= campaign.opens else -1
        if report.period > current + 1:
            return "early"
        if report.period >= campaign.periods:
            return "late"
        if report.slot + report.count > campaign.answers_per_period:
            return "over-quota"
        try:
            outputs = report.outputs(campaign, None)
        except BadData:
            return "bad-output"
        slots = [
            (report.campaign_id, report.period, sealed.key_id, report.slot + place) for place in range(report.count)
        ]
        if any(slot in self.slots for slot in slots):
            return "replayed"
        self.slots.update(zip(slots, outputs, strict=True))
        return "accepted"
