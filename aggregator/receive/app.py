"""Answer requests: store uploads, and send acknowledgements, campaigns and their pages.

An upload is answered once it is on the disk. A refusal is one line of JSON, {"error", "stage"}; for the path of a
page it is an HTML page. Signatures of uploads are not verified here, because verification costs more than the rest of
the request, and ingest verifies all signatures in parallel. Only the signatures of enrolments with a code, and of
queries of counted reports, are verified. No request reads the study's tables, because the public information in them
is in memory.

Only the bytes of an upload are stored, not its sender. Its time is not stored either, but the file system has it until
the ingest (``inbox``). ``server`` has the sockets and signals.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aggregator.intake.signatures import Verifier
from aggregator.receive import acknowledgements, inbox, origins
from aggregator.receive.codes import Codes
from aggregator.receive.limits import Limits
from aggregator.receive.pages import refusal_page
from aggregator.receive.snapshot import StudySnapshot
from aggregator.study import Study
from protocol.campaign import SignedCampaign
from protocol.envelope import Envelope, Kind, read_batch
from protocol.errors import BadData
from protocol.report import Enrolment

MAX_UPLOAD_BYTES = 2**18
"""Default of --max-bytes, the maximum size of an upload; a device's outbox contains no more."""
PER_MINUTE = 60
"""Default of --per-minute, the number of requests allowed per client and minute; see ``Limits``."""
PATIENCE = 30.0
PACE = 4096
"""Time limit for a request's body: ``PATIENCE`` seconds, and one more for each ``PACE`` bytes that have arrived."""
REQUESTS = 256
"""Maximum number of requests at the same time; others get status 503. This limits the number of uploads in memory."""
MAX_QUERIES = 8
"""Maximum number of requests for counted reports at the same time; others get status 503, so that no request waits long
for the verification of signatures."""
SNAPSHOT_SECONDS = 5.0
"""Maximum seconds that a request waits for the study's latest changes to be read."""
DAY = 86_400

BATCH = "application/octet-stream"
PAGES = "/s/"
"""The path of a campaign's page, before the campaign's id."""
CODE_HEADER = "halftruth-code"
"""The header of an upload that redeems a code (SPEC 9.1)."""
_IMMUTABLE = {"cache-control": f"public, max-age={365 * DAY}, immutable"}
_UNROUTED = {
    404: ("path", "unknown path: see docs/RECEIVE.md"),
    405: ("method", "this path does not accept this method: see docs/RECEIVE.md"),
}
"""Stage and text of the refusals that the router makes, by status."""
_log = logging.getLogger("halftruth.receive")


