"""Points in time as text, in one form wherever the device names one."""

from __future__ import annotations

import time


def moment(seconds: int) -> str:
    """A time in UTC seconds, for people: "2026-03-01 12:00:00 UTC"."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
