"""What only a device refuses.

Each error is one decision of the device's owner, of the campaign's terms, or of the machine underneath, so that an app
can act on the class and show the text. No text contains a person's value, prior or key.

What is wrong with bytes from outside: ``protocol.errors``.
"""

from __future__ import annotations

from protocol.errors import HalftruthError, NotYet


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
    """Too much waits to leave. Nothing was drawn or charged, and nothing that waits was dropped."""


class AddressRefused(HalftruthError):
    """An address that nothing is sent to: not https, not an address, or not the one that a campaign has."""


class StoreError(HalftruthError):
    """The store cannot be used as it is: full, locked, read-only, damaged, or of another version."""


class StoreClosed(StoreError):
    """The device was closed: open it again."""


class StoreRestored(StoreError):
    """The store is an older state or a copy of itself: what was spent since then is not in it. ``Device.adopt`` it."""


class StoreDamaged(StoreError):
    """The store's database does not hold what was written into it. ``Device.adopt`` goes on without it."""
