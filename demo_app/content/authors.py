"""Authors as screens show them: the trusted ones, and the author whose key a link names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edge_sdk import Device

if TYPE_CHECKING:
    from edge_sdk.presentation import AuthorKey


@dataclass(frozen=True)
class Author:
    """An author whose campaigns the person accepts.

    Attributes:
        name: the name shown to the person; "" for none. Two authors may have the same name.
        fingerprint: the fingerprint of the key, which distinguishes authors.
        public: the public key, 32 bytes.
        bundled: True if the key was delivered with the app and so cannot be removed.
    """

    name: str
    fingerprint: str
    public: bytes
    bundled: bool

    @classmethod
    def all_of(cls, device: Device, bundled: Iterable[AuthorKey]) -> tuple[Author, ...]:
        """Return the trusted authors; those delivered with the app come first."""
        delivered = {key.public for key in bundled}
        return tuple(cls(key.name, key.fingerprint_text, key.public, key.public in delivered) for key in device.trusted)


@dataclass(frozen=True)
class LinkContent:
    """The content of a link, shown to the person before the app contacts the study.

    Attributes:
        text: the link as text.
        host: the computer that the app contacts if the person follows the link.
        fingerprint: the fingerprint of the author's key, from the link.
        name: the author's name, if the person trusts the key and it has a name; else "".
        trusted: True if the person trusts the key.
    """

    text: str
    host: str
    fingerprint: str
    name: str
    trusted: bool

    @classmethod
    def of(cls, device: Device, text: str) -> LinkContent:
        """Return the content of a link; nothing is sent.

        Raises:
            LinkRefused: the text is not a valid link.
        """
        from edge_sdk.presentation import Link

        link = Link.parse(text)
        known = [author for author in device.trusted if author.fingerprint_text == link.fingerprint_text]
        return cls(str(link), link.host, link.fingerprint_text, known[0].name if known else "", bool(known))
