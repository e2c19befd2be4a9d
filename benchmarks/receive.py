"""The upload service: the cost of its most expensive requests, and the waiting time of other requests beside them.

The service `halftruth receive` runs in a process of its own on the loopback interface, with a study of a million
counted rows. A cost is the processor time of the service's process.
"""

from __future__ import annotations

import http.client
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import numpy as np

from aggregator.storage import tables
from aggregator.storage.tables import REPORTS
from aggregator.study import Study
from benchmarks.ingest import US_GRID, campaign, valid_reports
from protocol.campaign import SignedCampaign
from protocol.envelope import Envelope, Kind
from protocol.keys import SigningKey
from protocol.report import Enrolment, Report

ROWS = 1_000_000
DEVICES = 64
BYTES = 2**18
REPEATS = 20
RECEIVE = "from aggregator.cli import main; main()"
HEAD = b"POST /v1/%s HTTP/1.1\r\nhost: x\r\ncontent-type: application/octet-stream\r\n"

HostPort = tuple[str, int]


def prepare(folder: Path, rows: int) -> tuple[SignedCampaign, bytes]:
    """Create a study with ``rows`` counted rows, some of them from ``DEVICES`` devices; return its campaign and these
    devices' reports."""
    signed = campaign()
    study = Study.create(folder)
    study.import_campaign(signed.data, [signed.author], "map")
    keys = [SigningKey.for_campaign(number.to_bytes(32, "little"), signed.id) for number in range(DEVICES)]
    study.enrol(b"".join(Enrolment(signed.id, key.public).seal(key) for key in keys))
    rng = np.random.default_rng(1)
    ours = np.array([int.from_bytes(key.id, "big", signed=True) for key in keys])
    key = np.concatenate([ours, rng.integers(-(2**63), 2**63 - 1, rows - DEVICES)])
    output = rng.integers(US_GRID.size, size=rows)
    tables.append_rows(folder / REPORTS, valid_reports(signed, key, output).rows(np.ones(rows, dtype=np.bool_)))
    sent = [
        Report(signed.id, 0, 0, 1, value.to_bytes(2, "big")).seal(key)
        for key, value in zip(keys, output.tolist(), strict=False)
    ]
    return signed, b"".join(sent)


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, HostPort]]:
    """Context manager: run the service; yield its process id and address."""
    words = ["--study", str(folder), "receive", "--listen", "127.0.0.1:0", "--per-minute", "1000000"]
    with subprocess.Popen([sys.executable, "-c", RECEIVE, *words], stdout=subprocess.PIPE, text=True) as running:  # noqa: S603  # no outside input
        line = running.stdout.readline() if running.stdout else ""
        host, _, port = line.split()[0].removeprefix("http://").partition(":")
        try:
            yield running.pid, (host, int(port))
        finally:
            running.terminate()


