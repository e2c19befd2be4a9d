"""Lists waiting envelopes by campaign, with the reason why they wait. Reads only.

The envelopes themselves: queue. What is in them: disclosure/envelopes.
"""

from __future__ import annotations

from dataclasses import dataclass

from edge_sdk.campaigns.known import Campaigns
from edge_sdk.transport.queue import Trouble, UploadQueue


@dataclass(frozen=True)
class Waiting:
    """The waiting envelopes of one campaign.

    Attributes:
        envelopes, size: how many, and their bytes.
        addresses: their addresses, in the order in which they are tried; may be empty.
        addressable: whether the owner may set the address, because the campaign names none.
        failures: attempts that were not acknowledged.
        not_before: no attempt before this time, UTC seconds; 0 where none was made.
        refused: whether the study said that it can never take these bytes.
        foreign: whether the study said that it does not have this campaign; it may import it later.
    """

    campaign_id: bytes
    envelopes: int
    size: int
    addresses: tuple[str, ...]
    addressable: bool
    failures: int
    not_before: int
    refused: bool
    foreign: bool

    @property
    def state(self) -> str:
        """The reason why they wait, in English."""
        if not self.addresses:
            return "no address: set one with `address`"
        if self.refused:
            return "refused: the study can never take these bytes"
        if self.foreign:
            return "its study does not have this campaign (yet)"
        return f"attempts that failed: {self.failures}" if self.failures else "ready to be sent"


def waiting(queue: UploadQueue) -> list[Waiting]:
    """Return the waiting envelopes by campaign, in the order of their oldest envelope. Nothing is sent."""
    campaigns, found = Campaigns(queue.store), []
    for one in queue.destinations():
        sealed, upload = queue.waiting(one.campaign), queue.upload(one.campaign)
        if upload is not None:
            found.append(
                Waiting(
                    one.campaign_id,
                    len(sealed),
                    sum(map(len, sealed)),
                    one.addresses,
                    not campaigns.signs_addresses(one.campaign),
                    upload.failures,
                    upload.not_before,
                    upload.trouble is Trouble.HOPELESS,
                    upload.trouble is Trouble.FOREIGN,
                )
            )
    return found
