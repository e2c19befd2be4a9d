"""Ed25519 keys and signatures, with the same verdict in every implementation (SPEC 2).

Libraries disagree only on inputs that no honest signer produces. A check of the bytes refuses small-order points,
non-canonical encodings and S >= L before they reach a library. Libraries also disagree on points with a component of
small order; there the equation without a cofactor decides.

The ``cryptography`` package computes on the curve. Storing a secret is the caller's task.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from protocol import codec
from protocol.errors import KeyRefused, SignatureRefused

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SECRET_BYTES = PUBLIC_BYTES = 32
SIGNATURE_BYTES = 64
KEY_ID_BYTES = 8
FINGERPRINT_BYTES = 16

FIELD = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
# A point whose order divides 8 has y = 1, -1 or 0, or one of the two y of the points of order 8: this number and its
# negative.
_ORDER_8_Y = 2707385501144840649318225287225658788936804267575313519463743609750303402022
SMALL_ORDER_Y = frozenset({0, 1, FIELD - 1, _ORDER_8_Y, FIELD - _ORDER_8_Y})
SIGNING_KEY_START = "halftruth-secret-key:"
"""The start of a secret key line."""
_SECRET_LINE = re.compile(SIGNING_KEY_START + "([0-9a-f]{64})")
_PUBLIC_LINE = re.compile(r"halftruth-public-key:([0-9a-f]{64})(?: (.+))?")
_FINGERPRINT = re.compile(r"[A-Za-z0-9_-]{21}[AQgw]")
MAX_AUTHOR = 100
"""Maximum number of characters of the name in a public key line."""


def require_point(encoded: bytes, subject: str, error: type[Exception]) -> None:
    """Refuse an encoded curve point that a key or signature must not have.

    Raises:
        error: the point is not canonical, or of small order.
    """
    y = int.from_bytes(encoded, "little") & (2**255 - 1)
    if y >= FIELD:
        raise error(f"{subject} is not canonical: its y must be below 2^255 - 19")
    if y in SMALL_ORDER_Y:
        raise error(f"{subject} must not be a point of small order")


def require_public(public: bytes) -> None:
    """Refuse a public key that is unsafe to verify signatures with.

    Raises:
        KeyRefused: wrong length, not canonical, or of small order.
    """
    if len(public) != PUBLIC_BYTES:
        raise KeyRefused(f"a public key must be {PUBLIC_BYTES} bytes, not {len(public)}")
    require_point(public, "the public key", KeyRefused)


def key_id(public: bytes) -> bytes:
    """Return the first 8 bytes of SHA-256 of a public key."""
    return hashlib.sha256(public).digest()[:KEY_ID_BYTES]


def fingerprint(public: bytes) -> bytes:
    """Return the first 16 bytes of SHA-256 of a public key, as used in links."""
    return hashlib.sha256(public).digest()[:FINGERPRINT_BYTES]


def fingerprint_text(digest: bytes) -> str:
    """Return a fingerprint as 22 characters: base64url without padding (RFC 4648, section 5)."""
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def fingerprint_beginning(key_id: bytes) -> str:
    """Return the beginning of a fingerprint's text that a key id determines, ten characters."""
    return fingerprint_text(key_id)[: 8 * KEY_ID_BYTES // 6]


def fingerprint_from_text(text: str) -> bytes:
    """Return the fingerprint that a text spells, 16 bytes.

    Raises:
        KeyRefused: not the canonical text of 16 bytes.
    """
    if not _FINGERPRINT.fullmatch(text):
        raise KeyRefused(
            "this is not a fingerprint: a fingerprint has 22 letters, digits, - and _, as a link or key list shows it"
        )
    return base64.urlsafe_b64decode(text + "==")


def verify(public: bytes, signature: bytes, message: bytes) -> None:
    """Refuse a ``signature`` over ``message`` that does not verify under ``public``.

    Raises:
        KeyRefused: ``public`` must not be used for any signature.
        SignatureRefused: a wrong length, S >= L, R not canonical or of small order, or the equation is not fulfilled.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    require_public(public)
    if len(signature) != SIGNATURE_BYTES:
        raise SignatureRefused(f"a signature must be {SIGNATURE_BYTES} bytes, not {len(signature)}")
    if int.from_bytes(signature[32:], "little") >= ORDER:
        raise SignatureRefused("the signature's S must be below the group order (SPEC 2.1)")
    require_point(signature[:32], "the signature's R", SignatureRefused)
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        raise SignatureRefused(
            "the signature does not verify: the bytes were altered, or another key signed them"
        ) from None


@dataclass(frozen=True)
class SigningKey:
    """An Ed25519 secret key of 32 bytes. Its repr shows no secret.

    Raises:
        ValueError: the secret does not have 32 bytes.
    """

    secret: bytes

    def __post_init__(self) -> None:
        if len(self.secret) != SECRET_BYTES:
            raise ValueError(f"a secret key must be {SECRET_BYTES} bytes, not {len(self.secret)}")

    def __repr__(self) -> str:
        return f"SigningKey(id={self.id.hex()})"

    @classmethod
    def for_campaign(cls, device_secret: bytes, campaign_id: bytes) -> SigningKey:
        """Derive the key of one device in one campaign: HMAC-SHA256(device secret, context || campaign id).

        Without the device secret, the keys of two campaigns look like independent keys. So they do not
        link the reports of one device across campaigns.

        Args:
            device_secret: 32 bytes.
            campaign_id: 16 bytes.
        Returns:
            The key; equal arguments give equal keys.
        Raises:
            ValueError: the secret does not have 32 bytes.
        """
        if len(device_secret) != SECRET_BYTES:
            raise ValueError(f"a device secret must be {SECRET_BYTES} bytes, not {len(device_secret)}")
        message = b"halftruth/1/device-key" + campaign_id
        return cls(hmac.new(device_secret, message, hashlib.sha256).digest())

    @cached_property
    def _key(self) -> Ed25519PrivateKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.secret)

    @cached_property
    def public(self) -> bytes:
        """The public key, 32 bytes."""
        return self._key.public_key().public_bytes_raw()

    @cached_property
    def id(self) -> bytes:
        """The key id, 8 bytes."""
        return key_id(self.public)

    def sign(self, message: bytes) -> bytes:
        """Return the signature of ``message``.

        Args:
            message: bytes of any length.
        Returns:
            64 bytes; equal messages have equal signatures.
        """
        return self._key.sign(message)

    def line(self) -> str:
        """Return the text of a secret key file; a reader of the file can sign in the owner's name.

        Returns:
            One line, ended by a newline.
        """
        return f"{SIGNING_KEY_START}{self.secret.hex()}\n"

    @classmethod
    def from_line(cls, text: str) -> SigningKey:
        """Return the key of a secret key file.

        Args:
            text: the text that ``line`` returned.
        Returns:
            The key.
        Raises:
            KeyRefused: the text has another form. The error does not repeat it.
        """
        match = _SECRET_LINE.fullmatch(text.strip())
        if match is None:
            raise KeyRefused(
                "this is not a secret key file, which is one line: halftruth-secret-key: and 64 lower-case hex digits"
            )
        return cls(bytes.fromhex(match[1]))


@dataclass(frozen=True)
class AuthorKey:
    """The public key of a campaign's author, with the name that its owner or holder gave it.

    The name is shown to people and decides nothing: anybody can write any name beside a key.

    Attributes:
        public: 32 bytes.
        name: at most ``MAX_AUTHOR`` readable characters without blanks at its ends; "" for none.
    Raises:
        KeyRefused: the key must not be used, or the name has another form.
    """

    public: bytes
    name: str = ""

    def __post_init__(self) -> None:
        require_public(self.public)
        if self.name != self.name.strip() or len(self.name) > MAX_AUTHOR or not codec.readable(self.name):
            raise KeyRefused(
                f"a key's name must be at most {MAX_AUTHOR} readable characters without blanks at its ends, not "
                f"{self.name[:40]!r}"
            )

    @property
    def fingerprint_text(self) -> str:
        """The fingerprint of the key, as text."""
        return fingerprint_text(fingerprint(self.public))

    def line(self) -> str:
        """Return the text of a public key file.

        Returns:
            One line, ended by a newline.
        """
        return f"halftruth-public-key:{self.public.hex()}{' ' if self.name else ''}{self.name}\n"

    @classmethod
    def from_line(cls, text: str) -> AuthorKey:
        """Return the key and its name from a public key file.

        Args:
            text: the text that ``line`` returned; blanks around it are ignored.
        Returns:
            The key with its name.
        Raises:
            KeyRefused: the text has another form, or the key must not be used.
        """
        match = _PUBLIC_LINE.fullmatch(text.strip())
        if match is None:
            raise KeyRefused(
                "this is not a public key file, which is one line: halftruth-public-key:, 64 lower-case hex digits, "
                "and optionally a blank and a name"
            )
        return cls(bytes.fromhex(match[1]), match[2] or "")


def public_line(public: bytes, name: str = "") -> str:
    """Return the text of a public key file.

    Args:
        public: 32 bytes.
        name: the name of the key's owner; "" for none.
    Returns:
        One line, ended by a newline.
    Raises:
        KeyRefused: the key must not be used, or the name is too long, not readable, or has blanks at its ends.
    """
    return AuthorKey(public, name).line()


def public_from_line(text: str) -> bytes:
    """Return the public key of a public key file; its name is ignored.

    Args:
        text: the text that ``public_line`` returned.
    Returns:
        A usable public key, 32 bytes.
    Raises:
        KeyRefused: the text has another form, or the key must not be used.
    """
    return AuthorKey.from_line(text).public
