"""An exchange with a study's server ends within its time limit, even if the server sends slowly."""

from __future__ import annotations

import itertools
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

import pytest

from aggregator.receive.server import Tls
from edge_sdk.transport import exchange
from edge_sdk.transport.address import Address, address
from tests.edge_sdk.certificates import self_signed

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n"
SLOWLY = {
    "the status line": lambda: itertools.repeat(b"H"),
    "the headers": lambda: itertools.chain([HEAD[:17]], itertools.cycle((b"x", b":", b"\r\n"))),
    "the body": lambda: itertools.chain([HEAD], itertools.repeat(b"{")),
}
"""The pieces of an endless response, by the part that never ends."""


MAX_PIECES = 1000
"""The largest number of pieces that a server sends, in ten seconds or more, to a device that does not disconnect."""


class CountedPieces:
    """An iterator over the pieces of a response that counts them."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.sent = 0
        self._pieces = pieces

    def __iter__(self) -> CountedPieces:
        return self

    def __next__(self) -> bytes:
        self.sent += 1
        return next(self._pieces)


@pytest.fixture
def certificate(tmp_path: Path) -> Tls:
    return self_signed(tmp_path)


@pytest.fixture
def dripping(certificate: Tls) -> Iterator[Callable[[Iterator[bytes], bool], Address]]:
    """Return a function that starts servers on loopback; they send one piece after another until the client
    disconnects."""
    with ExitStack() as open_servers:

        def start(pieces: Iterator[bytes], secure: bool) -> Address:
            server = open_servers.enter_context(socket.create_server(("127.0.0.1", 0)))
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate.certificate, certificate.key)

            def drip() -> None:
                with suppress(OSError):
                    plain, _ = server.accept()
                    with context.wrap_socket(plain, server_side=True) if secure else plain as connection:
                        for piece in itertools.islice(pieces, MAX_PIECES):
                            connection.sendall(piece)
                            gone.wait(0.01)

            gone = threading.Event()
            open_servers.callback(gone.set)
            threading.Thread(target=drip, daemon=True).start()
            host, port = server.getsockname()
            return address(f"http{'s' * secure}://{host}:{port}")

        yield start


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize("part", SLOWLY)
def test_an_endless_response_ends_in_time(dripping, certificate, monkeypatch, part, secure):
    """The device disconnects at the time limit from a server that sends each piece within the socket's timeout."""
    monkeypatch.setattr(exchange, "TIMEOUT_SECONDS", 0.3)
    pieces = CountedPieces(SLOWLY[part]())
    to = dripping(pieces, secure)

    def opener(at: Address) -> HTTPConnection:
        if not secure:
            return HTTPConnection(at.host, at.port, timeout=30)
        trusting = ssl.create_default_context(cafile=str(certificate.certificate))
        return HTTPSConnection(at.host, at.port, timeout=30, context=trusting)

    with pytest.raises(TimeoutError, match=r"more than 0\.3 seconds"):
        exchange.send_request(to, opener, b"body", {}, 10**6)
    assert pieces.sent < MAX_PIECES


def test_a_slow_connection_does_not_escape_the_time_limit(dripping, monkeypatch):
    """If the limit ends during the attempt to connect, the device reads no response afterwards."""
    monkeypatch.setattr(exchange, "TIMEOUT_SECONDS", 0.1)
    pieces = CountedPieces(SLOWLY["the body"]())
    to = dripping(pieces, False)

    class SlowConnection(HTTPConnection):
        def connect(self) -> None:
            time.sleep(0.3)
            super().connect()

    with pytest.raises(TimeoutError, match=r"more than 0\.1 seconds"):
        exchange.send_request(to, lambda at: SlowConnection(at.host, at.port, timeout=30), b"body", {}, 10**6)
    assert pieces.sent < MAX_PIECES
