"""What pages of any origin may ask: to upload reports, whether they were counted, and whether a campaign was closed.

A page that somebody keeps as a file, or has from another host, uploads as an app does. A browser allows that where the
answer says so (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol), and asks before it sends what no form could.
No answer here allows credentials, and none depends on one. The list of campaigns is not among these paths: a study
inside of an organisation does not tell it to the page of a stranger.
"""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ANY_ORIGIN = ("/v1/reports", "/v1/counted", "/v1/campaigns/{id}/closing")
"""Paths of which pages of any origin may read the answers, as routes name them."""
REMEMBERED = 86_400
"""Seconds for which a browser need not ask again; browsers take at most a day."""
_ALLOWED = {
    "access-control-allow-methods": "POST, GET",
    "access-control-allow-headers": "content-type, halftruth-code",
    "access-control-max-age": str(REMEMBERED),
}


async def allow(_: Request) -> Response:
    """Answer the question that a browser asks before a request of a page of another origin."""
    return Response(status_code=204, headers=_ALLOWED)


class AnyOrigin:
    """Around all requests: a page of any origin may read the answers of ``ANY_ORIGIN``, refusals among them."""

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
