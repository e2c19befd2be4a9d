"""Estimates as documents for programs: CSV, Parquet and GeoJSON.

Each row is one value, or one district of a coarser resolution. Fractions have full precision. Each row names the
campaign and the period, so rows of several estimates can be put into one table.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from aggregator.estimate.interval_estimates import SHARE_COLUMNS
from aggregator.estimate.query import QueryResult
from aggregator.estimate.resolutions import FINEST
from aggregator.estimate.result import Estimate, value_rows
from aggregator.families.decoder import Integers
from protocol.domain import MICRODEGREES, Grid
from protocol.errors import HalftruthError

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBERS = re.compile(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?(, ?[+-]?[0-9.]+)*", re.IGNORECASE | re.ASCII)
"""A number, or several numbers such as a position on a map; a spreadsheet does not read these as formulas."""

LATEST = "latest"
"""The text in the column ``period`` for an estimate from each device's latest period, in a campaign of several
periods."""

TEXTS = ("campaign", "campaign_id", "class", "period", "value", "value_kind", "resolution", "method")
NUMBERS = (*SHARE_COLUMNS, "prior")
FLAGS = ("above_zero", "se_rough")

COLUMNS = ("value", *NUMBERS[:-1], *FLAGS, "value_kind")
"""The columns with the facts about a value that the rows of every campaign have."""


class NoMap(HalftruthError, ValueError):
    """GeoJSON was requested for a campaign whose values are not cells of a grid."""


def estimate_rows(estimate: Estimate, period: int | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each value with its campaign, class and period; then a row for each coarser district.

    A row's resolution is the number of values on each side of its district, 1 for a single value, or the name of the
    map, such as ``districts``. The finest resolution comes first.

    Args:
        period: the period of the estimate; None for each device's latest period.
    """
    if period is None and estimate.campaign.periods == 1:
        period = 0
    about = {
        "campaign": estimate.campaign.title,
        "campaign_id": estimate.campaign_id.hex(),
        "class": estimate.class_name,
        "period": LATEST if period is None else str(period),
        "reports": estimate.reports,
        "method": estimate.method
        if estimate.weighting is None
        else f"{estimate.method}, weighted by {estimate.weighting.by}",
    }
    values = about | {"value_kind": estimate.value_kind, "resolution": FINEST}
    yield from (values | row for row in value_rows(estimate))
    for resolution in reversed(estimate.resolutions[:-1]):
        of_district = about | {"value_kind": "district", "resolution": resolution.name}
        yield from (of_district | row for row in value_rows(resolution))


def estimate_csv(estimate: Estimate, period: int | None = None) -> Iterator[str]:
    """Yield the lines of a CSV with a row for each value; an unknown number is empty. See ``estimate_rows``."""
    about = ("campaign", "campaign_id", "class", "period", "reports", "method")
    columns = (*COLUMNS, "resolution", *about, *(() if estimate.prior is None else ("prior",)))
    return _csv_lines(columns, estimate_rows(estimate, period))


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV with a header; see ``_csv_lines``."""
    return "".join(_csv_lines(columns, rows))


class _Echo:
    """A file object whose ``write`` returns the text and stores nothing."""

    def write(self, text: str) -> str:
        return text


def _csv_lines(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a CSV with a header, so that a million rows are never in memory together.

    Text that a spreadsheet would read as a formula gets a leading apostrophe, so that it is shown as text (OWASP, CSV
    injection). Numbers are not changed.
    """
    lines = csv.DictWriter(_Echo(), columns, lineterminator="\n")
    yield lines.writeheader()
    for row in rows:
        yield lines.writerow({name: cell(value) for name, value in row.items()})


def cell(value: Any) -> Any:
    """Return the CSV text of a cell."""
    formula = isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBERS.fullmatch(value)
    return f"'{value}" if formula else value


def estimates_arrow(estimates: Sequence[tuple[Estimate, int | None]]) -> pa.Table:
    """Return an Arrow table with a row for each value or district of each estimate; an unknown number is null.

    Args:
        estimates: pairs of an estimate and its period; see ``estimate_rows``.
    """
    rows = [row for estimate, period in estimates for row in estimate_rows(estimate, period)]
    types = dict.fromkeys(TEXTS, pa.string()) | {"reports": pa.int64()} | dict.fromkeys(NUMBERS, pa.float64())
    schema = pa.schema((types | dict.fromkeys(FLAGS, pa.bool_())).items())
    return pa.Table.from_pylist(rows, schema=schema)


