"""A study's page in a browser, and the steps of a person who reads it."""

from __future__ import annotations

import base64

from playwright.sync_api import Page, Request

from aggregator.page.document import document as build
from aggregator.page.document import page_code, policy
from protocol.campaign import open_campaign
from protocol.errors import BadData
from tests.edge_sdk.conftest import AUTHOR
from tests.web.campaigns import EDUCATION
from tests.web.chromium import Chromium


def document(data: bytes, served: bool = True, closing: bytes = b"") -> str:
    """Return the page of a campaign as a study serves it, or, for invalid bytes, as a malicious server would serve
    it."""
    try:
        return build(open_campaign(data, [AUTHOR.public]), page_code(), closing=closing, served=served)
    except BadData:
        right = build(open_campaign(EDUCATION, [AUTHOR.public]), page_code(), served=served)
        return right.replace(base64.b64encode(EDUCATION).decode(), base64.b64encode(data).decode())


class Visitor:
    """A person in a tab of a browser; ``touches`` counts the person's touches.

    Attributes:
        faults: errors of scripts and refusals by the content security policy in the tab.
        foreign: requests to hosts other than the study.
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

    def open(self, document: str, fragment: str = "", path: str = "/s/study") -> Visitor:
        """Follow the link to the page of a document."""
        campaign = open_campaign(EDUCATION, [AUTHOR.public]).campaign
        headers = {"Content-Security-Policy": policy(campaign, page_code(), served=True)}
        self.page.route(
            f"**{path}", lambda route: route.fulfill(body=document, content_type="text/html", headers=headers)
        )
        self.page.goto(f"{self.browser.origin}{path}{fragment}")
        self.page.wait_for_selector("h1")
        return self

    def touch(self, words: str) -> None:
        """Touch a button or a choice."""
        self.touches += 1
        found = self.page.get_by_role("button", name=words, exact=True)
        if not found.count():
            found = self.page.get_by_text(words, exact=True)
        found.first.click()

    def heading(self, words: str) -> None:
        """Wait for a screen by its heading."""
        self.page.get_by_role("heading", level=1, name=words).wait_for()

    @property
    def text(self) -> str:
        """Return all text of the page."""
        return self.page.inner_text("main")
