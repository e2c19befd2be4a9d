"""The conditions of an answer: the campaign is joined and open, the person has agreed, and no cap is exceeded.

They depend on stored values that no answer changes. So they are read once, and again only after a transaction of this
device that is not an answer, or after any transaction of another process (``Store.cache``).

The module answering writes the rows of an answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from edge_sdk.campaigns.consent import no_consent
from edge_sdk.campaigns.known import require_not_closed
from protocol.errors import OutsideSchedule

# At run time, these are imported only with the first campaign.
if TYPE_CHECKING:
    from edge_sdk.campaigns.joined import Joined
    from edge_sdk.records import Records


@dataclass(frozen=True)
class Conditions:
    """The stored values that decide whether a campaign can be answered; ``require_answerable`` checks the caps.

    Attributes:
        number: the store's number of the campaign.
        joined: the campaign in the person's role.
        agreed: the time of the consent, UTC seconds.
        dither: the consent's secret bytes, which round numbers and choose items.
        closes: the time of the author's early closing, UTC seconds; None if the author has not closed it.
    """

    number: int
    joined: Joined
    agreed: int
    dither: bytes = field(repr=False)
    closes: int | None


def require_answerable(records: Records, joined: Joined, now: int) -> Conditions:
    """Return the conditions of an answer; part of the answer's transaction.

    Raises:
        NotJoined: another process has forgotten the campaign.
        ClosedEarly: its author has closed it.
        ConsentMissing: the person has not agreed.
        OutsideSchedule: the clock shows a time before the consent.
        BudgetRefused: a cap was lowered below the sum of the amounts spent and reserved.
    """
    known: Conditions | None = records.store.cache.get(joined.signed.id)
    conditions = known or _read(records, joined, now)
    require_not_closed(joined, conditions.closes, now)
    if now < conditions.agreed:
        raise OutsideSchedule(
            "the clock shows a time before the consent: correct the clock, and answer again; or, if it was ahead at "
            "the consent, run clock --set"
        )
    if known is None:
        records.caps.require_kept(conditions.number)
        records.store.cache[joined.signed.id] = conditions
    return conditions


def _read(records: Records, joined: Joined, now: int) -> Conditions:
    """Return the conditions of an answer, without a check of the caps.

    Raises:
        NotJoined, ClosedEarly, ConsentMissing: as for ``require_answerable``.
    """
    number, closes = records.campaigns.number_and_closing(joined)
    # In a closed campaign, a missing consent does not matter, so the closing is checked first.
    require_not_closed(joined, closes, now)
    consent = records.consents.find(number)
    if consent is None:
        raise no_consent(joined)
    return Conditions(number, joined.with_role(consent.role), consent.time, consent.dither, closes)
