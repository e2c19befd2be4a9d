"""Tallies of a study: queries on its table of reports.

A query first chooses rows: those of one period, or those of each device's latest period. A tally counts the chosen rows
by view, and by output, bit, declared prior or group of devices. Every choice of rows can be combined with every way of
counting, except with transcripts: they need all rows, because a report is decoded after the device's earlier ones.

``intake`` adds the rows, and ``estimate`` computes estimates from tallies. With ``engines``, several workers compute a
tally, each for a part of the keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from aggregator.estimate.tally import Tally, ViewsTally
from aggregator.intake import columns, enrolments
from aggregator.intake.columns import Integers
from aggregator.storage import tables
from aggregator.storage.tables import StudyError
from protocol.campaign import Campaign, SignedCampaign
from protocol.channels import Channel
from protocol.notions.declared_prior import DeclaredPrior

if TYPE_CHECKING:
    from aggregator.estimate.groups import Groups
    from aggregator.estimate.personal import PersonalTally
    from aggregator.estimate.transcript import TranscriptTally
    from aggregator.holdings import Holdings


@dataclass(frozen=True)
class Counts:
    """The counted outputs of a campaign by period and view, with a row for each feature whose count is above 0.

    Attributes:
        period, view, feature, count: (r,) columns, sorted in this order; a feature belongs to the channel of its view.
        reports: the number of outputs by (period, view).
        version: the version of the report table.
    """

    period: Integers
    view: Integers
    feature: Integers
    count: Integers
    reports: Mapping[tuple[int, int], int]
    version: int

    @property
    def periods(self) -> list[int]:
        """The periods that have outputs."""
        return sorted({period for period, _ in self.reports})


@dataclass(frozen=True)
class Counting:
    """The counted reports of one campaign.

    Attributes:
        study: provides the registered keys and the counts of refused envelopes.
        signed: the campaign whose reports are counted.
        table: a snapshot of the report table, or a part of one.
    """

    study: Holdings
    signed: SignedCampaign
    table: DeltaTable

    @property
    def campaign(self) -> Campaign:
        """The campaign, without its signature."""
        return self.signed.campaign

    @property
    def id(self) -> str:
        """The campaign's id in hex."""
        return self.signed.id.hex()

    def tally(self, period: int | None) -> Tally:
        """Compute the tally that ``Study.tally`` returns."""
        if self.campaign.transcript:
            return self._transcripts(period)
        counted = periods(self.table, self.id)
        if period is None and len(counted) == 1:
            (period,) = counted
        return self._tally(self._chosen(period), grouped=self.campaign.answers_per_period > 1)

    def spans(self, spans: Sequence[tuple[int, int]]) -> Iterator[Tally]:
        """Compute the tallies that ``Study.spans`` yields.

        Raises:
            StudyError: a span of several periods, with transcripts.
        """
        if self.campaign.transcript:
            if any(first != last for first, last in spans):
                raise StudyError(
                    "reports of several periods cannot be counted together in a campaign with transcripts: select "
                    "single periods"
                )
            return (self._transcripts(first, grouped=True) for first, _ in spans)
        chosen = [
            self._chosen(first) if first == last else _SPAN.format(campaign=self.id, first=int(first), last=int(last))
            for first, last in spans
        ]
        return (self._tally(selection, grouped=True) for selection in chosen)

    def counts(self) -> Counts:
        """Compute the counts that ``Study.counts`` returns."""
        sent = tables.query(self.table, _BY_PERIOD.format(campaign=self.id)).to_pylist()
        reports = {(row["period"], row["view"]): row["n"] for row in sent}
        rows = [np.zeros((4, 0), dtype=np.int64)]
        if not all(channel.unary for channel in self._channels):
            numbers = tables.query(self.table, _COUNTS.format(campaign=self.id))
            rows.append(np.array([numbers[name].to_numpy() for name in ("period", "view", "output", "n")]))
        for period in sorted({period for period, _ in reports}):
            ones: dict[int, Integers] = {}
            for view, outputs in self._words(self._chosen(period), _WORDS):
                features = self._channels[view].features
                ones[view] = ones.get(view, 0) + columns.count_ones(outputs["word"], features)
            for view, counts in ones.items():
                bit = np.flatnonzero(counts)
                rows.append(np.array([np.full_like(bit, period), np.full_like(bit, view), bit, counts[bit]]))
        table = np.concatenate(rows, axis=1)
        period, view, feature, count = table[:, np.lexsort(table[2::-1])]
        return Counts(period, view, feature, count, reports, self.table.version())

    def _chosen(self, period: int | None) -> str:
        """Return the first part of a query, which chooses the rows of a period, or of each device's latest period."""
        if period is None:
            return _LATEST.format(campaign=self.id)
        return _OF_PERIOD.format(campaign=self.id, period=int(period))

    def _tally(self, selection: str, *, grouped: bool) -> Tally:
        """Return the tally of the rows that the query part ``selection`` chooses."""
        if isinstance(self.campaign.notion, DeclaredPrior):
            return self._personal(selection, grouped=grouped)
        counts, reports = self._counted(selection)
        groups = self._groups(selection, reports) if grouped else [None] * len(counts)
        version, refused = self.table.version(), MappingProxyType(self.study.refused(self.signed))
        parts = [
            Tally(view_counts, int(n), refused, version, groups=group)
            for view_counts, n, group in zip(counts, reports, groups, strict=True)
        ]
        return parts[0] if len(parts) == 1 else ViewsTally.of_parts(parts, refused, version)

    @property
    def _channels(self) -> list[Channel]:
        """The channel of each view."""
        return [view.channel for view in self.campaign.views]

    def _numbers(self, selection: str, query: str) -> Iterator[tuple[int, pa.Table]]:
        """Yield the result of a query on outputs that are numbers, by view.

        Args:
            selection: the query part that chooses rows.
            query: the query on the chosen rows, with a column view.
        """
        if all(channel.unary for channel in self._channels):
            return
        yield from _by_view(tables.query(self.table, f"{selection} {query}"))

    def _words(self, selection: str, query: str) -> Iterator[tuple[int, pa.Table]]:
        """Yield the results of a query on outputs that are bit vectors, in parts of one view each.

        Args:
            selection, query: as in ``_numbers``.
        """
        if not any(channel.unary for channel in self._channels):
            return
        for batch in tables.stream(self.table, f"{selection} {query}"):
            yield from _by_view(pa.table(batch))

    def _counted(self, selection: str) -> tuple[list[Integers], Integers]:
        """Return the counts of the features of each view, and the number of outputs of each view, (J,)."""
        counts = [np.zeros(channel.features, dtype=np.int64) for channel in self._channels]
        reports = np.zeros(len(counts), dtype=np.int64)
        for view, outputs in self._numbers(selection, _OUTPUTS):
            counts[view][outputs["output"].to_numpy()] = outputs["n"].to_numpy()
            reports[view] = counts[view].sum()
        for view, outputs in self._words(selection, _WORDS):
            counts[view] += columns.count_ones(outputs["word"], len(counts[view]))
            reports[view] += outputs.num_rows
        return counts, reports

    def _groups(self, selection: str, reports: Integers) -> list[Groups]:
        """Return the counts of each view by group of devices.

        Args:
            reports: (J,) the number of outputs of each view.
        """
        from aggregator.estimate.groups import GROUPS, Groups  # imported here because an ingest needs no estimators

        nothing = np.zeros(0, dtype=np.int64)
        devices, max_outputs = self._devices(selection, reports)
        groups = [
            Groups.of(nothing, nothing, nothing, int(device_count), int(max_count))
            for device_count, max_count in zip(devices, max_outputs, strict=True)
        ]
        for view, outputs in self._numbers(selection, _PARTS.format(last=GROUPS - 1)):
            part, output, times = (outputs[name].to_numpy() for name in ("part", "output", "n"))
            groups[view] = Groups.of(part, output, times, groups[view].devices, groups[view].max_outputs)
        ones: dict[int, tuple[Integers, Integers]] = {}
        for view, outputs in self._words(selection, _WORD_PARTS.format(last=GROUPS - 1)):
            features = self._channels[view].features
            counts, sent = ones.setdefault(
                view, (np.zeros((GROUPS, features), dtype=np.int64), np.zeros(GROUPS, dtype=np.int64))
            )
            parts = outputs["part"].to_numpy()
            sent += np.bincount(parts, minlength=GROUPS)
            for part in np.unique(parts):
                words = outputs["word"].cast(pa.binary()).take(pa.array(np.flatnonzero(parts == part)))
                counts[part] += columns.count_ones(words, features)
        for view, (counts, sent) in ones.items():
            part, bit = np.nonzero(counts)
            groups[view] = Groups(part, bit, counts[part, bit], sent, groups[view].devices, groups[view].max_outputs)
        return groups

    def _devices(self, selection: str, reports: Integers) -> tuple[Integers, Integers]:
        """Return the number of devices of each view, (J,), and the largest number of outputs of one device, (J,).

        Args:
            reports: (J,) the number of outputs of each view.
        """
        if self.campaign.answers_per_period == 1:
            return reports, np.minimum(reports, 1)
        devices, max_outputs = np.zeros_like(reports), np.zeros_like(reports)
        for row in tables.query(self.table, f"{selection} {_SIZES}").to_pylist():
            devices[row["view"]], max_outputs[row["view"]] = row["devices"], row["max_outputs"]
        return devices, max_outputs

    def _row_of(self, written: bytes) -> tuple[int, ...]:
        prior, level = enrolments.decoded_declaration(written)
        return (level or self.campaign.notion.level, *prior)

    def _transcripts(self, only: int | None, *, grouped: bool = False) -> TranscriptTally:
        """Return the number of devices by transcript. All reports are read, because a report is decoded after the
        device's earlier ones."""
        from aggregator.estimate.groups import GROUPS, Groups  # imported here because an ingest needs no estimators
        from aggregator.estimate.transcript import TranscriptTally, transcripts

        outputs = tables.query(self.table, _ALL.format(campaign=self.id))
        rows = [outputs[name].to_numpy().astype(np.int64) for name in ("key", "period", "slot", "output")]
        keys, devices, lost = transcripts(rows[0], rows[1], rows[2], rows[3], self.campaign.periods, only)
        chains, chain_index, counts = np.unique(devices, axis=0, return_inverse=True, return_counts=True)
        groups = Groups.of(keys & (GROUPS - 1), chain_index, np.ones_like(keys), len(keys), 1) if grouped else None
        refused = MappingProxyType(self.study.refused(self.signed))
        return TranscriptTally(counts, len(keys), refused, self.table.version(), chains, lost, only, groups=groups)

    def _personal(self, selection: str, *, grouped: bool) -> PersonalTally:
        """Return the counts of outputs by the prior that the key declared; if ``grouped``, also by group of devices.

        The possible outputs of a device depend on its declaration, so impossible outputs are refused here, as bad
        outputs.
        """
        # The imports are here because an ingest needs no estimators.
        from aggregator.estimate.groups import GROUPS, Groups
        from aggregator.estimate.personal import PersonalTally, possible_outputs

        table = tables.query(self.table, f"{selection} {_OF_KEYS}")
        key, output, times = (table[name].to_numpy() for name in ("key", "output", "n"))
        registry = self.study.registry(self.id)
        positions, _ = registry.find(key)  # the key of every counted report is registered
        declared = [] if registry.prior is None else registry.prior[positions].tolist()
        # The order of rows is not fixed, so the declared priors are sorted.
        places = {written: place for place, written in enumerate(sorted(set(declared)))}
        declaration_index = np.array([places[written] for written in declared], dtype=np.int64)
        size, output_count = self.campaign.domain.size, self.campaign.channel.output_count
        rows_of = np.array([self._row_of(written) for written in places], dtype=np.int64).reshape(-1, 1 + size)
        counts = np.zeros((len(rows_of), output_count), dtype=np.int64)
        np.add.at(counts, (declaration_index, output), times)
        allowed = possible_outputs(self.campaign, rows_of)
        by_reason = Counter(self.study.refused(self.signed))
        if bad := int(counts[~allowed].sum()):
            by_reason["bad-output"] += bad
            counts[~allowed] = 0
        reports, groups = int(counts.sum()), None
        if grouped:
            devices, max_outputs = self._devices(selection, np.array([reports]))
            valid, cells = allowed[declaration_index, output], declaration_index * output_count + output
            part = key & (GROUPS - 1)
            groups = Groups.of(part[valid], cells[valid], times[valid], int(devices[0]), int(max_outputs[0]))
        refused = MappingProxyType(dict(by_reason))
        return PersonalTally(counts.ravel(), reports, refused, self.table.version(), rows_of, groups=groups)


