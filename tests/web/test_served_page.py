"""The page as a study serves it and as a file, in a real browser beside the real service."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from aggregator.intake.ingest import ingest
from aggregator.receive import inbox
from aggregator.receive.app import application
from aggregator.receive.server import bind, server
from aggregator.study import Study
from protocol.campaign import SignedCampaign, open_campaign, seal_campaign
from tests.edge_sdk.conftest import AUTHOR, campaign
from tests.web.chromium import CHROMIUM, Chromium, chromium

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")

NOW = int(time.time())


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


def asked_now(**changes: Any) -> SignedCampaign:
    """A campaign that is open now, to anybody."""
    terms = open_campaign(campaign(opens=NOW - 100), [AUTHOR.public]).terms
    return open_campaign(seal_campaign(replace(terms, **changes), AUTHOR), [AUTHOR.public])


class Service:
    """A study and its service.

    Attributes:
        broken: whether it fails at each upload.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.broken = False
        inbox.prepare(study.path)
        self.listening = bind("127.0.0.1:0")
        self.origin = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        made = application(study, per_minute=10_000)

        async def app(scope: Any, receive: Any, send: Any) -> None:
            if self.broken and scope.get("path") == "/v1/reports" and scope["method"] == "POST":
                await send({"type": "http.response.start", "status": 500, "headers": []})
                await send({"type": "http.response.body", "body": b"{}"})
                return
            await made(scope, receive, send)

        self.running = server(app)

    @contextmanager
    def serving(self) -> Iterator[None]:
        thread = threading.Thread(target=lambda: asyncio.run(self.running.serve(sockets=[self.listening])))
        thread.start()
        try:
            yield
        finally:
            self.running.should_exit = True
            thread.join(20)
            self.listening.close()

    def counted(self) -> tuple[int, dict[str, int]]:
        """Reports accepted and refused among what was uploaded since the last call."""
        files = inbox.waiting(self.study.path)
        found = ingest(self.study, files, now=int(time.time()))
        inbox.put_away(self.study.path, files)
        return found.accepted, dict(found.rejected)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """The service of a study that has no campaign yet."""
    made = Service(Study.create(tmp_path / "lib"))
    with made.serving():
        yield made


@pytest.fixture
def page(browser: Chromium) -> Iterator[Page]:
    """A tab of a window that knows no study."""
    with browser.private() as within:
        yield within.new_page()


def seen(study: Study, signed: SignedCampaign, page: Page, link: str) -> None:
    """Follow a link as soon as the service knows the campaign."""
    study.import_campaign(signed.data, [AUTHOR.public], "it")
    while (answer := page.goto(link)) is None or answer.status == 404:
        time.sleep(0.1)


def complaints(page: Page) -> list[str]:
    """What the tab will complain of: errors of scripts, what the policy refused."""
    found: list[str] = []
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("console", lambda message: found.append(message.text) if message.type == "error" else None)
    return found


def answer(page: Page, value: str) -> None:
    """Agree, choose a value, and send it."""
    for words in ("I agree", value, "See what would be sent", "Send it now"):
        found = page.get_by_role("button", name=words, exact=True)
        (found if found.count() else page.get_by_text(words, exact=True)).first.click()
        page.wait_for_timeout(50)


def test_reports_of_the_served_page_are_counted(browser: Chromium, service: Service, page: Page) -> None:
    """People in windows of their own follow the link and answer; the study takes every report, and refuses none."""
    signed = asked_now()
    link = f"{service.origin}/s/{signed.id.hex()}"
    seen(service.study, signed, page, link)
    for value in ("bachelor", "none", "doctorate"):
        with browser.private() as within:
            tab = within.new_page()
            found = complaints(tab)
            asked: list[str] = []
            tab.on("request", lambda request, asked=asked: asked.append(request.url))
            tab.goto(link)
            answer(tab, value)
            tab.get_by_role("heading", name="Your report has arrived.").wait_for(timeout=5000)
            assert found == []
            paths = {url.removeprefix(service.origin) for url in asked} - {"data:,"}
            assert paths == {f"/s/{signed.id.hex()}", "/v1/reports"}
            assert within.cookies() == []
    assert service.counted() == (3, {})
