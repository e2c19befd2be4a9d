"""The page as a study serves it and as a file, in a real browser with the real service."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Page, Route

from aggregator.intake.ingest import ingest
from aggregator.page.alone import page_file
from aggregator.receive import inbox
from aggregator.receive.app import application
from aggregator.receive.codes import Codes
from aggregator.receive.server import bind, server
from aggregator.study import Study
from protocol.campaign import SignedCampaign, open_campaign, seal_campaign
from protocol.keys import fingerprint
from protocol.link import Link
from tests.edge_sdk.conftest import AUTHOR, campaign
from tests.web.chromium import CHROMIUM, Chromium

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")

NOW = int(time.time())


def campaign_open_now(**changes: Any) -> SignedCampaign:
    """Return a campaign that is open now and takes any key."""
    opened = open_campaign(campaign(opens=NOW - 100), [AUTHOR.public]).campaign
    return open_campaign(seal_campaign(replace(opened, **changes), AUTHOR), [AUTHOR.public])


class InterruptibleService:
    """A study and its receiving service.

    Attributes:
        broken: whether the service fails at each upload.
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
        """Ingest the uploads since the last call; return the number of accepted reports, and the numbers of refused
        ones by reason."""
        files = inbox.waiting(self.study.path)
        found = ingest(self.study, files, now=int(time.time()))
        inbox.archive(self.study.path, files)
        return found.accepted, dict(found.refused)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[InterruptibleService]:
    """Yield the service of a study that has no campaign yet."""
    made = InterruptibleService(Study.create(tmp_path / "lib"))
    with made.serving():
        yield made


@pytest.fixture
def page(browser: Chromium) -> Iterator[Page]:
    """Yield a tab of a new private window, without any stored study."""
    with browser.private() as within:
        yield within.new_page()


def import_campaign_at(service: InterruptibleService, signed: SignedCampaign) -> str:
    """Import a campaign, wait until the service has it, and return its link."""
    service.study.import_campaign(signed.data, [AUTHOR.public], "it")
    link = f"{service.origin}/s/{signed.id.hex()}"
    while True:
        try:
            urlopen(link).close()  # noqa: S310  # a service on loopback
        except HTTPError as error:
            if error.code != 404:
                raise
            error.close()
            time.sleep(0.1)
        else:
            return link


def complaints(page: Page) -> list[str]:
    """Return a list that collects the tab's script errors and policy refusals from now on."""
    found: list[str] = []
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("console", lambda message: found.append(message.text) if message.type == "error" else None)
    return found


def answer(page: Page, value: str) -> None:
    """Agree, choose a value, and send the report."""
    for words in ("I agree", value, "Review before sending", "Send it now"):
        found = page.get_by_role("button", name=words, exact=True)
        (found if found.count() else page.get_by_text(words, exact=True)).first.click()
        page.wait_for_timeout(50)


def test_reports_of_the_served_page_are_counted(browser: Chromium, service: InterruptibleService) -> None:
    """People in separate windows follow the link and answer; the study accepts every report."""
    signed = campaign_open_now()
    link = import_campaign_at(service, signed)
    for value in ("bachelor", "none"):
        with browser.private() as within:
            tab = within.new_page()
            found = complaints(tab)
            asked: list[str] = []
            tab.on("request", lambda request, asked=asked: asked.append(request.url))
            tab.goto(link)
            answer(tab, value)
            tab.get_by_role("heading", name="Your report has arrived.").wait_for()
            assert found == []
            paths = {url.removeprefix(service.origin) for url in asked} - {"data:,"}
            assert paths == {f"/s/{signed.id.hex()}", "/v1/reports"}
            assert within.cookies() == []
    assert service.counted() == (2, {})


def test_a_page_opened_as_a_file_uploads_to_the_signed_address(
    service: InterruptibleService, page: Page, tmp_path: Path
) -> None:
    """A page opened from the disk, without an origin, uploads to the address that its author signed."""
    signed = campaign_open_now(addresses=(service.origin,))
    import_campaign_at(service, signed)
    (tmp_path / "page.html").write_text(page_file(signed, NOW), encoding="utf-8")
    found = complaints(page)
    with page.expect_request("**/v1/reports") as asked:
        page.goto((tmp_path / "page.html").as_uri())
        answer(page, "master")
    assert asked.value.all_headers()["origin"] == "null"
    page.get_by_role("heading", name="Your report has arrived.").wait_for()
    assert found == []
    assert service.counted() == (1, {})