def processor_seconds(process: int) -> float:
    """Return the processor seconds of a process, measured in hundredths of a second."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def send(address: HostPort, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    """Send a request; return the status and the body of the response."""
    with closing(http.client.HTTPConnection(*address, timeout=60)) as connection:
        connection.request(method, path, body, {"content-type": "application/octet-stream"})
        answer = connection.getresponse()
        return answer.status, answer.read()


def send_slowly(address: HostPort, data: bytes, *, step: int = 2**20) -> None:
    """Send bytes to the service, ``step`` at a time, and wait for the end of the connection."""
    with socket.create_connection(address, timeout=120) as connection, suppress(ConnectionError):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start in range(0, len(data), step):
            connection.sendall(data[start : start + step])
        while connection.recv(65536):
            pass


def smallest() -> bytes:
    """Return an upload with the maximum number of envelopes, whose signatures are not valid."""
    count = BYTES // len(Envelope(Kind.REPORT, bytes(8), b"", bytes(64)).encode())
    return b"".join(Envelope(Kind.REPORT, secrets.token_bytes(8), b"", bytes(64)).encode() for _ in range(count))


def most_expensive(address: HostPort, signed: SignedCampaign, reports: bytes) -> dict[str, Callable[[], object]]:
    """Return the most expensive requests that any client may make, and cheap ones for comparison, by name."""
    size = len(reports) // DEVICES
    forged = b"".join(reports[start : start + size - 1] + b"\0" for start in range(0, len(reports), size))
    crumbs = HEAD % b"reports" + b"content-length: 4096\r\n\r\n" + bytes(4096)
    chunks = HEAD % b"reports" + b"transfer-encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * (BYTES // 6)
    lines = b"GET /v1/campaigns HTTP/1.1\r\nhost: x\r\n" + b"a: " + bytes([98]) * 60 + b"\r\n"
    inside = Envelope(Kind.REPORT, bytes(8), Envelope(Kind.REPORT, bytes(8), b"", bytes(64)).encode(), bytes(64))
    return {
        "POST /v1/counted, 64 counted reports": lambda: send(address, "POST", "/v1/counted", reports),
        "POST /v1/counted, 64 forged reports": lambda: send(address, "POST", "/v1/counted", forged),
        "POST /v1/counted, 256 KiB of reports": lambda: send(
            address, "POST", "/v1/counted", (reports * (BYTES // len(reports) + 1))[: BYTES // size * size]
        ),
        "POST /v1/reports, 256 KiB of the smallest envelopes": lambda: send(address, "POST", "/v1/reports", smallest()),
        "POST /v1/reports, 256 KiB of envelopes in envelopes": lambda: send(
            address, "POST", "/v1/reports", inside.encode() * (BYTES // len(inside.encode()))
        ),
        "POST /v1/reports, 256 KiB of envelope headers": lambda: send(
            address, "POST", "/v1/reports", b"\x95\x01" * (BYTES // 2)
        ),
        "POST /v1/reports, 4 KiB, byte by byte": lambda: send_slowly(address, crumbs, step=1),
        "POST /v1/reports, 256 KiB in chunks of a byte": lambda: send_slowly(address, chunks),
        "a request header of 60 lines": lambda: send_slowly(address, lines + b"a: b\r\n" * 57 + b"\r\n"),
        "a request header of 40,000 lines": lambda: send_slowly(address, lines + b"a: b\r\n" * 40_000 + b"\r\n"),
        "a request header of 8,000 bytes, byte by byte": lambda: send_slowly(
            address, lines + b"a: " + b"b" * 7_900, step=1
        ),
        "for comparison: no request, for ten seconds": lambda: time.sleep(10),
        "GET /v1/campaigns": lambda: send(address, "GET", "/v1/campaigns"),
        "GET /v1/campaigns/ID": lambda: send(address, "GET", f"/v1/campaigns/{signed.id.hex()}"),
    }


def run(rows: int = ROWS, repeats: int = REPEATS) -> Iterator[tuple[str, str]]:
    """Yield the processor time of each kind of request, then the waiting time of requests beside expensive ones."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "study"
        signed, reports = prepare(folder, rows)
        with served(folder) as (process, address):
            requests = most_expensive(address, signed, reports)
            status, body = send(address, "POST", "/v1/counted", reports)
            if status != http.client.OK or b"false" in body:
                raise RuntimeError(
                    f"the service did not confirm all counted reports (status {status}): expected status 200 and true "
                    "for each report; run tests/aggregator/test_receive.py"
                )
            for title, request in requests.items():
                times = 1 if "byte by byte" in title or "no request" in title else repeats
                before = processor_seconds(process)
                for _ in range(times):
                    request()
                took = (processor_seconds(process) - before) / times
                yield title + " [under 20 ms]" * (times > 1), f"{took * 1000:.1f} ms"
            for title in list(requests)[:6]:
                waits = beside(address, requests[title])
                figures = f"{np.median(waits) * 1000:.0f} ms, at most {max(waits) * 1000:.0f} ms"
                yield f"GET /v1/campaigns while 3 clients repeat {title} [under 100 ms]", figures


def beside(address: HostPort, request: Callable[[], object], requests: int = 20) -> list[float]:
    """Return the seconds that requests for the list of campaigns take while three clients repeat ``request``."""
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            request()

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    waits = []
    for _ in range(requests):
        time.sleep(0.05)
        begun = time.perf_counter()
        send(address, "GET", "/v1/campaigns")
        waits.append(time.perf_counter() - begun)
    stop.set()
    for thread in threads:
        thread.join()
    return waits
