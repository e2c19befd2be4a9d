"""The files of authors: public keys, secret keys and signed campaigns."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from aggregator.cli.failure import BAD_DATA, Failure
from protocol import keys
from protocol.errors import BadData, SignatureRefused


def public_key(path: Path) -> bytes:
    return author_key(path).public


def author_key(path: Path) -> keys.AuthorKey:
    """Return the public key in a key file, with the author's name."""
    try:
        return keys.AuthorKey.from_line(path.read_bytes().decode("utf-8"))
    except (UnicodeDecodeError, BadData):
        raise Failure(f"{path} is not a public key file: name the author's NAME.pub", BAD_DATA) from None


def secret_key(path: Path) -> keys.SigningKey:
    try:
        return keys.SigningKey.from_line(path.read_bytes().decode("ascii"))
    except (UnicodeDecodeError, BadData):
        raise Failure(f"{path} is not a secret key file: name the author's NAME.key", BAD_DATA) from None


@contextlib.contextmanager
def verifying(path: Path) -> Iterator[None]:
    """Context manager: if a signature does not verify, name the file and the remedy in the error."""
    try:
        yield
    except SignatureRefused as error:
        raise Failure(f"{path}: {error}; ask its author for the file again", BAD_DATA) from None


def campaign_file(path: Path) -> bytes:
    """Return the bytes of a signed campaign's file; only the kind of its envelope is checked.

    Raises:
        Failure: the file is something else, such as a draft.
    """
    from aggregator.inspection import require_envelope  # imported here because keygen and status do not need it
    from protocol.campaign import require_campaign

    data = path.read_bytes()
    try:
        require_envelope(data, "a signed campaign")
        require_campaign(data)
    except BadData as error:
        if path.suffix == ".toml":
            raise Failure(
                f"{path} is not a signed campaign: sign the draft with `halftruth campaign`, and name that file",
                BAD_DATA,
            ) from None
        raise Failure(f"{path}: {error}", BAD_DATA) from None
    return data
