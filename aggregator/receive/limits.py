"""Rate limits: each client has a bucket of requests, which is refilled continuously.

A client with a full bucket can send ``per_minute`` requests at once, and as many again while its bucket refills. So in
one minute it sends at most twice ``per_minute``, or three times if a new day begins in this minute.

A client is identified by a hash of its address with a salt of the day, in memory only. The first request of a new day
deletes the salt and all buckets, so clients cannot be identified afterwards.

The methods take the time as an argument. ``app`` answers a refused request.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
from dataclasses import dataclass, field

CLIENTS = 2**16
"""Maximum number of buckets in memory; above it, the least recently used bucket is deleted."""
MINUTE = 60.0


@dataclass
class Limits:
    """The rate limit of all clients: one bucket of requests for each client of the current day.

    Attributes:
        per_minute: size of a bucket in requests; an empty bucket is full again after one minute.
    """

    per_minute: int
    _day: int = -1
    _salt: bytes = field(default=b"", repr=False)
    _buckets: dict[bytes, tuple[float, float]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        """Return the number of clients with a bucket."""
        return len(self._buckets)

    def wait(self, address: str, now: float, day: int) -> float:
        """Take one request from a client's bucket, if the bucket has one; return the seconds to wait otherwise.

        Args:
            address: the client's address.
            now: the time of a monotonic clock, in seconds.
            day: number of the UTC day, counted from any origin.
        Returns:
            0 if the request is allowed; otherwise the seconds to wait, not rounded.
        """
        if day != self._day:
            self._day, self._salt = day, os.urandom(16)
            self._buckets.clear()
        client = hashlib.blake2b(_network(address).encode(), key=self._salt, digest_size=16).digest()
        left, then = self._buckets.pop(client, (float(self.per_minute), now))
        left = min(self.per_minute, left + (now - then) * self.per_minute / MINUTE)
        granted = left >= 1
        # The entry moves to the end, so that the dictionary is in the order of last use.
        self._buckets[client] = (left - granted, now)
        if len(self._buckets) > CLIENTS:
            del self._buckets[next(iter(self._buckets))]
        return 0.0 if granted else (1 - left) * MINUTE / self.per_minute


def _network(address: str) -> str:
    """Return the part of an address that identifies a client: an IPv4 address, or the first 64 bits of an IPv6 address
    (one household)."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address  # the socket has no addresses, so all its clients count as one
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(ip) >> 64 << 64, 64)))
