"""The records: the tables of one store, each with the class that writes it.

Only this class and the module rollback/recovery write the table; queries of other modules may read it. Rows of several
tables that must be committed together are written in one transaction of the store.

The module device defines the methods for apps; campaigns/consent, answers/answering and disclosure/preview implement
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edge_sdk.answers.memo import Memo
from edge_sdk.answers.slots import FilledSlots
from edge_sdk.answers.transcripts import Transcripts
from edge_sdk.budget.caps import Caps
from edge_sdk.budget.consents import Consents
from edge_sdk.budget.ledger import Ledger
from edge_sdk.campaigns.authors import Authors
from edge_sdk.campaigns.known import Campaigns
from edge_sdk.store.sqlite import Store
from edge_sdk.transport.stored_outbox import StoredOutbox

# At run time, these are imported only with the first campaign.
if TYPE_CHECKING:
    from edge_sdk.campaigns.joined import Joined


class Records:
    """The tables of one store. A campaign is identified by its number in the store, ``campaigns.number``."""

    def __init__(self, store: Store, outbox: StoredOutbox) -> None:
        self.store = store
        self.outbox = outbox
        self.campaigns = Campaigns(store)
        self.authors = Authors(store)
        self.consents = Consents(store)
        self.ledger = Ledger(store)
        self.caps = Caps(store, self.ledger, self.consents)
        self.memo = Memo(store)
        self.slots = FilledSlots(store)
        self.transcripts = Transcripts(store)

    def joined_in_role(self, campaign_id: bytes) -> Joined:
        """Return a joined campaign in the role of the person's consent; before consent, with the prior that was
        declared before the campaign was forgotten, if there is one.

        Raises:
            NotJoined, StoreError: as for ``Campaigns.find``.
        """
        joined, number = self.campaigns.find(campaign_id), self.campaigns.number(campaign_id)
        consent = self.consents.find(number)
        role = self.consents.declared_role(number) if consent is None else consent.role
        return joined if role is None else joined.with_role(role)
