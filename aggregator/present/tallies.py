"""Tallies as a table for other programs: Parquet and CSV.

A row says how many reports of a period had an output, and nothing else; so no row is about a device, and no
column is the same for the same device twice. Rows of too few devices are left out, and their number is printed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from aggregator.counting import Counts
from aggregator.estimate.classes import within
from aggregator.estimate.minimum import NotEnough, devices_of
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import Integers
from aggregator.present.document import cell
from protocol.campaign import Campaign, SignedCampaign
from protocol.notions.classes import class_channels

WRITERS: Mapping[str, Callable[[pa.Table, IO[bytes]], None]] = {
    ".parquet": lambda table, file: pa_parquet.write_table(table, file),
    ".csv": lambda table, file: pa_csv.write_csv(_without_formulas(table), file),
}
"""By the ending of a file's name, what writes a table to it."""


def _without_formulas(table: pa.Table) -> pa.Table:
    """The table, its texts as ``document.cell`` writes them."""
    for at, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(at, field, pa.array(map(cell, table.column(at).to_pylist()), pa.string()))
    return table


@dataclass(frozen=True)
class Exported:
    """A table of tallies.

    Attributes:
        table: columns ``period``; ``class``, of campaigns with classes; ``view``, of those with several views;
            ``output``, or ``bit`` where a report is a word of bits (``feature`` where that depends on the view);
            ``count``, the reports that have it; and ``reports``, all reports of that period (and class or view). An
            output that did not come has no row.
        reports, periods: what is in it.
        withheld: reports that are not, in periods, classes or views with fewer devices than the campaign waits for.
        version: of the study's table.
    """

    table: pa.Table
    reports: int
    periods: int
    withheld: int
    version: int

    def as_json(self) -> dict[str, Any]:
        """What is in the table."""
        return {
            "rows": self.table.num_rows,
            "columns": self.table.column_names,
            "reports": self.reports,
            "periods": self.periods,
            "withheld": self.withheld,
            "table_version": self.version,
        }


def tallies_table(campaign: SignedCampaign, counted: Counts, tallies: Mapping[int, Tally]) -> Exported:
    """The tallies of a campaign by period, and by class or view where it has several.

    The schema's metadata has the campaign's id and title and the version of the study's table, as JSON under
    ``halftruth``.

    Args:
        tallies: of each period, by groups of devices, where a device may have several reports in one; else empty.
    Raises:
        NotEnough: no period (and class or view) has as many devices as the campaign waits for.
    """
    terms = campaign.terms
    place, first = _places(terms, counted)
    cells, which = np.unique(np.stack([counted.period, place]), axis=1, return_inverse=True)
    if terms.classes:
        reports = np.bincount(which, weights=counted.count, minlength=cells.shape[1]).astype(np.int64)
    else:
        reports = np.array([counted.reports[period, view] for period, view in cells.T.tolist()], dtype=np.int64)
    devices = reports
    if tallies:
        devices = np.array([_devices(terms, tallies[period], place) for period, place in cells.T.tolist()])
    enough = devices >= terms.minimum_reports
    whole = sum(counted.reports.values())
    if not enough.any():
        raise NotEnough(
            f"{terms.title!r} waits for {terms.minimum_reports:,} devices in a period, and none has as many: "
            "ingest more. Nothing was written"
        )
    kept = enough[which]
    columns: dict[str, Any] = {"period": counted.period[kept]}
    if terms.classes:
        columns["class"] = np.array(terms.classes, dtype=object)[place[kept]]
    if len(terms.views) > 1:
        columns["view"] = place[kept]
    kinds = {view.channel.unary for view in terms.views}
    columns["feature" if len(kinds) > 1 else "bit" if kinds == {True} else "output"] = (counted.feature - first)[kept]
    columns |= {"count": counted.count[kept], "reports": reports[which][kept]}
    about = {"campaign": terms.title, "campaign_id": campaign.id.hex(), "table_version": counted.version}
    table = pa.table(columns).replace_schema_metadata({"halftruth": json.dumps(about)})
    inside = int(reports[enough].sum())
    return Exported(table, inside, len(np.unique(cells[0][enough])), whole - inside, counted.version)


def _devices(terms: Campaign, tally: Tally, place: int) -> int:
    """How many devices there are at least in a period, and in the class or view at ``place``."""
    return devices_of(within(terms, tally, terms.classes[place])[1] if terms.classes else tally.by_view[place])


def _places(terms: Campaign, counted: Counts) -> tuple[Integers, Integers]:
    """The class or view that each output is of, and the first output of that class or view."""
    if not terms.classes:
        return counted.view, np.zeros_like(counted.view)
    sizes = [channel.outputs for channel in class_channels(terms.channel, len(terms.classes))]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    place = np.searchsorted(starts, counted.feature, side="right") - 1
    return place, starts[place]
