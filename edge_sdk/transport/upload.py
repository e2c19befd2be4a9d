"""Upload each campaign's envelopes to its own study, the same bytes until an acknowledgement contains their digest.

A campaign's envelopes go to its addresses, in order, and nowhere else. An upload removes them from the outbox only
after an acknowledgement. An acknowledgement is a response with status 200 that contains the SHA-256 of the bytes sent.
It lists the envelopes that the study did not accept because it does not have their campaign. Envelopes that were not
accepted stay, and without an acknowledgement all envelopes stay. The same bytes are sent again later, and the study
counts them once. After a failure, the time of the next attempt is drawn uniformly from an interval that begins now
("full jitter"). The interval is 1 minute long after the first failure, and twice as long after each further failure, up
to 24 hours. So devices that failed at the same time do not all return at the same time.

The time and the amount of sent data depend on the number of waiting reports, the network and chance, never on an
answer. Campaigns are uploaded one by one, so that a study cannot link the reports of one device in two campaigns. An
observer of the device's network address may still guess the link.

The module stored_outbox stores uploads, and docs/RECEIVE.md defines the study's responses.
"""

from __future__ import annotations

import email.utils
import hashlib
import http.client
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from edge_sdk.transport.address import Address, address
from edge_sdk.transport.exchange import Opener, connect, send_request
from edge_sdk.transport.stored_outbox import Randomness, StoredOutbox, Trouble, Upload, UploadDestination

FIRST_SECONDS, MAX_SECONDS = 60, 24 * 3600
"""Maximum of the first delay, and of every delay."""

JITTER_BYTES = 8
MAX_RESPONSE_BYTES = 4096
BATCH = "application/octet-stream"
CODE_HEADER = "Halftruth-Code"
"""The header that carries a code (SPEC 9.1)."""
PERMANENT_STAGES = ("codec", "envelope")
"""Error stages that are permanent: the same bytes would fail again."""

_CODE_REFUSED = "refused the code, which does not belong to this campaign or was used by another device"
_OTHER_LINK = "ask the organisation for another link and join by it, or forget the campaign"


class Outcome(Enum):
    """The result of an upload."""

    SENT = "sent"
    """Accepted by the study and removed from the outbox."""
    WAITING = "waiting"
    """Not tried: the next attempt is not due yet."""
    FAILED = "failed"
    """Tried and not acknowledged; it will be tried again."""
    UNKNOWN_CAMPAIGN = "unknown_campaign"
    """The study does not have the campaign, but may import it later: the envelopes are kept and tried again."""
    UPLOAD_REFUSED = "upload_refused"
    """The study can never accept these bytes, or refused the device's code; they are kept and not sent until the
    address or the code changes."""
    ELSEWHERE = "elsewhere"
    """Not tried: the campaign has no address, or its addresses do not include the named one."""


@dataclass(frozen=True)
class Attempt:
    """The result of one campaign's upload in one call.

    Attributes:
        campaign_id: the campaign's id, 16 bytes.
        envelopes: number of envelopes sent or, for every other outcome, still queued.
        outcome: the kind of the result.
        reason: the reason why the envelopes are still queued; empty if they were sent.
        next_attempt: the earliest time of the next attempt, seconds since 1970; None if there is no next attempt.
    """

    campaign_id: bytes
    envelopes: int
    outcome: Outcome
    reason: str = ""
    next_attempt: int | None = None


@dataclass(frozen=True)
class UploadResults:
    """The results of all uploads of one call, in order."""

    attempts: tuple[Attempt, ...]

    @property
    def envelopes(self) -> int:
        """Number of envelopes that the studies accepted."""
        return sum(attempt.envelopes for attempt in self.of(Outcome.SENT))

    @property
    def next_attempt(self) -> int | None:
        """The earliest time of a next attempt, seconds since 1970; None if no attempt is repeated."""
        return min(
            (attempt.next_attempt for attempt in self.attempts if attempt.next_attempt is not None), default=None
        )

    def of(self, outcome: Outcome) -> list[Attempt]:
        """Return the attempts with this outcome."""
        return [attempt for attempt in self.attempts if attempt.outcome is outcome]


class _Failed(Exception):
    """An upload was not acknowledged; ``wait`` is the delay in seconds that the study requests."""

    def __init__(self, reason: str, wait: int = 0) -> None:
        super().__init__(reason)
        self.wait = wait


class _UploadRefused(Exception):
    """The same upload would fail in every attempt at this address; ``trouble`` says why."""

    def __init__(self, reason: str, trouble: Trouble = Trouble.REFUSED) -> None:
        super().__init__(reason)
        self.trouble = trouble


