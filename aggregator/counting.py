"""What a study has counted, as tallies: queries on its table of reports.

A query first chooses rows (those of a period, or of each device those of its latest period), and a tally is the chosen
rows counted by what they say. So every way to choose goes with every way to count: by output, by bit, by declared
prior, by group of devices. Transcripts alone are read whole and in order.

What a tally tells: estimate. How rows came in: intake. Tallies of some keys only, on workers: engines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from aggregator.estimate.tally import Tally
from aggregator.intake import columns, enrolments
from aggregator.intake.columns import Integers
from aggregator.storage import tables
from aggregator.storage.tables import StudyError
from protocol.campaign import Campaign, SignedCampaign
from protocol.notions.own import OwnPrior

if TYPE_CHECKING:
    from aggregator.estimate.groups import Groups
    from aggregator.estimate.personal import PersonalTally
    from aggregator.estimate.transcript import TranscriptTally
    from aggregator.holdings import Holdings


@dataclass(frozen=True)
class Counts:
    """The counted outputs of a campaign by period; a row for each feature that came in a period.

    Attributes:
        period, feature, count: (r,) of each row, by increasing period, then feature.
        reports: outputs of each period.
        version: of the report table.
    """

    period: Integers
    feature: Integers
    count: Integers
    reports: Mapping[int, int]
    version: int


@dataclass(frozen=True)
class Counting:
    """The counted reports of one campaign.

    Attributes:
        study: whose keys, and what was refused, go into a tally.
        table: a snapshot of its reports, or a part of one.
    """

    study: Holdings
    campaign: SignedCampaign
    table: DeltaTable

    @property
    def terms(self) -> Campaign:
        """The campaign's."""
        return self.campaign.terms

    @property
    def name(self) -> str:
        """The campaign's id in hex."""
        return self.campaign.id.hex()

    def tally(self, period: int | None) -> Tally:
        """As ``Study.tally``."""
        if self.terms.transcript:
            return self._transcripts(period)
        counted = periods(self.table, self.name)
        if period is None and len(counted) == 1:
            (period,) = counted
        return self._tally(self._chosen(period), grouped=self.terms.answers_per_period > 1)

    def spans(self, spans: Sequence[tuple[int, int]]) -> Iterator[Tally]:
        """As ``Study.spans``."""
        if self.terms.transcript:
            if any(first != last for first, last in spans):
                raise StudyError("with transcripts each period is decoded by itself: name single periods")
            return (self._transcripts(first, grouped=True) for first, _ in spans)
        chosen = [
            self._chosen(first) if first == last else _SPAN.format(campaign=self.name, first=int(first), last=int(last))
            for first, last in spans
        ]
        return (self._tally(rows, grouped=True) for rows in chosen)

    def counts(self) -> Counts:
        """As ``Study.counts``."""
        channel, reports = self.terms.channel, periods(self.table, self.name)
        if not channel.unary:
            found = tables.query(self.table, _COUNTS.format(campaign=self.name))
            period, feature, count = (found[one].to_numpy().astype(np.int64) for one in ("period", "output", "n"))
            return Counts(period, feature, count, reports, self.table.version())
        ones = np.zeros((len(reports), channel.features), dtype=np.int64)
        for row, number in enumerate(reports):
            for batch in tables.stream(self.table, f"{self._chosen(number)} {_WORDS}"):
                ones[row] += columns.ones(batch["word"], channel.features)
        at, feature = np.nonzero(ones)
        period = np.array(list(reports), dtype=np.int64)[at]
        return Counts(period, feature, ones[at, feature], reports, self.table.version())

    def _chosen(self, period: int | None) -> str:
        """The beginning of a query that calls rows chosen: of a period, or of each device of its latest."""
        if period is None:
            return _LATEST.format(campaign=self.name)
        return _OF_PERIOD.format(campaign=self.name, period=int(period))

    def _tally(self, rows: str, *, grouped: bool) -> Tally:
        """The tally of the rows that ``rows`` calls chosen."""
        if isinstance(self.terms.notion, OwnPrior):
            found: Tally = self._personal(rows)
        else:
            found = self._counted(rows)
        return replace(found, groups=self._groups(rows, found)) if grouped else found

    def _counted(self, rows: str) -> Tally:
        """The counted outputs, whoever sent them."""
        counts, reports = np.zeros(self.terms.channel.features, dtype=np.int64), 0
        if self.terms.channel.unary:
            for batch in tables.stream(self.table, f"{rows} {_WORDS}"):
                counts += columns.ones(batch["word"], len(counts))
                reports += batch.num_rows
        else:
            found = tables.query(self.table, f"{rows} {_OUTPUTS}")
            counts[found["output"].to_numpy()] = found["n"].to_numpy()
            reports = int(counts.sum())
        return Tally(counts, reports, MappingProxyType(self.study.rejected(self.campaign)), self.table.version())

    def _groups(self, rows: str, tally: Tally) -> Groups:
        """The rows that a tally counts by group of devices."""
        from aggregator.estimate.groups import GROUPS, Groups  # an ingest needs no estimators
        from aggregator.estimate.personal import PersonalTally, possible

        devices, most = tally.reports, min(tally.reports, 1)
        if self.terms.answers_per_period > 1:
            sizes = tables.query(self.table, f"{rows} {_SIZES}").to_pylist()[0]
            devices, most = sizes["devices"], sizes["most"] or 0
        if isinstance(tally, PersonalTally):
            found = tables.query(self.table, f"{rows} {_OF_KEYS}")
            key, output, times = (found[name].to_numpy() for name in ("key", "output", "n"))
            places = {tuple(prior): place for place, prior in enumerate(tally.priors.tolist())}
            which = np.array([places[prior] for prior in self._declared(key)], dtype=np.int64)
            kept = possible(self.terms, tally.priors)[which, output]
            at = which * self.terms.channel.outputs + output
            return Groups.of((key & (GROUPS - 1))[kept], at[kept], times[kept], devices, most)
        if not self.terms.channel.unary:
            sql = f"{rows} SELECT key & {GROUPS - 1} AS part, output, count(*) AS n FROM chosen GROUP BY 1, 2"  # noqa: S608
            found = tables.query(self.table, sql)
            part, output, times = (found[name].to_numpy() for name in ("part", "output", "n"))
            return Groups.of(part, output, times, devices, most)
        counts = np.zeros((GROUPS, self.terms.channel.features), dtype=np.int64)
        reports = np.zeros(GROUPS, dtype=np.int64)
        for batch in tables.stream(self.table, f"{rows} SELECT key & {GROUPS - 1} AS part, word FROM chosen"):  # noqa: S608
            parts = batch["part"].to_numpy()
            reports += np.bincount(parts, minlength=GROUPS)
            for part in np.unique(parts):
                words = batch["word"].cast(pa.binary()).take(pa.array(np.flatnonzero(parts == part)))
                counts[part] += columns.ones(words, counts.shape[1])
        part, bit = np.nonzero(counts)
        return Groups(part, bit, counts[part, bit], reports, devices, most)

    def _declared(self, key: Integers) -> list[tuple[int, ...]]:
        """The prior that each key declared."""
        registry = self.study.registry(self.name)
        at, _ = registry.find(key)  # every counted report is of a registered key
        written = [] if registry.prior is None else registry.prior[at].tolist()
        priors = {one: tuple(enrolments.prior_of(one)) for one in set(written)}
        return [priors[one] for one in written]

    def _transcripts(self, only: int | None, *, grouped: bool = False) -> TranscriptTally:
        """The devices by transcript; all reports are read, since each can be decoded only after the earlier ones."""
        from aggregator.estimate.groups import GROUPS, Groups  # an ingest needs no estimators
        from aggregator.estimate.transcript import TranscriptTally, transcripts

        found = tables.query(self.table, _ALL.format(campaign=self.name))
        rows = [found[name].to_numpy().astype(np.int64) for name in ("key", "period", "slot", "output")]
        keys, devices, lost = transcripts(rows[0], rows[1], rows[2], rows[3], self.terms.periods, only)
        chains, which, counts = np.unique(devices, axis=0, return_inverse=True, return_counts=True)
        groups = Groups.of(keys & (GROUPS - 1), which, np.ones_like(keys), len(keys), 1) if grouped else None
        rejected = MappingProxyType(self.study.rejected(self.campaign))
        return TranscriptTally(counts, len(keys), rejected, self.table.version(), chains, lost, only, groups=groups)

    def _personal(self, rows: str) -> PersonalTally:
        """The counted outputs by the prior that the key declared.

        Which outputs a device can make depends on what it declared, so others are refused here, as bad outputs.
        """
        from aggregator.estimate.personal import PersonalTally, possible  # an ingest needs no estimators

        found = tables.query(self.table, f"{rows} {_OF_KEYS}")
        registry = self.study.registry(self.name)
        at, _ = registry.find(found["key"].to_numpy())  # every counted report is of a registered key
        declared = [] if registry.prior is None else registry.prior[at].tolist()
        # Sorted, for rows come in any order.
        places = {written: place for place, written in enumerate(sorted(set(declared)))}
        which = np.array([places[written] for written in declared], dtype=np.int64)
        size = self.terms.domain.size
        priors = np.array([enrolments.prior_of(written) for written in places], dtype=np.int64).reshape(-1, size)
        counts = np.zeros((len(priors), self.terms.channel.outputs), dtype=np.int64)
        np.add.at(counts, (which, found["output"].to_numpy()), found["n"].to_numpy())
        allowed = possible(self.terms, priors)
        rejected = Counter(self.study.rejected(self.campaign))
        if bad := int(counts[~allowed].sum()):
            rejected["bad-output"] += bad
            counts[~allowed] = 0
        refused = MappingProxyType(dict(rejected))
        return PersonalTally(counts.ravel(), int(counts.sum()), refused, self.table.version(), priors)


