"""A reminder in the person's calendar for the next answer to a campaign.

On a phone the calendar opens with the entry filled in, and the person decides whether to keep it. Elsewhere the entry
is a file that calendars open (RFC 5545). A calendar may be shared or copied to a server, so the entry names the app and
no campaign.
"""

from __future__ import annotations

import datetime
import secrets
from pathlib import Path

from demo_app.system.android import activity, java

MINUTES = 15
"""Duration of the entry in minutes."""


def remind(title: str, when: int, folder: Path) -> Path | None:
    """Pass a reminder to the person's calendar.

    Args:
        title: the title of the entry, which everyone with access to the calendar can read.
        when: the time of the reminder, UTC seconds.
        folder: the folder for the file, on systems other than Android.
    Returns:
        The path of the file; None if the phone's calendar was opened.
    Raises:
        OSError: the file cannot be written; or the phone has no calendar.
    """
    shown = activity()
    if shown is None:
        file = folder / f"halftruth-{secrets.token_hex(4)}.ics"
        file.write_text(entry(title, when), encoding="utf-8", newline="")
        return file
    intents, events = java("android.content.Intent"), java("android.provider.CalendarContract$Events")
    asking = intents(intents.ACTION_INSERT)
    asking.setData(events.CONTENT_URI)
    asking.putExtra("title", title)
    asking.putExtra("beginTime", 1000 * when)
    asking.putExtra("endTime", 1000 * (when + 60 * MINUTES))
    if asking.resolveActivity(shown.getPackageManager()) is None:
        raise OSError("this phone has no calendar app for a new entry")
    shown.startActivity(asking)
    return None


def entry(title: str, when: int) -> str:
    """Return the calendar entry in the format of RFC 5545, with an alarm at its beginning."""
    words = title.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")
    begins, ends = (_moment(seconds) for seconds in (when, when + 60 * MINUTES))
    lines = (
        "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//halftruth//app//EN", "BEGIN:VEVENT",
        f"UID:{secrets.token_hex(16)}", f"DTSTAMP:{begins}", f"DTSTART:{begins}", f"DTEND:{ends}", f"SUMMARY:{words}",
        "BEGIN:VALARM", "ACTION:DISPLAY", f"DESCRIPTION:{words}", "TRIGGER:PT0M", "END:VALARM",
        "END:VEVENT", "END:VCALENDAR", "",
    )  # fmt: skip
    return "\r\n".join(lines)


def _moment(seconds: int) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
