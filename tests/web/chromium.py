"""A headless Chromium, and the repository's modules on loopback, which a browser treats as a secure context.

The system's browser is used and nothing is downloaded; Playwright provides only the driver.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page, sync_playwright

from aggregator.receive.acknowledgements import parse_upload

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium")
ALONE = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
SERVED = ("/edge_sdk/web/", "/tests/web/")


class ReceivedUploads:
    """The uploads that a study's server received.

    Attributes:
        received: each received upload, acknowledged or not.
        paths: the path to which each upload of ``received`` was posted.
        stored: the stored envelopes, in the order of the uploads; an envelope that was stored twice is listed twice.
        reported: the envelopes that a page reported, with any outcome.
        faults: the faults of the next uploads, in order: "500", "busy" (status 503), "drop" (stored without a
            response), "digest" (an acknowledgement for other bytes), "unknown_campaign", "partly" (the last envelope is
            not accepted), or "refused" (permanently); "" for none.
    """

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self.paths: list[str] = []
        self.stored: list[bytes] = []
        self.reported: list[bytes] = []
        self.faults: list[str] = []

    def respond(self, body: bytes) -> tuple[int, dict[str, Any]] | None:
        """Return status and JSON of the response to an upload; None for no response."""
        self.received.append(body)
        fault = self.faults.pop(0) if self.faults else ""
        found = parse_upload(body)
        envelopes = [body[start:end] for start, end in itertools.pairwise((0, *found.ends))]
        ack = {"digest": hashlib.sha256(body).hexdigest(), "envelopes": len(envelopes), "refused": []}
        if fault in ("500", "busy"):
            return (500 if fault == "500" else 503), {"error": "not now", "stage": "load"}
        if fault == "refused":
            return 400, {"error": "not reports", "stage": "codec"}
        if fault == "unknown_campaign":
            return 200, ack | {"refused": list(range(len(envelopes)))}
        if fault == "partly":
            self.stored += envelopes[:-1]
            return 200, ack | {"refused": [len(envelopes) - 1]}
        if fault == "digest":
            return 200, ack | {"digest": "00" * 32}
        self.stored += envelopes
        return None if fault == "drop" else (200, ack)


class Files(SimpleHTTPRequestHandler):
    """Request handler that serves the repository's modules, a study at each ``/v1/reports``, and an empty page at
    other paths."""

    study: ReceivedUploads
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

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/said":
            self.study.reported.append(body)
        uploads = self.path.endswith("/v1/reports")
        if uploads:
            self.study.paths.append(self.path)
        said = self.study.respond(body) if uploads else (200, {})
        if said is None:
            self.close_connection = True
            return
        status, stated = said
        body = json.dumps(stated).encode()
        self.send_response(status)
        if status == 503:
            self.send_header("Retry-After", "7200")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log no requests."""


class Server(ThreadingHTTPServer):
    """A server whose clients may be killed while they are connected."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def served(handler: Any) -> Iterator[str]:
    """Context manager that serves files and a study; yields the origin of the server on loopback."""
    with Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class Chromium:
    """One browser with a profile on the disk; ``origin`` serves the modules and is the address of ``study``."""

    def __init__(self, context: BrowserContext, origin: str, study: ReceivedUploads) -> None:
        self.context = context
        self.origin = origin
        self.study = study

    def page(self, within: BrowserContext | None = None) -> Page:
        """Open a new tab that can import the modules; with another context, in a private window."""
        page = (within or self.context).new_page()
        page.goto(self.origin)
        return page

    @contextmanager
    def private(self, **look: Any) -> Iterator[BrowserContext]:
        """Open a private window, which writes nothing to the disk and whose data are deleted when it closes.

        Args:
            look: the window's size, language and colours, with Playwright's names.
        """
        browser = self.context.browser
        assert browser is not None
        context = browser.new_context(**look)
        try:
            yield context
        finally:
            context.close()


@contextmanager
def chromium(profile: Path) -> Iterator[Chromium]:
    """Context manager that yields a browser with its data in a folder."""
    assert CHROMIUM is not None
    handler = type("Served", (Files,), {"study": ReceivedUploads()})
    with served(partial(handler, directory=str(ROOT))) as origin, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(profile, executable_path=CHROMIUM, args=ALONE)
        try:
            yield Chromium(context, origin, handler.study)
        finally:
            context.close()
