"""The report page of an estimate on a phone, in a real browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aggregator.present.picture import NARROW, NARROW_DOTS_PER_INCH
from protocol.domain import Grid, Values
from protocol.exact import NANONATS
from protocol.notions import Lip
from protocol.personal import lip_response
from tests.aggregator.test_present_page import unsigned_campaign, written
from tests.web.chromium import CHROMIUM, Chromium

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")

VALUES = Values(("HS-grad", "Some-college", "Assoc-voc", "Bachelors", "Doctorate"))
PRIOR = (30, 25, 20, 15, 10)
CAMPAIGNS = {
    "values": unsigned_campaign(VALUES),
    "prior": unsigned_campaign(VALUES, Lip(NANONATS, PRIOR), channel=lip_response(PRIOR, NANONATS)),
}
MAP = unsigned_campaign(Grid(40_000_000, 40_300_000, -4_000_000, -3_600_000, 100_000))


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("kind", [*CAMPAIGNS, "map"])
def test_pictures_fit_the_screen(browser: Chromium, tmp_path: Path, kind: str, width: int) -> None:
    """On screens of 360 and 1200 points, no picture scrolls sideways. A phone shows the picture for a phone, with
    letters of at least 10 points, and a wide screen the other picture."""
    document = tmp_path / "report.html"
    document.write_text(written(CAMPAIGNS.get(kind, MAP))[2], encoding="utf-8")
    with browser.private(viewport={"width": width, "height": 844}) as context:
        page = context.new_page()
        page.goto(document.as_uri())
        figures = page.locator("figure").all()
        assert figures
        for figure in figures:
            assert figure.evaluate("figure => figure.scrollWidth <= figure.clientWidth")
        (dots,) = (picture.evaluate("picture => picture.naturalWidth") for picture in page.locator("img:visible").all())
        assert (dots == NARROW * NARROW_DOTS_PER_INCH) == (width == 360)
        texts = page.locator(".tests > svg text").all()
        assert texts
        for text in texts:
            assert text.evaluate("text => 14 * text.ownerSVGElement.getScreenCTM().a") >= 10
        if kind == "map":
            assert page.locator(".mark:visible").count() == MAP.domain.size


@pytest.mark.parametrize("kind", CAMPAIGNS)
def test_a_phone_shows_each_interval_beside_its_share(browser: Chromium, tmp_path: Path, kind: str) -> None:
    """On a screen of 390 points, the page is no wider than the screen, and the table shows value, share and interval
    without scrolling, also beside a prior and a truth."""
    truth = np.full(VALUES.size, 1 / VALUES.size)
    document = tmp_path / "report.html"
    document.write_text(written(CAMPAIGNS[kind], truth=truth)[2], encoding="utf-8")
    with browser.private(viewport={"width": 390, "height": 844}) as context:
        page = context.new_page()
        page.goto(document.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        heads = page.locator("table.numbers thead th").all()
        assert [head.inner_text() for head in heads[:3]] == ["value", "share", "95% interval"]
        box = heads[2].bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 390
