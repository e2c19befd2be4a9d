"""Bins with familiar boundaries, such as months, decades or hundreds, or of single values if there are few.

``ordered`` estimates the shares of people in the bins.
"""

from __future__ import annotations

import datetime
import math
from bisect import bisect_left
from collections.abc import Iterator
from itertools import count

from protocol.domain import Dates, Domain, Line

BINS = 12
"""The largest number of bins."""

MAX_COMPARED_BINS = 6
"""The largest number of bins if several estimates are compared."""

_EPOCH = datetime.date(1970, 1, 1)

_MONTHS = (1, 3, 6)
_YEARS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def bin_count(reports: int) -> int:
    """Return the number of bins: half the cube root of the number of reports, at least 4 and at most ``BINS``.

    Narrower bins have intervals that are too wide to be useful: for 3,000 reports of a date within a year at 1 nat,
    most intervals of a month's share reached from zero to three times the share.
    """
    return min(BINS, max(4, round(math.cbrt(reports) / 2)))


def bin_starts(domain: Domain, max_bins: int = BINS) -> list[int]:
    """Return the first input of each bin except the first bin, in increasing order.

    Bins of evenly spaced numbers, except the first and the last, are 1, 2 or 5 times a power of ten steps wide. They
    begin at the multiples of this width or, if the lowest number is no multiple of the step, at whole widths above the
    lowest number. Days are cut where weeks, months, quarters, half years, years, decades or centuries begin. Other
    values are cut into bins of about equal numbers of values.

    Args:
        domain: the ordered values.
        max_bins: the largest number of bins.
    """
    if domain.size <= max_bins:
        return list(range(1, domain.size))
    if isinstance(domain, Dates):
        return next(starts for starts in _calendar(domain) if len(starts) < max_bins)
    if isinstance(domain, Line) and domain.evenly_spaced:
        return _multiples(domain, max_bins)
    return [place * domain.size // max_bins for place in range(1, max_bins)]


def _multiples(domain: Line, max_bins: int) -> list[int]:
    """Return the first inputs of the bins. Their width is the smallest round multiple of the step that gives
    ``max_bins`` bins or fewer."""
    low, step = domain.scaled[0], domain.scaled[1] - domain.scaled[0]
    for power in count():
        for digit in (1, 2, 5):
            width = digit * 10**power * step
            start = low if low % step else low // width * width
            starts = [bisect_left(domain.scaled, edge) for edge in range(start + width, domain.scaled[-1] + 1, width)]
            few = -(-width // step // 4)  # a bin at an end with fewer values is merged with its neighbour
            starts = [place for place in starts if few <= place <= domain.size - few]
            if len(starts) < max_bins:
                return starts
    raise AssertionError(
        f"no bin width gives at most {max_bins} bins, although a width above the range gives a single bin"
    )


def _calendar(domain: Dates) -> Iterator[list[int]]:
    """Yield the first inputs of bins of weeks, of months, of longer units, and finally a single bin."""
    first = _EPOCH + datetime.timedelta(days=domain.low)
    monday = domain.low - first.weekday()
    yield _from(domain, list(range(monday, domain.high + 1, 7)))
    for months in _MONTHS:
        yield _from(domain, _months(domain, months))
    for years in _YEARS:
        yield _from(domain, _months(domain, 12 * years))
    yield []


def _months(domain: Dates, width: int) -> list[int]:
    """Return the first days of the months whose number since the year 0 is a multiple of ``width``."""
    first, last = (_EPOCH + datetime.timedelta(days=day) for day in (domain.low, domain.high))
    begin, end = (day.year * 12 + day.month - 1 for day in (first, last))
    numbers = range(-(-begin // width) * width, end + 1, width)
    return [(datetime.date(number // 12, number % 12 + 1, 1) - _EPOCH).days for number in numbers]


def _from(domain: Dates, days: list[int]) -> list[int]:
    """Return the first input at or after each of ``days``, in order; input 0 and days after the domain are left out."""
    return sorted({bisect_left(domain.scaled, day) for day in days} - {0, domain.size})
