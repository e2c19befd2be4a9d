"""Properties of the page that a study serves: the links to it, its permissions, and the responses to requests for
it."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import time
from dataclasses import replace
from html.parser import HTMLParser

import brotli

from aggregator.page.document import document, page_code, policy
from aggregator.storage import tables
from protocol.campaign import open_campaign, seal_campaign
from protocol.closing import seal_closing
from tests.aggregator.fault_proxy import PATIENCE
from tests.aggregator.fleet import AUTHOR, OPENS
from tests.aggregator.test_receive import OPEN, ask, served, study

__all__ = ["study"]

PAGE = f"/s/{OPEN.id.hex()}"


class Elements(HTMLParser):
    """The elements of a document as a browser parses them, each with its name, its attributes and its text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.found, self.inside = [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs), []))
        self.inside = True

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.found[-1][2].append(data)

    def all(self, name):
        return [(attributes, "".join(text)) for tag, attributes, text in self.found if tag == name]


def data(text):
    """Return the data that a document passes to its script."""
    [found] = [text for attributes, text in Elements(text).all("script") if attributes.get("id") == "data"]
    return json.loads(found)


def wait_for(look, wanted):
    """Return the result of ``look`` once it is the wanted one; a thread of the service produces it."""
    deadline = time.monotonic() + PATIENCE
    while not wanted(found := look()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def source(text):
    """Return the hash of a text as a policy writes it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_link_leads_to_the_page(study):
    """The page has the signed bytes, the author's key and both languages; its policy has the hashes of its script
    and style."""
    with served(study) as address:
        status, headers, body = ask(address, "GET", PAGE)
    made = body.decode()
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    handed = data(made)
    assert base64.b64decode(handed["campaign"]) == OPEN.data
    assert (handed["author"], handed["closing"], handed["served"]) == (AUTHOR.public.hex(), None, True)
    assert handed["texts"].keys() == {"en", "de"}
    elements = Elements(made)
    [script] = [text for attributes, text in elements.all("script") if not attributes]
    [(_, style)] = elements.all("style")
    directives = dict(part.partition(" ")[::2] for part in headers["content-security-policy"].split("; "))
    assert directives == {
        "default-src": "'none'", "script-src": source(script), "style-src": source(style), "img-src": "data:",
        "connect-src": "'self'", "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'", "trusted-types": "'none'",
    }  # fmt: skip
    assert [text for _, text in elements.all("noscript")] == [""]
    assert [attributes["lang"] for attributes, _ in elements.all("p")] == ["en", "de"] * 2
    assert elements.all("html") == [({"lang": "en"}, "")]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in [
        it for it, _ in elements.all("meta")
    ]
    assert (headers["referrer-policy"], headers["x-content-type-options"]) == ("no-referrer", "nosniff")
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert "geolocation=()" in headers["permissions-policy"]
    assert "no-transform" in headers["cache-control"]
    assert "set-cookie" not in headers


def test_the_page_loads_no_other_file(study):
    """No element of the page refers to another file: no script, style, picture or font."""
    with served(study) as address:
        made = ask(address, "GET", PAGE)[2].decode()
    named = [
        value
        for _, attributes, _ in Elements(made).found
        for name, value in attributes.items()
        if name in ("src", "href")
    ]
    assert named == ["data:,"]
    assert not re.search(r"url\(|@import", page_code().style)


def test_the_page_is_compressed_and_small(study):
    """A browser loads at most 60 kB, or a tenth more with gzip; all encodings have the same document."""
    most = {"br": 60_000, "gzip": 66_000, None: 10**6}
    asked = {
        "gzip": "gzip", "GZIP": "gzip", "br;q=0, gzip;q=0.5": "gzip", "br, gzip": "br", "*": "br", "zstd, BR": "br",
        "": None, "zstd": None, "gzip;q=0": None, "gzip; q=0.0, br;q=0": None, "*;q=0": None,
    }  # fmt: skip
    unpacked = {"br": brotli.decompress, "gzip": gzip.decompress, None: bytes}
    with served(study) as address:
        plain = ask(address, "GET", PAGE, headers={"accept-encoding": "identity"})
        for taken, coding in asked.items():
            status, headers, packed = ask(address, "GET", PAGE, headers={"accept-encoding": taken})
            assert (status, headers["content-encoding"]) == (200, coding)
            assert unpacked[coding](packed) == plain[2]
            assert len(packed) <= most[coding]
    assert headers["vary"] == "accept-encoding"


def test_an_unchanged_page_is_not_sent_again(study):
    """A browser with the current page gets 304; after a notice that closes the campaign it gets the new page."""
    with served(study) as address:
        etag = ask(address, "GET", PAGE)[1]["etag"]
        status, headers, body = ask(address, "GET", PAGE, headers={"if-none-match": f'"x", {etag}'})
        assert (status, body) == (304, b"")
        assert "script-src 'sha256-" in headers["content-security-policy"]
        notice = seal_closing(OPEN, OPENS + 1, AUTHOR)
        study.close_early(notice)
        _, _, body = wait_for(
            lambda: ask(address, "GET", PAGE, headers={"if-none-match": etag}), lambda it: it[0] == 200
        )
    assert base64.b64decode(data(body.decode())["closing"]) == notice


def test_a_wrong_link_gets_a_page_of_text(study):
    """A wrong id gets a page of text in both languages, without scripts.

    A wrong method is 405, and too many requests get a page that says when to try again.
    """
    with served(study, per_minute=4) as address:
        for path in (f"/s/{'0' * 32}", "/s/%3Cscript%3Ealert(1)%3C%2Fscript%3E", f"/s/{OPEN.id.hex().upper()}"):
            status, headers, body = ask(address, "GET", path)
            assert (status, headers["content-type"]) == (404, "text/html; charset=utf-8")
            elements = Elements(body.decode())
            assert [attributes["lang"] for attributes, _ in elements.all("section")] == ["en", "de"]
            assert elements.all("script") == []
            assert "script-src" not in headers["content-security-policy"]
        assert ask(address, "POST", PAGE)[0] == 405
        status, headers, body = ask(address, "GET", PAGE)
        assert (status, int(headers["retry-after"]) > 0) == (429, True)
        assert "again in a minute" in body.decode()


def test_a_page_does_not_read_the_study(study, monkeypatch):
    """Requests for the page read no table of the study."""
    with served(study) as address:
        ask(address, "GET", PAGE)
        monkeypatch.setattr(tables, "DeltaTable", None)
        for _ in range(20):
            assert ask(address, "GET", PAGE)[0] == 200


HOSTILE = "</script><script>alert(1)</script><!-- <script> ]]> &lt; \\u003c ' \" ` ${x} \U0001f600"


def test_no_text_of_an_author_adds_an_element():
    """The document has the same elements for any text of the author, and the script gets the author's bytes
    unchanged."""
    campaign = replace(OPEN.campaign, title=HOSTILE, question=HOSTILE)
    signed = open_campaign(seal_campaign(campaign, AUTHOR), [AUTHOR.public])
    found, usual = (document(one, page_code(), served=True) for one in (signed, OPEN))
    names = [[name for name, _, _ in Elements(text).found] for text in (found, usual)]
    assert names[0] == names[1]
    assert base64.b64decode(data(found)["campaign"]) == signed.data
    [(_, title)] = Elements(found).all("title")
    assert title == HOSTILE


ADDRESSES = ("https://study.example", "https://mirror.example/base", "http://127.0.0.1:8700")


def test_the_policy_allows_requests_to_signed_addresses_only():
    """The policy allows the page's origin and the addresses that the author signed, and no other."""
    named, code = replace(OPEN.campaign, addresses=ADDRESSES), page_code()
    signed = [f"{address}/v1/" for address in ADDRESSES]
    for campaign, served_, expected in (
        (OPEN.campaign, True, ["'self'"]), (OPEN.campaign, False, ["'none'"]),
        (named, True, ["'self'", *signed]), (named, False, signed),
    ):  # fmt: skip
        header = policy(campaign, code, served=served_)
        assert f"; connect-src {' '.join(expected)}; " in header
