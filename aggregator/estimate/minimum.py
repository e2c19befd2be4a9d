"""The check that a tally comes from enough devices to be estimated.

A campaign promises that nothing is estimated from fewer than a minimum number of devices. So the keys of the devices
are counted, not the reports: a unit with a thousand readings is one device. For a class whose devices have several
reports each, only a lower bound on the number of devices is known, and the bound is used.
"""

from __future__ import annotations

from aggregator.estimate.tally import Tally
from aggregator.quantity import quantity
from protocol.campaign import Campaign
from protocol.errors import NotYet


class NotEnough(NotYet):
    """The number of devices that answered is below the campaign's minimum."""


def error_for_side(campaign: Campaign, side: str) -> NotEnough:
    """Return the error for a side of a change between periods that has too few devices.

    Args:
        side: the side in words, such as ``in period 3``.
    """
    return NotEnough(
        f"{campaign.title!r} needs reports of {quantity(campaign.minimum_devices, 'device')}, and has fewer {side}: "
        "compare other periods, or combine periods with --periods"
    )


def error_for_no_part(campaign: Campaign, part: str) -> NotEnough:
    """Return the error for a campaign of which no part has enough devices.

    Args:
        part: the kind of the parts, such as ``period``.
    """
    return NotEnough(
        f"no {part} of {campaign.title!r} has reports of at least {quantity(campaign.minimum_devices, 'device')}, the "
        "campaign's minimum: ingest more reports"
    )


def devices_of(*tallies: Tally) -> int:
    """Return the number of devices behind some tallies; for a class whose devices have several reports each, a lower
    bound on this number.

    Args:
        tallies: tallies of different devices, such as those of different views.
    """
    parts = [part for tally in tallies for part in tally.by_view]
    return sum(part.reports if part.groups is None else part.groups.min_devices for part in parts)


def is_enough(campaign: Campaign, *tallies: Tally) -> bool:
    """Return whether tallies of different devices together reach the campaign's minimum."""
    return devices_of(*tallies) >= campaign.minimum_devices


def require_enough(campaign: Campaign, *tallies: Tally) -> None:
    """Refuse tallies from fewer devices than the minimum.

    Args:
        tallies: tallies of different devices, such as those of the views of an estimate.
    Raises:
        NotEnough: fewer devices than the campaign's minimum.
    """
    if not is_enough(campaign, *tallies):
        raise NotEnough(
            f"an estimate for {campaign.title!r} needs reports of {quantity(campaign.minimum_devices, 'device')}, and "
            f"this one has reports of {devices_of(*tallies):,}: ingest more; nothing is estimated below this minimum"
        )
