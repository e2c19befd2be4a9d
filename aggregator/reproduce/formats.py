"""The file formats of the data sets: original files, which may be compressed with gzip, and compact forms.

``data`` assembles the data sets from these files. Every function raises ``UnreadableData`` if a file has another
content.
"""

from __future__ import annotations

import csv
import gzip
import json
import zipfile
import zlib
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from aggregator.families.decoder import Floats, Integers
from protocol.errors import BadData

CheckInRows = tuple[Integers, Integers, Floats, Floats]
"""User, time in seconds, latitude and longitude of each check-in."""

_LINES = 100_000
"""The number of check-ins that are converted at once."""


class UnreadableData(BadData):
    """A file does not contain the data set that its name indicates."""

    stage = "data set"


def compact_arrays(path: Path, *names: str) -> dict[str, NDArray[Any]]:
    """Return the arrays called ``names`` from a file in compact form."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in names}
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise UnreadableData(
            f"{path.name} is not a compact form with {', '.join(names)} ({error}): make the file again, or use the "
            "original file"
        ) from None


@contextmanager
def _text(path: Path) -> Iterator[IO[str]]:
    """Context manager that yields an open text file, which may be compressed with gzip."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        try:
            yield file
        except (UnicodeDecodeError, EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise UnreadableData(
                f"{path.name} cannot be read ({error}): expected text in UTF-8, which may be compressed with gzip; "
                "copy the file again"
            ) from None


def lists(path: Path) -> tuple[Integers, Integers]:
    """Return the offsets and the items of the baskets in a FIMI file, whose lines are item ids separated by blanks.
    Empty lines are skipped."""
    items, ends = array("q"), array("q", [0])
    with _text(path) as file:
        for number, line in enumerate(file, 1):
            try:
                items.extend(map(int, line.split()))
            except (ValueError, OverflowError):
                raise UnreadableData(
                    f"{path.name}, line {number}: expected item ids, whole numbers with blanks between"
                ) from None
            if len(items) > ends[-1]:
                ends.append(len(items))
    if len(ends) < 2:
        raise UnreadableData(f"{path.name} has no baskets: expected item ids, whole numbers with blanks between")
    if min(items) < 0:
        raise UnreadableData(f"{path.name} has the item id {min(items)}: expected ids from 0; copy the file again")
    return np.array(ends, dtype=np.int64), np.array(items, dtype=np.int64)


def rentals(path: Path) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    """Return for each line of a file the user, the item's index, and whether the line has a rating.

    A line is a JSON object with ``user_id``, ``item_id``, and ``rating``, which may be null.
    """
    user, item, rated = array("q"), array("q"), []
    with _text(path) as file:
        for number, line in enumerate(file, 1):
            try:
                record = json.loads(line)
                user.append(int(record["user_id"]))
                item.append(int(record["item_id"]))
                rated.append(record.get("rating") is not None)
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
                raise UnreadableData(
                    f"{path.name}, line {number}: expected a JSON object with user_id, item_id and rating"
                ) from None
    if not user:
        raise UnreadableData(
            f"{path.name} has no rentals: expected lines, each a JSON object with user_id, item_id and rating"
        )
    _, codes = np.unique(np.array(item), return_inverse=True)
    return np.array(user, dtype=np.int64), codes.astype(np.int64), np.array(rated)


def check_ins(path: Path) -> CheckInRows:
    """Return the user, the time in seconds, the latitude and the longitude of each line.

    A line has user, ISO time, latitude, longitude and place, separated by tabs.
    """
    parts: list[CheckInRows] = []
    with _text(path) as file:
        rows: list[list[str]] = []
        for line in file:
            rows.append(line.split("\t"))
            if len(rows) == _LINES:
                parts.append(_columns(rows, path, len(parts)))
                rows = []
        if rows:
            parts.append(_columns(rows, path, len(parts)))
    if not parts:
        raise UnreadableData(
            f"{path.name} has no check-ins: expected lines of user, time, latitude, longitude and place, with tabs "
            "between"
        )
    user, seconds, latitude, longitude = zip(*parts, strict=True)
    return np.concatenate(user), np.concatenate(seconds), np.concatenate(latitude), np.concatenate(longitude)


def _columns(rows: list[list[str]], path: Path, part: int) -> CheckInRows:
    try:
        user, time, latitude, longitude, _ = zip(*rows, strict=True)
        stamps = np.array([stamp.removesuffix("Z") for stamp in time], dtype="datetime64[s]")
        coordinates = np.array([latitude, longitude], dtype=np.float64)
        if not np.isfinite(coordinates).all():
            raise ValueError("a latitude or longitude is not a finite number")
        return np.array(user, dtype=np.int64), stamps.astype(np.int64), coordinates[0], coordinates[1]
    except (ValueError, OverflowError):
        first = part * _LINES + 1
        raise UnreadableData(
            f"{path.name}, lines {first} to {first + len(rows) - 1}: expected user, time such as 2010-10-19T23:55:27Z, "
            "latitude, longitude and place, with tabs between"
        ) from None


def grid_check_ins(path: Path, height: int, width: int, column: str = "checkins") -> Integers:
    """Return one column, checkins or users, for each cell from a CSV file with the columns row, col, checkins and
    users, which omits empty cells."""
    counts = np.zeros(height * width, dtype=np.int64)
    with _text(path) as file:
        rows = csv.DictReader(file)
        try:
            for row in rows:
                place = int(row["row"]), int(row["col"])
                if not (0 <= place[0] < height and 0 <= place[1] < width):
                    raise ValueError("outside the grid")
                counts[place[0] * width + place[1]] += int(row[column])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise UnreadableData(
                f"{path.name}, line {rows.line_num}: row, col and {column} must be whole numbers, and the cell must be "
                f"inside the grid ({error})"
            ) from None
    return counts
