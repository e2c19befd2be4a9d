"""The dry run: what a unit would do, from its configuration and its campaign.

A configuration that cannot work is refused while the owner is present. Nothing here joins, stores or sends; the source
is read only on request, and its reading is not printed.

What the keys mean: config. What a unit does then: agent.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from edge_sdk.campaigns.authors import key_file
from edge_sdk.device import Device
from edge_sdk.transport.address import address
from edge_sdk.unit.config import DEFAULT_TIMEOUT, Configuration, ConfigurationRefused, Source
from edge_sdk.unit.sensor import NOTHING, Reader, answer_of

if TYPE_CHECKING:
    from protocol.campaign import Campaign
    from protocol.domain import Answer
    from protocol.keys import AuthorKey

SETTLE_SECONDS = 0.25
"""Seconds reserved to write a reading to the disk."""

TOLD = (
    "campaign", "title", "question", "purpose", "organisation", "author", "author_name", "addresses", "contact",
    "retention", "notice", "withdrawal", "opens", "closes", "cost", "worst_case", "promise", "answers", "values",
)  # fmt: skip
"""Of the campaign's terms, what an owner reads who agrees for a unit."""


_ASKED = (
    "A unit is asked for one of {views} views of its reading, which its key decides and no reading does: once it runs, "
    "the command terms says for which."
)


def trusted(configuration: Configuration) -> list[AuthorKey]:
    """The public keys of the authors that the owner trusts, with their names.

    Raises:
        KeyRefused, OSError
    """
    return [key_file(path) for path in configuration.trust]


def campaign_file(configuration: Configuration) -> bytes:
    """Return the bytes of the campaign's file.

    Raises:
        OSError
    """
    from protocol.envelope import MAX_PAYLOAD, Kind

    with configuration.campaign.open("rb") as file:
        return file.read(MAX_PAYLOAD[Kind.CAMPAIGN] + 1024)


def fit(configuration: Configuration, terms: Campaign) -> tuple[int, float, Answer | None]:
    """Return the seconds between two readings, the timeout of one, and the answer in place of a failed reading.

    Raises:
        ConfigurationRefused: a key that means nothing in this campaign; or the campaign is a form.
    """
    from protocol.domain import Form, Line

    source = configuration.source
    if isinstance(terms.domain, Form):
        raise ConfigurationRefused("a form is answered by people, question by question: a unit reads one thing")
    every = configuration.every or max(1, terms.period_seconds // terms.answers_per_period)
    if every > terms.period_seconds:
        raise ConfigurationRefused(
            f"[schedule] every is at most a period, which has {terms.period_seconds} seconds in this campaign"
        )
    timeout = min(DEFAULT_TIMEOUT, every / 2) if source.timeout is None else source.timeout
    if timeout + SETTLE_SECONDS >= every:
        raise ConfigurationRefused(f"[source] timeout is below the {every} seconds between two readings")
    if source.scale is not None and not isinstance(terms.domain, Line):
        raise ConfigurationRefused("[source] scale is for numbers, and this campaign does not ask for one")
    instead = None
    if source.instead is not None:
        instead = answer_of(terms.domain, source.instead, Source(outside="skip"))
        if instead is None:
            raise ConfigurationRefused("[source] instead is an answer that the campaign's question allows")
    return every, 0 if source.file else timeout, instead


def require_own_address(configuration: Configuration, signed: Sequence[str]) -> None:
    """Refuse a configured address that differs from the campaign's signed addresses.

    Raises:
        ConfigurationRefused
        AddressRefused: the configuration's is no address.
    """
    if configuration.url is not None and signed and address(configuration.url).text not in signed:
        raise ConfigurationRefused(
            f"[send] url is not where this campaign's reports go, which is signed: {' or '.join(signed)}; leave it out"
        )


def plan(configuration: Configuration) -> dict[str, object]:
    """Return what a unit would do; nothing is joined, opened or read.

    Raises:
        ConfigurationRefused, BadData, AddressRefused, OSError
        BudgetRefused: the caps leave no room for the campaign, even in a new store.
    """
    from edge_sdk.budget.policy import MOST_NATS, BudgetPolicy
    from edge_sdk.store.sqlite import DATABASE_FILE, MEMORY

    # The remaining budget of an existing store is not checked here.
    exists = (configuration.store / DATABASE_FILE).exists()
    with Device.open(MEMORY, trusted(configuration), BudgetPolicy(lifetime=MOST_NATS), clock=lambda: 0) as device:
        terms = device.join(campaign_file(configuration), configuration.url)
        if not exists:
            device.tighten(configuration.budget)
            records, campaign_id = device.records, terms.campaign_id
            asked = records.campaigns.find(campaign_id).commitments
            records.caps.require_room(records.campaigns.number(campaign_id), asked, 0)
        addresses = device.addresses(terms.campaign_id)
        require_own_address(configuration, addresses)
        every, _, _ = fit(configuration, device.campaign(terms.campaign_id))
    readings = min(terms.answers_per_period, -(-terms.period_seconds // every))
    to = configuration.export or " or ".join(addresses)
    return {
        **{name: told for name, told in terms.as_json().items() if name in TOLD},
        **({"asked": _ASKED.format(views=terms.views) if terms.views > 1 else terms.asked} if terms.asked else {}),
        "store": str(configuration.store),
        "readings": f"one every {every} seconds, {readings} in a period of {terms.period_seconds} seconds",
        "leaves": f"{to}, every {configuration.send_every} seconds"
        if to
        else "when somebody fetches it: outbox export",
    }


def tried(configuration: Configuration) -> str:
    """Read the source once and return whether that works, without the reading; standard input is not read.

    Raises:
        BadData, OSError
    """
    if configuration.source.stdin:
        return "standard input, not read now"
    from protocol.campaign import open_campaign

    terms = open_campaign(campaign_file(configuration), [one.public for one in trusted(configuration)]).terms
    never, other = os.pipe()
    try:
        text, reason = Reader(configuration.source, never).read(configuration.source.timeout or DEFAULT_TIMEOUT)
    finally:
        os.close(never)
        os.close(other)
    if not reason and answer_of(terms.domain, text, configuration.source) is None:
        reason = NOTHING
    return reason or "gives a reading that the question allows"