class RequestRefused(HTTPException):
    """A request that is answered with an error."""

    def __init__(self, status: int, stage: str, text: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(status, text, headers)
        self.stage = stage


def application(
    study: Study, *, max_bytes: int = MAX_UPLOAD_BYTES, per_minute: int = PER_MINUTE, patience: float = PATIENCE
) -> Starlette:
    """Return the ASGI application that serves one study.

    Args:
        max_bytes: maximum size of an upload.
        per_minute: rate limit in requests per client and minute; see ``Limits``.
        patience: seconds that a request may take to send its body; see ``PACE``.
    Raises:
        StudyError, OSError: the study cannot be read.
        NoInbox: the study is in a bucket.
        BundleError: the pages' script cannot be built.
    """
    snapshot = StudySnapshot(study)
    service = _Service(study, snapshot, max_bytes, patience)
    app = Starlette(
        lifespan=partial(_refreshing, snapshot),
        routes=[
            Route("/health", service.health),
            Route("/v1/reports", service.reports, methods=["POST"]),
            Route("/v1/counted", service.counted, methods=["POST"]),
            Route("/v1/campaigns", service.campaigns),
            Route("/v1/campaigns/{id}", service.campaign),
            Route("/v1/campaigns/{id}/author", service.author),
            Route("/v1/campaigns/{id}/closing", service.closing),
            Route(f"{PAGES}{{id}}", service.page),
            *(Route(path, origins.allow, methods=["OPTIONS"]) for path in origins.ANY_ORIGIN),
        ],
        middleware=[
            Middleware(origins.AnyOrigin),
            Middleware(_Gate, limits=Limits(per_minute), max_bytes=max_bytes, patience=patience),
        ],
        exception_handlers={HTTPException: _answer_refusal},
    )
    app.router.redirect_slashes = False  # a redirect would repeat the request's Host header
    return app


@contextlib.asynccontextmanager
async def _refreshing(snapshot: StudySnapshot, _: Starlette) -> AsyncIterator[None]:
    """Context manager: refresh the snapshot of the study while the application runs."""
    stop = threading.Event()
    threading.Thread(target=snapshot.follow, args=(stop,), name="follow", daemon=True).start()
    try:
        yield
    finally:
        stop.set()  # the thread is not joined, because nothing needs its last refresh


class _Service:
    def __init__(self, study: Study, snapshot: StudySnapshot, max_bytes: int, patience: float) -> None:
        self.study = study
        self.snapshot = snapshot
        self.max_bytes = max_bytes
        self.patience = patience
        self.codes = Codes(study.path)
        self.verifier = Verifier(ThreadPoolExecutor(1, thread_name_prefix="verify"))
        self.queries = 0

    async def health(self, _: Request) -> Response:
        """Answer whether an upload can be stored."""
        await asyncio.to_thread(inbox.require_room, self.study.path, self.max_bytes)
        return JSONResponse({"ok": True})

    async def reports(self, request: Request) -> Response:
        """Store the envelopes of an upload that are for this study, then answer with an acknowledgement.

        If the request has a code, first admit the key that the upload introduces.
        """
        upload = await self._upload(request)
        batch, acknowledgement = upload.divide(await self.snapshot.campaign_ids(upload.named, SNAPSHOT_SECONDS))
        code = request.headers.get(CODE_HEADER)
        if batch and code is not None:
            await asyncio.to_thread(self._admit, batch, code)
        if batch:
            await asyncio.to_thread(inbox.put, self.study.path, batch)
        return _private(acknowledgement.as_json())

    def _admit(self, batch: bytes, code: str) -> None:
        """Redeem a code for the one key that an upload introduces, and store the enrolment for the next ingest."""
        sealed = (envelope for envelope in read_batch(batch) if isinstance(envelope, Envelope))
        introduced = [envelope for envelope in sealed if envelope.kind is Kind.ENROLMENT]
        if len(introduced) != 1:
            raise RequestRefused(
                400,
                "report",
                f"a code admits one key, but this upload introduces {len(introduced)}: send one enrolment",
            )
        try:
            unverified = Enrolment.decode(introduced[0].unverified)
            campaign = self.snapshot.campaigns[unverified.campaign_id.hex()].campaign
            enrolment = Enrolment.open(introduced[0], campaign)
        except BadData as error:
            raise RequestRefused(400, error.stage, str(error)) from None
        if campaign.enrolment != "enrolled":
            raise RequestRefused(400, "code", "this campaign needs no code: send the reports without it")
        if not self.codes.redeem(enrolment.campaign_id, code, enrolment.public):
            raise RequestRefused(
                403, "code", "the code is not valid for this campaign, or was used by another device: check it"
            )
        inbox.admit(self.study.path, introduced[0].encode())

    async def counted(self, request: Request) -> Response:
        """Answer whether reports were counted; the client sends the reports again to prove that they are its own."""
        upload = await self._upload(request)
        if upload.reports > acknowledgements.MAX_QUERY_REPORTS:
            limit = acknowledgements.MAX_QUERY_REPORTS
            raise RequestRefused(
                413, "size", f"the query has {upload.reports} reports: send at most {limit} in one request"
            )
        if self.queries >= MAX_QUERIES:
            raise _busy("too many queries of counted reports at once", "ask again later")
        self.queries += 1
        try:
            query = await asyncio.to_thread(acknowledgements.CountedQuery.of, upload.body)
            known = await self.snapshot.snapshots(query.campaigns, SNAPSHOT_SECONDS)
            if known is None:
                raise _busy("the counted reports are still being read", "ask again later")
            return _private({"counted": await asyncio.to_thread(query.counted, known, self.verifier)})
        finally:
            self.queries -= 1

    async def campaigns(self, _: Request) -> Response:
        """Answer with the list of campaigns."""
        headers = {"cache-control": "public, max-age=60"}
        return Response(self.snapshot.listing, media_type="application/json", headers=headers)

    async def campaign(self, request: Request) -> Response:
        """Answer with the signed bytes of a campaign; clients may cache them, because they never change."""
        signed = self._campaign(request)
        return Response(signed.data, media_type=BATCH, headers=_IMMUTABLE | {"etag": f'"{signed.id.hex()}"'})

    async def author(self, request: Request) -> Response:
        """Answer with the public key of a campaign's author; clients may cache it, because it never changes."""
        return Response(self._campaign(request).author, media_type=BATCH, headers=_IMMUTABLE)

    async def closing(self, request: Request) -> Response:
        """Answer with the signed closing notice of a campaign."""
        notice = self.snapshot.closings.get(request.path_params["id"])
        if notice is None:
            raise RequestRefused(404, "path", "the study has no closing notice of this campaign")
        return Response(notice, media_type=BATCH, headers={"cache-control": "public, max-age=60"})

    async def page(self, request: Request) -> Response:
        """Answer with the page on which people answer a campaign."""
        page = self.snapshot.pages.get(request.path_params["id"])
        if page is None:
            raise RequestRefused(404, "path", "the study has no page for this campaign id")
        return await asyncio.to_thread(page.response_to, request.headers)

    def _campaign(self, request: Request) -> SignedCampaign:
        signed = self.snapshot.campaigns.get(request.path_params["id"])
        if signed is None:
            raise RequestRefused(
                404, "path", "the study has no campaign with this id: GET /v1/campaigns lists its campaigns"
            )
        return signed

    async def _upload(self, request: Request) -> acknowledgements.ReceivedUpload:
        """Return the batch in a request's body, parsed."""
        kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
        if kind != BATCH:
            raise RequestRefused(415, "type", f"the content type of the body must be {BATCH}: send it with this type")
        if request.headers.get("content-encoding", "identity") != "identity":
            raise RequestRefused(415, "type", "the body has a content encoding: send it without compression")
        body = await self._body(request)
        try:
            return await asyncio.to_thread(acknowledgements.parse_upload, body)
        except BadData as error:
            raise RequestRefused(400, error.stage, str(error)) from None

    async def _body(self, request: Request) -> bytes:
        """Read the body; stop as soon as it is too long or too slow."""
        too_long = RequestRefused(
            413, "size", f"the upload is larger than {self.max_bytes} bytes: send fewer reports at a time"
        )
        if int(request.headers.get("content-length", "0")) > self.max_bytes:
            raise too_long
        body = bytearray()
        begun = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self.patience) as deadline:
                async for part in request.stream():
                    if len(body) + len(part) > self.max_bytes:
                        raise too_long
                    body += part
                    deadline.reschedule(begun + self.patience + len(body) / PACE)
        except TimeoutError:
            raise RequestRefused(408, "pace", "the upload arrived too slowly: send it again") from None
        except ClientDisconnect:
            raise RequestRefused(
                400, "size", "the connection ended before the whole upload arrived: send it again"
            ) from None
        return bytes(body)


