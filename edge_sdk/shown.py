"""What an app draws of a device: the question in its parts, the promise in numbers, reports given and waiting.

One idea: an app with a face needs data where the command line needs sentences, so that it can draw a map or say a
promise in the person's language. Only reads; nothing here decides anything, and floats are for drawing.

What the person agrees to, in English: terms. What happens on consent and answer: consent, answering.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from edge_sdk.device import Device
from edge_sdk.joined import Joined
from edge_sdk.memo import Kept
from edge_sdk.role import priors_of
from protocol import exact, keys
from protocol.campaign import require_campaign
from protocol.domain import Grid, Items
from protocol.envelope import decode
from protocol.errors import CampaignError
from protocol.keys import KEY_ID_BYTES, SIGNATURE_BYTES
from protocol.notions import Graded, HighLow, Information, Notion
from protocol.notions.classes import Classes
from protocol.notions.information import RADIUS_UNITS
from protocol.report import Report

_SIGNATURE_HEAD = bytes([0xC4, SIGNATURE_BYTES])


@dataclass(frozen=True)
class Question:
    """What can be answered, in parts.

    Attributes:
        kind: "values", "grid", "buckets" or "items".
        size: the number of answers; for items, of items.
        labels: the values, the items, or the edges of the buckets, in order; empty for a grid.
        south, north, west, east, step: of a grid, microdegrees; 0 for the others.
    """

    kind: str
    size: int
    labels: tuple[str, ...] = ()
    south: int = 0
    north: int = 0
    west: int = 0
    east: int = 0
    step: int = 0

    def cell(self, row: int, column: int) -> str:
        """The answer that a cell of a grid stands for, counted from the south-west: its middle, as text."""
        grid = Grid(self.south, self.north, self.west, self.east, self.step)
        return grid.label(row * grid.columns + column)


@dataclass(frozen=True)
class Promise:
    """What a notion promises, in numbers; ``Terms.notion`` says it in English.

    Attributes:
        notion: its name, as in the campaign; "classes" until the person has named theirs.
        factor: how many times likelier, at most.
        least: of a graded notion, the factor of the best protected answer; else ``factor``.
        sensitive: of high-low, how many answers are.
        radius, ball: of LIP over a ball of priors: of 100 people, how many may answer otherwise; the factor then.
    """

    notion: str
    factor: float
    least: float
    sensitive: int = 0
    radius: float | None = None
    ball: float | None = None


@dataclass(frozen=True)
class Given:
    """A value that was answered. True answers are the person's own: its repr shows neither value nor report.

    Attributes:
        label: the value; empty for an item that stands for none.
        times: how many reports were of it.
        period, slot: of the latest.
        report: the latest, sealed, as it was queued or sent in an envelope of its own.
        waits: whether it is in the outbox still.
    """

    label: str = field(repr=False)
    times: int = field(repr=False)
    period: int = field(repr=False)
    slot: int = field(repr=False)
    report: bytes = field(repr=False)
    waits: bool


@dataclass(frozen=True)
class Part:
    """A stretch of a report's bytes.

    Attributes:
        name: "form" (how it is written down), "key" (this device's, for this campaign alone), "campaign", "place"
            (period and slot), "output" (the answer after chance), "signature".
    """

    name: str
    data: bytes


@dataclass(frozen=True)
class Waiting:
    """What waits to leave of one campaign.

    Attributes:
        envelopes, size: how many, and their bytes.
        failures: attempts that were not acknowledged.
        not_before: no attempt before this time, UTC seconds; 0 where none was made.
        refused: whether the study said that it can never take these bytes.
    """

    campaign_id: bytes
    envelopes: int
    size: int
    failures: int
    not_before: int
    refused: bool


def question(device: Device, campaign_id: bytes) -> Question:
    """What a joined campaign can be answered with.

    Raises:
        UnknownCampaign
    """
    domain = device.campaign(campaign_id).domain
    if isinstance(domain, Grid):
        return Question(domain.kind, domain.size, (), domain.south, domain.north, domain.west, domain.east, domain.step)
    size = domain.count if isinstance(domain, Items) else domain.size
    return Question(domain.kind, size, tuple(domain.label(x) for x in range(size)))


def promise(device: Device, campaign_id: bytes) -> Promise:
    """What a joined campaign promises the person, in the role they agreed to."""
    joined = device.records.member(campaign_id)
    notion: Notion = joined.campaign.notion
    if isinstance(notion, Classes) and joined.role.place is not None:
        notion = notion.notions[joined.role.place]
    factor = _times(notion.level)
    least = _times(min(notion.budgets)) if isinstance(notion, Graded) else factor
    radius = ball = None
    if isinstance(notion, Information) and joined.certificate.ball is not None:
        radius, ball = 100 * notion.radius / RADIUS_UNITS, _times(joined.certificate.ball)
    sensitive = len(notion.sensitive) if isinstance(notion, HighLow) else 0
    return Promise(notion.name, factor, least, sensitive, radius, ball)


def fits_classes(device: Device, campaign_id: bytes) -> bool:
    """Whether ``Device.choose_class`` can choose in a joined campaign: it has classes, each with a prior."""
    try:
        return bool(priors_of(device.campaign(campaign_id)))
    except CampaignError:
        return False


def given(device: Device, campaign_id: bytes) -> list[Given]:
    """The values that were answered in a joined campaign, the latest first. They never leave the device."""
    records = device.records
    joined, campaign = records.member(campaign_id), records.campaigns.number(campaign_id)
    queued = set(records.outbox.waiting(campaign))
    values = [_given(joined, queued, *entry) for entry in records.memo.entries(campaign)]
    return sorted(values, key=lambda one: (one.period, one.slot), reverse=True)


def _given(joined: Joined, queued: set[bytes], x: int, kept: Kept, times: int) -> Given:
    report = joined.report(kept.period, kept.slot, kept.packed)
    domain = joined.campaign.domain
    label = "" if isinstance(domain, Items) and x >= domain.count else domain.label(x)
    return Given(label, times, kept.period, kept.slot, report, report in queued)


def left(device: Device, campaign_id: bytes, period: int) -> int:
    """How many answers a period of a joined campaign still takes from this device."""
    campaign = device.records.campaigns.number(campaign_id)
    return device.campaign(campaign_id).answers_per_period - device.records.readings.following(campaign, period)


def parts(report: bytes) -> list[Part]:
    """The bytes of a sealed report of this device, from the first to the last, by what they are for (SPEC 3.1, 8.1)."""
    sealed = decode(report)
    told = Report.decode(sealed.unverified)
    key = report.index(sealed.key_id)
    campaign = report.index(told.campaign_id, key + KEY_ID_BYTES)
    signature = len(report) - SIGNATURE_BYTES
    after = signature - len(_SIGNATURE_HEAD)
    output = after - len(told.packed)
    marks = (
        ("form", 0),
        ("key", key),
        ("form", key + KEY_ID_BYTES),
        ("campaign", campaign),
        ("place", campaign + len(told.campaign_id)),
        ("output", output),
        ("form", after),
        ("signature", signature),
    )
    ends = [start for _, start in marks[1:]] + [len(report)]
    return [Part(name, report[start:end]) for (name, start), end in zip(marks, ends, strict=True)]


def waiting(device: Device) -> list[Waiting]:
    """What waits to leave, campaign by campaign; the one that waits longest is first. Nothing is attempted."""
    uploads = (device.outbox.begin(campaign, lambda _: None) for campaign in device.outbox.campaigns())
    return [
        Waiting(
            upload.campaign_id, upload.envelopes, len(upload.body), upload.failures, upload.not_before, upload.refused
        )
        for upload, _ in filter(None, uploads)
    ]


def author_of(device: Device, campaign_id: bytes) -> bytes:
    """The id of the key that a joined campaign was signed with."""
    return author_id(device.records.campaigns.find(campaign_id).signed.author)


def even_prior(device: Device, campaign_id: bytes) -> dict[str, int]:
    """The prior that tells nothing of a person: each answer of a joined campaign is equally likely."""
    domain = device.campaign(campaign_id).domain
    return {domain.label(x): 1 for x in range(domain.size)}


def author_key(line: str) -> bytes:
    """The public key of an author, from the line of its file.

    Raises:
        KeyRefused: not of that form, or a key that must not be used.
    """
    return keys.public_from_line(line)


def author_id(key: bytes) -> bytes:
    """The id of an author's key, 8 bytes, as ``signer`` gives it."""
    return keys.key_id(key)


def signer(data: bytes) -> bytes:
    """The id of the key that a campaign claims to be signed with; nothing is verified.

    Raises:
        BadData: not a campaign's bytes.
    """
    require_campaign(data)
    return decode(data).key_id


def _times(level: int) -> float:
    return math.exp(exact.nats(level))
