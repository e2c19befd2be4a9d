"""A headless Chromium, and the repository's modules on loopback, which a browser takes for a secure context.

The browser is the system's: nothing is downloaded. Playwright brings only the driver.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page, sync_playwright

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium")
ALONE = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
SERVED = ("/edge_sdk/web/", "/tests/web/")


class Files(SimpleHTTPRequestHandler):
    """Modules of the repository, and an empty page for every other path."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".js": "text/javascript", ".mjs": "text/javascript"}

    def do_GET(self) -> None:
        if self.path.startswith(SERVED):
            super().do_GET()
            return
        page = b"<!doctype html><title>halftruth</title><link rel=icon href=data:,>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def served(handler: Any) -> Iterator[str]:
    """The origin of a server on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class Chromium:
    """One browser with a profile on the disk. ``origin`` serves the modules."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self.context = context
        self.origin = origin

    def page(self, within: BrowserContext | None = None) -> Page:
        """A new tab, in which the modules can be imported; in another context, a private window."""
        page = (within or self.context).new_page()
        page.goto(self.origin)
        return page

    @contextmanager
    def private(self) -> Iterator[BrowserContext]:
        """A private window: nothing of it is on the disk, and all of it is gone with it."""
        browser = self.context.browser
        assert browser is not None
        context = browser.new_context()
        try:
            yield context
        finally:
            context.close()


@contextmanager
def chromium(profile: Path, args: Sequence[str] = ALONE) -> Iterator[Chromium]:
    """A browser that keeps its data in a folder, until the block ends."""
    assert CHROMIUM is not None
    with served(partial(Files, directory=str(ROOT))) as origin, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(profile, executable_path=CHROMIUM, args=args)
        try:
            yield Chromium(context, origin)
        finally:
            context.close()
