"""Properties of requests from web pages: they are accepted from any origin, without credentials, under the general
limits."""

from __future__ import annotations

import json

import pytest

from tests.aggregator.fleet import AUTHOR
from tests.aggregator.test_receive import BATCH, OPEN, PLAIN, ask, parsed_response, post, raw, sent, served, study

__all__ = ["study"]

PREFLIGHT = {
    "origin": "null",
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type",
}
"""The preflight request of Chromium before a page saved as a file uploads a report."""


def allowed(headers):
    """Return the headers of a response that control access by other origins."""
    return {name: value for name, value in headers.items() if name.startswith("access-control-")}


READABLE = {"access-control-allow-origin": "*", "access-control-expose-headers": "retry-after"}


@pytest.mark.parametrize("path", ["/v1/reports", "/v1/counted", f"/v1/campaigns/{OPEN.id.hex()}/closing"])
def test_pages_of_any_origin_can_upload(study, path):
    """The preflight and the response allow a page of any origin to send a batch and to read the response, refusals
    included."""
    method = "GET" if path.endswith("closing") else "POST"
    with served(study) as address:
        status, headers, body = ask(address, "OPTIONS", path, headers=PREFLIGHT)
        assert (status, body) == (204, b"")
        assert allowed(headers) == READABLE | {
            "access-control-allow-methods": "POST, GET",
            "access-control-allow-headers": "content-type, halftruth-code",
            "access-control-max-age": "86400",
        }
        for upload, kind, expected in ((sent(1), BATCH, 200), (b"what?", BATCH, 400), (b"", "x", 415)):
            asked = {"origin": "https://elsewhere.example", "content-type": kind}
            status, headers, _ = ask(address, method, path, upload, asked)
            assert status == (404 if method == "GET" else expected)  # the campaign has no closing notice
            assert allowed(headers) == READABLE
            assert "set-cookie" not in headers


def test_other_paths_are_closed_to_pages_of_other_origins(study):
    """Other paths have no header that allows other origins, so a browser does not let pages of those origins read
    them."""
    paths = [
        "/v1/campaigns",
        f"/v1/campaigns/{OPEN.id.hex()}",
        f"/v1/campaigns/{OPEN.id.hex()}/author",
        "/health",
        "/x",
    ]
    with served(study) as address:
        for path in paths:
            assert allowed(ask(address, "GET", path, headers={"origin": "null"})[1]) == {}
            assert ask(address, "OPTIONS", path, headers=PREFLIGHT)[0] in (404, 405)


def test_a_preflight_request_counts_as_a_request(study):
    """A client with too many preflight requests is refused as for other requests, and can read when to retry."""
    with served(study, per_minute=3) as address:
        for _ in range(3):
            assert ask(address, "OPTIONS", "/v1/reports", headers=PREFLIGHT)[0] == 204
        status, headers, body = ask(address, "OPTIONS", "/v1/reports", headers=PREFLIGHT)
        assert (status, json.loads(body)["stage"]) == (429, "limit")
        assert allowed(headers) == READABLE
        assert int(headers["retry-after"]) > 0
        assert post(address, sent(1))[0] == 429


def test_the_body_of_a_preflight_request_is_not_read(study):
    """The server responds to a preflight request without waiting for its body, whatever length it states."""
    head = b"OPTIONS /v1/reports HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n"
    with served(study, patience=0.5) as address:
        assert parsed_response(raw(address, head % 10**12))[0] == 204


def test_the_authors_key_is_served(study):
    """The author's key is in the list in hex and is served alone as 32 bytes, cached without limit; an unknown
    campaign gets 404."""
    with served(study) as address:
        listed = json.loads(ask(address, "GET", "/v1/campaigns")[2])["campaigns"]
        assert {one["id"]: one["author"] for one in listed} == {
            it.id.hex(): AUTHOR.public.hex() for it in (OPEN, PLAIN)
        }
        status, headers, key = ask(address, "GET", f"/v1/campaigns/{OPEN.id.hex()}/author")
        assert (status, headers["content-type"], key) == (200, BATCH, AUTHOR.public)
        assert "immutable" in headers["cache-control"]
        assert ask(address, "GET", f"/v1/campaigns/{'0' * 32}/author")[0] == 404
