"""A TCP proxy that drops, truncates and delays requests and responses.

Each connection takes the next fault of a list. Connections after the last fault are not disturbed. So a client that
retries often enough is always served, and a test can check which faults occurred.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import Enum, auto

END_OF_HEAD = b"\r\n\r\n"
PATIENCE = 60
"""Maximum seconds that the proxy waits for a connection. A test that waits this long has found a defect."""


class Fault(Enum):
    """The fault of one connection: its request or response is dropped, truncated or delayed."""

    NONE = auto()
    DROPPED_REQUEST = auto()
    """The request is read and not forwarded."""
    DROPPED_RESPONSE = auto()
    """The server responds, and the response is dropped."""
    SERVER_ERROR = auto()
    """The client gets 503, and the request is not forwarded."""
    TRUNCATED_REQUEST = auto()
    """Half of the body reaches the server."""
    TRUNCATED_RESPONSE = auto()
    """Half of the response is returned."""
    SLOW = auto()
    """Request and response are sent in small pieces."""


class FaultProxy:
    """A proxy for one upstream address; ``met`` counts the connections that had a fault."""

    def __init__(self, upstream: tuple[str, int], faults: Iterable[Fault]) -> None:
        self.upstream = upstream
        self.faults = iter(faults)
        self.met = 0
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self.listening.getsockname()
        self.thread = threading.Thread(target=self._accept)

    def _accept(self) -> None:
        while True:
            client, _ = self.listening.accept()
            with client, contextlib.suppress(OSError):
                client.settimeout(PATIENCE)
                if not self._carry(client):
                    return

    def _carry(self, client: socket.socket) -> bool:
        """Forward one connection; return False if it was empty, which ends the proxy."""
        request = _request(client)
        if not request:
            return False
        fault = next(self.faults, Fault.NONE)
        self.met += fault is not Fault.NONE
        if fault is Fault.SERVER_ERROR:
            client.sendall(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        if fault in (Fault.SERVER_ERROR, Fault.DROPPED_REQUEST):
            return True
        with socket.create_connection(self.upstream, timeout=PATIENCE) as server:
            if fault is Fault.TRUNCATED_REQUEST:
                server.sendall(request[: -len(request.split(END_OF_HEAD, 1)[1]) // 2])
                return True
            for piece in _pieces(request) if fault is Fault.SLOW else [request]:
                server.sendall(piece)
            answer = b"".join(iter(lambda: server.recv(65536), b""))
        if fault is Fault.TRUNCATED_RESPONSE:
            client.sendall(answer[: len(answer) // 2])
        elif fault is not Fault.DROPPED_RESPONSE:
            for piece in _pieces(answer) if fault is Fault.SLOW else [answer]:
                client.sendall(piece)
        return True


def _request(client: socket.socket) -> bytes:
    """Return a whole request, with its body if it has a Content-Length, and with ``connection: close`` added; b"" for
    an empty connection."""
    data = b""
    while END_OF_HEAD not in data:
        piece = client.recv(65536)
        if not piece:
            return b""
        data += piece
    head, body = data.split(END_OF_HEAD, 1)
    lengths = (int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
    length = next(lengths, 0)
    while len(body) < length:
        body += client.recv(65536)
    return head + b"\r\nconnection: close" + END_OF_HEAD + body


def _pieces(data: bytes) -> Iterator[bytes]:
    size = len(data) // 8 + 1
    for start in range(0, len(data), size):
        time.sleep(0.005)
        yield data[start : start + size]


@contextmanager
def fault_proxy(upstream: tuple[str, int], faults: Iterable[Fault]) -> Iterator[FaultProxy]:
    """Context manager that runs a proxy for an upstream address with a list of faults."""
    proxy = FaultProxy(upstream, faults)
    proxy.thread.start()
    try:
        yield proxy
    finally:
        socket.create_connection(proxy.address).close()
        proxy.thread.join(PATIENCE)
        proxy.listening.close()
