"""Allow web pages of any origin to upload reports, to query whether reports were counted, and to read closing notices.

A page saved as a file, or served by another host, uploads in the same way as an app. A browser permits this if the
response has the CORS headers (https://fetch.spec.whatwg.org/#http-cors-protocol); before a request that no HTML form
can send, the browser sends a preflight request. No response here allows credentials or depends on them. The list of
campaigns is not among these paths, because a page of another origin must not learn the campaigns of an organisation's
study.
"""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ANY_ORIGIN = ("/v1/reports", "/v1/counted", "/v1/campaigns/{id}/closing")
"""Routes whose responses may be read by web pages of any origin."""
PREFLIGHT_SECONDS = 86_400
"""Seconds for which a browser may reuse the response to a preflight request; browsers cap this at a day or less."""
_ALLOWED = {
    "access-control-allow-methods": "POST, GET",
    "access-control-allow-headers": "content-type, halftruth-code",
    "access-control-max-age": str(PREFLIGHT_SECONDS),
}


async def allow(_: Request) -> Response:
    """Answer the preflight request that a browser sends before a request of a page of another origin."""
    return Response(status_code=204, headers=_ALLOWED)


class AnyOrigin:
    """Middleware for all requests: web pages of any origin may read the responses of the routes ``ANY_ORIGIN``,
    including refusals."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def readable(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["access-control-allow-origin"] = "*"
                headers["access-control-expose-headers"] = "retry-after"
            await send(message)

        await self.app(scope, receive, readable if _is_open(scope) else send)


def _is_open(scope: Scope) -> bool:
    if scope["type"] != "http":
        return False
    path = str(scope["path"])
    closing = path.startswith("/v1/campaigns/") and path.endswith("/closing")
    return closing or path in ANY_ORIGIN
