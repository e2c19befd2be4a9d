"""Sending: uploads what waits, the same bytes until a receipt has their digest, and waits longer after each failure.

One idea: only a receipt counts. An upload leaves the queue when the study's answer is 200 with the SHA-256 of exactly
what was sent; whatever else happens, the same bytes go again later, and the study counts them once. After failure
number f + 1 the next attempt is not before a moment drawn uniformly from the min(24 h, 2^f minutes) that follow
("full jitter"), so that devices which failed together do not come back together.

Whether, when and how much is sent follows from how many reports wait, from the network and from chance, never from an
answer. Campaigns are uploaded one by one, so that a study is not told which reports of two campaigns came from one
device; whoever sees the device's network address may still guess it.

What the rows of an upload mean: outbox. What the study answers: docs/RECEIVE.md.
"""

from __future__ import annotations

import contextlib
import email.utils
import hashlib
import http.client
import ipaddress
import json
import math
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias
from urllib.parse import urlsplit

from edge_sdk.errors import AddressRefused
from edge_sdk.outbox import Outbox, Randomness, Upload

TIMEOUT_SECONDS = 30
FIRST_SECONDS, MOST_SECONDS = 60, 24 * 3600
"""The first delay is at most the former, and no delay is longer than the latter."""

JITTER_BYTES = 8
MOST_ANSWER_BYTES = 4096
PATH = "/v1/reports"
BATCH = "application/octet-stream"
HOPELESS = ("codec", "envelope")
"""Stages at which the same bytes fail every time."""


@dataclass(frozen=True)
class Address:
    """Where a study takes uploads.

    Attributes:
        secure: over TLS.
        host, port: whom to connect to.
        path: of the request.
    """

    secure: bool
    host: str
    port: int
    path: str


Opener: TypeAlias = Callable[[Address], http.client.HTTPConnection]
"""Makes the connection of one upload: for an app that trusts one certificate only, or goes through a proxy."""


class Outcome(Enum):
    """What became of an upload."""

    SENT = "sent"
    """Acknowledged, and off the queue."""
    WAITING = "waiting"
    """Not tried: it is not time yet."""
    FAILED = "failed"
    """Tried and not acknowledged; it will be tried again."""
    REFUSED = "refused"
    """The study can never take these bytes; they are kept and not sent again."""


@dataclass(frozen=True)
class Attempt:
    """One campaign's upload in one call.

    Attributes:
        campaign_id: whose envelopes they are.
        envelopes: how many.
        outcome: what became of them.
        reason: why they are still here; empty when sent.
        again: not tried before this time, seconds since 1970; None when sent or refused.
    """

    campaign_id: bytes
    envelopes: int
    outcome: Outcome
    reason: str = ""
    again: int | None = None


@dataclass(frozen=True)
class Sent:
    """What one call did, upload by upload."""

    attempts: tuple[Attempt, ...]

    @property
    def envelopes(self) -> int:
        """How many were acknowledged."""
        return sum(attempt.envelopes for attempt in self.of(Outcome.SENT))

    @property
    def again(self) -> int | None:
        """The earliest time at which there is something to send again."""
        return min((attempt.again for attempt in self.attempts if attempt.again is not None), default=None)

    def of(self, outcome: Outcome) -> list[Attempt]:
        """The uploads with this outcome."""
        return [attempt for attempt in self.attempts if attempt.outcome is outcome]


class _Failed(Exception):
    """An upload was not acknowledged. ``wait`` is how many seconds the study asks for."""

    def __init__(self, reason: str, wait: int = 0) -> None:
        super().__init__(reason)
        self.wait = wait


class _Hopeless(Exception):
    """The same bytes would fail every time."""


def send(outbox: Outbox, url: str, now: float, urandom: Randomness, opener: Opener | None = None) -> Sent:
    """Upload what waits and is due. See ``Outbox.send``."""
    to = address(url)
    return Sent(
        tuple(
            attempt
            for campaign in outbox.campaigns()
            for attempt in _attempts(outbox, campaign, to, now, urandom, opener or connect)
        )
    )


def _attempts(
    outbox: Outbox, campaign: int, to: Address, now: float, urandom: Randomness, opener: Opener
) -> Iterator[Attempt]:
    """Uploads of one campaign until nothing waits or one is not acknowledged."""

    def judge(upload: Upload) -> int | None:
        return math.ceil(now) + delay(upload.failures, urandom) if _due(upload, now) else None

    while begun := outbox.begin(campaign, judge):
        upload, tried = begun
        if not tried:
            yield _put_off(upload)
            return
        try:
            _exchange(to, upload.body, opener, now)
        except _Hopeless as error:
            outbox.refuse(upload)
            yield Attempt(upload.campaign_id, upload.envelopes, Outcome.REFUSED, str(error))
            return
        except _Failed as error:
            again = outbox.postpone(upload, math.ceil(now) + error.wait)
            yield Attempt(upload.campaign_id, upload.envelopes, Outcome.FAILED, str(error), again)
            return
        outbox.acknowledged(upload)
        yield Attempt(upload.campaign_id, upload.envelopes, Outcome.SENT)