def send(
    outbox: StoredOutbox,
    url: str | None,
    number: int | None,
    now: float,
    urandom: Randomness,
    opener: Opener | None = None,
) -> UploadResults:
    """Upload the envelopes that are due: implement ``Outbox.send``."""
    only = None if url is None else address(url)
    attempts: list[Attempt] = []
    for destination in outbox.destinations():
        if number in (None, destination.number):
            attempts += _send_campaign(outbox, destination, only, now, urandom, opener or connect)
    return UploadResults(tuple(attempts))


def _send_campaign(
    outbox: StoredOutbox,
    destination: UploadDestination,
    only: Address | None,
    now: float,
    urandom: Randomness,
    opener: Opener,
) -> Iterator[Attempt]:
    """Upload one campaign's envelopes until no envelope waits, or an attempt failed or is not due; yield the
    results."""
    addresses = [address(text) for text in destination.addresses]
    to = [target for target in addresses if only is None or _same(target, only)]
    if not to:
        yield Attempt(destination.campaign_id, destination.envelopes, Outcome.ELSEWHERE, _elsewhere(addresses, only))
        return

    def schedule_attempt(upload: Upload) -> int | None:
        return math.ceil(now) + delay(upload.failures, urandom) if _due(upload, now) else None

    while begun := outbox.begin(destination.number, schedule_attempt):
        upload, tried = begun
        if not tried:
            yield _put_off(upload)
            return
        left, attempt = _try_addresses(outbox, upload, to, opener, now, are_all=len(to) == len(addresses))
        if accepted := upload.envelopes - left:
            yield Attempt(upload.campaign_id, accepted, Outcome.SENT)
        if attempt is not None:
            yield attempt
            return


def _try_addresses(
    outbox: StoredOutbox, upload: Upload, to: Iterable[Address], opener: Opener, now: float, *, are_all: bool
) -> tuple[int, Attempt | None]:
    """Send an upload to each address in turn until all its envelopes are accepted.

    Args:
        are_all: whether ``to`` has all addresses of the campaign; otherwise no refusal is permanent.
    Returns:
        (number of envelopes left, the attempt that failed); the attempt is None if no envelope is left.
    """
    left, reasons, wait = upload, [], 0
    troubles: set[Trouble] = set()
    for target in to:
        try:
            not_accepted = _exchange(target, left, opener, now)
        except _UploadRefused as error:
            reasons.append(str(error))
            troubles.add(error.trouble)
        except _Failed as error:
            reasons.append(str(error))
            troubles.add(Trouble.NONE)
            wait = max(wait, error.wait)
        else:
            left = outbox.acknowledged(left, not_accepted)
            if not left.envelopes:
                return 0, None
            reasons.append(f"the study at {target.host} does not have this campaign")
            troubles.add(Trouble.UNKNOWN_CAMPAIGN)
    reason = "; ".join(reasons)
    if are_all and all(trouble.permanent for trouble in troubles):
        # An address that refused only the code may accept the bytes with another code.
        of_code = Trouble.CODE_REFUSED in troubles
        outbox.refuse(left, Trouble.CODE_REFUSED if of_code else Trouble.REFUSED)
        remedy = _OTHER_LINK if of_code else "to remove them, export them or forget the campaign"
        reason += f"; the envelopes are kept: {remedy}"
        return left.envelopes, Attempt(left.campaign_id, left.envelopes, Outcome.UPLOAD_REFUSED, reason)
    unknown_campaign = Trouble.UNKNOWN_CAMPAIGN in troubles
    next_attempt = outbox.postpone(left, math.ceil(now) + wait, unknown_campaign)
    outcome = Outcome.UNKNOWN_CAMPAIGN if unknown_campaign else Outcome.FAILED
    return left.envelopes, Attempt(left.campaign_id, left.envelopes, outcome, reason, next_attempt)


def _same(first: Address, second: Address) -> bool:
    """Return whether two addresses have the same host, port, path and security; their texts may differ."""
    return replace(first, text="") == replace(second, text="")


def _elsewhere(addresses: Sequence[Address], only: Address | None) -> str:
    """Return the reason why no envelope of a campaign is sent: it has no address, or its addresses do not include
    ``only``."""
    if not addresses:
        return "the campaign has no address: set one, or export its envelopes to a file"
    targets = " or ".join(target.text for target in addresses)
    return f"reports in this campaign go to {targets}" + (f", not to {only.text}" if only else "")


