"""Fetch a study's list of campaigns, a campaign's signed bytes, closing notices, and whether reports were counted.

Responses are not trusted. A list is not verified, and must be shown as unverified. A campaign is requested by its hash,
and ``Device.join`` verifies its signature. The response that a report was counted cannot be verified.

A request reveals the device's network address, and the id or report in it reveals the campaign. So requests are made
when the person asks, or at times that do not depend on an answer.

The module exchange connects, address defines the syntax of addresses, and docs/RECEIVE.md the study's responses.
"""

from __future__ import annotations

import contextlib
import http.client
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from edge_sdk.campaigns.files import MAX_CAMPAIGN_BYTES, MAX_CLOSING_BYTES
from edge_sdk.campaigns.invitation import Invitation, require_author
from edge_sdk.transport.address import REPORTS_PATH, Address, address
from edge_sdk.transport.exchange import Opener, connect, send_request
from edge_sdk.transport.stored_outbox import MAX_WAITING_BYTES
from edge_sdk.transport.upload import BATCH, json_object
from protocol import codec
from protocol.campaign import campaign_id
from protocol.errors import BadData, CampaignError, NotYet
from protocol.keys import PUBLIC_BYTES

if TYPE_CHECKING:
    from edge_sdk.device import Device
    from protocol.link import Link

LIST_PATH, COUNTED_PATH = "/v1/campaigns", "/v1/counted"
MAX_LIST_BYTES, MAX_COUNTED_BYTES = 2**20, 2**16
"""Maximum number of bytes read from a response."""

MAX_QUERY_REPORTS = 64
"""Maximum number of reports in one request."""
MAX_OFFERS, MAX_TITLE = 1000, 200
_ID = re.compile(r"[0-9a-f]{32}")


class NoResponse(NotYet):
    """The study gave no valid response; a later attempt may succeed."""


class NoCampaign(NoResponse):
    """The study does not have the requested campaign or closing notice."""


@dataclass(frozen=True)
class Offer:
    """A campaign in a study's list. The list is not signed, so a person cannot agree to an offer.

    Attributes:
        campaign_id: the id to pass to ``fetch_campaign``, 16 bytes.
        title: readable text of at most ``MAX_TITLE`` characters.
        opens, closes: the campaign's schedule, UTC seconds.
        enrolment: "open" (every device may answer) or "enrolled" (only registered devices).
        closed_early: time of the early closing, UTC seconds; None if it was not closed early.
    """

    campaign_id: bytes
    title: str
    opens: int
    closes: int
    enrolment: str
    closed_early: int | None = None

    @property
    def ends(self) -> int:
        """The time from which no answer is taken, UTC seconds: the early closing, or else ``closes``."""
        return self.closes if self.closed_early is None else self.closed_early


def fetch_offers(url: str, opener: Opener | None = None) -> list[Offer]:
    """Return a study's list of campaigns.

    Args:
        url: the study's address: https, or http to this machine; ``/v1/campaigns`` is appended.
        opener: makes the connection; by default ``exchange.connect``, which verifies the certificate.
    Returns:
        One unverified offer for each campaign that the study publishes.
    Raises:
        AddressRefused: ``url`` is not an address.
        NoResponse: the study gave no valid response.
    """
    to = _address(url, LIST_PATH)
    listed = json_object(_exchange(to, None, MAX_LIST_BYTES, opener)).get("campaigns")
    if not isinstance(listed, list) or len(listed) > MAX_OFFERS:
        raise _strange(to)
    return [_offer(to, row) for row in listed]


def fetch_campaign(url: str, requested_id: bytes, opener: Opener | None = None) -> bytes:
    """Return the signed bytes of one campaign, for ``Device.join``; only their hash is verified here.

    Args:
        url: the study's address.
        requested_id: the campaign's id, 16 bytes.
        opener: makes the connection; by default ``exchange.connect``, which verifies the certificate.
    Returns:
        The campaign's bytes.
    Raises:
        AddressRefused: ``url`` is not an address.
        NoResponse: the study gave no valid response.
        CampaignError: the study sent another campaign.
    """
    to = _address(url, f"{LIST_PATH}/{requested_id.hex()}")
    data = _exchange(to, None, MAX_CAMPAIGN_BYTES, opener)
    if campaign_id(data) != requested_id:
        raise CampaignError(
            f"{to.host} sent other bytes than campaign {requested_id.hex()}: ask the organisation for the campaign"
        )
    return data


def fetch_invited(link: Link, opener: Opener | None = None) -> Invitation:
    """Return the campaign and the author's key that a link names, for ``Device.accept``, which verifies them.

    Args:
        link: a link that the person agreed to follow, because its server learns the device's network address and the
            campaign.
        opener: makes the connection; by default ``exchange.connect``, which verifies the certificate.
    Returns:
        The invitation; its key has the link's fingerprint, and its campaign the link's id.
    Raises:
        NoCampaign: the study does not have the campaign.
        NoResponse: the study gave no valid response.
        KeyRefused, InvitationRefused: the study sent a key or a campaign that the link does not name.
    """
    to = _address(link.address, f"{LIST_PATH}/{link.campaign_id.hex()}/author")
    try:
        author = _exchange(to, None, PUBLIC_BYTES, opener)
    except NoCampaign:
        raise NoCampaign(
            f"{link.host} has no such campaign: ask the person who gave you the link for a new one"
        ) from None
    require_author(link, author)
    to = _address(link.address, f"{LIST_PATH}/{link.campaign_id.hex()}")
    return Invitation(link, _exchange(to, None, MAX_CAMPAIGN_BYTES, opener), author)


