"""The server: sockets, deadlines and signals around the application.

One idea: a connection carries one request and has a deadline for each part of it, so nobody holds one for long by
saying nothing, or by saying it slowly. No access log is written, and none of the addresses is.

The requests: app.
"""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from protocol.errors import HalftruthError

HEAD_SECONDS = 10.0
"""Until a request's head must have come."""
CONNECTION_SECONDS = 300.0
"""Until everything must be over, the answer read included."""
REQUESTS = 256
"""At the same time; beyond, 503. So many uploads are in memory at most."""
CONNECTIONS = 4 * REQUESTS
STOP_SECONDS = 30


class BadAddress(HalftruthError):
    """Not a host and a port."""


@dataclass(frozen=True)
class Tls:
    """The files, in PEM, of a certificate chain and its key."""

    certificate: Path
    key: Path


def bind(address: str) -> socket.socket:
    """A listening socket.

    Args:
        address: HOST:PORT, [HOST]:PORT for IPv6; port 0 takes a free one.
    Raises:
        BadAddress
        OSError: taken, or not of this machine.
    """
    host, _, port = address.rpartition(":")
    version_6 = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if version_6 else host
    number = int(port) if port.isascii() and port.isdigit() else -1
    if not host or not 0 <= number < 2**16 or (":" in host) != version_6 or "[" in host or "]" in host:
        raise BadAddress(f"{address!r} is not an address: HOST:PORT, as 127.0.0.1:8700 or [::1]:8700")
    return socket.create_server((host, number), family=socket.AF_INET6 if version_6 else socket.AF_INET)


def url(listening: socket.socket, tls: Tls | None) -> str:
    """Where a socket is reached."""
    host, port = listening.getsockname()[:2]
    return f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def is_loopback(listening: socket.socket) -> bool:
    """Whether only this machine reaches a socket."""
    return ipaddress.ip_address(listening.getsockname()[0]).is_loopback


def server(app: ASGIApp, tls: Tls | None = None, proxy: str | None = None) -> uvicorn.Server:
    """The server of an application, to be run on a bound socket.

    Args:
        proxy: the address of a proxy, whose word is taken for the client's address.
    Raises:
        OSError: the files of ``tls`` cannot be read or are none.
    """
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http=Deadlines,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="critical",  # its messages are about single requests; the application has its own
        access_log=False,
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy,
        server_header=False,
        headers=[("connection", "close")],
        limit_concurrency=REQUESTS,
        timeout_graceful_shutdown=STOP_SECONDS,
        ssl_certfile=tls.certificate if tls else None,
        ssl_keyfile=tls.key if tls else None,
    )
    config.load()
    return uvicorn.Server(config)


def serve(running: uvicorn.Server, listening: socket.socket) -> None:
    """Answer requests until a signal to stop; requests on their way are finished first."""
    # The server hands signals on to whoever handled them before; there is nothing left to do for them.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, running.handle_exit)
    asyncio.run(running.serve(sockets=[listening]))


class Deadlines(H11Protocol):
    """A connection that ends when its time is over."""

    head_seconds = HEAD_SECONDS
    connection_seconds = CONNECTION_SECONDS
    _timers: tuple[asyncio.TimerHandle, ...] = ()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
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

    def _end_without_request(self) -> None:
        if getattr(self, "cycle", None) is None:  # uvicorn's types have it there from the beginning
            self.transport.abort()
