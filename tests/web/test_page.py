"""The page of a study in a real browser: from the link to the sent report, and every state that a person may find."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Iterator

import pytest

from tests.edge_sdk.conftest import AUTHOR, campaign
from tests.web.chromium import CHROMIUM, Chromium, chromium
from tests.web.pages import Visitor, document

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")

NOW = int(time.time())
PRINT = base64.urlsafe_b64encode(hashlib.sha256(AUTHOR.public).digest()[:16]).decode().rstrip("=")
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def visitor(browser: Chromium) -> Iterator[Visitor]:
    """A person in a window that knows no study yet."""
    browser.study.came.clear()
    browser.study.faults = []
    with browser.private() as within:
        page = within.new_page()
        page.set_viewport_size(PHONE)
        someone = Visitor(browser, page)
        yield someone
        assert someone.faults == []
        assert someone.foreign == []


def test_a_report_is_sent_with_four_touches(visitor: Visitor) -> None:
    """From the link to the sent report: agree, choose, look, send. The page says who asks, what for, what is promised,
    what it costs and what it cannot hold before the first; and what was spent and is left after the last."""
    visitor.open(document(campaign(opens=NOW - 100)), f"#k={PRINT}")
    for words in (
        "Town library asks", "What for: Plan evening classes.", "at most 2.8 times as likely", "costs 1 of your",
        "The study names no contact person.", "does not say how long", "127.0.0.1", "Clearing site data deletes it",
        "36 of 100", "At least 12 of 100", "36 %",
    ):  # fmt: skip
        assert words in visitor.text
    visitor.touch("I agree")
    visitor.heading("What is the highest level")
    visitor.touch("bachelor")
    visitor.touch("See what would be sent")
    visitor.heading("What is sent")
    assert visitor.browser.study.came == []
    visitor.touch("Send it now")
    visitor.heading("Your report has arrived.")
    assert visitor.touches == 4
    assert len(visitor.browser.study.came) == 1
    assert "1 spent by reports" in visitor.text
    assert "asks again on" in visitor.text