def periods(table: DeltaTable, campaign: str) -> dict[int, int]:
    """Return the number of outputs by period.

    Args:
        table: the report table.
        campaign: the campaign's id, in hex.
    """
    rows = tables.query(table, _PERIODS.format(campaign=campaign))
    return dict(zip(rows["period"].to_pylist(), rows["n"].to_pylist(), strict=True))


def devices_by_view(table: DeltaTable, signed: SignedCampaign) -> Integers:
    """Return the number of devices with counted reports for each view of a campaign, (J,)."""
    devices = np.zeros(len(signed.campaign.views), dtype=np.int64)
    rows = tables.query(table, _VIEWS.format(campaign=signed.id.hex()))
    devices[rows["view"].to_numpy()] = rows["n"].to_numpy()
    return devices


def _by_view(rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Yield the rows of each view that has rows, with the view's position."""
    view = rows["view"].to_numpy()
    places = np.unique(view).tolist()
    if len(places) == 1:
        yield places[0], rows
        return
    if "word" in rows.column_names:  # the type of this column does not support take
        rows = rows.set_column(rows.column_names.index("word"), "word", rows["word"].cast(pa.binary()))
    for place in places:
        yield place, rows.take(pa.array(np.flatnonzero(view == place)))


def outputs_under(table: DeltaTable, campaign: str, keys: Integers, since: int) -> int:
    """Return the number of outputs under the given keys in period ``since`` and later periods.

    Args:
        table: the report table.
        campaign: the campaign's id, in hex.
        keys: (n,) key ids.
        since: the first period that counts.
    """
    rows = tables.stream(table, _SINCE.format(campaign=campaign, period=int(since)))
    return sum(int(np.isin(batch["key"].to_numpy(), keys).sum()) for batch in rows)


# Campaign ids are hex digits and periods are integers, so no outside text gets into a query. "view" is a keyword of
# SQL, so the column is quoted.
_OF_PERIOD = "WITH chosen AS (SELECT * FROM rows WHERE campaign = '{campaign}' AND period = {period})"
_FROM = """
    WITH mine AS (SELECT * FROM rows WHERE campaign = '{campaign}'{span}),
         latest AS (SELECT key, max(period) AS period FROM mine GROUP BY key),
         chosen AS (SELECT mine.* FROM mine JOIN latest ON mine.key = latest.key AND mine.period = latest.period)
"""
_LATEST = _FROM.replace("{span}", "")
_SPAN = _FROM.replace("{span}", " AND period BETWEEN {first} AND {last}")
_OUTPUTS = 'SELECT "view", output, count(*) AS n FROM chosen WHERE word IS NULL GROUP BY "view", output'
_OF_KEYS = "SELECT key, output, count(*) AS n FROM chosen GROUP BY key, output"
_WORDS = 'SELECT "view", word FROM chosen WHERE word IS NOT NULL'
_PARTS = """
    SELECT "view", key & {last} AS part, output, count(*) AS n FROM chosen WHERE word IS NULL
    GROUP BY "view", key & {last}, output
"""
_WORD_PARTS = 'SELECT "view", key & {last} AS part, word FROM chosen WHERE word IS NOT NULL'
_SIZES = """
    SELECT "view", count(*) AS devices, max(n) AS max_outputs
    FROM (SELECT "view", count(*) AS n FROM chosen GROUP BY "view", key) GROUP BY "view"
"""
_ALL = "SELECT key, period, slot, output FROM rows WHERE campaign = '{campaign}'"
_COUNTS = """
    SELECT period, "view", output, count(*) AS n FROM rows WHERE campaign = '{campaign}' AND word IS NULL
    GROUP BY period, "view", output
"""
_PERIODS = "SELECT period, count(*) AS n FROM rows WHERE campaign = '{campaign}' GROUP BY period ORDER BY period"
_BY_PERIOD = """
    SELECT period, "view", count(*) AS n FROM rows WHERE campaign = '{campaign}' GROUP BY period, "view"
"""
_VIEWS = """
    SELECT "view", count(DISTINCT key) AS n FROM rows WHERE campaign = '{campaign}' GROUP BY "view"
"""
_SINCE = "SELECT key FROM rows WHERE campaign = '{campaign}' AND period >= {period}"