class _Gate:
    """Middleware for all requests: limits each client, and answers with a refusal instead of a traceback."""

    def __init__(self, app: ASGIApp, limits: Limits, max_bytes: int, patience: float) -> None:
        self.app = app
        self.limits = limits
        self.max_bytes = max_bytes
        self.patience = patience
        self.running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        self.running += 1
        try:
            wait = self._wait(scope)
            if self.running > REQUESTS:
                await _refusal(scope, _busy("too many requests at once"))(scope, receive, watched)
            elif wait:
                await self._drain(receive)
                seconds = math.ceil(wait)
                text = f"too many requests: send this request again in {seconds} s"
                refused = RequestRefused(429, "limit", text, {"retry-after": str(seconds)})
                await _refusal(scope, refused)(scope, receive, watched)
            else:
                await self.app(scope, receive, watched)
        except inbox.InboxFull:
            full = RequestRefused(507, "storage", "no room on the server: keep the reports and send them later")
            await _refusal(scope, full)(scope, receive, watched)
        except Exception as error:  # the error's text may quote the upload or name the study's folder
            _log.error("a request failed with %s", type(error).__name__)
            if not begun:
                failed = RequestRefused(500, "service", "the server failed: send this request again later")
                await _refusal(scope, failed)(scope, receive, watched)
        except asyncio.CancelledError:  # the server is stopping
            if not begun:
                await _refusal(scope, _busy("the server is stopping"))(scope, receive, watched)
        finally:
            self.running -= 1

    def _wait(self, scope: Scope) -> float:
        if scope["type"] != "http" or not scope["path"].startswith(("/v1/", PAGES)):
            return 0.0
        host, _ = scope.get("client") or ("", 0)
        return self.limits.wait(host, time.monotonic(), int(time.time()) // DAY)

    async def _drain(self, receive: Receive) -> None:
        """Read the rest of the request, because closing a socket with unread bytes can lose the response."""
        size = 0
        try:
            async with asyncio.timeout(self.patience):
                while size <= self.max_bytes:
                    message = await receive()
                    size += len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return
        except TimeoutError:
            return


def _busy(text: str, action: str = "send this request again later") -> RequestRefused:
    return RequestRefused(503, "load", f"{text}: {action}", {"retry-after": "5"})


def _answer_refusal(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return _refusal(request.scope, error)


def _refusal(scope: Scope, error: HTTPException) -> Response:
    """Return a refusal as one line of JSON, or as a page if the path is that of a page."""
    if scope.get("path", "").startswith(PAGES):
        return refusal_page(error.status_code, error.headers)
    stage, text = _UNROUTED.get(error.status_code, ("service", error.detail))
    if isinstance(error, RequestRefused):
        stage, text = error.stage, error.detail
    return JSONResponse({"error": text, "stage": stage}, error.status_code, error.headers)


def _private(value: object) -> JSONResponse:
    return JSONResponse(value, headers={"cache-control": "no-store"})
