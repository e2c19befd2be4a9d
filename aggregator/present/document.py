"""Estimates as documents for programs: CSV, Parquet and GeoJSON.

Fractions are in full precision, one row a value, nothing rounded for the eye. Each row names the campaign and the
period, so rows of several estimates can be put together.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from aggregator.estimate.query import Answer
from aggregator.estimate.result import Estimate
from protocol.domain import MICRODEGREES, Grid
from protocol.errors import HalftruthError

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBERS = re.compile(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?(, ?[+-]?[0-9.]+)*", re.IGNORECASE | re.ASCII)
"""A number, or several as of a position on a map: no formula, whatever its sign."""

LATEST = "latest"
"""The period of an estimate of everybody's latest answer, in a campaign of several periods."""

TEXTS = ("campaign", "campaign_id", "class", "period", "value", "value_kind", "method")
NUMBERS = ("estimate", "raw", "se", "low", "high", "simultaneous_low", "simultaneous_high", "prior")
FLAGS = ("above_zero", "se_rough")

COLUMNS = ("value", *NUMBERS[:-1], *FLAGS, "value_kind")
"""What a row says of a value in every campaign."""


class NoMap(HalftruthError, ValueError):
    """GeoJSON was asked of values that are not cells of a grid."""


def estimate_rows(found: Estimate, period: int | None) -> list[dict[str, Any]]:
    """A row for each value, with the campaign, class and period that it is of.

    Args:
        period: the period of the estimate; None for everybody's latest answer.
    """
    if period is None and found.terms.periods == 1:
        period = 0
    about = {
        "campaign": found.terms.title,
        "campaign_id": found.campaign_id.hex(),
        "class": found.where,
        "period": LATEST if period is None else str(period),
        "reports": found.reports,
        "method": found.method,
        "value_kind": found.value_kind,
    }
    return [about | row for row in found.as_json()["values"]]


def estimate_csv(found: Estimate, period: int | None = None) -> str:
    """A header and a row for each value; an unknown number is empty. Arguments as of ``estimate_rows``."""
    about = ("campaign", "campaign_id", "class", "period", "reports", "method")
    columns = (*COLUMNS, *about, *(() if found.prior is None else ("prior",)))
    return csv_text(columns, estimate_rows(found, period))


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A header and the rows.

    A text that a spreadsheet would take for a formula, and no number is, gets an apostrophe before it (OWASP, CSV
    injection); it is then shown as text.
    """
    text = io.StringIO()
    lines = csv.DictWriter(text, columns, lineterminator="\n")
    lines.writeheader()
    lines.writerows({name: cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def cell(value: Any) -> Any:
    """What is written for a value of a row."""
    formula = isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBERS.fullmatch(value)
    return f"'{value}" if formula else value


def estimates_arrow(estimates: Sequence[tuple[Estimate, int | None]]) -> pa.Table:
    """A row for each value of each estimate, with typed columns; an unknown number is null.

    Args:
        estimates: each with its period, as of ``estimate_rows``.
    """
    rows = [row for found, period in estimates for row in estimate_rows(found, period)]
    types = dict.fromkeys(TEXTS, pa.string()) | {"reports": pa.int64()} | dict.fromkeys(NUMBERS, pa.float64())
    schema = pa.schema((types | dict.fromkeys(FLAGS, pa.bool_())).items())
    return pa.Table.from_pylist(rows, schema=schema)


def estimate_parquet(found: Estimate, period: int | None = None) -> bytes:
    """The bytes of a Parquet file; the rest of what JSON says is in the schema's metadata, under ``halftruth``."""
    about = {name: told for name, told in found.as_json().items() if name != "values"}
    table = estimates_arrow([(found, period)]).replace_schema_metadata({"halftruth": json.dumps(about)})
    sink = io.BytesIO()
    pa_parquet.write_table(table, sink)
    return sink.getvalue()


def estimates_geojson(estimates: Sequence[tuple[Estimate, int | None]]) -> str:
    """A feature collection (RFC 7946): for each cell of each estimate its square, and its row as the properties.

    Args:
        estimates: of one campaign, each with its period, as of ``estimate_rows``.
    Raises:
        NoMap: the values are not cells of a grid.
    """
    features = []
    for found, period in estimates:
        grid = found.terms.domain
        if not isinstance(grid, Grid):
            raise NoMap(f"GeoJSON is of maps, and {found.terms.title!r} asks for {grid.kind}: use csv or parquet")
        for x, row in enumerate(estimate_rows(found, period)):
            features.append({"type": "Feature", "geometry": _square(grid, x), "properties": row})
    return json.dumps({"type": "FeatureCollection", "features": features}, ensure_ascii=False, allow_nan=False) + "\n"


def _square(grid: Grid, x: int) -> dict[str, Any]:
    """A cell as a polygon of longitudes and latitudes, counterclockwise."""
    row, column = divmod(x, grid.columns)
    south, west = grid.south + row * grid.step, grid.west + column * grid.step
    north, east = south + grid.step, west + grid.step
    corners = [(west, south), (east, south), (east, north), (west, north), (west, south)]
    ring = [[longitude / MICRODEGREES, latitude / MICRODEGREES] for longitude, latitude in corners]
    return {"type": "Polygon", "coordinates": [ring]}


def answer_csv(answer: Answer) -> str:
    """A header and one row."""
    row = answer.as_json()
    return csv_text(list(row), [row])
