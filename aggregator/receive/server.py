"""The server: sockets, deadlines and signals around the application.

A connection carries one request. Each part of the request has a deadline, so a slow or silent client cannot occupy a
connection for long. The cost of parsing is bounded: the bytes and lines of a head are limited, and a request that
arrives in many parts is read at intervals. No access log is written, and no address is stored.

``app`` answers the requests.
"""

from __future__ import annotations

import asyncio
import errno
import http
import ipaddress
import json
import os
import re
import signal
import socket
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from protocol.errors import HalftruthError

HEAD_SECONDS = 10.0
"""Seconds within which a request's head must arrive."""
CONNECTION_SECONDS = 300.0
"""Maximum duration of a connection in seconds; it includes the time in which the client reads the response."""
CONNECTIONS = 1024
STOP_SECONDS = 8
"""Seconds in which running requests may finish when the server must stop; supervisors often kill a process after ten
seconds."""
HEAD_BYTES, HEAD_LINES = 2**13, 64
"""Maximum bytes and lines of a request's head."""
READS, PAUSE = 64, 0.5
"""After ``READS`` reads of a request, each further read comes after a pause of ``PAUSE`` seconds, because even the
smallest read has a cost."""
LINGER = 1.0
"""Seconds between a refusal and closing the connection; closing at once with unread bytes can lose the refusal."""

_HEAD_ENDS = re.compile(rb"\n\r?\n")
_CHUNKED = re.compile(rb"\ntransfer-encoding[ \t]*:", re.IGNORECASE)


class BadAddress(HalftruthError):
    """The text does not consist of a host and a port."""


class CannotListen(HalftruthError):
    """No socket can listen on the address, for example because it is in use or does not belong to this machine."""


@dataclass(frozen=True)
class Tls:
    """The PEM files of a certificate chain and its key."""

    certificate: Path
    key: Path


def bind(address: str) -> socket.socket:
    """Return a listening socket.

    Args:
        address: HOST:PORT, or [HOST]:PORT for IPv6; port 0 selects a free port.
    Raises:
        BadAddress: the address is malformed.
        CannotListen: the system refuses the address or port.
    """
    host, _, port = address.rpartition(":")
    version_6 = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if version_6 else host
    number = int(port) if port.isascii() and port.isdigit() else -1
    if not host or not 0 <= number < 2**16 or (":" in host) != version_6 or "[" in host or "]" in host:
        raise BadAddress(
            f"{address!r} is not HOST:PORT with a port up to 65535: write it as 127.0.0.1:8700 or [::1]:8700"
        )
    try:
        return socket.create_server((host, number), family=socket.AF_INET6 if version_6 else socket.AF_INET)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        if error.errno == errno.EADDRNOTAVAIL:
            reason = "this machine does not have this address. Use 127.0.0.1, 0.0.0.0 or an address of this machine"
        elif error.errno == errno.EADDRINUSE:
            reason = f"{reason}. Choose another port, or stop the program that uses this one"
        else:
            reason = f"{reason}. Choose another address or port"
        raise CannotListen(f"cannot listen on {address}: {reason}") from None


def url(listening: socket.socket, tls: Tls | None) -> str:
    host, port = listening.getsockname()[:2]
    return f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def is_loopback(listening: socket.socket) -> bool:
    """Return whether a socket can be reached from this machine only."""
    return ipaddress.ip_address(listening.getsockname()[0]).is_loopback


def server(app: ASGIApp, tls: Tls | None = None, proxy: str | None = None) -> uvicorn.Server:
    """Return the server of an application, to be run on a bound socket.

    Args:
        proxy: the address of a trusted proxy, whose X-Forwarded-For header names the client.
    Raises:
        OSError: the files of ``tls`` cannot be read, or contain no certificate and key.
    """
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http=Deadlines,
        ws="none",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        # uvicorn would log single requests; the application logs its own messages.
        log_level="critical",
        access_log=False,
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy,
        server_header=False,
        headers=[("connection", "close")],
        timeout_graceful_shutdown=STOP_SECONDS,
        ssl_certfile=tls.certificate if tls else None,
        ssl_keyfile=tls.key if tls else None,
    )
    config.load()
    return uvicorn.Server(config)


def serve(running: uvicorn.Server, listening: socket.socket) -> None:
    """Answer requests until a signal to stop; running requests are finished first."""
    # When uvicorn ends, it calls the signal handlers that were set before; they must not stop a second time.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, running.handle_exit)
    asyncio.run(running.serve(sockets=[listening]))


class Deadlines(H11Protocol):
    """A connection with deadlines, and with parsing costs bounded by the number of bytes received."""

    head_seconds = HEAD_SECONDS
    connection_seconds = CONNECTION_SECONDS
    _timers: tuple[asyncio.TimerHandle, ...] = ()
    _head: bytearray | None
    _reads = 0
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn declares it like this
        super().connection_made(transport)
        self._head = bytearray()
        if len(self.connections) > CONNECTIONS:
            transport.abort()
            return
        self._timers = (
            self.loop.call_later(self.head_seconds, self._end_without_request),
            self.loop.call_later(self.connection_seconds, transport.abort),
        )

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in self._timers:
            timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._reads += 1
        if self._reads > READS:
            self.transport.pause_reading()
            self.loop.call_later(PAUSE, self._read_on)
        if self._head is not None:
            data = self._whole_head(data)
        if data:
            super().data_received(data)

    def _whole_head(self, data: bytes) -> bytes:
        """Return the received bytes once they contain the whole head; b"" before that, or if the head is refused."""
        head = self._head = (self._head or bytearray()) + data
        ends = _HEAD_ENDS.search(head, max(0, len(head) - len(data) - 2), HEAD_BYTES)
        if ends is None:
            if len(head) >= HEAD_BYTES:
                self._refuse(431, "request", f"the head of the request is too long: send at most {HEAD_BYTES} bytes")
            return b""
        if head.count(b"\n", 0, ends.start() + 1) > HEAD_LINES:
            self._refuse(431, "request", f"the head of the request is too long: send at most {HEAD_LINES} lines")
            return b""
        if _CHUNKED.search(head, 0, ends.end()):
            self._refuse(411, "size", "the body is in chunks: send it in one part, with Content-Length")
            return b""
        self._head = None
        return bytes(head)

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that is not HTTP; overrides a method of uvicorn."""
        self._refuse(
            400, "request", "the request is not valid HTTP: send an HTTP/1.1 request; docs/RECEIVE.md has the paths"
        )

    def _refuse(self, status: int, stage: str, text: str) -> None:
        """Answer with a refusal in the application's format, without calling the application."""
        self._refused = True
        if self.cycle_begun():
            self.transport.abort()
            return
        body = json.dumps({"error": text, "stage": stage}).encode()
        phrase = http.HTTPStatus(status).phrase
        head = f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self.transport.pause_reading()
        self.loop.call_later(LINGER, self.transport.close)

    def _read_on(self) -> None:
        if not (self.transport.is_closing() or self._refused or self.flow.read_paused):
            self.transport.resume_reading()

    def cycle_begun(self) -> bool:
        """Return whether a request has begun."""
        return getattr(self, "cycle", None) is not None  # uvicorn declares the attribute, but sets it later

    def _end_without_request(self) -> None:
        if not self.cycle_begun():
            self.transport.abort()