def periods(table: DeltaTable, campaign: str) -> dict[int, int]:
    """The outputs in each period that has any.

    Args:
        table: of reports.
        campaign: id in hex.
    """
    rows = tables.query(table, _PERIODS.format(campaign=campaign))
    return dict(zip(rows["period"].to_pylist(), rows["n"].to_pylist(), strict=True))


def outputs_under(table: DeltaTable, campaign: str, keys: Integers, since: int) -> int:
    """The outputs under some keys, of a period and later ones.

    Args:
        table: of reports.
        campaign: id in hex.
        keys: (n,) key ids.
    """
    rows = tables.stream(table, _SINCE.format(campaign=campaign, period=int(since)))
    return sum(int(np.isin(batch["key"].to_numpy(), keys).sum()) for batch in rows)


# Campaign ids are hex digits and periods integers, so nothing from outside gets into a query.
_OF_PERIOD = "WITH chosen AS (SELECT * FROM rows WHERE campaign = '{campaign}' AND period = {period})"
_FROM = """
    WITH mine AS (SELECT * FROM rows WHERE campaign = '{campaign}'{span}),
         latest AS (SELECT key, max(period) AS period FROM mine GROUP BY key),
         chosen AS (SELECT mine.* FROM mine JOIN latest ON mine.key = latest.key AND mine.period = latest.period)
"""
_LATEST = _FROM.replace("{span}", "")
_SPAN = _FROM.replace("{span}", " AND period BETWEEN {first} AND {last}")
_OUTPUTS = "SELECT output, count(*) AS n FROM chosen GROUP BY output"
_OF_KEYS = "SELECT key, output, count(*) AS n FROM chosen GROUP BY key, output"
_WORDS = "SELECT word FROM chosen"
_SIZES = "SELECT count(*) AS devices, max(n) AS most FROM (SELECT count(*) AS n FROM chosen GROUP BY key)"
_ALL = "SELECT key, period, slot, output FROM rows WHERE campaign = '{campaign}'"
_COUNTS = """
    SELECT period, output, count(*) AS n FROM rows WHERE campaign = '{campaign}' GROUP BY period, output
    ORDER BY period, output
"""
_PERIODS = "SELECT period, count(*) AS n FROM rows WHERE campaign = '{campaign}' GROUP BY period ORDER BY period"
_SINCE = "SELECT key FROM rows WHERE campaign = '{campaign}' AND period >= {period}"
