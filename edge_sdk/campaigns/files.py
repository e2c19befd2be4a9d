"""Read the files that an owner names: a signed campaign, a closing notice, an author's public key.

The error for a file with other content begins with its name. The module authors stores keys, and joined verifies
campaigns.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from protocol.errors import BadData, SignatureRefused

# At run time, this is imported only with the first key.
if TYPE_CHECKING:
    from protocol.keys import AuthorKey

MAX_CAMPAIGN_BYTES, MAX_CLOSING_BYTES, MAX_KEY_BYTES = 2**20 + 1024, 1024, 1024
"""Maximum number of bytes read; a campaign, a closing notice and the line of a key are shorter."""


def campaign_file(path: Path) -> bytes:
    """Return the bytes of a campaign's file; if the file is too long, only its start, which ``join`` refuses.

    Raises:
        BadData: the file does not begin with a campaign.
        OSError: the file cannot be read.
    """
    # Imported here, because it loads hashlib, and a unit must first choose Python's built-in digests (unit/daemon).
    from protocol.campaign import require_campaign

    with path.open("rb") as file:
        data = file.read(MAX_CAMPAIGN_BYTES)
    with naming_file_in_errors(path):
        require_campaign(data)
    return data


def closing_file(path: Path) -> bytes:
    """Return the bytes of a closing notice's file; if the file is too long, only its start, which is refused.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        return file.read(MAX_CLOSING_BYTES)


def key_file(path: Path) -> AuthorKey:
    """Return the author's key in a file, with its name.

    Raises:
        KeyRefused: the file does not contain the line of a key.
        OSError: the file cannot be read.
    """
    from protocol.keys import AuthorKey

    with path.open("rb") as file:
        text = file.read(MAX_KEY_BYTES).decode("utf-8", "replace")
    with naming_file_in_errors(path):
        return AuthorKey.from_line(text)


@contextlib.contextmanager
def naming_file_in_errors(path: Path) -> Iterator[None]:
    """Context manager: begin the text of an error about a file's content with the name of the file."""
    try:
        yield
    except BadData as error:
        advice = "; ask its author for the file again" if isinstance(error, SignatureRefused) else ""
        raise type(error)(f"{path}: {error}{advice}") from None
