"""The text form of all times in the device's output."""

from __future__ import annotations

import time


def utc_text(seconds: int) -> str:
    """Return a time in UTC seconds as text for people, such as "2026-03-01 12:00:00 UTC"."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
