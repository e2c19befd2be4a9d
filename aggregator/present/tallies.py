"""Tallies as a table for other programs: Parquet and CSV.

A row has only the number of reports with one output in a period. So no row names a device, and no column links two
reports of a device. Periods with too few devices are left out; only the number of their reports is given.
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
from aggregator.estimate.classes import campaign_of_class
from aggregator.estimate.minimum import devices_of, error_for_no_part
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import Integers
from aggregator.present.document import cell
from protocol.campaign import Campaign, SignedCampaign

WRITERS: Mapping[str, Callable[[pa.Table, IO[bytes]], None]] = {
    ".parquet": lambda table, file: pa_parquet.write_table(table, file),
    ".csv": lambda table, file: pa_csv.write_csv(_without_formulas(table), file),
}
"""Functions that write a table to a file, by the ending of its name."""


def _without_formulas(table: pa.Table) -> pa.Table:
    """Return the table with its texts escaped, so that no spreadsheet reads them as formulas; see ``document.cell``."""
    for index, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(index, field, pa.array(map(cell, table.column(index).to_pylist()), pa.string()))
    return table


@dataclass(frozen=True)
class ExportedTallies:
    """A table of tallies.

    Attributes:
        table: columns ``period``; ``class``, if the campaign has classes; ``view``, counted from 0, if it has several
            views; ``output``, or ``bit`` if a report is a bit vector (``feature`` if that depends on the view);
            ``count``, the number of reports with this output; and ``reports``, the number of all reports of that period
            (and class and view). If a report can have several outputs, both count outputs. An output that did not
            occur has no row.
        reports, periods: numbers of reports and periods in the table.
        withheld: number of reports left out, in periods (or classes or views) with fewer devices than the campaign's
            minimum.
        version: the version of the study's report table.
    """

    table: pa.Table
    reports: int
    periods: int
    withheld: int
    version: int

    def as_json(self) -> dict[str, Any]:
        """Return a summary of the table."""
        return {
            "rows": self.table.num_rows,
            "columns": self.table.column_names,
            "reports": self.reports,
            "periods": self.periods,
            "withheld": self.withheld,
            "table_version": self.version,
        }


def tallies_table(signed: SignedCampaign, counted: Counts, tallies: Mapping[int, Tally]) -> ExportedTallies:
    """Return the tallies of a campaign by period, and by class and view if it has several.

    The schema's metadata has the campaign's id and title and the version of the study's table, as JSON under
    ``halftruth``.

    Args:
        tallies: the tally of each period by groups of devices, if a device may have several reports in a period;
            otherwise empty.
    Raises:
        NotEnough: no period (and class and view) has the campaign's minimum number of devices.
    """
    campaign = signed.campaign
    place, first = _places(campaign, counted)
    cells, cell_of_row = np.unique(np.stack([counted.period, counted.view, place]), axis=1, return_inverse=True)
    if campaign.classes:
        reports = np.bincount(cell_of_row, weights=counted.count, minlength=cells.shape[1]).astype(np.int64)
    else:
        reports = np.array([counted.reports[period, view] for period, view, _ in cells.T.tolist()], dtype=np.int64)
    devices = reports
    if tallies:
        devices = np.array([_devices(campaign, tallies[period], *cell) for period, *cell in cells.T.tolist()])
    enough = devices >= campaign.minimum_devices
    total = sum(counted.reports.values())
    if not enough.any():
        parts = ["period", *["class"] * bool(campaign.classes), *["view"] * (len(campaign.views) > 1)]
        raise error_for_no_part(campaign, "period" if len(parts) == 1 else f"combination of {' and '.join(parts)}")
    included = enough[cell_of_row]
    columns: dict[str, Any] = {"period": counted.period[included]}
    if campaign.classes:
        columns["class"] = np.array(campaign.classes, dtype=object)[place[included]]
    if len(campaign.views) > 1:
        columns["view"] = counted.view[included]
    kinds = {view.channel.unary for view in campaign.views}
    outputs = (counted.feature - first)[included]
    columns["feature" if len(kinds) > 1 else "bit" if kinds == {True} else "output"] = outputs
    columns |= {"count": counted.count[included], "reports": reports[cell_of_row][included]}
    about = {"campaign": campaign.title, "campaign_id": signed.id.hex(), "table_version": counted.version}
    table = pa.table(columns).replace_schema_metadata({"halftruth": json.dumps(about)})
    inside = int(reports[enough].sum())
    return ExportedTallies(table, inside, len(np.unique(cells[0][enough])), total - inside, counted.version)


def _devices(campaign: Campaign, tally: Tally, view: int, place: int) -> int:
    """Return a lower bound on the number of devices behind the reports of a view; in a campaign with classes, of the
    class at ``place``."""
    return devices_of(
        (campaign_of_class(campaign, tally, campaign.classes[place])[1] if campaign.classes else tally).by_view[view]
    )


def _places(campaign: Campaign, counted: Counts) -> tuple[Integers, Integers]:
    """Return the class of each output, and the first output of this class in the view; zeros without classes."""
    place, first = np.zeros_like(counted.view), np.zeros_like(counted.view)
    for view in range(len(campaign.views)) if campaign.classes else ():
        sizes = [campaign.channel_of(of_class, view).output_count for of_class in range(len(campaign.classes))]
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        mine = counted.view == view
        place[mine] = np.searchsorted(starts, counted.feature[mine], side="right") - 1
        first[mine] = starts[place[mine]]
    return place, first
