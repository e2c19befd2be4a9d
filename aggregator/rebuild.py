"""Rebuild a damaged study in a new folder.

Readable rows of a table are copied, because only they record the counted reports, the times of revocations and the
refusals. Unreadable rows are rebuilt from the sources: signed campaigns, enrolments and batches. The new study appears
as a whole or not at all, and the old study is only read.

``storage.tables`` detects damage, and ``intake.ingest`` counts the batches.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aggregator.counting import periods
from aggregator.intake import enrolments
from aggregator.intake.files import batch_files
from aggregator.intake.ingest import IngestResult, Progress, ingest
from aggregator.quantity import quantity
from aggregator.receive import codes, inbox
from aggregator.storage import tables
from aggregator.storage.paths import StoragePath, sync
from aggregator.storage.tables import CAMPAIGNS, KEYS, REFUSALS, REPORTS, SCHEMAS, Damaged, StudyError
from aggregator.study import Study
from protocol.closing import is_closing
from protocol.errors import BadData
from protocol.notions.declared_prior import DeclaredPrior

_COMMIT_ROWS = 2**20


@dataclass(frozen=True)
class Sources:
    """The files from which unreadable tables are rebuilt.

    Attributes:
        batches: files and folders of reports; None for the batches in the archive of the damaged study.
        campaigns: files of signed campaigns and closing notices; the name of a file becomes the name of its campaign.
        trusted: public keys of the campaigns' authors.
        keys: files of enrolments that the analyst registered.
    """

    batches: Sequence[StoragePath] | None = None
    campaigns: Sequence[Path] = ()
    trusted: Sequence[bytes] = ()
    keys: Sequence[Path] = ()


@dataclass(frozen=True)
class Rebuilt:
    """The result of a rebuild.

    Attributes:
        incomplete: tables from which not all rows were copied.
        copied: number of outputs copied from the old study.
        counted: number of outputs counted again from batches.
        warnings: one sentence for each loss of data.
    """

    path: Path
    incomplete: tuple[str, ...]
    copied: int
    counted: int
    warnings: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "study": str(self.path),
            "incomplete": list(self.incomplete),
            "copied": self.copied,
            "counted": self.counted,
            "warnings": list(self.warnings),
        }


def rebuild(
    old: StoragePath,
    new: Path,
    sources: Sources,
    *,
    now: int,
    afresh: bool = False,
    count_revoked: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Rebuilt:
    """Rebuild a study from the readable rows of an old one and from its sources.

    Args:
        now: the current time, UTC seconds.
        afresh: copy nothing from the tables of reports and refusals, even if they can be read. Then reports that were
            counted before their key was revoked are lost, unless ``count_revoked`` is set.
        count_revoked: also count those reports of the batches that are signed with a key that is revoked in the
            report's period. The batches do not show whether such a report arrived before the revocation.
        threads, progress: see ``ingest``.
    Raises:
        StudyError: ``old`` does not exist, ``new`` exists, no campaign was found, declared priors are lost, or the new
            study cannot be written.
        BadData: a campaign or closing notice in ``sources`` is malformed, or signed by no trusted author.
        IntakeError, StoragePathError, OSError: see ``batch_files``.
    """
    if not old.exists():
        raise StudyError(f"{old} does not exist: name the folder of the damaged study")
    if new.exists():
        raise StudyError(f"{new} already exists: give the path of a new folder")
    batches = batch_files(inbox.archives(old) if sources.batches is None else sources.batches)
    with tables.raising_study_errors(new):
        work = new.with_name(f".{new.name}.{secrets.token_hex(8)}.part")
        work.mkdir(parents=True)
        try:
            path = work / "study"
            rebuilding = _Rebuilding(old, path, Study.create(path), batches, now, threads, progress)
            rebuilding.take_campaigns(sources)
            rebuilding.take_reports(afresh=afresh)
            rebuilding.take_keys([*inbox.kept_enrolments(old), *sources.keys], revoked_too=not count_revoked)
            rebuilding.take_refusals(afresh=afresh)
            rebuilding.count()
            if count_revoked:
                rebuilding.revoke()
            rebuilding.require_priors()
            rebuilding.warn_of_empty()
            rebuilding.take_inbox()
            sync(work.rglob("*"))
            path.rename(new)
            sync([new])
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return Rebuilt(new, tuple(rebuilding.incomplete), rebuilding.copied, rebuilding.counted, tuple(rebuilding.warnings))


@dataclass
class _Rebuilding:
    """A rebuild under way; the new study is at ``path``."""

    old: StoragePath
    path: Path
    study: Study
    batches: list[StoragePath]
    now: int
    threads: int | None
    progress: Progress | None
    incomplete: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    copied: int = 0
    counted: int = 0
    revocations: pa.Table = field(default_factory=SCHEMAS[KEYS].empty_table)
    refusals: list[pa.Table] = field(default_factory=list)

    def take_campaigns(self, sources: Sources) -> None:
        """Import campaigns from the old table and from files; each is verified and audited again.

        Raises:
            StudyError: no campaign was found, or the campaign of a closing notice is missing.
            BadData: a campaign or closing notice in a file is malformed, or signed by no trusted author.
        """
        campaigns = [row for rows in self._rows(CAMPAIGNS) for row in rows.to_pylist()]
        for row in sorted(campaigns, key=lambda row: is_closing(row["data"])):  # a campaign comes before its notices
            try:
                self._import(row["data"], [row["author"]], row["name"])
            except (BadData, StudyError) as error:
                self._mark_incomplete(CAMPAIGNS)
                noun = "closing notice of" if is_closing(row["data"]) else "campaign"
                self._warn(f"the old study's {noun} {row['name']!r} is left out: {error}")
        files = ((file.read_bytes(), file.stem) for file in sources.campaigns)
        for data, name in sorted(files, key=lambda file: is_closing(file[0])):
            self._import(data, sources.trusted, name)
        if not self.study.listed():
            raise StudyError(
                f"no campaign can be read from {self.old}: give the signed campaigns with --campaign, and their "
                "author's public key with --trust"
            )
        if CAMPAIGNS in self.incomplete:
            names = ", ".join(entry.name for entry in self.study.listed())
            text = f"the new study has only these campaigns: {names}"
            self._warn(f"{text}; give missing campaigns and closing notices with --campaign")

    def _import(self, data: bytes, trusted: Sequence[bytes], name: str) -> None:
        if is_closing(data):
            self.study.close_early(data)
        else:
            self.study.import_campaign(data, trusted, name)

    def take_reports(self, *, afresh: bool) -> None:
        """Copy the counted reports, unless ``afresh``."""
        if afresh:
            self.incomplete.append(REPORTS)
            return
        gathered: list[pa.Table] = []
        for rows in self._rows(REPORTS):
            gathered.append(self._of_known_campaigns(rows, "counted outputs"))
            if sum(part.num_rows for part in gathered) >= _COMMIT_ROWS:
                self._add_reports(gathered)
                gathered = []
        self._add_reports(gathered)

    def _add_reports(self, gathered: list[pa.Table]) -> None:
        if gathered:
            rows = pa.concat_tables(gathered)
            tables.append_rows(self.path / REPORTS, rows)
            self.copied += rows.num_rows

    def take_keys(self, files: Sequence[Path], *, revoked_too: bool) -> None:
        """Register the keys from the old table and from enrolments; with ``revoked_too``, also revoke those that the
        old study revoked."""
        keys = [self._of_known_campaigns(rows, "keys") for rows in self._rows(KEYS)]
        if keys:
            rows = pa.concat_tables(keys)
            tables.append_rows(self.path / KEYS, rows.filter(pc.invert(rows["revoked"])))
            self.revocations = rows.filter(rows["revoked"])
        if revoked_too:
            self.revoke()
        for file in files:
            self.study.enrol(file.read_bytes(), threads=self.threads)
        if KEYS in self.incomplete:
            self._warn("unreadable revocations are lost: revoke those keys again")

    def revoke(self) -> None:
        """Revoke the keys that were revoked in the old study, from the same periods on."""
        tables.append_rows(self.path / KEYS, self.revocations)

    def take_refusals(self, *, afresh: bool) -> None:
        """Read the recorded refusals, unless ``afresh``; ``count`` adds them to the new study."""
        if afresh:
            self.incomplete.append(REFUSALS)
        else:
            self.refusals = list(self._rows(REFUSALS))

    def count(self) -> None:
        """Count those reports of the batches that are missing in the tables."""
        incomplete = set(self.incomplete)
        if incomplete & {KEYS, REPORTS, REFUSALS} and not self.batches:
            self._warn("no batches were kept or given: rows that were not copied are lost; give batches with --from")
        empty = Path(shutil.copytree(self.path / REFUSALS, self.path.with_name("empty")))
        recounted = REPORTS in incomplete and not self.copied  # no rows are copied, so the ingest produces all of them
        if self.batches and incomplete & {KEYS, REFUSALS} and not recounted:
            self._count_apart()
        if self.batches and REPORTS in incomplete:
            result = self._ingest(self.study)
            self.counted = result.outputs
            if revoked := result.refused.get("revoked-key"):
                self._warn(
                    f"the rebuild does not count {quantity(revoked, 'report')} of revoked keys, because such a report "
                    "may have arrived after the revocation; --count-revoked counts them"
                )
        if REFUSALS in incomplete and self.batches:
            self._warn("refusals are counted again from the batches: those of repeated reports may be lost")
            if recounted:
                return
        # The ingest refused copied rows as replays, so its refusals are discarded.
        shutil.rmtree(self.path / REFUSALS)
        empty.rename(self.path / REFUSALS)
        if self.refusals:
            tables.append_rows(self.path / REFUSALS, pa.concat_tables(self.refusals))

    def _ingest(self, study: Study) -> IngestResult:
        result = ingest(study, self.batches, now=self.now, threads=self.threads, progress=self.progress)
        for warning in result.warnings:
            self._warn(warning)
        return result

    def _count_apart(self) -> None:
        """Count the batches in a temporary study without reports, to find their keys and refusals."""
        path = self.path.with_name("apart")
        apart = Study.create(path)
        for name in (CAMPAIGNS, KEYS):
            shutil.rmtree(path / name)
            shutil.copytree(self.path / name, path / name)
        self._ingest(apart)
        for campaign in apart.ids():
            registry = apart.registry(campaign)
            registered = registry.registered
            priors = None if registry.prior is None else registry.prior[registered]
            enrolments.register(self.study, campaign, registry.ids[registered], registry.public[registered], priors)
        if REFUSALS in self.incomplete:
            self.refusals = [tables.query(tables.snapshot(apart.path / REFUSALS), "SELECT * FROM rows")]

    def warn_of_empty(self) -> None:
        """Warn of campaigns that have keys but no reports, if reports were counted again."""
        if REPORTS not in self.incomplete:
            return
        table = tables.snapshot(self.path / REPORTS)
        for known in self.study.campaigns():
            campaign_hex = known.signed.id.hex()
            keys = int(self.study.registry(campaign_hex).registered.sum())
            if keys and not periods(table, campaign_hex):
                self._warn(
                    f"{known.name!r} has {quantity(keys, 'key')} but no reports: if it had reports, give all "
                    "their files with --from"
                )

    def require_priors(self) -> None:
        """Check, in each campaign with declared priors, that the keys of its counted reports are registered.

        Raises:
            StudyError: the key of a counted report is not registered, so its declared prior is lost.
        """
        for known in self.study.campaigns():
            if isinstance(known.signed.campaign.notion, DeclaredPrior):
                campaign_hex = known.signed.id.hex()
                sql = f"SELECT DISTINCT key FROM rows WHERE campaign = '{campaign_hex}'"  # noqa: S608  # hex digits only
                keys = tables.query(tables.snapshot(self.path / REPORTS), sql)["key"].to_numpy()
                registry = self.study.registry(campaign_hex)
                index, registered = registry.find(keys)
                # The registry also has keys that are revoked but not registered. Their priors are not known, because
                # only an enrolment contains a prior.
                registered[registered] = registry.registered[index[registered]]
                if not registered.all():
                    raise StudyError(
                        f"declared priors are lost: {(~registered).sum():,} in campaign {known.name!r}, which cannot "
                        "be estimated without them; give the enrolments with --keys"
                    )

    def take_inbox(self) -> None:
        """Copy the waiting uploads, the archived batches, and the codes."""
        inbox.prepare(self.path)
        if isinstance(self.old, Path):
            inbox.copy(self.old, self.path)
            codes.copy(self.old, self.path)

    def _of_known_campaigns(self, rows: pa.Table, noun: str) -> pa.Table:
        known = pc.is_in(rows["campaign"], pa.array(self.study.ids(), pa.string()))
        if not pc.all(known).as_py():
            lost = ", ".join(sorted(set(rows.filter(pc.invert(known))["campaign"].to_pylist())))
            self._warn(f"{noun} of these campaigns are left out: {lost}; give the campaigns' files with --campaign")
        return rows.filter(known)

    def _warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def _mark_incomplete(self, name: str) -> None:
        if name not in self.incomplete:
            self.incomplete.append(name)

    def _rows(self, name: str) -> Iterator[pa.Table]:
        """Yield the readable rows of one of the old study's tables, one file at a time."""
        path = self.old / name
        try:
            complete = tables.exists(path)
        except Damaged:
            complete = False
        if not complete:
            self._mark_incomplete(name)
        try:
            files = tables.data_files(path, tables.snapshot(path))
        except Damaged:
            return
        for file in files:
            try:
                yield _read(file, SCHEMAS[name])
            except (OSError, pa.ArrowException):
                self._mark_incomplete(name)


def _read(file: tables.DataFile, schema: pa.Schema) -> pa.Table:
    """Read the rows of one file.

    Raises:
        OSError, pa.ArrowException: the file is damaged.
    """
    with file.path.open("rb") as opened:
        rows = pq.ParquetFile(opened).read()
    if rows.num_rows != file.rows:
        raise pa.ArrowInvalid(f"{file.path} has {quantity(rows.num_rows, 'row')}, but the table lists {file.rows}")
    for column, value in file.partition.items():
        rows = rows.append_column(column, pa.repeat(value, rows.num_rows))
    return rows.select(schema.names).cast(schema)