def fetch_closing(url: str, requested_id: bytes, opener: Opener | None = None) -> bytes:
    """Return the signed closing notice of a campaign, for ``Device.close_early``, which verifies it.

    Args:
        url: the study's address.
        requested_id: the campaign's id, 16 bytes.
        opener: makes the connection; by default ``exchange.connect``, which verifies the certificate.
    Raises:
        AddressRefused: ``url`` is not an address.
        NoResponse: the study has no such closing notice, or gave no valid response.
    """
    return _exchange(_address(url, f"{LIST_PATH}/{requested_id.hex()}/closing"), None, MAX_CLOSING_BYTES, opener)


def learn_closings(device: Device, campaign_ids: Iterable[bytes], opener: Opener | None = None) -> list[bytes]:
    """Ask the study of each campaign for its closing notice, and apply the notices that the author signed.

    A study is asked about its own campaigns only. If it gives no response, no closing notice or an invalid signature,
    nothing changes.

    Args:
        device: a device that joined the campaigns.
        campaign_ids: ids of the campaigns, 16 bytes each.
        opener: makes the connection; by default ``exchange.connect``, which verifies the certificate.
    Returns:
        Ids of the campaigns whose closing time is earlier than before.
    Raises:
        NotJoined: this device has not joined one of the campaigns.
    """
    learned = []
    for joined in campaign_ids:
        before = device.terms(joined).closed_early
        for url in device.addresses(joined):
            with contextlib.suppress(NoResponse, BadData):
                if device.close_early(fetch_closing(url, joined, opener)).closed_early != before:
                    learned.append(joined)
                break
    return learned


def fetch_counted(url: str, envelopes: Iterable[bytes], opener: Opener | None = None) -> list[bool]:
    """Return whether a study has counted each report. The request reveals no more to an observer than the upload did.

    Args:
        url: the study's address.
        envelopes: sealed reports that were sent before; the request contains them.
        opener: makes the connection; by default ``exchange.connect``, which verifies the certificate.
    Returns:
        One bool per report; False means that the study has not counted the report yet, or never will.
    Raises:
        AddressRefused: ``url`` is not an address.
        NoResponse: the study gave no valid response.
        ValueError: the reports have more bytes than one upload may have.
    """
    reports = list(envelopes)
    size = sum(map(len, reports))
    if size > MAX_WAITING_BYTES:
        raise ValueError(f"one call must have at most {MAX_WAITING_BYTES} bytes of reports, not {size}: split them")
    if not reports:
        return []
    to = _address(url, COUNTED_PATH)
    verdicts: list[bool] = []
    for first in range(0, len(reports), MAX_QUERY_REPORTS):
        verdicts += _counted(to, reports[first : first + MAX_QUERY_REPORTS], opener)
    return verdicts


def _counted(to: Address, reports: list[bytes], opener: Opener | None) -> list[bool]:
    """Return a study's response to one request: whether it has counted each report.

    Raises:
        NoResponse: the response is not valid.
    """
    verdicts = json_object(_exchange(to, b"".join(reports), MAX_COUNTED_BYTES, opener)).get("counted")
    if not isinstance(verdicts, list) or len(verdicts) != len(reports):
        raise _strange(to)
    if not all(isinstance(verdict, bool) for verdict in verdicts):
        raise _strange(to)
    return verdicts


def _address(url: str, path: str) -> Address:
    """Return the address ``url`` with ``path`` in place of the path for uploads."""
    upload = address(url)
    return replace(upload, path=upload.path.removesuffix(REPORTS_PATH) + path)


def _exchange(to: Address, body: bytes | None, limit: int, opener: Opener | None) -> bytes:
    """Send one request; return the body of a 200 response. No redirect is followed.

    Raises:
        NoCampaign: the status is 404.
        NoResponse: another status, no response, or too long a response.
    """
    try:
        response, content = send_request(
            to, opener or connect, body, {} if body is None else {"Content-Type": BATCH}, limit + 1
        )
    # A UnicodeError means that the host name is invalid.
    except (OSError, http.client.HTTPException, UnicodeError):
        raise NoResponse(f"no response from {to.host}: check the address and the network") from None
    if response.status != http.client.OK:
        error = NoCampaign if response.status == http.client.NOT_FOUND else NoResponse
        raise error(f"{to.host} responded with status {response.status}, not 200: check the address, or try later")
    if len(content) > limit:
        raise NoResponse(f"{to.host} responded with more than {limit} bytes, which no study does: check the address")
    return content


def _offer(to: Address, row: object) -> Offer:
    fields = row if isinstance(row, dict) else {}
    hex_id, title, enrolment = (fields.get(name) for name in ("id", "title", "enrolment"))
    opens, closes = fields.get("opens"), fields.get("closes")
    if not (isinstance(hex_id, str) and _ID.fullmatch(hex_id)):
        raise _strange(to)
    if not (isinstance(title, str) and codec.readable(title) and len(title) <= MAX_TITLE):
        raise _strange(to)
    if type(opens) is not int or type(closes) is not int or not -(2**40) < opens < closes < 2**40:
        raise _strange(to)
    if not isinstance(enrolment, str) or enrolment not in ("open", "enrolled"):
        raise _strange(to)
    early = fields.get("closed_early")
    if early is not None and (type(early) is not int or not 0 <= early < closes):
        raise _strange(to)
    return Offer(bytes.fromhex(hex_id), title, opens, closes, enrolment, early)


def _strange(to: Address) -> NoResponse:
    return NoResponse(f"{to.host} did not respond as a study does: check that the address is a study's")
