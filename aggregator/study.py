"""The study: the aggregator's directory of campaigns, keys and counted reports.

One idea: a study is four append-only Delta tables, each named for what it holds; whoever can read the directory can
read the study, with this or with any other engine. What was counted, counts once and for good.

How files become rows: intake. How a tally becomes an estimate: estimate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from aggregator.estimate.tally import Tally
from aggregator.intake import columns, enrolments, tables
from aggregator.intake.chunk import Chunk, Gathering
from aggregator.intake.columns import Integers
from aggregator.intake.framing import frames
from aggregator.intake.registry import Registry, load
from aggregator.intake.rejects import Reject
from aggregator.intake.signatures import verifier
from aggregator.intake.tables import CAMPAIGNS, KEYS, REJECTS, REPORTS, SCHEMAS, StudyError
from protocol.campaign import SignedCampaign, open_campaign
from protocol.envelope import Kind
from protocol.errors import BadData
from protocol.notions.own import OwnPrior

if TYPE_CHECKING:
    from aggregator.estimate.groups import Groups
    from aggregator.estimate.personal import PersonalTally
    from aggregator.estimate.transcript import TranscriptTally

__all__ = ["CampaignStatus", "Counts", "EnrolResult", "Known", "Listed", "Study", "StudyError"]

MAX_NAME = 100


@dataclass(frozen=True)
class Listed:
    """A campaign as it is listed in the study.

    Attributes:
        name: what the analyst calls it.
        id: in hex.
    """

    name: str
    id: str
    author: bytes = field(repr=False)
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class Known:
    """A campaign of the study, verified and audited."""

    name: str
    campaign: SignedCampaign


@dataclass(frozen=True)
class EnrolResult:
    """What became of a batch of enrolments.

    Attributes:
        added: keys newly registered.
        known: enrolments of keys registered before, or twice in the batch.
        refused: by reject class; "bad-signature" also counts keys that no signature should be trusted under, and keys
            with the key id of another.
    """

    added: int
    known: int
    refused: Mapping[str, int]


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
class CampaignStatus:
    """How one campaign stands.

    Attributes:
        id: in hex.
        opens, closes, open: UTC seconds, and whether devices answer now.
        keys, revoked: keys registered, and how many of them are revoked.
        reports, periods: outputs counted, in all and by period.
        rejected: envelopes refused, by reject class.
    """

    name: str
    id: str
    title: str
    opens: int
    closes: int
    open: bool
    keys: int
    revoked: int
    reports: int
    periods: Mapping[int, int]
    rejected: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form."""
        return {
            "name": self.name,
            "id": self.id,
            "title": self.title,
            "opens": self.opens,
            "closes": self.closes,
            "open": self.open,
            "keys": self.keys,
            "revoked": self.revoked,
            "reports": self.reports,
            "periods": {str(period): reports for period, reports in self.periods.items()},
            "rejected": dict(self.rejected),
        }


