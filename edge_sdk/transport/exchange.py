"""One exchange of a request and its response, limited in time and bytes: TLS by default, no redirect, no proxy.

A socket's timeout starts again with each byte that arrives, so a server could block a device for hours by sending one
byte every 29 seconds. A timer ends the whole exchange instead.

The modules upload and download interpret the responses; address defines the syntax of addresses.
"""

from __future__ import annotations

import contextlib
import errno
import http.client
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from typing import TypeAlias

from edge_sdk.transport.address import Address

TIMEOUT_SECONDS = 30
"""Limit in seconds of an attempt to connect to one network address, and of the whole exchange (SPEC 9.1).

If a host has several network addresses and some do not respond, connecting alone may take longer. Then no response is
read.
"""

Opener: TypeAlias = Callable[[Address], http.client.HTTPConnection]
"""A function that makes the connection of one exchange; an app may trust one certificate only, or use a proxy."""


def connect(to: Address) -> http.client.HTTPConnection:
    """Return the connection for one exchange: TLS with a verified certificate and name, or plain HTTP to this
    machine."""
    if not to.secure:
        return http.client.HTTPConnection(to.host, to.port, timeout=TIMEOUT_SECONDS)
    return http.client.HTTPSConnection(to.host, to.port, timeout=TIMEOUT_SECONDS, context=ssl.create_default_context())


def send_request(
    to: Address, opener: Opener, body: bytes | None, headers: Mapping[str, str], limit: int
) -> tuple[http.client.HTTPResponse, bytes]:
    """Send one request and read its response.

    Args:
        to: the address.
        opener: makes the connection.
        body: the body of a POST request; None for a GET request.
        headers: the headers of the request.
        limit: maximum number of bytes read from the response's body.
    Returns:
        The response with status and headers, and the first bytes of its body.
    Raises:
        OSError, http.client.HTTPException, UnicodeError: there was no valid response; TimeoutError if it took too long.
    """
    late = threading.Event()
    with contextlib.closing(opener(to)) as connection:
        timer = threading.Timer(TIMEOUT_SECONDS, _end, (connection, late))
        timer.daemon = True
        timer.start()
        try:
            connection.request("GET" if body is None else "POST", to.path, body, headers)
            # If the timer ended during the attempt to connect, it found no socket to shut down.
            if not late.is_set():
                response = connection.getresponse()
                content = response.read(limit)
        except (OSError, http.client.HTTPException):
            if not late.is_set():
                raise
        finally:
            timer.cancel()
        if late.is_set():
            raise TimeoutError(errno.ETIMEDOUT, f"the exchange took more than {TIMEOUT_SECONDS} seconds")
    return response, content


def _end(connection: http.client.HTTPConnection, late: threading.Event) -> None:
    """End an exchange from the timer's thread; reading then fails, because the connection is closed."""
    late.set()
    sock = connection.sock
    # During the attempt to connect, which has its own timeout, the socket is None; ``send_request`` then reads
    # no response.
    if sock is not None:
        # An OSError means that the exchange has ended by itself meanwhile.
        with contextlib.suppress(OSError):
            # The shutdown of TLS would delete the session that the other thread is reading from.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)
