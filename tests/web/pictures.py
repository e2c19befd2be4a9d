"""Draw the pictures of the page in README and docs/WEB.md: a person answers in the browser of a phone.

python -m tests.web.pictures

test_page checks that every screen is readable.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Page

from tests.demo_app.pictures import COLOURS, PICTURES, side_by_side
from tests.web import campaigns
from tests.web.chromium import Chromium, chromium
from tests.web.pages import Visitor, document

PHONE = {"width": 390, "height": 780}


def shot(page: Page, folder: Path, name: str) -> Path:
    """Return a picture of the visible part of a page."""
    page.mouse.move(0, 0)
    page.wait_for_timeout(300)
    page.screenshot(path=folder / f"{name}.png")
    return folder / f"{name}.png"


def four_touches(browser: Chromium, folder: Path) -> None:
    """Draw the terms, the question, the preview, and the sent report."""
    with browser.private(viewport=PHONE) as within:
        visitor = Visitor(browser, within.new_page()).open(document(campaigns.EDUCATION))
        shots = [shot(visitor.page, folder, "terms")]
        visitor.touch("I agree")
        visitor.page.wait_for_selector(".stay")
        visitor.touch("bachelor")
        shots.append(shot(visitor.page, folder, "question"))
        visitor.touch("Review before sending")
        visitor.heading("Review before sending")
        shots.append(shot(visitor.page, folder, "review"))
        visitor.touch("Send it now")
        visitor.heading("Your report has arrived.")
        shots.append(shot(visitor.page, folder, "sent"))
    side_by_side(shots).quantize(COLOURS).save(PICTURES / "page.png", optimize=True)


def in_the_dark(browser: Chromium, folder: Path) -> None:
    """Draw four screens in dark colours: a map, a number, all bytes of a report, and a waiting report."""
    shots = []
    with browser.private(viewport=PHONE, color_scheme="dark") as within:
        for name, data in (("map", campaigns.HOME), ("number", campaigns.AGE)):
            visitor = Visitor(browser, within.new_page()).open(document(data))
            visitor.touch("I agree")
            visitor.page.wait_for_selector(".stay")
            if name == "map":
                visitor.page.locator("svg.map").press("ArrowUp")
            else:
                visitor.page.locator("input[inputmode=decimal]").fill("37")
            shots.append(shot(visitor.page, folder, name))
        visitor.touch("Review before sending")
        visitor.heading("Review before sending")
        visitor.touch("Make the report and show me every byte")
        visitor.page.get_by_role("heading", name="bytes that are sent").scroll_into_view_if_needed()
        visitor.page.evaluate("scrollBy(0, 500)")
        shots.append(shot(visitor.page, folder, "bytes"))
        within.set_offline(True)
        visitor.touch("Send it now")
        visitor.heading("Your report waits on this device")
        shots.append(shot(visitor.page, folder, "waits"))
    side_by_side(shots).quantize(COLOURS).save(PICTURES / "page-dark.png", optimize=True)


def main() -> None:
    """Draw all pictures again."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with chromium(folder / "profile") as browser:
            four_touches(browser, folder)
            in_the_dark(browser, folder)


if __name__ == "__main__":
    main()