class Study:
    """A study in a directory. ``open`` or ``create`` it; every method sees what is committed when it is called."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._opened: dict[str, Known] = {}
        self._registries: dict[str, tuple[int, Registry]] = {}

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r})"

    @classmethod
    def open(cls, path: str | Path) -> Study:
        """The study in a directory.

        Raises:
            StudyError: there is none.
        """
        path = Path(path)
        if not all(tables.exists(path / name) for name in SCHEMAS):
            raise StudyError(f"{path} is not a study; `halftruth --study {path} import CAMPAIGN --trust KEY` makes one")
        return cls(path)

    @classmethod
    def create(cls, path: str | Path) -> Study:
        """The study in a directory, made where there is none.

        Raises:
            StudyError: the directory cannot be written, or holds something else.
        """
        path = Path(path)
        with tables.storage(path / CAMPAIGNS):
            if path.is_dir() and not any(tables.exists(path / name) for name in SCHEMAS) and any(path.iterdir()):
                raise StudyError(f"{path} holds other files: name a new or an empty directory for the study")
            path.mkdir(parents=True, exist_ok=True)
        for name in SCHEMAS:
            tables.create(path / name)
        return cls.open(path)

    # Campaigns.

    def import_campaign(self, data: bytes, trusted: Sequence[bytes], name: str) -> SignedCampaign:
        """Take in a signed campaign, under a name. The same campaign again changes nothing.

        Args:
            trusted: public keys of authors.
            name: 1 to 100 printable characters, none of them a space.
        Raises:
            BadData: not a campaign, or by nobody trusted.
            StudyError: another campaign has the name.
        """
        signed = open_campaign(data, trusted)
        if not 1 <= len(name) <= MAX_NAME or not name.isprintable() or " " in name:
            raise StudyError(f"a campaign's name is 1 to {MAX_NAME} printable characters without spaces")

        def rows(table: DeltaTable) -> pa.Table:
            listed = _listed(table)
            if any(there.id == signed.id.hex() for there in listed):
                return SCHEMAS[CAMPAIGNS].empty_table()
            if any(there.name == name for there in listed):
                raise StudyError(f"the study has another campaign named {name!r}: import this one under another name")
            return pa.table([[signed.id.hex()], [name], [signed.author], [data]], schema=SCHEMAS[CAMPAIGNS])

        tables.append(self.path / CAMPAIGNS, rows)
        return signed

    def listed(self) -> list[Listed]:
        """All campaigns in order of their names, not opened."""
        return sorted(_listed(tables.snapshot(self.path / CAMPAIGNS)), key=lambda listed: listed.name)

    def ids(self) -> tuple[str, ...]:
        """Ids of all campaigns, in hex."""
        return tuple(listed.id for listed in self.listed())

    def campaigns(self) -> list[Known]:
        """All campaigns in order of their names."""
        return [self._open(listed, listed.name) for listed in self.listed()]

    def known(self, campaign: str) -> Known:
        """The campaign with an id in hex.

        Raises:
            StudyError: the study has none.
        """
        if campaign not in self._opened:
            self._open(next((listed for listed in self.listed() if listed.id == campaign), None), campaign)
        return self._opened[campaign]

    def campaign(self, text: str) -> SignedCampaign:
        """The campaign that ``text`` names: its name, its id in hex, or the beginning of one id only.

        Raises:
            StudyError: it names none, or several.
        """
        listed = self.listed()
        exact = [one for one in listed if text in (one.name, one.id)]
        named = exact[:1] or [one for one in listed if text and one.id.startswith(text)]
        return self._open(named[0] if len(named) == 1 else None, text).campaign

    def _open(self, listed: Listed | None, asked: str) -> Known:
        if listed is None:
            names = ", ".join(one.name for one in self.listed()) or "none"
            raise StudyError(f"{asked!r} names no campaign of the study, or several; it has: {names}")
        if listed.id not in self._opened:
            try:
                self._opened[listed.id] = Known(listed.name, open_campaign(listed.data, [listed.author]))
            except BadData as error:  # it was verified when it came in
                what = f"holds the campaign {listed.name!r}, which cannot be opened here ({error})"
                raise tables.Newer(self.path / CAMPAIGNS, what) from error
        return self._opened[listed.id]

    # Keys.

    def registry(self, campaign: str) -> Registry:
        """The keys registered in a campaign.

        Args:
            campaign: id in hex.
        """
        table = tables.snapshot(self.path / KEYS)
        version, registry = self._registries.get(campaign, (-1, None))
        if registry is None or version != table.version():
            registry = load(table, campaign)
            self._registries[campaign] = table.version(), registry
        return registry

    def enrol(self, data: bytes, *, threads: int | None = None) -> EnrolResult:
        """Register the keys of a batch of enrolments, whoever may enrol by themselves.

        Raises:
            StudyError: the study cannot be written.
        """
        with verifier(threads) as threads_verifying:
            chunk, refused = _enrolments(data)
            done = enrolments.enrol(self, chunk, threads_verifying, uploaded=False)
        refused.update(done.refused)
        return EnrolResult(done.added, done.known, _by_class(refused))

    def revoke(self, data: bytes) -> int:
        """Revoke the keys of a batch of enrolments, whose signatures are not looked at.

        Reports that arrive from now on are refused, counted ones stay. A key that is not registered yet is barred.

        Returns:
            Keys newly revoked.
        Raises:
            StudyError: the study cannot be written.
        """
        chunk, _ = _enrolments(data)
        return enrolments.revoke(self, chunk)

    # What was counted.

    def _reports(self) -> DeltaTable:
        """The counted reports that a tally is of."""
        return tables.snapshot(self.path / REPORTS)

    def tally(self, campaign: SignedCampaign, period: int | None = None) -> Tally:
        """The counted outputs of a campaign.

        Args:
            period: only this one; if not given, of each device the outputs of its latest period. A device repeats
                the output it once drew for a value, so over several periods the noise of its reports is not
                independent, and counting them all would understate the error. With transcripts, the reports of a
            device are drawn anew and all count, as one. Where a device may have several in a period, the tally has
            them by groups of devices, which its error comes from.
        """
        table = self._reports()
        name = campaign.id.hex()
        if campaign.terms.transcript:
            return self._transcripts(campaign, table, period)
        periods = _periods(table, name)
        if period is None and len(periods) == 1:
            (period,) = periods
        rows = _LATEST.format(campaign=name) if period is None else _OF_PERIOD.format(campaign=name, period=int(period))
        return self._tally(campaign, table, rows, grouped=campaign.terms.answers_per_period > 1)

    def spans(self, campaign: SignedCampaign, spans: Sequence[tuple[int, int]]) -> Iterator[Tally]:
        """A tally for each span of periods: of each device the outputs of its latest period in the span.

        All are by groups of devices, the same ones, and of one version of the table. So they can be compared, though
        many devices are in several of them.

        Args:
            spans: first and last period of each; with transcripts these are one.
        Raises:
            StudyError: a span of several periods, with transcripts.
        """
        table = self._reports()
        if campaign.terms.transcript:
            if any(first != last for first, last in spans):
                raise StudyError("with transcripts each period is decoded by itself: name single periods")
            return (self._transcripts(campaign, table, first, grouped=True) for first, _ in spans)
        name = campaign.id.hex()
        chosen = [
            _OF_PERIOD.format(campaign=name, period=int(first))
            if first == last
            else _SPAN.format(campaign=name, first=int(first), last=int(last))
            for first, last in spans
        ]
        return (self._tally(campaign, table, rows, grouped=True) for rows in chosen)

    def periods(self, campaign: SignedCampaign) -> dict[int, int]:
        """The outputs counted in each period that has any."""
        return _periods(tables.snapshot(self.path / REPORTS), campaign.id.hex())

    def counts(self, campaign: SignedCampaign) -> Counts:
        """The counted outputs by period: all reports of all devices, whatever they said in other periods."""
        table = tables.snapshot(self.path / REPORTS)
        name, channel = campaign.id.hex(), campaign.terms.channel
        reports = _periods(table, name)
        if not channel.unary:
            found = tables.query(table, _COUNTS.format(campaign=name))
            period, feature, count = (found[one].to_numpy().astype(np.int64) for one in ("period", "output", "n"))
            return Counts(period, feature, count, reports, table.version())
        ones = np.zeros((len(reports), channel.features), dtype=np.int64)
        for row, number in enumerate(reports):
            sql = f"{_OF_PERIOD.format(campaign=name, period=number)} SELECT word FROM chosen"  # noqa: S608
            for batch in tables.stream(table, sql):
                ones[row] += columns.ones(batch["word"], channel.features)
        at, feature = np.nonzero(ones)
        period = np.array(list(reports), dtype=np.int64)[at]
        return Counts(period, feature, ones[at, feature], reports, table.version())

    def grouped(self, campaign: SignedCampaign, tally: Tally, period: int | None = None) -> Tally:
        """The same tally by groups of devices, where a device may have several of its outputs; as it is elsewhere.

        Args:
            tally: of this period, or of everybody's latest answer, and of any engine.
        """
        if tally.groups is not None or campaign.terms.answers_per_period == 1:
            return tally
        path = self.path / REPORTS
        with tables.storage(path):
            table = DeltaTable(str(path), version=tally.version)
        name = campaign.id.hex()
        rows = _LATEST.format(campaign=name) if period is None else _OF_PERIOD.format(campaign=name, period=int(period))
        return replace(tally, groups=self._groups(campaign, table, rows, tally))

    def _tally(self, campaign: SignedCampaign, table: DeltaTable, rows: str, *, grouped: bool) -> Tally:
        """The tally of the rows that ``rows`` calls chosen."""
        if isinstance(campaign.terms.notion, OwnPrior):
            found: Tally = self._personal(campaign, table, rows)
        else:
            found = self._counted(campaign, table, rows)
        return replace(found, groups=self._groups(campaign, table, rows, found)) if grouped else found

    def _counted(self, campaign: SignedCampaign, table: DeltaTable, rows: str) -> Tally:
        """The counted outputs, whoever sent them."""
        counts, reports = np.zeros(campaign.terms.channel.features, dtype=np.int64), 0
        if campaign.terms.channel.unary:
            for batch in tables.stream(table, f"{rows} SELECT word FROM chosen"):  # noqa: S608
                counts += columns.ones(batch["word"], len(counts))
                reports += batch.num_rows
        else:
            found = tables.query(table, f"{rows} SELECT output, count(*) AS n FROM chosen GROUP BY output")  # noqa: S608
            counts[found["output"].to_numpy()] = found["n"].to_numpy()
            reports = int(counts.sum())
        return Tally(counts, reports, MappingProxyType(self.rejected(campaign)), table.version())

    def _groups(self, campaign: SignedCampaign, table: DeltaTable, rows: str, tally: Tally) -> Groups:
        """The rows that a tally counts by group of devices."""
        from aggregator.estimate.groups import GROUPS, Groups  # an ingest needs no estimators
        from aggregator.estimate.personal import PersonalTally

        devices, most = tally.reports, min(tally.reports, 1)
        if campaign.terms.answers_per_period > 1:
            sizes = tables.query(table, f"{rows} {_SIZES}").to_pylist()[0]
            devices, most = sizes["devices"], sizes["most"] or 0
        if isinstance(tally, PersonalTally):
            found = tables.query(table, f"{rows} SELECT key, output, count(*) AS n FROM chosen GROUP BY key, output")  # noqa: S608
            key, output, times = (found[name].to_numpy() for name in ("key", "output", "n"))
            places = {tuple(prior): place for place, prior in enumerate(tally.priors.tolist())}
            which = np.array([places[prior] for prior in self._declared(campaign, key)], dtype=np.int64)
            return Groups.of(key & (GROUPS - 1), which * campaign.terms.domain.size + output, times, devices, most)
        if not campaign.terms.channel.unary:
            sql = f"{rows} SELECT key & {GROUPS - 1} AS part, output, count(*) AS n FROM chosen GROUP BY 1, 2"  # noqa: S608
            found = tables.query(table, sql)
            part, output, times = (found[name].to_numpy() for name in ("part", "output", "n"))
            return Groups.of(part, output, times, devices, most)
        counts = np.zeros((GROUPS, campaign.terms.channel.features), dtype=np.int64)
        reports = np.zeros(GROUPS, dtype=np.int64)
        for batch in tables.stream(table, f"{rows} SELECT key & {GROUPS - 1} AS part, word FROM chosen"):  # noqa: S608
            parts = batch["part"].to_numpy()
            reports += np.bincount(parts, minlength=GROUPS)
            for part in np.unique(parts):
                words = batch["word"].cast(pa.binary()).take(pa.array(np.flatnonzero(parts == part)))
                counts[part] += columns.ones(words, counts.shape[1])
        part, bit = np.nonzero(counts)
        return Groups(part, bit, counts[part, bit], reports, devices, most)

    def _declared(self, campaign: SignedCampaign, key: Integers) -> list[tuple[int, ...]]:
        """The prior that each key declared."""
        registry = self.registry(campaign.id.hex())
        at, _ = registry.find(key)  # every counted report is of a registered key
        written = [] if registry.prior is None else registry.prior[at].tolist()
        priors = {one: tuple(enrolments.prior_of(one)) for one in set(written)}
        return [priors[one] for one in written]

    def _transcripts(
        self, campaign: SignedCampaign, table: DeltaTable, only: int | None, *, grouped: bool = False
    ) -> TranscriptTally:
        """The devices by transcript; all reports are read, since each can be decoded only after the earlier ones."""
        from aggregator.estimate.groups import GROUPS, Groups  # an ingest needs no estimators
        from aggregator.estimate.transcript import TranscriptTally, transcripts

        found = tables.query(table, _ALL.format(campaign=campaign.id.hex()))
        rows = [found[name].to_numpy().astype(np.int64) for name in ("key", "period", "slot", "output")]
        keys, devices, lost = transcripts(rows[0], rows[1], rows[2], rows[3], campaign.terms.periods, only)
        chains, which, counts = np.unique(devices, axis=0, return_inverse=True, return_counts=True)
        groups = Groups.of(keys & (GROUPS - 1), which, np.ones_like(keys), len(keys), 1) if grouped else None
        rejected = MappingProxyType(self.rejected(campaign))
        return TranscriptTally(counts, len(keys), rejected, table.version(), chains, lost, only, groups=groups)

    def _personal(self, campaign: SignedCampaign, table: DeltaTable, rows: str) -> PersonalTally:
        """The counted outputs by the prior that the key declared."""
        from aggregator.estimate.personal import PersonalTally  # an ingest needs no estimators

        found = tables.query(table, f"{rows} SELECT key, output, count(*) AS n FROM chosen GROUP BY key, output")  # noqa: S608
        registry = self.registry(campaign.id.hex())
        at, _ = registry.find(found["key"].to_numpy())  # every counted report is of a registered key
        declared = [] if registry.prior is None else registry.prior[at].tolist()
        # Sorted, for rows come in any order.
        places = {written: place for place, written in enumerate(sorted(set(declared)))}
        which = np.array([places[written] for written in declared], dtype=np.int64)
        size = campaign.terms.domain.size
        priors = np.array([enrolments.prior_of(written) for written in places], dtype=np.int64).reshape(-1, size)
        counts = np.zeros(priors.shape, dtype=np.int64)
        np.add.at(counts, (which, found["output"].to_numpy()), found["n"].to_numpy())
        rejected = MappingProxyType(self.rejected(campaign))
        return PersonalTally(counts.ravel(), int(counts.sum()), rejected, table.version(), priors)

    def rejected(self, campaign: SignedCampaign | None) -> dict[str, int]:
        """Envelopes refused for a campaign, by reject class; for None, those of no known campaign."""
        name = campaign.id.hex() if campaign is not None else ""
        rows = tables.query(tables.snapshot(self.path / REJECTS), _REJECTED.format(campaign=name))
        return dict(zip(rows["reason"].to_pylist(), rows["n"].to_pylist(), strict=True))

    def status(self, now: int) -> list[CampaignStatus]:
        """How each campaign stands at ``now`` (UTC seconds), in order of their names."""
        reports = tables.snapshot(self.path / REPORTS)
        found = []
        for known in self.campaigns():
            terms, name = known.campaign.terms, known.campaign.id.hex()
            periods, registry = _periods(reports, name), self.registry(name)
            found.append(
                CampaignStatus(
                    name=known.name,
                    id=name,
                    title=terms.title,
                    opens=terms.opens,
                    closes=terms.closes,
                    open=terms.opens <= now < terms.closes,
                    keys=len(registry.ids),
                    revoked=int(registry.revoked.sum()),
                    reports=sum(periods.values()),
                    periods=periods,
                    rejected=self.rejected(known.campaign),
                )
            )
        return found


# Campaign ids are hex digits and periods integers, so nothing from outside gets into a query.
_OF_PERIOD = "WITH chosen AS (SELECT * FROM rows WHERE campaign = '{campaign}' AND period = {period})"
_FROM = """
    WITH mine AS (SELECT * FROM rows WHERE campaign = '{campaign}'{span}),
         latest AS (SELECT key, max(period) AS period FROM mine GROUP BY key),
         chosen AS (SELECT mine.* FROM mine JOIN latest ON mine.key = latest.key AND mine.period = latest.period)