def test_a_changed_script_or_style_is_refused(service: InterruptibleService, page: Page, tmp_path: Path) -> None:
    """If one byte of the script or the style is changed in transit, or of the script in a file, the browser refuses the
    changed part. A page without its script has no button, and as a file says that it did not load completely."""
    signed = campaign_open_now(addresses=(service.origin,))
    link = import_campaign_at(service, signed)
    page.goto(link)
    page.get_by_role("button", name="I agree").wait_for()
    made = page_file(signed, NOW)
    (tmp_path / "page.html").write_text(made.replace('"use strict"', '"use sloppy"'), encoding="utf-8")

    def changed(old: str, new: str) -> Any:
        def alter(route: Route) -> None:
            answered = route.fetch()
            assert old in answered.text()
            route.fulfill(response=answered, body=answered.text().replace(old, new, 1))

        return alter

    for old, new, runs in (('"use strict"', '"use_strict"', False), ("color-scheme:", "color_scheme:", True)):
        page.route("**/s/*", changed(old, new))
        with page.expect_console_message(lambda said: "violates the following Content Security Policy" in said.text):
            page.goto(link)
        agree = page.get_by_role("button", name="I agree")
        if runs:
            agree.wait_for()
        else:
            page.wait_for_timeout(300)
            assert agree.count() == 0
        page.unroute("**/s/*")
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_timeout(300)
    assert page.get_by_role("button").count() == 0
    assert "did not load completely" in page.inner_text("main")


def test_an_undelivered_report_waits_unchanged(service: InterruptibleService, page: Page) -> None:
    """Without a network, or while the service fails, the report waits, and the same bytes arrive later."""
    signed = campaign_open_now()
    page.clock.install()
    page.goto(import_campaign_at(service, signed))
    sent: list[bytes | None] = []
    page.on("request", lambda request: sent.append(request.post_data_buffer) if request.method == "POST" else None)
    page.context.set_offline(True)
    answer(page, "primary")
    page.get_by_text("There is no internet connection.").wait_for()
    service.broken = True
    page.context.set_offline(False)
    page.get_by_text("responded with status 500").wait_for()
    assert inbox.waiting(service.study.path) == []
    service.broken = False
    # After a failure, the next attempt follows within a minute.
    page.clock.fast_forward(120_000)
    page.get_by_role("heading", name="Your report has arrived.").wait_for()
    assert len(sent) >= 2
    assert len(set(sent)) == 1
    assert service.counted() == (1, {})


def test_a_code_admits_one_browser(browser: Chromium, service: InterruptibleService) -> None:
    """If two browsers follow the same link with a code, the first one's report is counted, and the second shows why its
    report is not."""
    signed = campaign_open_now(enrolment="enrolled")
    import_campaign_at(service, signed)
    [code] = Codes(service.study.path).make(signed.id, 1)
    link = str(Link(service.origin, signed.id, fingerprint(AUTHOR.public), code))
    for title, refused in (("Your report has arrived.", 0), ("Your report waits on this device", 1)):
        with browser.private() as within:
            tab = within.new_page()
            tab.goto(link)
            tab.get_by_text("Whoever gave you the code could find out").wait_for()
            answer(tab, "bachelor")
            tab.get_by_role("heading", name=title).wait_for()
            assert tab.get_by_text("refused the code").count() == refused
            tab.goto("about:blank")
            # The second visit has the same code.
            tab.goto(link)
            tab.get_by_role("heading", name=signed.campaign.title, exact=True).wait_for()
    [admitted] = inbox.admitted(service.study.path)
    service.study.enrol(admitted.read_bytes())
    assert service.counted() == (1, {})
    assert Codes(service.study.path).counts(signed.id).redeemed == 1
