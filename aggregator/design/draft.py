"""The draft: a campaign as its author writes it, in TOML.

One idea: a draft is read once, strictly, into the ``Campaign`` that will be signed. Every key is known or refused,
numbers stay decimals until they are integers, and an error names the entry and what would do instead.

What it asks and promises: asked, promised. How a channel is found: catalogue.
"""

from __future__ import annotations

import datetime
import math
import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from aggregator.design.asked import domain_of
from aggregator.design.catalogue import Question
from aggregator.design.choice import AUTO, Unsuited, chosen
from aggregator.design.classes import class_channel, classes_of
from aggregator.design.entries import DraftError, Section, count, finite
from aggregator.design.noise import discrete_gaussian
from aggregator.design.padding import choose_padding, read_sets
from aggregator.design.promised import notion_of, part_of
from aggregator.estimate.decoders import Decoder, decoder_of
from protocol.campaign import Campaign
from protocol.channels import Channel, Table
from protocol.domain import Buckets, Domain, Items
from protocol.notions import Ldp, Notion, OwnPrior, TranscriptPrior

DAY = 86_400
OWN = "lip-response"
"""The rule by which everybody derives the channel of a declared prior."""
TABLE, GAUSSIAN = "table", "gaussian"
"""Mechanisms with entries of their own: the channel's rows, and the noise's width."""


def read_draft(path: Path) -> Campaign:
    """The campaign of the draft at ``path``; files it names are looked for beside it.

    Raises:
        DraftError, BadData: what is wrong, and where.
    """
    return campaign_of(_document(path), path.parent)


def read_question(path: Path) -> Question:
    """What the draft at ``path`` wants a channel for; nothing else in it is looked at.

    Raises:
        DraftError, BadData
    """
    top = Section("", _document(path))
    sections = [
        Section(name, top.take(name, dict, "a table of its own", {})) for name in ("domain", "privacy", "prior")
    ]
    domain = domain_of(sections[0])
    question = _question(sections[1], sections[2], domain, path.parent)
    for section in sections:
        section.done()
    return question


