"""The errors that only a device raises.

Each error is one decision of the device's owner, of the campaign's terms, or of the machine underneath, so that an app
can act on the class and show the text. No text contains a person's value, prior or key.

What is wrong with bytes from outside: ``protocol.errors``.
"""

from __future__ import annotations

from protocol.errors import CampaignError, HalftruthError, NotYet


class BudgetRefused(HalftruthError):
    """The owner's caps leave no room. Names the cap and both numbers."""


class ConsentMissing(HalftruthError):
    """The person has not agreed to this campaign."""


class QuotaReached(HalftruthError):
    """All answers of this period are given."""


class UnknownCampaign(HalftruthError):
    """No campaign of this id was joined, or more than one could be meant."""


class NothingQueued(HalftruthError):
    """The outbox is empty."""


class OutboxFull(NotYet):
    """The queue is full. Nothing was drawn or charged, and no waiting envelope was dropped."""


class AddressRefused(HalftruthError):
    """An address that cannot be used: not https, not an address, or not the campaign's address."""


class InvitationRefused(CampaignError):
    """A study sent another key or campaign than the link names, or the link leads where its author did not sign."""


class StoreError(HalftruthError):
    """The store cannot be used as it is: full, locked, read-only, damaged, or of another version."""


class StoreClosed(StoreError):
    """The device was closed: open it again."""


class StoreRestored(StoreError):
    """The store is an old state or a copy, so spending since then is missing. ``Device.adopt`` continues with it."""


class StoreDamaged(StoreError):
    """The store's database is damaged. ``Device.adopt`` continues without it."""
