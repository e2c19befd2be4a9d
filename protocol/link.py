"""Links that invite people to a study by mail, on paper or in a chat (SPEC 7.4).

A link names the study's address, the campaign and the author's key. So a device with the link can check everything that
it then downloads, and it connects to exactly the host shown to the person.

This module opens no connection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from protocol import keys
from protocol.address import MAX_ADDRESS, host_of, require_address
from protocol.errors import CampaignError, KeyRefused, LinkRefused

MAX_CODE = 64
_APP, _SECURE = "halftruth://", "https://"
MAX_LINK = MAX_ADDRESS + len(_APP) - len(_SECURE) + len("/s/") + 32 + len("#k=") + 22 + len("&c=") + MAX_CODE
_ID = re.compile(r"[0-9a-f]{32}")
_CODE = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_CODE}}}")


def is_code(text: str) -> bool:
    return _CODE.fullmatch(text) is not None


@dataclass(frozen=True)
class Link:
    """An invitation to one campaign. Its repr shows no code.

    Attributes:
        address: the address of the study, in the form of SPEC 7.1.
        campaign_id: 16 bytes.
        fingerprint: the fingerprint of the author's public key, 16 bytes.
        code: the single-use code that admits a device to an enrolled campaign; "" for none.
        for_app: True if the link begins with halftruth: in place of https:, so that an app opens it.
    Raises:
        LinkRefused: an attribute has another form, or a link ``for_app`` leads to an address without https.
    """

    address: str
    campaign_id: bytes
    fingerprint: bytes
    code: str = field(default="", repr=False)
    for_app: bool = False

    def __post_init__(self) -> None:
        try:
            require_address(self.address)
        except CampaignError as error:
            raise LinkRefused(f"the link leads to no study: {error}") from None
        if len(self.campaign_id) != 16 or len(self.fingerprint) != keys.FINGERPRINT_BYTES:
            raise LinkRefused(
                f"a link must name a campaign by 16 bytes and its author's key by {keys.FINGERPRINT_BYTES} bytes, not "
                f"by {len(self.campaign_id)} and {len(self.fingerprint)}"
            )
        if self.code and not is_code(self.code):
            raise LinkRefused(
                f"the code in the link is not 1 to {MAX_CODE} letters, digits, - and _: copy the link whole"
            )
        if self.for_app and not self.address.startswith(_SECURE):
            raise LinkRefused(
                f"a link can begin with {_APP} only if the study's address begins with {_SECURE}: use the link as the "
                "study wrote it"
            )

    @property
    def fingerprint_text(self) -> str:
        """The fingerprint as text, 22 characters."""
        return keys.fingerprint_text(self.fingerprint)

    @property
    def host(self) -> str:
        """The host of the study's address, with its port if it has one."""
        return host_of(self.address)

    @classmethod
    def parse(cls, text: str) -> Link:
        """Return the link that a text spells.

        Args:
            text: as received; blanks around it are ignored.
        Returns:
            The link; ``str`` returns the text without the blanks around it.
        Raises:
            LinkRefused: the text is not a valid link. The error does not repeat a code.
        """
        text = text.strip()
        if len(text) > MAX_LINK:
            raise LinkRefused(f"a link must have at most {MAX_LINK} characters, not {len(text)}")
        for_app = text.startswith(_APP)
        page, hash_sign, fragment = text.partition("#")
        address, slash, campaign = page.rpartition("/s/")
        if not slash or not _ID.fullmatch(campaign):
            raise LinkRefused(
                "this is not a campaign's link: copy the whole link, which has the form https://HOST/s/ID#k=KEY"
            )
        if not hash_sign:
            raise LinkRefused("the link ends before the #, so it does not name its author's key: copy it whole")
        parts = fragment.split("&")
        if not parts[0].startswith("k=") or len(parts) > 2 or (len(parts) == 2 and not parts[1].startswith("c=")):
            raise LinkRefused(
                "after its #, a link must have k=KEY or k=KEY&c=CODE, and this link has something else: copy it whole"
            )
        code = parts[1].removeprefix("c=") if len(parts) == 2 else ""
        if len(parts) == 2 and not code:
            raise LinkRefused("the code in the link is empty: copy the link whole")
        try:
            fingerprint = keys.fingerprint_from_text(parts[0].removeprefix("k="))
        except KeyRefused:
            raise LinkRefused(
                "the author's key in the link is not a fingerprint of 22 letters, digits, - and _: copy the link whole"
            ) from None
        address = _SECURE + address.removeprefix(_APP) if for_app else address
        return cls(address, bytes.fromhex(campaign), fingerprint, code, for_app)

    def __str__(self) -> str:
        """Return the text that ``parse`` reads."""
        address = _APP + self.address.removeprefix(_SECURE) if self.for_app else self.address
        code = f"&c={self.code}" if self.code else ""
        return f"{address}/s/{self.campaign_id.hex()}#k={self.fingerprint_text}{code}"