def _document(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8"), parse_float=Decimal)
    except UnicodeDecodeError:
        raise DraftError(f"{path.name} is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise DraftError(f"{path.name} is not TOML: {error}") from None


def campaign_of(document: dict[str, Any], folder: Path) -> Campaign:
    """The campaign of a parsed draft.

    Args:
        document: TOML, floats as ``Decimal``.
        folder: where files that the draft names are looked for.
    """
    document = _padded(document, folder)
    top = Section("", document)
    sections = {
        name: Section(name, top.take(name, dict, "a table of its own", default))
        for name, default in (
            ("domain", None), ("privacy", None), ("schedule", None), ("mechanism", {}), ("limits", {}), ("prior", {}),
        )
    }  # fmt: skip
    domain = domain_of(sections["domain"])
    names: tuple[str, ...] = ()
    notion: Notion
    channel: Channel
    if "classes" in top:
        # Read class by class, so these two sections are not read here.
        sections.pop("prior").done()
        del sections["privacy"]
        tables = top.take("classes", dict, "a table [classes.NAME] for each class")
        notion, names = classes_of(tables, document["privacy"], domain, folder)
        name = sections["mechanism"].take("name", str, "a mechanism's name, or auto", AUTO)
        mechanism, channel = class_channel(name, domain, notion)
    else:
        question = _question(sections["privacy"], sections["prior"], domain, folder)
        notion = question.notion
        mechanism, channel = _mechanism(sections["mechanism"], question)
    schedule, limits = sections["schedule"], sections["limits"]
    opens, closes = _time(schedule, "opens"), _time(schedule, "closes")
    if closes <= opens:
        raise DraftError("[schedule] closes comes after opens")
    campaign = Campaign(
        title=top.take("title", str, "the campaign's name"),
        question=top.take("question", str, "what the person is asked"),
        purpose=top.take("purpose", str, "why it is asked", ""),
        organisation=top.take("organisation", str, "who asks"),
        domain=domain,
        notion=notion,
        mechanism=mechanism,
        channel=channel,
        opens=opens,
        closes=closes,
        period_seconds=_period(schedule, closes - opens),
        answers_per_period=count(schedule, "answers_per_period", 1),
        minimum_reports=count(limits, "minimum_reports", 100),
        enrolment=limits.take("enrolment", str, '"open" or "enrolled"', "open"),
        classes=names,
    )
    for section in (*sections.values(), top):
        section.done()
    return campaign


def _padded(document: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The draft with a padding of "auto" replaced by the number of least expected error on a sample of sets."""
    asked = document.get("domain")
    if not isinstance(asked, dict) or asked.get("kind") != "items" or asked.get("padding") != AUTO:
        return document
    section = Section("domain", asked)
    file = folder / section.take("sample", str, "a text file of sets, one a line, for a padding chosen from it")
    limits = Section("limits", document.get("limits", {}))
    rest = {name: value for name, value in asked.items() if name != "sample"}

    def padded(length: int) -> dict[str, Any]:
        return document | {"domain": rest | {"padding": length}}

    def decoder(length: int) -> Decoder:
        tried = padded(length)
        top = Section("", tried)
        names = ("domain", "privacy", "prior", "mechanism")
        sections = [Section(name, top.take(name, dict, "a table of its own", {})) for name in names]
        domain = domain_of(sections[0])
        return decoder_of(_mechanism(sections[3], _question(sections[1], sections[2], domain, folder))[1])

    domain = domain_of(Section("domain", rest | {"padding": 1}))
    if not isinstance(domain, Items):
        return document
    baskets = read_sets(file, domain)
    return padded(choose_padding(baskets, domain.count, decoder, count(limits, "minimum_reports", 100)).length)


def _question(privacy: Section, prior: Section, domain: Domain, folder: Path) -> Question:
    notion = notion_of(privacy, prior, domain, folder)
    return Question(domain, notion, part_of(privacy, notion))


def _mechanism(section: Section, question: Question) -> tuple[str, Channel]:
    name = section.take("name", str, "a mechanism's name, or auto", AUTO)
    if isinstance(question.notion, (OwnPrior, TranscriptPrior)):
        if name not in (AUTO, OWN):
            raise DraftError(f'[mechanism] priors of devices have one rule, "{OWN}", not {name[:60]!r}')
        first = question.notion.uniform if isinstance(question.notion, OwnPrior) else question.notion.prior
        return OWN, question.notion.channel_of(first)
    if name == TABLE:
        return name, _table(section, question.size)
    if name == GAUSSIAN:
        return name, _gaussian(section, question)
    try:
        return chosen(name, question)
    except Unsuited as error:
        raise DraftError(f"[mechanism] {error}") from None


def _gaussian(section: Section, question: Question) -> Channel:
    """Noise of a width that only its author can know; its level is pure, what it keeps with a delta is the audit's."""
    sigma = finite("mechanism", "sigma", section.take("sigma", (int, Decimal), "the noise's width in steps, above 0"))
    if sigma <= 0:
        raise DraftError("[mechanism] sigma is the noise's width in steps, above 0")
    if not (isinstance(question.domain, Buckets) and isinstance(question.notion, Ldp)):
        raise DraftError(f'[mechanism] "{GAUSSIAN}" is made for numbers on a line: a buckets domain, notion ldp')
    return discrete_gaussian(question.size, float(sigma), question.notion.level)


def _table(section: Section, size: int) -> Table:
    rows = [
        [finite("mechanism", "rows", cell) for cell in row]
        for row in section.list_of("rows", list, "lists of probabilities, one list for each value")
    ]
    if len(rows) != size:
        raise DraftError(f"[mechanism] rows has {len(rows)} rows, the domain {size} values")
    return Table.nearest(rows)


def _time(section: Section, name: str) -> int:
    value = section.take(name, datetime.date, "a date, such as 2026-12-01, or a time with its offset")
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time())
    if value.tzinfo is None:
        value = value.replace(tzinfo=datetime.UTC)
    return math.floor(value.timestamp())


def _period(section: Section, whole: int) -> int:
    days = finite("schedule", "period_days", section.take("period_days", (int, Decimal), "days", Fraction(whole, DAY)))
    seconds = days * DAY
    if seconds.denominator != 1 or seconds < 1:
        raise DraftError("[schedule] period_days is a positive number of days that makes whole seconds")
    return seconds.numerator
