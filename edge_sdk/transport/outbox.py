"""Send and export the envelopes in the outbox.

Exporting and sending remove an envelope only once its file is on the disk, or the acknowledgement of its upload has
arrived. After a crash before the removal, the envelope is exported or sent twice, and the study counts it once. A file
or an upload has the envelopes of one campaign only, so that no study receives the reports of another study.

The module stored_outbox stores the envelopes, and upload sends them on a schedule. The owner takes an exported file to
the study.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from edge_sdk.campaigns.known import Campaigns, require_id
from edge_sdk.errors import AmbiguousCampaign, NothingWaiting, StoreError
from edge_sdk.store.files import write_durably
from edge_sdk.store.sqlite import Store
from edge_sdk.transport.stored_outbox import CampaignId, Randomness, StoredOutbox

# At run time, these are imported only with the first upload: an app that only answers needs no network.
if TYPE_CHECKING:
    from edge_sdk.transport.exchange import Opener
    from edge_sdk.transport.upload import UploadResults


class Outbox(StoredOutbox):
    """The outbox of one store, with the methods for apps."""

    def __init__(self, store: Store, clock: Callable[[], float], urandom: Randomness) -> None:
        super().__init__(store)
        self._clock = clock
        self._urandom = urandom

    def export(self, path: str | os.PathLike[str], campaign_id: CampaignId | None = None) -> int:
        """Write a campaign's waiting envelopes to a new file, then delete them and the campaign's code from the outbox.

        Args:
            path: the new file.
            campaign_id: id of the campaign; None if only one campaign has envelopes.
        Returns:
            The number of envelopes.
        Raises:
            NothingWaiting: the campaign has no envelopes.
            AmbiguousCampaign: more than one campaign has envelopes, but a file may contain the envelopes of only one.
            StoreError: the file exists or cannot be written; the outbox is unchanged.
        """
        target = Path(path)
        if campaign_id is not None:
            require_id(campaign_id)
        with self.store.transaction():
            destinations = [
                destination for destination in self.destinations() if campaign_id in (None, destination.campaign_id)
            ]
            if not destinations:
                whose = "" if campaign_id is None else " of this campaign"
                raise NothingWaiting(
                    f"no envelope{whose} waits in the outbox: answer a campaign, or bundle its collected answers"
                )
            if len(destinations) > 1:
                raise AmbiguousCampaign(
                    f"envelopes of {len(destinations)} campaigns wait, but a file is for one study: name the campaign, "
                    f"one of {', '.join(destination.campaign_id.hex() for destination in destinations)}"
                )
            [destination] = destinations
            envelopes = self.envelopes(destination.number)
            if target.exists():
                raise StoreError(f"{target} exists and is not overwritten: name another file")
            try:
                write_durably(target, b"".join(envelopes))
            except OSError as error:
                raise StoreError(
                    f"cannot write {target}: {error.strerror or error}; the envelopes are still queued: name a file "
                    "in a folder that you can write to"
                ) from None
            self.forget(destination.number)
        return len(envelopes)

    def send(
        self, url: str | None = None, *, campaign_id: CampaignId | None = None, opener: Opener | None = None
    ) -> UploadResults:
        """Upload the envelopes that are due, each campaign to its own study; remove accepted envelopes from the queue.

        A campaign's addresses are tried in order until all its envelopes are accepted. A campaign whose next attempt is
        not due yet sends nothing.

        Args:
            url: send only envelopes for this address; the result lists the others. None sends all.
            campaign_id: send only this campaign's envelopes.
            opener: makes the connection; by default ``exchange.connect``, which verifies the certificate.
        Returns:
            The result of each upload.
        Raises:
            AddressRefused: ``url`` is not an address.
            NotJoined: this device never joined the campaign.
            StoreError: the store failed; the envelopes are still queued.
        """
        from edge_sdk.transport.upload import send

        number = None if campaign_id is None else Campaigns(self.store).number(campaign_id)
        return send(self, url, number, self._clock(), self._urandom, opener)