def estimate_parquet(estimate: Estimate, period: int | None = None) -> bytes:
    """Return a Parquet file, as bytes, with a row for each value or district; the schema's metadata has the other
    entries of ``Estimate.as_json``, under ``halftruth``."""
    about = {name: value for name, value in estimate.as_json().items() if name not in ("values", "resolutions")}
    table = estimates_arrow([(estimate, period)]).replace_schema_metadata({"halftruth": json.dumps(about)})
    sink = io.BytesIO()
    pa_parquet.write_table(table, sink)
    return sink.getvalue()


def estimates_geojson(estimates: Sequence[tuple[Estimate, int | None]]) -> str:
    """Return a feature collection (RFC 7946) with the square of each cell of each estimate; its properties are the
    cell's row.

    An estimate with coarser resolutions also has a feature for each district.

    Args:
        estimates: pairs of an estimate and its period, of one campaign; see ``estimate_rows``.
    Raises:
        NoMap: the values are not cells of a grid.
    """
    features = []
    for estimate, period in estimates:
        grid = estimate.campaign.domain
        if not isinstance(grid, Grid):
            raise NoMap(
                f"GeoJSON needs a map, and the domain of {estimate.campaign.title!r} is of kind {grid.kind!r}: use csv "
                "or parquet"
            )
        finest = np.arange(grid.size, dtype=np.int64)
        districts = [finest, *(resolution.districts for resolution in reversed(estimate.resolutions[:-1]))]
        for cells, row in zip(
            chain.from_iterable(map(_cells_of, districts)), estimate_rows(estimate, period), strict=True
        ):
            features.append({"type": "Feature", "geometry": _outline(grid, cells), "properties": row})
    return json.dumps({"type": "FeatureCollection", "features": features}, ensure_ascii=False, allow_nan=False) + "\n"


def _cells_of(districts: Integers) -> list[Integers]:
    """Return the cells of each district, in ascending order."""
    return np.split(np.argsort(districts, kind="stable"), np.cumsum(np.bincount(districts))[:-1])


def _outline(grid: Grid, cells: Integers) -> dict[str, Any]:
    """Return the outline of a district: one polygon if the district is a rectangle, otherwise the rectangles of its
    rows."""
    rows, columns = np.divmod(cells, grid.columns)
    south, north, west, east = int(rows.min()), int(rows.max()), int(columns.min()), int(columns.max())
    if len(rows) == (north - south + 1) * (east - west + 1):
        return {"type": "Polygon", "coordinates": _rectangle(grid, south, north, west, east)}
    starts = np.flatnonzero(np.diff(cells, prepend=-2) != 1)
    starts = np.union1d(starts, np.flatnonzero(np.diff(rows, prepend=-1)))
    ends = [*(starts[1:] - 1).tolist(), len(rows) - 1]
    parts = [
        _rectangle(grid, int(rows[a]), int(rows[a]), int(columns[a]), int(columns[b]))
        for a, b in zip(starts.tolist(), ends, strict=True)
    ]
    return {"type": "MultiPolygon", "coordinates": parts}


def _rectangle(grid: Grid, first_row: int, last_row: int, first: int, last: int) -> list[list[list[float]]]:
    """Return the counterclockwise ring around a rectangle of rows and columns, in longitudes and latitudes."""
    south, west = grid.south + first_row * grid.step, grid.west + first * grid.step
    north, east = grid.south + (last_row + 1) * grid.step, grid.west + (last + 1) * grid.step
    corners = [(west, south), (east, south), (east, north), (west, north), (west, south)]
    return [[[longitude / MICRODEGREES, latitude / MICRODEGREES] for longitude, latitude in corners]]


def query_csv(result: QueryResult) -> str:
    """Return the result of a query as CSV, with a header and one row."""
    row = result.as_json()
    return csv_text(list(row), [row])
