"""A connection to a study without a network, for tests of a device's requests."""

from __future__ import annotations

from typing import Any, Self


class FakeConnection:
    """A replacement for a connection and its response; a subclass sets both in ``request``.

    Attributes:
        status: the status of the response.
        response: the body of the response.
        at: the address of the latest connection.
    """

    status = 200
    response = b""
    at: Any = None

    def __call__(self, to: Any) -> Self:
        self.at = to
        return self

    def getresponse(self) -> Self:
        return self

    def read(self, most: int) -> bytes:
        return self.response[:most]

    def getheader(self, name: str) -> str | None:
        return None

    def close(self) -> None:
        pass
