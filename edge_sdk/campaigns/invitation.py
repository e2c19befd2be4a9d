"""An invitation: a link that a person received, and the study's response to it.

The study is not trusted. The link names the campaign and its author's key, so a study that sends another campaign or
key is refused here, before anything is stored.

``protocol.link`` parses links, transport/download fetches an invitation, and ``Device.accept`` joins its campaign.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from edge_sdk.errors import InvitationRefused
from protocol.campaign import campaign_id
from protocol.keys import fingerprint, fingerprint_text, require_public
from protocol.link import Link


@dataclass(frozen=True)
class Invitation:
    """A link, and the signed campaign and the author's key that the link names; the signature is not verified yet.

    Attributes:
        link: the link that the person received.
        data: the campaign's signed bytes.
        author: the author's public key, 32 bytes, which has the link's fingerprint.
    Raises:
        InvitationRefused: the link names another key or another campaign.
        KeyRefused: the key must not be used.
    """

    link: Link
    data: bytes = field(repr=False)
    author: bytes

    def __post_init__(self) -> None:
        require_author(self.link, self.author)
        if campaign_id(self.data) != self.link.campaign_id:
            raise InvitationRefused(
                f"{self.link.host} sent other bytes than the campaign that the link names: ask the person who gave you "
                "the link for a new one"
            )


def require_author(link: Link, author: bytes) -> None:
    """Refuse a key that a link does not name.

    Raises:
        InvitationRefused: the link names another key.
        KeyRefused: the key must not be used.
    """
    require_public(author)
    if fingerprint(author) != link.fingerprint:
        raise InvitationRefused(
            f"{link.host} sent the key {fingerprint_text(fingerprint(author))}, but the link names another author's "
            "key: do not join, because the link or the study is not the organisation's"
        )
