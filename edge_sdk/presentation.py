"""Data for the screens of an app: the parts of the questions, and the answers that were given.

A graphical app needs data, for example to draw a map; the command line needs sentences. This module only reads and
makes no decisions. A function of a campaign raises ``NotJoined`` if this device has not joined it.

campaigns/terms contains the terms, transport/waiting lists waiting envelopes, and disclosure/envelopes explains their
bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from edge_sdk.answers.memo import MemoRow
from edge_sdk.campaigns.consent import earlier_answers
from edge_sdk.campaigns.joined import Joined
from edge_sdk.campaigns.role import priors_of
from edge_sdk.device import Device
from protocol import keys
from protocol.campaign import require_campaign
from protocol.domain import DITHER_BYTES, Buckets, Dates, Domain, Form, Grid, Items, Line, NumberRange, Values
from protocol.domain.domain import decimal_of
from protocol.envelope import decode
from protocol.errors import CampaignError
from protocol.keys import AuthorKey as AuthorKey
from protocol.link import Link as Link
from protocol.views import Districts

FEW_DAYS = 12
"""Maximum number of days in a list; in a longer range the person types the day."""


@dataclass(frozen=True)
class AnswerChoices:
    """A question and its possible answers, in parts.

    Attributes:
        kind: "values", "ordered", "grid", "buckets", "number", "date" or "items".
        size: number of possible answers; in a domain of items, number of items.
        labels: the values, the items, the days or the edges of the buckets as ``Device.answer`` accepts them, in order;
            empty for a grid, for evenly spaced numbers and for more than ``FEW_DAYS`` days.
        shown: these labels in the person's language.
        south, north, west, east, step: the borders and the cell size of a grid, in microdegrees; 0 for other kinds.
        low, high: the lowest and the highest number or day, as text; "" for other kinds, and if the days are listed.
        spacing: the distance between consecutive numbers, as text; "" for other kinds, and for numbers rounded at
            random.
        places: decimal places of the numbers.
        unit: the unit of the numbers; "" if the campaign does not state it.
        line: the domain of numbers or days; None for other kinds, and if the days are listed.
        name: the name of a form's question; "" if the campaign is not a form.
        text: the question, in the person's language.
        skippable: whether a question of a form may be left out.
    """

    kind: str
    size: int
    labels: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    south: int = 0
    north: int = 0
    west: int = 0
    east: int = 0
    step: int = 0
    low: str = ""
    high: str = ""
    places: int = 0
    unit: str = ""
    spacing: str = ""
    line: Line | None = field(default=None, repr=False)
    name: str = ""
    text: str = ""
    skippable: bool = False

    def counts_as(self, text: str) -> str:
        """Return the value that a number or day is rounded to; "" if it is ``text`` itself, or if ``line`` is None or
        rounds at random.

        Raises:
            NotInDomain: the text is not a number or day, or is outside the range of a campaign that does not clamp.
        """
        if self.line is None:
            return ""
        answer = self.line.parse(text)
        self.line.number(answer)
        if self.line.rounds_randomly:
            return ""
        label = self.line.label(self.line.index(answer, bytes(DITHER_BYTES)))
        return "" if self.line.parse(label) == answer else label

    def cell(self, row: int, column: int) -> str:
        """Return the answer for a cell of the grid, its centre as text; rows and columns count from the south-west."""
        grid = Grid(self.south, self.north, self.west, self.east, self.step)
        return grid.label(row * grid.columns + column)


@dataclass(frozen=True)
class GivenAnswer:
    """A value that the person answered. It must stay secret, so its repr shows neither the value nor the report.

    Attributes:
        label: the value, coarsened by this device's view; for a set of items, the chosen item, or "" if a dummy was
            chosen.
        times: number of answers with this value.
        period, slot: the period and the slot of the latest report.
        report: the latest report, sealed in an envelope of its own.
        waits: whether this envelope is still in the outbox; a bundled report is in another one.
    """

    label: str = field(repr=False)
    times: int = field(repr=False)
    period: int = field(repr=False)
    slot: int = field(repr=False)
    report: bytes = field(repr=False)
    waits: bool


def questions(device: Device, campaign_id: bytes, language: str | None = None) -> tuple[AnswerChoices, ...]:
    """Return the questions of a joined campaign, in order: all questions of a form, or the only question.

    ``Terms.asked_names`` names the questions of a form that this device is asked.

    Args:
        language: the person's language, as for ``Device.terms``.
    """
    campaign = device.campaign(campaign_id)
    domain, translated = campaign.domain, campaign.domain_in(language)
    if not isinstance(domain, Form) or not isinstance(translated, Form):
        return (replace(_choices(domain, translated), text=campaign.texts(language).question),)
    return tuple(
        replace(
            _choices(question.domain, shown.domain), name=question.name, text=shown.text, skippable=question.skippable
        )
        for question, shown in zip(domain.questions, translated.questions, strict=True)
    )


def unit_of(device: Device, campaign_id: bytes, language: str | None = None) -> str:
    """Return the unit of a joined campaign's numbers; "" for other questions, for a form, and if no unit is stated.

    Args:
        language: the person's language, as for ``Device.terms``.
    """
    domain = device.campaign(campaign_id).domain_in(language)
    return domain.unit if isinstance(domain, NumberRange) else ""


def _choices(domain: Domain, translated: Domain) -> AnswerChoices:
    """Return the possible answers in a domain of one question.

    Args:
        translated: the same domain in the person's language.
    """
    if isinstance(domain, Grid):
        return AnswerChoices(
            domain.kind, domain.size, (), (), domain.south, domain.north, domain.west, domain.east, domain.step
        )
    ends = (domain.label(0), domain.label(domain.size - 1))
    if isinstance(domain, NumberRange) and isinstance(translated, NumberRange):
        spacing = decimal_of(Fraction(domain.step, 10**domain.decimal_places))
        numbers = AnswerChoices(
            domain.kind, domain.size, low=ends[0], high=ends[1], places=domain.decimal_places, line=domain
        )
        return replace(numbers, unit=translated.unit, spacing="" if domain.rounds_randomly else spacing)
    if isinstance(domain, Dates) and domain.size > FEW_DAYS:
        return AnswerChoices(domain.kind, domain.size, low=ends[0], high=ends[1], line=domain)
    if isinstance(domain, Buckets):
        labels = tuple(map(domain.label, range(domain.size)))
        numbers = AnswerChoices(domain.kind, domain.size, labels, labels, low=ends[0], high=ends[1], line=domain)
        return replace(numbers, places=domain.decimal_places)
    size = domain.item_count if isinstance(domain, Items) else domain.size
    labels = tuple(map(domain.label, range(size)))
    shown = labels if translated is domain else tuple(map(translated.label, range(size)))
    return AnswerChoices(domain.kind, size, labels, shown)


def label_translations(device: Device, campaign_id: bytes, language: str | None = None) -> dict[str, str]:
    """Return the translated label of each answer to a joined campaign, by the campaign's own label.

    The mapping contains the labels of the only question, and of the groups and districts of this device's view.

    Args:
        language: the person's language, as for ``Device.terms``.
    Returns:
        The translated labels; empty without a translation, and for a form, whose translations are in ``questions``.
    """
    joined = device.records.campaigns.find(campaign_id)
    domain, translated = joined.campaign.domain, joined.campaign.domain_in(language)
    map_, shown = joined.map, joined.campaign.map_in(joined.view, language)
    if translated is domain and shown is map_:
        return {}
    groups = range(map_.input_count(domain)) if isinstance(domain, Values) else ()
    labels = zip(domain.named, translated.named, strict=True) if isinstance(domain, Values | Items) else ()
    districts = dict(zip(map_.named, shown.named, strict=True))
    return districts | {map_.label(domain, z): shown.label(translated, z) for z in groups} | dict(labels)


def kept_kind(device: Device, campaign_id: bytes) -> str:
    """Return the kind of the stored and reported answers of a joined campaign.

    It is the kind of the campaign's domain, or "districts" if this device's view asks for a district. The label of a
    group of neighbours has the labels of its two ends, with " .. " between them.
    """
    joined = device.records.campaigns.find(campaign_id)
    return joined.map.name if isinstance(joined.map, Districts) else joined.campaign.domain.kind


def input_label(device: Device, campaign_id: bytes, x: int) -> str:
    """Return the label of an input of this device's view in a joined campaign; "" for a dummy."""
    return _label(device.records.campaigns.find(campaign_id), x)


