"""The study: a folder, or a prefix in a bucket, with campaigns, keys and counted reports.

A study has four append-only Delta tables. Any program that reads Delta tables can read it. Each report counts at most
once, and a counted report is never removed.

``holdings`` reads campaigns and keys, ``estimates`` computes estimates from counted reports, ``status`` the state of
campaigns, and ``intake`` ingests files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import pyarrow as pa
from deltalake import DeltaTable

from aggregator.counting import outputs_under
from aggregator.estimates import Estimates
from aggregator.holdings import VerifiedCampaign, listed_in
from aggregator.intake import enrolments
from aggregator.intake.chunk import Chunk, ChunkBuilder
from aggregator.intake.framing import frames
from aggregator.intake.refusals import RefusalReason
from aggregator.intake.signatures import verifier
from aggregator.status import CampaignStatus, campaign_status
from aggregator.storage import tables
from aggregator.storage.paths import StoragePath, storage_path, sync
from aggregator.storage.remote import Remote
from aggregator.storage.tables import CAMPAIGNS, SCHEMAS, StudyError
from protocol.campaign import SignedCampaign, open_campaign
from protocol.closing import open_closing, unverified_closing
from protocol.envelope import Kind
from protocol.errors import CampaignError

MAX_NAME = 100


@dataclass(frozen=True)
class EnrolResult:
    """The result of registering a batch of enrolments.

    Attributes:
        added: keys newly registered.
        known: enrolments of keys that were registered before, or that occur earlier in the batch.
        refused: number of refused items by reason; "bad-signature" also counts weak keys, under which a signature
            proves nothing, and keys that share the key id of another key.
    """

    added: int
    known: int
    refused: Mapping[str, int]


class Study(Estimates):
    """A study in a folder or bucket: ``open`` or ``create`` it. A method that cannot read or write the study raises
    ``StudyError``."""

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r})"

    @classmethod
    def open(cls, path: str | StoragePath) -> Study:
        """Return the study in a folder, or under a prefix of a bucket.

        Args:
            path: a folder, or s3://BUCKET/FOLDER.
        Returns:
            The study; no file stays open.
        Raises:
            StudyError: there is no study at this path, or it cannot be read.
            StoragePathError: the path is malformed.
        """
        path = storage_path(path)
        if not all(tables.exists(path / name) for name in SCHEMAS):
            fault, new = ("is not a study", "NEW") if path.is_dir() else ("does not exist", path)
            raise StudyError(
                f"{path} {fault}: name the folder of a study, or make a new one with "
                f"`halftruth --study {new} import CAMPAIGN --trust NAME.pub`"
            )
        return cls(path)

    @classmethod
    def create(cls, path: str | StoragePath) -> Study:
        """Return the study in a folder, or under a prefix of a bucket; create it if it does not exist.

        Args:
            path: a folder, or s3://BUCKET/FOLDER.
        Returns:
            The study; an existing one is opened.
        Raises:
            StudyError: the path cannot be written, or contains something other than a study.
            StoragePathError: the path is malformed, or its object store has no conditional writes.
        """
        path = storage_path(path)
        with tables.raising_study_errors(path / CAMPAIGNS):
            # A prefix of a bucket exists if it has objects.
            occupied = path.is_dir() and (isinstance(path, Remote) or any(path.iterdir()))
            if occupied and not any(tables.exists(path / name) for name in SCHEMAS):
                raise StudyError(f"{path} has other files: name a new or an empty folder for the study")
            if isinstance(path, Remote):
                path.require_conditional_writes()
            else:
                missing = [folder for folder in (path, *path.parents) if not folder.exists()]
                path.mkdir(parents=True, exist_ok=True)
                sync(missing)
        for name in SCHEMAS:
            tables.create(path / name)
        return cls.open(path)

    def import_campaign(self, data: bytes, trusted: Sequence[bytes], name: str) -> SignedCampaign:
        """Import a signed campaign under a name. Importing the same campaign again changes nothing.

        Args:
            data: the signed campaign.
            trusted: public keys of authors.
            name: 1 to 100 printable characters without spaces.
        Returns:
            The campaign, verified.
        Raises:
            BadData: the data are not a campaign, or not signed by a trusted author.
            StudyError: the name is not valid, or another campaign has it.
        """
        signed = open_campaign(data, trusted)
        if not 1 <= len(name) <= MAX_NAME or not name.isprintable() or " " in name:
            raise StudyError(
                f"{name[:40]!r} cannot name a campaign: a name has 1 to {MAX_NAME} printable characters and no spaces"
            )

        def rows(table: DeltaTable) -> pa.Table:
            listed = listed_in(table)
            if any(entry.id == signed.id.hex() for entry in listed):
                return SCHEMAS[CAMPAIGNS].empty_table()
            if any(entry.name == name for entry in listed):
                raise StudyError(f"the study has another campaign named {name!r}: import this one under another name")
            return pa.table([[signed.id.hex()], [name], [signed.author], [data]], schema=SCHEMAS[CAMPAIGNS])

        tables.append(self.path / CAMPAIGNS, rows)
        return signed

    def close_early(self, data: bytes) -> VerifiedCampaign:
        """Import the signed closing notice of a campaign. Importing the same notice again changes nothing.

        Reports of periods that begin at or after the notice's time are refused from now on. Counted reports stay.

        Args:
            data: the signed closing notice.
        Returns:
            The campaign with its earliest notice.
        Raises:
            BadData: the data are not a closing notice, or not signed by the campaign's author; or the closing time is
                not before the campaign's end, or is later than that of an earlier notice.
            StudyError: the study has no such campaign.
        """
        campaign = unverified_closing(data).campaign_id.hex()
        known = self.cached_campaign(campaign)
        closes = open_closing(data, known.signed).closes

        def rows(table: DeltaTable) -> pa.Table:
            entry = next(entry for entry in listed_in(table) if entry.id == campaign)
            if entry.closed_early is not None and entry.closed_early < closes:
                raise CampaignError(
                    f"{entry.name!r} was already closed at an earlier time: a later closing notice cannot open it "
                    "again; sign a new campaign"
                )
            if entry.closed_early == closes:
                return SCHEMAS[CAMPAIGNS].empty_table()
            return pa.table([[campaign], [entry.name], [entry.author], [data]], schema=SCHEMAS[CAMPAIGNS])

        tables.append(self.path / CAMPAIGNS, rows)
        return self._open(next(entry for entry in self.listed() if entry.id == campaign), campaign)

    def enrol(self, data: bytes, *, threads: int | None = None) -> EnrolResult:
        """Register the keys of a batch of enrolments; needed for campaigns that accept enrolled devices only.

        Args:
            data: enrolments, one envelope after another.
            threads: number of threads that verify signatures; one for each processor if None.
        Returns:
            The numbers of new, known and refused keys.
        Raises:
            StudyError: the study cannot be written.
        """
        with verifier(threads) as threads_verifying:
            chunk, refused = _enrolments(data)
            registration = enrolments.enrol(self, chunk, threads_verifying, uploaded=False)
        refused.update(registration.refused)
        return EnrolResult(registration.added, registration.known, _by_reason(refused))

    def revoke(self, *batches: bytes, since: int = 0) -> int:
        """Revoke the keys of batches of enrolments from a period on. The signatures of the enrolments are not verified.

        Reports under these keys are refused from now on if they are of that period or a later one. Counted reports
        stay. A key that is not registered yet is revoked too. If a key is revoked several times, the earliest period
        applies.

        Args:
            batches: enrolments, one envelope after another in each batch.
            since: a period that exists in the campaigns of all these keys.
        Returns:
            The number of keys that were not revoked before, or were revoked only from a later period on.
        Raises:
            CampaignError: a campaign has no such period, and no key was revoked.
            StudyError: the study cannot be written.
        """
        return enrolments.revoke(self, self._named(batches), since)

    def enrolments_in(self, *batches: bytes) -> int:
        """Return the number of enrolments for campaigns of this study in the batches; signatures are not verified.

        Args:
            batches: enrolments, as ``revoke`` takes them.
        Returns:
            The number of enrolments.
        """
        return sum(len(keys.ids) for keys in self._named(batches).values())

    def counted_under(self, *batches: bytes, since: int = 0) -> int:
        """Return the number of counted outputs under the revoked keys of the batches, from a period on.

        Args:
            batches: enrolments, as ``revoke`` takes them.
            since: the first period that counts.
        Returns:
            The number of outputs.
        """
        total = 0
        for campaign, keys in self._named(batches).items():
            ids = enrolments.revoked_ids(self, campaign, keys)
            total += outputs_under(self._reports(), campaign, ids, since)
        return total

    def _named(self, batches: Iterable[bytes]) -> dict[str, enrolments.NamedKeys]:
        return enrolments.named_keys(self, (_enrolments(data)[0] for data in batches))

    def status(self, now: int) -> list[CampaignStatus]:
        """Return the status of each campaign at a time, in order of their names.

        Args:
            now: the current time, UTC seconds.
        Returns:
            One status for each campaign, in order of their names.
        """
        reports = self._reports()
        return [
            campaign_status(known, reports, self.registry(known.signed.id.hex()), self.refused(known.signed), now)
            for known in self.campaigns()
        ]


def _enrolments(data: bytes) -> tuple[Chunk, Counter[tuple[str, RefusalReason]]]:
    """Return the enrolments of a batch, and the number of its other items, counted as malformed."""
    builder = ChunkBuilder()
    builder.add(data, frames(data, final=True))
    chunk = builder.chunk()
    misplaced = chunk.frames.shape[1] - len(chunk.of(Kind.ENROLMENT)) + chunk.malformed_items
    return chunk, Counter({("", RefusalReason.MALFORMED): misplaced})


def _by_reason(refused: Mapping[tuple[str, RefusalReason], int]) -> Mapping[str, int]:
    reasons: Counter[str] = Counter()
    for (_, reason), count in sorted(refused.items()):
        reasons[str(reason)] += count
    return MappingProxyType({reason: count for reason, count in reasons.items() if count})
