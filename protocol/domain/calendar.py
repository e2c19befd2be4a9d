"""Days of the proleptic Gregorian calendar as integers, without a clock: 1970-01-01 is day 0."""

from __future__ import annotations

import re

FIRST, LAST = -719_162, 2_932_896
"""The first and the last day that text can spell: 0001-01-01 and 9999-12-31, in days since 1970-01-01."""

_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_FROM_MARCH = 719_468
"""Days from 0000-03-01 to 1970-01-01: years that begin in March end with the leap day."""
_FOUR_CENTURIES = 146_097


def day_of(text: str) -> int:
    """Return the day that ``text`` spells as YYYY-MM-DD, in days since 1970-01-01.

    Raises:
        ValueError: another form, or not a day of the calendar.
    """
    match = _DAY.fullmatch(text)
    if match is None:
        raise ValueError("this is not a day: write it as YYYY-MM-DD")
    year, month, date = (int(part) for part in match.groups())
    if not (1 <= month <= 12 and 1 <= date <= 31):
        raise ValueError("this day does not exist in the calendar of the years 1 to 9999: correct it")
    since = year - (month <= 2)
    century, of_century = divmod(since, 400)
    of_year = (153 * ((month - 3) % 12) + 2) // 5 + date - 1
    day = _FOUR_CENTURIES * century + 365 * of_century + of_century // 4 - of_century // 100 + of_year - _FROM_MARCH
    if not FIRST <= day <= LAST or text_of(day) != text:  # 30 February, for example, becomes another day
        raise ValueError("this day does not exist in the calendar of the years 1 to 9999: correct it")
    return day


def text_of(day: int) -> str:
    """Return the day ``day`` days after 1970-01-01 as YYYY-MM-DD.

    Source: Hinnant, chrono-compatible low-level date algorithms.
    """
    centuries, of_era = divmod(day + _FROM_MARCH, _FOUR_CENTURIES)
    years = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * years + years // 4 - years // 100)
    month = (5 * of_year + 2) // 153
    date = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return f"{years + 400 * centuries + (month <= 2):04}-{month:02}-{date:02}"