def _due(upload: Upload, now: float) -> bool:
    """Whether it is time. A moment further away than any delay was set by a clock that has gone back since."""
    return not upload.refused and not now < upload.not_before <= now + MOST_SECONDS + 1


def _put_off(upload: Upload) -> Attempt:
    if upload.refused:
        reason = "the study refused these bytes, and would again: export them to look at them, or forget the campaign"
        return Attempt(upload.campaign_id, upload.envelopes, Outcome.REFUSED, reason)
    reason = f"attempt {upload.failures} failed, and it is not time for the next one"
    return Attempt(upload.campaign_id, upload.envelopes, Outcome.WAITING, reason, upload.not_before)


def delay(failures: int, urandom: Randomness) -> int:
    """Seconds to wait after failure number ``failures + 1``: uniform in 0 .. min(24 h, 2^failures minutes).

    Off uniform by less than 2^-47 for each second. Always draws ``JITTER_BYTES``.
    """
    window = min(MOST_SECONDS, FIRST_SECONDS << min(failures, MOST_SECONDS.bit_length()))
    return int.from_bytes(urandom(JITTER_BYTES), "big") * (window + 1) >> 8 * JITTER_BYTES


def address(url: str) -> Address:
    """Where ``url`` leads.

    Raises:
        AddressRefused: not an address; or what is sent could be read on the way.
    """
    try:
        if not url.isascii() or not url.isprintable() or " " in url:
            raise ValueError
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise AddressRefused("not an address: https://HOST, with a port and a path if need be") from None
    if parts.scheme not in ("http", "https") or not host or parts.username or parts.query or parts.fragment:
        raise AddressRefused("not an address: https://HOST, with a port and a path if need be")
    secure = parts.scheme == "https"
    if not secure and not _is_loopback(host):
        raise AddressRefused(f"http://{host} can be read on the way: use https; plain http goes to this machine only")
    return Address(secure, host, (443 if secure else 80) if port is None else port, parts.path.rstrip("/") + PATH)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def connect(to: Address) -> http.client.HTTPConnection:
    """The connection of one upload: over TLS with the certificate and its name verified, unless to this machine."""
    if not to.secure:
        return http.client.HTTPConnection(to.host, to.port, timeout=TIMEOUT_SECONDS)
    return http.client.HTTPSConnection(to.host, to.port, timeout=TIMEOUT_SECONDS, context=ssl.create_default_context())


def _exchange(to: Address, body: bytes, opener: Opener, now: float) -> None:
    """Post ``body`` once; back only with its receipt. No redirect is followed: a study does not move by itself.

    Raises:
        _Failed, _Hopeless
    """
    try:
        with contextlib.closing(opener(to)) as connection:
            connection.request("POST", to.path, body, {"Content-Type": BATCH})
            answer = connection.getresponse()
            said = answer.read(MOST_ANSWER_BYTES)
    except (OSError, http.client.HTTPException, UnicodeError) as error:  # the last: a name that no host can have
        raise _Failed(f"no answer from {to.host}: {_why(error)}") from None
    status, stated = answer.status, _stated(said)
    if status == http.client.OK:
        if stated.get("digest") != hashlib.sha256(body).hexdigest():
            raise _Failed(f"{to.host} gave no receipt of what was sent")
        return
    if status == http.client.BAD_REQUEST and stated.get("stage") in HOPELESS:
        raise _Hopeless(f"{to.host} says that these are not reports and enrolments; they are kept, and not sent again")
    raise _Failed(f"{to.host} answered {status}", retry_after(answer.getheader("Retry-After"), now))


def _why(error: Exception) -> str:
    """What went wrong in the network, in words that quote nothing of what the other side sent."""
    reason = getattr(error, "verify_message", None) or getattr(error, "strerror", None)
    return str(reason or type(error).__name__)


def _stated(said: bytes) -> dict[str, object]:
    """The JSON object of an answer; empty if it is none."""
    try:
        stated = json.loads(said)
    except (ValueError, RecursionError):
        return {}
    return stated if isinstance(stated, dict) else {}


def retry_after(header: str | None, now: float) -> int:
    """Seconds that a Retry-After asks for, a number or a date; at most 24 hours, and 0 if it says nothing."""
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return int(text) if len(text) <= len(str(MOST_SECONDS)) and int(text) < MOST_SECONDS else MOST_SECONDS
    try:
        seconds = email.utils.parsedate_to_datetime(text).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return 0
    return math.ceil(min(max(seconds, 0), MOST_SECONDS))