"""
_LATEST = _FROM.replace("{span}", "")
_SPAN = _FROM.replace("{span}", " AND period BETWEEN {first} AND {last}")
_SIZES = "SELECT count(*) AS devices, max(n) AS most FROM (SELECT count(*) AS n FROM chosen GROUP BY key)"
_ALL = "SELECT key, period, slot, output FROM rows WHERE campaign = '{campaign}'"
_COUNTS = """
    SELECT period, output, count(*) AS n FROM rows WHERE campaign = '{campaign}' GROUP BY period, output
    ORDER BY period, output
"""
_PERIODS = "SELECT period, count(*) AS n FROM rows WHERE campaign = '{campaign}' GROUP BY period ORDER BY period"
_REJECTED = "SELECT reason, sum(count) AS n FROM rows WHERE campaign = '{campaign}' GROUP BY reason ORDER BY reason"


def _listed(table: DeltaTable) -> list[Listed]:
    rows = tables.query(table, "SELECT name, campaign AS id, author, data FROM rows").to_pylist()
    return [Listed(**row) for row in rows]


def _periods(reports: DeltaTable, campaign: str) -> dict[int, int]:
    """Outputs counted by period."""
    rows = tables.query(reports, _PERIODS.format(campaign=campaign))
    return dict(zip(rows["period"].to_pylist(), rows["n"].to_pylist(), strict=True))


def _enrolments(data: bytes) -> tuple[Chunk, Counter[tuple[str, Reject]]]:
    """The enrolments of a batch, and what else is in it."""
    gathering = Gathering()
    gathering.add(data, frames(data, final=True))
    chunk = gathering.done()
    strays = chunk.frames.shape[1] - len(chunk.of(Kind.ENROLMENT)) + chunk.garbage
    return chunk, Counter({("", Reject.MALFORMED): strays})


def _by_class(refused: Mapping[tuple[str, Reject], int]) -> Mapping[str, int]:
    classes: Counter[str] = Counter()
    for (_, reject), count in sorted(refused.items()):
        classes[str(reject)] += count
    return MappingProxyType({reject: count for reject, count in classes.items() if count})
