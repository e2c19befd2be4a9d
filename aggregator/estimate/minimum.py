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


def devices_of(*tallies: Tally) -> int:
    """How many devices the reports of tallies come from, at least; as many as reports, where each device has one.

    Args:
        tallies: of different devices, such as those of different views.
    """
    parts = [part for tally in tallies for part in tally.by_view]
    return sum(part.reports if part.groups is None else part.groups.least for part in parts)


def is_enough(terms: Campaign, *tallies: Tally) -> bool:
    """Whether tallies, of different devices, are together of as many devices as the campaign waits for."""
    return devices_of(*tallies) >= terms.minimum_reports


def require_enough(terms: Campaign, *tallies: Tally) -> None:
    """Refuse what is of too few devices.

    Args:
        tallies: of different devices, such as those of the views behind a figure.
    Raises:
        NotEnough
    """
    if not is_enough(terms, *tallies):
        raise NotEnough(
            f"{terms.title!r} waits for {terms.minimum_reports:,} devices and has reports of {devices_of(*tallies):,}: "
            "ingest more, nothing is estimated before"
        )