def _label(joined: Joined, x: int) -> str:
    domain = joined.campaign.domain
    return "" if isinstance(domain, Items) and x >= domain.item_count else joined.label(x)


def can_choose_class(device: Device, campaign_id: bytes) -> bool:
    """Return whether ``Device.choose_class`` can choose in a joined campaign: the campaign has classes, each with a
    prior."""
    try:
        return bool(priors_of(device.campaign(campaign_id)))
    except CampaignError:
        return False


def answers_for_choice(device: Device, campaign_id: bytes) -> int:
    """Return the number of earlier answers, repetitions included, by which ``Device.choose_class`` and
    ``Device.choose_prior`` choose in a joined campaign if no history is passed."""
    return sum(earlier_answers(device.records, device.records.campaigns.find(campaign_id)))


def given_answers(device: Device, campaign_id: bytes) -> list[GivenAnswer]:
    """Return the values that were answered in a joined campaign, the latest first. They never leave the device."""
    records = device.records
    joined, number = records.joined_in_role(campaign_id), records.campaigns.number(campaign_id)
    queued = set(records.outbox.envelopes(number))
    values = [_given_answer(joined, queued, *entry) for entry in records.memo.entries(number)]
    return sorted(values, key=lambda value: (value.period, value.slot), reverse=True)


