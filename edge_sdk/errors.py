"""The errors that only a device raises.

Each error class has one kind of cause: a decision of the owner or the person, the campaign's terms, a study's response,
or the machine. So an app can act on the class and show the text. No text contains a person's value, prior or key.

The errors about bytes from outside are in ``protocol.errors``.
"""

from __future__ import annotations

from protocol.errors import CampaignError, HalftruthError, NotYet


class BudgetRefused(HalftruthError):
    """A cap of the owner leaves too little room, or was lowered too far. The text names the cap and the amounts."""


class ConsentMissing(HalftruthError):
    """The person has not agreed to this campaign, or agrees without the class or prior that it asks for."""


class QuotaReached(HalftruthError):
    """The given slot was skipped, waits to be bundled, or was filled with another value or before the campaign was
    forgotten; or no slot of the period is left."""


class NotJoined(HalftruthError):
    """This device has not joined the campaign."""


class AmbiguousCampaign(HalftruthError):
    """No campaign was named, or the given text fits more than one."""


class NothingWaiting(HalftruthError):
    """The outbox has no envelope, or none of the named campaign."""


class OutboxFull(NotYet):
    """The outbox or the list of collected answers is full. Nothing was drawn or charged, and nothing was dropped."""


class AddressRefused(HalftruthError):
    """The address cannot be used: it is malformed, not https, or not the campaign's address."""


class InvitationRefused(CampaignError):
    """The study sent a key or a campaign that the link does not name, or the author signed only other addresses."""


class StoreError(HalftruthError):
    """The store or an export file cannot be used, for example because it is full, locked or damaged."""


class StoreClosed(StoreError):
    """The device was closed: open it again."""


class StoreRestored(StoreError):
    """The store is an old state or a copy, or a part of it is missing, so it may lack later spending.

    ``Device.adopt`` continues with the store.
    """


class StoreDamaged(StoreError):
    """The store's database is damaged, or only the store's secret is left. ``Device.adopt`` continues without the
    database if a checkpoint records the spending."""
