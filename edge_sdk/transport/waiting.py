"""List waiting envelopes by campaign, with the reason why they wait; nothing is changed.

The module stored_outbox stores the envelopes, and disclosure/envelopes explains their content.
"""

from __future__ import annotations

from dataclasses import dataclass

from edge_sdk.campaigns.known import Campaigns
from edge_sdk.transport.stored_outbox import StoredOutbox, Trouble


@dataclass(frozen=True)
class WaitingCampaign:
    """The waiting envelopes of one campaign.

    Attributes:
        campaign_id: the campaign's id, 16 bytes.
        envelopes, size: the number of envelopes, and their total length in bytes.
        addresses: the study's addresses, in the order in which they are tried; may be empty.
        addressable: whether the owner may set the address, because the campaign names none.
        failures: number of attempts in a row after which an envelope was not accepted.
        next_attempt: the earliest time of the next attempt, UTC seconds; 0 before the first.
        refused: whether the study refused these bytes, or the code, and would refuse them again.
        code_refused: whether it refused the code, so that another code may help.
        unknown_campaign: whether the study responded that it does not have this campaign; the study may import the
            campaign later.
    """

    campaign_id: bytes
    envelopes: int
    size: int
    addresses: tuple[str, ...]
    addressable: bool
    failures: int
    next_attempt: int
    refused: bool
    code_refused: bool
    unknown_campaign: bool

    @property
    def reason(self) -> str:
        """The reason why the envelopes wait, in English."""
        if not self.addresses:
            return "no address: set one with the command 'address ID URL'"
        if self.code_refused:
            return (
                "refused: the code does not belong to this campaign or was used by another device; ask the "
                "organisation for another link, and run 'join LINK'"
            )
        if self.refused:
            return (
                "refused: the study can never accept these bytes; to remove them from the outbox, export them to a "
                "file, or forget the campaign"
            )
        if self.unknown_campaign:
            return "the study does not have this campaign (yet)"
        return f"failed attempts: {self.failures}" if self.failures else "ready to be sent"


def waiting_by_campaign(outbox: StoredOutbox) -> list[WaitingCampaign]:
    """Return the waiting envelopes by campaign, in the order of their oldest envelope. Nothing is sent."""
    campaigns, uploads = Campaigns(outbox.store), []
    for destination in outbox.destinations():
        envelopes, upload = outbox.envelopes(destination.number), outbox.upload(destination.number)
        if upload is not None:
            uploads.append(
                WaitingCampaign(
                    destination.campaign_id,
                    len(envelopes),
                    sum(map(len, envelopes)),
                    destination.addresses,
                    not campaigns.signs_addresses(destination.number),
                    upload.failures,
                    upload.next_attempt,
                    upload.trouble.permanent,
                    upload.trouble is Trouble.CODE_REFUSED,
                    upload.trouble is Trouble.UNKNOWN_CAMPAIGN,
                )
            )
    return uploads
