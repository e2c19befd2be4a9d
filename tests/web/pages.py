"""A study's page in a browser, and the steps of a person who reads it.

The document is written here as the builder writes it: the modules as they are, under a policy as strict.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Request

from edge_sdk.texts import texts_of_page
from protocol.campaign import open_campaign
from protocol.keys import SigningKey
from tests.edge_sdk.conftest import AUTHOR
from tests.web.chromium import Chromium

PAGE = Path(__file__).parents[2] / "edge_sdk" / "web" / "page"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


def kinds_of(notion: Any) -> set[str]:
    """The names of a notion, and of those of its classes."""
    return {notion.name, *(one.name for one in getattr(notion, "notions", ()))}


def document(data: bytes, author: SigningKey = AUTHOR, served: bool = True, closing: bytes | None = None) -> str:
    """The page of a campaign, whose bytes need not be right."""
    try:
        kinds = kinds_of(open_campaign(data, [author.public]).terms.notion)
    except Exception:  # whatever is wrong with it, the page says it
        kinds = {"ldp"}
    study = {
        "campaign": base64.b64encode(data).decode(),
        "author": author.public.hex(),
        "authorName": None,
        "closing": None if closing is None else base64.b64encode(closing).decode(),
        "served": served,
        "texts": texts_of_page(kinds),
    }
    told = json.dumps(study, ensure_ascii=False).replace("<", "\\u003c")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>halftruth</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        '<link rel="stylesheet" href="/edge_sdk/web/page/page.css"></head><body><main id="page"></main>'
        f'<script type="application/json" id="study">{told}</script>'
        '<script type="module" src="/edge_sdk/web/page/main.js"></script></body></html>'
    )


class Visitor:
    """A person in a tab of a browser: their touches are counted.

    Attributes:
        faults: what the tab complained of: errors of scripts, what the policy refused.
        foreign: requests to anybody but the study.
    """

    def __init__(self, browser: Chromium, page: Page) -> None:
        self.browser = browser
        self.page = page
        self.touches = 0
        self.faults: list[str] = []
        self.foreign: list[str] = []
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)
        page.on("request", self._look)

    def _look(self, request: Request) -> None:
        if not request.url.startswith((self.browser.origin, "data:", "blob:")):
            self.foreign.append(request.url)

    def open(self, told: str, fragment: str = "", path: str = "/s/study") -> Visitor:
        """Follow the link to a page of this document."""
        headers = {"Content-Security-Policy": POLICY}
        self.page.route(f"**{path}", lambda route: route.fulfill(body=told, content_type="text/html", headers=headers))
        self.page.goto(f"{self.browser.origin}{path}{fragment}")
        self.page.wait_for_selector("h1")
        return self

    def touch(self, words: str, exact: bool = True) -> None:
        """Touch a button or what can be chosen."""
        self.touches += 1
        found = self.page.get_by_role("button", name=words, exact=exact)
        if not found.count():
            found = self.page.get_by_text(words, exact=exact)
        found.first.click()

    def heading(self, words: str) -> None:
        """Wait for a screen by its heading."""
        self.page.get_by_role("heading", level=1, name=words).wait_for(timeout=5000)

    @property
    def text(self) -> str:
        """All that stands on the page."""
        return self.page.inner_text("main")
