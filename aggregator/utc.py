"""Times in UTC as text.

A campaign may close as late as the year 36812, and ``datetime`` ends with the year 9999; ``time.gmtime`` does not.
"""

from __future__ import annotations

import time


def day_text(seconds: int) -> str:
    """Return the day of a time, such as "2027-03-01"."""
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


def minute_text(seconds: int) -> str:
    """Return a time to the minute, such as "2027-03-01 12:30"."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds))


def second_text(seconds: int) -> str:
    """Return a time to the second, such as "2027-03-01T12:30:00+00:00" (ISO 8601)."""
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(seconds))
