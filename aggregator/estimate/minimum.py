"""Whether a tally is of enough devices to be told of.

A campaign promises people that nothing is estimated before so many of them have answered. So devices are counted, by
their keys, and not what they sent: a unit with a thousand readings is one. Of a class whose devices have several
reports each, the number is known from below only, and that is what counts.
"""

from __future__ import annotations

from aggregator.estimate.tally import Tally
from protocol.campaign import Campaign
from protocol.errors import NotYet


class NotEnough(NotYet):
    """Fewer devices than the campaign promised to wait for."""


def devices_of(tally: Tally) -> int:
    """How many devices a tally's reports come from, at least; as many as reports, where each device has one."""
    return tally.reports if tally.groups is None else tally.groups.least


def is_enough(terms: Campaign, tally: Tally) -> bool:
    """Whether a tally is of as many devices as the campaign waits for."""
    return devices_of(tally) >= terms.minimum_reports


def require_enough(terms: Campaign, tally: Tally) -> None:
    """Refuse a tally of too few devices.

    Raises:
        NotEnough
    """
    if not is_enough(terms, tally):
        raise NotEnough(
            f"{terms.title!r} waits for {terms.minimum_reports:,} devices and has reports of {devices_of(tally):,}: "
            "ingest more, nothing is estimated before"
        )
