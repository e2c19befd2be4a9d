"""The dry run: the plan of a unit, from its configuration and its campaign.

A configuration that cannot work is refused while the owner is present. This module joins, stores and sends nothing;
sources are read only on request. The reading of a single source is not printed. For a form, each reading is printed
beside its question and the answer, so that the owner notices a source that is configured for the wrong question.

The module config defines the entries, questions assigns sources to questions, and agent runs the unit.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from edge_sdk.campaigns.files import campaign_file, key_file
from edge_sdk.device import Device
from edge_sdk.transport.address import address
from edge_sdk.unit.config import Configuration, ConfigurationRefused, Source, in_seconds
from edge_sdk.unit.questions import SourcedQuestion, unit_schedule
from edge_sdk.unit.sensor import NO_READING, Reader

if TYPE_CHECKING:
    from protocol.keys import AuthorKey

SHOWN = (
    "campaign", "title", "question", "purpose", "organisation", "author", "author_name", "addresses", "contact",
    "retention", "notice", "withdrawal", "opens", "closes", "cost", "worst_case", "promise", "assumed_percent",
    "answers", "values", "questions",
)  # fmt: skip
"""The fields of the terms that are shown to an owner who agrees for a unit."""

NOT_NOW = "standard input, not read now"
MAX_SHOWN = 200
"""Maximum number of characters of a reading that are printed."""


_VIEWS = (
    "The unit reports one of {views} views of its reading. The unit's key selects the view; no reading influences the "
    "choice. Once the unit runs, the command 'terms' shows the view."
)

_FORM_VIEWS = (
    "The unit is asked one or two of these questions and reads only their sources. The unit's key selects the "
    "questions; no reading influences the choice. Once the unit runs, the command 'terms' shows them."
)


def trusted_authors(configuration: Configuration) -> list[AuthorKey]:
    """Return the public keys of the authors that the owner trusts, with their names.

    Raises:
        KeyRefused, OSError: as for ``key_file``.
    """
    return [key_file(path) for path in configuration.trust]


def require_signed_address(configuration: Configuration, addresses: Sequence[str]) -> None:
    """Refuse a configured address that the campaign does not allow.

    Raises:
        ConfigurationRefused: the campaign has signed addresses, and the configured one is not among them.
    """
    if configuration.url is not None and addresses and address(configuration.url).text not in addresses:
        raise ConfigurationRefused(
            f"[send] url is not one of the campaign's signed addresses: {' or '.join(addresses)}; leave url out"
        )


def unit_plan(configuration: Configuration) -> dict[str, object]:
    """Return the plan of a unit; its store is not opened and no source is read.

    Raises:
        ConfigurationRefused: the configuration does not fit the campaign.
        BadData: the campaign or a key is not valid.
        OSError: a file cannot be read.
        BudgetRefused: the store does not exist yet, and the configured caps leave no room for the campaign.
    """
    from edge_sdk.budget.policy import MAX_NATS, BudgetPolicy
    from edge_sdk.store.sqlite import DATABASE_FILE, MEMORY

    # A dry run opens no store, so the remaining budget of an existing one is not checked.
    exists = (configuration.store / DATABASE_FILE).exists()
    with Device.open(
        MEMORY, trusted_authors(configuration), BudgetPolicy(lifetime=MAX_NATS), clock=lambda: 0
    ) as device:
        terms = device.join(campaign_file(configuration.campaign), configuration.url)
        if not exists:
            device.lower_caps(configuration.budget)
            records, campaign_id = device.records, terms.campaign_id
            worst_cases = records.campaigns.find(campaign_id).commitments
            records.caps.require_room(records.campaigns.number(campaign_id), worst_cases, 0)
        addresses = device.addresses(terms.campaign_id)
        require_signed_address(configuration, addresses)
        every = unit_schedule(configuration, device.campaign(terms.campaign_id)).every
    readings = min(terms.answers_per_period, -(-terms.period_seconds // every))
    about = _VIEWS.format(views=terms.views) if terms.view_description and terms.views > 1 else terms.view_description
    if terms.questions:
        about = _FORM_VIEWS
    to = configuration.export or " or ".join(addresses)
    return {
        **{name: value for name, value in terms.as_json().items() if name in SHOWN},
        **({"view_description": about} if about else {}),
        "store": str(configuration.store),
        "readings": f"one every {in_seconds(every)}, {readings} in a period of {in_seconds(terms.period_seconds)}",
        "leaves": f"{to}, every {in_seconds(configuration.send_every)}" if to else "files that 'outbox export' writes",
    }


def tried(configuration: Configuration) -> dict[str, object]:
    """Read each source once and return the result; standard input is not read, and nothing is drawn.

    Returns:
        ``source``, a sentence without the reading; for a form, ``sources``: the source, the reading and the answer for
        each question.
    Raises:
        ConfigurationRefused, BadData, OSError: as for ``unit_plan``.
    """
    from protocol.campaign import open_campaign

    authors = [author.public for author in trusted_authors(configuration)]
    campaign = open_campaign(campaign_file(configuration.campaign), authors).campaign
    questions = unit_schedule(configuration, campaign).questions
    if "" not in configuration.sources:
        return {"sources": [_tried_of_form(question) for question in questions]}
    [question] = questions
    if question.source.stdin:
        return {"source": NOT_NOW}
    text, reason = _read(question)
    if not reason and question.answer(text) is None:
        reason = NO_READING
    return {"source": reason or "gives a reading that the question allows"}


def _tried_of_form(question: SourcedQuestion) -> dict[str, object]:
    """Read the source of a form's question; return the question, the source, the reading and the answer, as text."""
    row: dict[str, object] = {"question": question.name, "source": _described(question.source)}
    if question.source.stdin:
        return {**row, "reading": NOT_NOW, "answer": "not known now"}
    text, reason = _read(question)
    answer = None if reason else question.answer(text)
    shown = text[:MAX_SHOWN] if text.isprintable() else ascii(text[:MAX_SHOWN])
    used_answer = question.instead if answer is None else answer
    if used_answer is None:
        result = f"no answer in this slot: {reason or NO_READING}"
    else:
        result = " or ".join(question.labels(used_answer[question.name])) + (" (instead)" if answer is None else "")
    return {**row, "reading": f"none: {reason}" if reason else shown, "answer": result}


def _described(source: Source) -> str:
    if source.command:
        return f"command {shlex.join(source.command)}"
    return f"file {source.file}" if source.file is not None else "standard input"


def _read(question: SourcedQuestion) -> tuple[str, str]:
    """Return (reading, reason of failure); one of them is empty."""
    never, other = os.pipe()
    try:
        return Reader(question.source, never).read(question.timeout)
    finally:
        os.close(never)
        os.close(other)