def _given_answer(joined: Joined, queued: set[bytes], x: int, memo_row: MemoRow, times: int) -> GivenAnswer:
    report = joined.report(memo_row.period, memo_row.slot, memo_row.packed)
    return GivenAnswer(_label(joined, x), times, memo_row.period, memo_row.slot, report, report in queued)


def answers_left(device: Device, campaign_id: bytes, period: int) -> int:
    """Return the number of answers that this device may still give in a period of a joined campaign."""
    number = device.records.campaigns.number(campaign_id)
    return device.campaign(campaign_id).answers_per_period - device.records.slots.next_slot(number, period)


def uniform_prior(device: Device, campaign_id: bytes) -> dict[str, int]:
    """Return the uniform prior of a joined campaign, as a weight for each label; it reveals nothing about the
    person."""
    domain = device.campaign(campaign_id).domain
    return {domain.label(x): 1 for x in range(domain.size)}


def named_author(device: Device, campaign_id: bytes, name: str) -> AuthorKey:
    """Return the author of a joined campaign, with a name chosen by the person.

    Raises:
        KeyRefused: the name is too long, or not readable on one line.
    """
    return AuthorKey(device.terms(campaign_id).author, name.strip())


def fingerprint_of(public: bytes) -> str:
    """Return the fingerprint of a public key as text, 22 characters."""
    return keys.fingerprint_text(keys.fingerprint(public))


def claimed_signer(data: bytes) -> str:
    """Return the first ten characters of the fingerprint of the key that a campaign claims to be signed with.

    Nothing is verified. A campaign's bytes contain only this part of the fingerprint.

    Raises:
        BadData: the bytes are not a campaign.
    """
    require_campaign(data)
    return keys.fingerprint_beginning(decode(data).key_id)