def _due(upload: Upload, now: float) -> bool:
    """Return whether an upload is due.

    A time that is further away than the longest delay was set while the clock was ahead, and is ignored.
    """
    return not upload.trouble.permanent and not now < upload.next_attempt <= now + MAX_SECONDS + 1


def _put_off(upload: Upload) -> Attempt:
    if upload.trouble.permanent:
        reason = (
            f"the study {_CODE_REFUSED}: {_OTHER_LINK}"
            if upload.trouble is Trouble.CODE_REFUSED
            else "the study refused these bytes and would refuse them again: to remove them, export them or forget the "
            "campaign"
        )
        return Attempt(upload.campaign_id, upload.envelopes, Outcome.UPLOAD_REFUSED, reason)
    why = (
        "the study does not have this campaign"
        if upload.trouble is Trouble.UNKNOWN_CAMPAIGN
        else "the upload was not acknowledged"
    )
    reason = f"attempt {upload.failures} failed ({why}), and the next one is not due yet"
    return Attempt(upload.campaign_id, upload.envelopes, Outcome.WAITING, reason, upload.next_attempt)


def delay(failures: int, urandom: Randomness) -> int:
    """Return the delay in seconds after failure number ``failures + 1``: uniform in 0 .. min(24 h, 2^failures minutes).

    The probability of each second differs from the uniform one by less than 2^-47. ``JITTER_BYTES`` bytes are always
    drawn.
    """
    window = min(MAX_SECONDS, FIRST_SECONDS << min(failures, MAX_SECONDS.bit_length()))
    return int.from_bytes(urandom(JITTER_BYTES), "big") * (window + 1) >> 8 * JITTER_BYTES


def _exchange(to: Address, upload: Upload, opener: Opener, now: float) -> tuple[int, ...]:
    """Post an upload once and return only with its acknowledgement. No redirect is followed, since addresses are signed
    or set by the owner.

    Returns:
        The positions of the envelopes that the study did not accept because it does not have their campaign.
    Raises:
        _UploadRefused: the study refuses these bytes or the code, and would refuse them again.
        _Failed: there is no acknowledgement for another reason.
    """
    headers = {"Content-Type": BATCH} | ({CODE_HEADER: upload.code} if upload.code else {})
    try:
        response, content = send_request(to, opener, upload.body, headers, MAX_RESPONSE_BYTES)
    # A UnicodeError means that the host name is invalid.
    except (OSError, http.client.HTTPException, UnicodeError) as error:
        raise _Failed(f"no response from {to.host}: {_why(error)}") from None
    status, stated = response.status, json_object(content)
    if status == http.client.OK:
        not_accepted = _not_accepted(stated, upload)
        if not_accepted is None:
            raise _Failed(f"{to.host} did not acknowledge this upload")
        return not_accepted
    if status == http.client.BAD_REQUEST and stated.get("stage") in PERMANENT_STAGES:
        raise _UploadRefused(f"{to.host} responded that these bytes are not reports or enrolments")
    if status == http.client.FORBIDDEN and stated.get("stage") == "code" and upload.code:
        raise _UploadRefused(f"{to.host} {_CODE_REFUSED}", Trouble.CODE_REFUSED)
    raise _Failed(f"{to.host} responded with status {status}", retry_after(response.getheader("Retry-After"), now))


def _not_accepted(stated: dict[str, object], upload: Upload) -> tuple[int, ...] | None:
    """Return the positions of the envelopes that the study did not accept; None if the response does not acknowledge
    this upload."""
    refused = stated.get("refused")
    if stated.get("digest") != hashlib.sha256(upload.body).hexdigest() or not isinstance(refused, list):
        return None
    if type(stated.get("envelopes")) is not int or stated["envelopes"] != upload.envelopes:
        return None
    if not all(type(position) is int and 0 <= position < upload.envelopes for position in refused):
        return None
    return tuple(refused) if refused == sorted(set(refused)) else None


def _why(error: Exception) -> str:
    """Return a description of a network error that quotes no bytes from the network."""
    reason = getattr(error, "verify_message", None) or getattr(error, "strerror", None)
    return str(reason or type(error).__name__)


def json_object(content: bytes) -> dict[str, object]:
    """Return the JSON object in a study's response; empty if the response is not a JSON object."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def retry_after(header: str | None, now: float) -> int:
    """Return the delay in seconds of a Retry-After header, a number or a date; at most 24 hours, 0 if it is invalid."""
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return int(text) if len(text) <= len(str(MAX_SECONDS)) and int(text) < MAX_SECONDS else MAX_SECONDS
    try:
        seconds = email.utils.parsedate_to_datetime(text).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return 0
    return math.ceil(min(max(seconds, 0), MAX_SECONDS))
