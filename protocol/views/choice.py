"""The choice of a device's view: a function of its public key and of the campaign only (SPEC 7.3).

The key is derived before any answer is known, so the choice reveals nothing about the answer. The choice is never sent,
because it can be computed from the key.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Sequence

_CONTEXT = b"halftruth view\0"
_HEAD_BYTES = 8


def view_of(campaign_id: bytes, public: bytes, ends: Sequence[int]) -> int:
    """Return the index of a key's view: the view whose range contains floor(H * W / 2^64).

    H is the first 8 bytes of SHA-256 of a context, the campaign's id and the key, as an integer.

    Args:
        campaign_id: 16 bytes.
        public: the public key of the device in this campaign.
        ends: the cumulative weights: entry j is the sum of the weights of views 0 .. j; the last entry is W.
    """
    head = hashlib.sha256(_CONTEXT + campaign_id + public).digest()[:_HEAD_BYTES]
    return bisect_right(ends, int.from_bytes(head, "big") * ends[-1] >> 8 * _HEAD_BYTES)
