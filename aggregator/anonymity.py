"""k-anonymity and l-diversity of a release: a table of rows, or the reports of a study.

Rows with equal known columns form an equivalence class; k is the size of the smallest equivalence class, l the smallest
number of different sensitive values in an equivalence class. Both numbers describe one release, not the mechanism that
made it. They promise nothing against an observer who knows more than the known columns, and do not replace a privacy
level.

Source: Wang, Qin, Qiu 2023, Def. 3 and 4 (Samarati and Sweeney 1998; Machanavajjhala et al. 2007, distinct
l-diversity).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, csv, parquet

from aggregator.author.audit import MAX_STEPS
from aggregator.estimate.personal import PersonalTally
from aggregator.estimate.tally import Tally
from aggregator.estimate.transcript import SILENT, TranscriptTally
from protocol import exact
from protocol.channels import Channel
from protocol.errors import BadData
from protocol.keys import SIGNING_KEY_START
from protocol.spelling import repeated


class ReleaseError(BadData):
    """k-anonymity or l-diversity cannot be computed; the text names the reason."""

    stage = "release"


@dataclass(frozen=True)
class Release:
    """k-anonymity and l-diversity of a release.

    Attributes:
        rows: the number of rows or reports; with transcripts, of devices.
        equivalence_classes: the number of equivalence classes.
        k: the number of rows of the smallest equivalence class; 0 without rows.
        smallest: the values that define a smallest equivalence class, by known column; for reports the "output", with
            the "view" and the declared "prior" and "level" if devices have them; with transcripts the "outputs" of all
            periods. Empty without rows.
        l: the smallest number of different sensitive values in an equivalence class; 0 without rows, None without a
            sensitive column.
        least_diverse: the values that define an equivalence class with ``l`` sensitive values, as in ``smallest``;
            empty if ``l`` is 0 or None.
    """

    rows: int
    equivalence_classes: int
    k: int
    smallest: dict[str, str]
    l: int | None  # noqa: E741  # the letter of l-diversity
    least_diverse: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        return dict(vars(self))


def anonymity_of_table(path: Path, known: Sequence[str], sensitive: str | None = None) -> Release:
    """Return the k-anonymity of a CSV (with a header) or Parquet file, and its l-diversity.

    An empty cell counts as a value. CSV cells are compared as text.

    Args:
        known: the quasi-identifiers, columns that an observer may know about a person.
        sensitive: the column that must not become known; None for no l-diversity.
    Raises:
        ReleaseError: no column is known, a column is named twice or not in the file exactly once, or the file is
            neither CSV nor Parquet.
        OSError: the file cannot be opened.
    """
    if not known:
        raise ReleaseError("no known column is named: name at least one that an observer may know")
    if sensitive in known:
        raise ReleaseError(f"column {sensitive!r} cannot be both known and sensitive: name two columns")
    columns = [*known, *([] if sensitive is None else [sensitive])]
    if (name := repeated(columns)) is not None:
        raise ReleaseError(f"the known column {name[:40]!r} is named twice: name each once")
    table = _read(path, columns)
    if not table.num_rows:
        return Release(0, 0, 0, {}, None if sensitive is None else 0, {})
    counted = table.append_column(pa.field("", pa.int8()), pa.nulls(table.num_rows, pa.int8()))
    aggregations = [("", "count", compute.CountOptions(mode="all"))]
    if sensitive is not None:
        aggregations.append((sensitive, "count_distinct", compute.CountOptions(mode="all")))
    groups = counted.group_by(list(known), use_threads=False).aggregate(aggregations)
    sizes = groups.column("_count").to_numpy()
    smallest = int(sizes.argmin())
    diversity = groups.column(f"{sensitive}_count_distinct").to_numpy() if sensitive is not None else None
    least_diverse = smallest if diversity is None else int(diversity.argmin())

    def row(place: int) -> dict[str, str]:
        cells = {name: groups.column(name)[place].as_py() for name in known}
        return {name: "" if cell is None else str(cell) for name, cell in cells.items()}

    return Release(
        table.num_rows,
        groups.num_rows,
        int(sizes[smallest]),
        row(smallest),
        None if diversity is None else int(diversity[least_diverse]),
        {} if diversity is None else row(least_diverse),
    )


def anonymity_of_reports(channel: Channel, tally: Tally) -> Release:
    """Return the local k-anonymity and l-diversity of counted reports.

    Reports with the same output form an equivalence class; its sensitive values are the answers that can give this
    output. If devices declare priors and levels, which are public, the reports of an equivalence class also have
    the same declared prior and level. With transcripts, devices with the same outputs in all periods form an
    equivalence class.

    Raises:
        ReleaseError: the reports are bit vectors, or the channel is too large.
    """
    if channel.unary:
        raise ReleaseError(
            "k-anonymity cannot be computed: the reports are bit vectors and counted bit by bit, so the number of "
            "equal reports is unknown. It can be computed only for a mechanism whose reports are not bit vectors"
        )
    outputs = np.flatnonzero(tally.counts)
    if not len(outputs):
        return Release(0, 0, 0, {}, 0, {})
    smallest = int(outputs[tally.counts[outputs].argmin()])
    inputs = range(channel.input_count)
    # If the loss is finite (its denominator is above 0), every answer can give every possible output.
    if channel.loss(inputs, inputs).denominator:
        fewest, least_diverse = channel.input_count, smallest
    elif len(outputs) * channel.input_count > MAX_STEPS:
        raise ReleaseError(
            "l-diversity cannot be computed: the channel is too large to find the answers that can give each output. "
            "It can be computed only for a campaign with fewer values or fewer different outputs"
        )
    else:
        fewest, least_diverse = min((sum(channel.weight(x, int(y)) > 0 for x in inputs), int(y)) for y in outputs)
    return Release(
        int(tally.counts.sum()),
        len(outputs),
        int(tally.counts[smallest]),
        _of_reports(channel, tally, smallest),
        fewest,
        _of_reports(channel, tally, least_diverse),
    )


def _of_reports(channel: Channel, tally: Tally, place: int) -> dict[str, str]:
    """Return the values that define the equivalence class of the reports that are counted at ``place`` of a tally."""
    if isinstance(tally, TranscriptTally):
        return {"outputs": ", ".join("none" if y == SILENT else str(y) for y in tally.chains[place].tolist())}
    if isinstance(tally, PersonalTally):
        declaration, output = divmod(place, channel.output_count)
        level, *weights = tally.declared[declaration].tolist()
        declared = {"prior": ", ".join(map(str, weights)), "level": exact.in_nats(level)}
        return declared | {"output": str(output)}
    return {"output": str(place)}


def _read(path: Path, columns: Sequence[str]) -> pa.Table:
    try:
        with path.open("rb") as file:
            start = file.read(len(SIGNING_KEY_START))
        if start == SIGNING_KEY_START.encode():
            raise ReleaseError(f"{path.name} is a secret key file: name a CSV or Parquet file")
        is_parquet = start.startswith(b"PAR1")
        if is_parquet:
            present = parquet.read_schema(path).names
            _require(path, columns, present)
            return parquet.read_table(path, columns=list(columns))
        text = csv.ConvertOptions(column_types={name: pa.string() for name in columns}, strings_can_be_null=False)
        table = csv.read_csv(path, parse_options=csv.ParseOptions(newlines_in_values=True), convert_options=text)
    except pa.ArrowException:  # its text quotes a row
        raise ReleaseError(
            f"{path.name} cannot be read: name a Parquet file, or a CSV file in UTF-8 in which every row has as many "
            "cells as the header"
        ) from None
    _require(path, columns, table.column_names)
    return table.select(list(columns))


def _require(path: Path, columns: Sequence[str], present: Sequence[str]) -> None:
    for name in columns:
        if present.count(name) != 1:
            # The columns are not listed, because the first row of a CSV file without a header is a person's.
            number = "no" if name not in present else "more than one"
            raise ReleaseError(
                f"{path.name} has {number} column {name[:40]!r}: name a column that its header has once; the header "
                "is the first row of a CSV file"
            )


def anonymity_of_views(channels: Sequence[Channel], tallies: Sequence[Tally]) -> Release:
    """Return the local k-anonymity and l-diversity of counted reports of several views.

    A device's key reveals its view, so an equivalence class consists of the reports with the same view and output.

    Raises:
        ReleaseError: as in ``anonymity_of_reports``.
    """
    releases = [anonymity_of_reports(channel, tally) for channel, tally in zip(channels, tallies, strict=True)]
    if len(releases) == 1:
        return releases[0]
    places = [place for place, release in enumerate(releases) if release.rows]
    if not places:
        return releases[0]
    small = min(places, key=lambda place: releases[place].k)
    lowest = min(places, key=lambda place: releases[place].l or 0)
    return Release(
        sum(release.rows for release in releases),
        sum(release.equivalence_classes for release in releases),
        releases[small].k,
        {"view": str(small)} | releases[small].smallest,
        releases[lowest].l,
        {"view": str(lowest)} | releases[lowest].least_diverse,
    )
