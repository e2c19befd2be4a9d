"""Registration of device keys from enrolments, and revocation of keys.

An enrolment is signed with the key that it introduces.

In each campaign, a key id belongs to the first public key that was registered or revoked with this id. Weak keys are
refused here, so verification need not check keys again. Enrolments in uploads count only for campaigns with open
enrolment.

``registry`` has the first refused period of each revoked key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from aggregator.intake import columns, registry
from aggregator.intake.chunk import Chunk, by_campaign
from aggregator.intake.columns import Bytes, ByteStrings, Integers, Mask
from aggregator.intake.refusals import RefusalReason
from aggregator.intake.signatures import EnvelopeOffsets, Verifier
from aggregator.storage.tables import KEYS, SCHEMAS, append
from protocol import codec, personal
from protocol.campaign import Campaign
from protocol.envelope import MAX_PAYLOAD, Kind
from protocol.errors import CampaignError, KeyRefused
from protocol.keys import require_public
from protocol.notions.declared_prior import DeclaredPrior

if TYPE_CHECKING:
    from aggregator.holdings import Holdings


@dataclass
class EnrolmentCounts:
    """The result of registering a chunk's enrolments.

    Attributes:
        added: keys newly registered.
        known: enrolments of keys that were registered before, or that occur earlier in the chunk.
        ignored: enrolments in uploads for campaigns that do not accept enrolments in uploads.
        refused: number of refused enrolments by campaign ("" if it is unknown) and reason.
    """

    added: int = 0
    known: int = 0
    ignored: int = 0
    refused: Counter[tuple[str, RefusalReason]] = field(default_factory=Counter)

    def add(self, other: EnrolmentCounts) -> None:
        """Add the result of another chunk."""
        self.added += other.added
        self.known += other.known
        self.ignored += other.ignored
        self.refused.update(other.refused)


@dataclass(frozen=True)
class IntroducedKeys:
    """Keys of one campaign whose enrolments verified, in the order in which they were read.

    Attributes:
        campaign: the campaign's id, in hex.
        ids: (n,) key ids.
        public: (n, 32) public keys.
        prior: (n,) encoded declared priors; None for a key without one.
    """

    campaign: str
    ids: Integers
    public: Bytes
    prior: ByteStrings

    @classmethod
    def joined(cls, parts: Sequence[IntroducedKeys]) -> IntroducedKeys:
        """Concatenate introduced keys of the same campaign."""
        columns = ([getattr(part, name) for part in parts] for name in ("ids", "public", "prior"))
        ids, public, prior = (np.concatenate(column) for column in columns)
        return cls(parts[0].campaign, ids, public, prior)


def enrol(study: Holdings, chunk: Chunk, verifier: Verifier, *, uploaded: bool) -> EnrolmentCounts:
    """Register the keys that a chunk's enrolments introduce.

    Enrolments of registered keys are verified too, so earlier enrolments do not change the verdict on a signature.

    Args:
        uploaded: whether the enrolments came in uploads, not from the analyst. If so, enrolments for campaigns that
            accept none in uploads are ignored.
    Raises:
        StudyError: the study cannot be read or written.
    """
    result, introductions = introduced(study, chunk, verifier, uploaded=uploaded)
    for introduction in introductions:
        result.add(register_introduced(study, introduction))
    return result


def introduced(
    study: Holdings, chunk: Chunk, verifier: Verifier, *, uploaded: bool
) -> tuple[EnrolmentCounts, list[IntroducedKeys]]:
    """Verify a chunk's enrolments as ``enrol`` does, and register nothing.

    Returns:
        The refused and ignored enrolments, and the keys to ``register_introduced``.
    Raises:
        StudyError: the study cannot be read.
    """
    result = EnrolmentCounts()
    introductions: list[IntroducedKeys] = []
    sealed = chunk.of(Kind.ENROLMENT)
    if not len(sealed):
        return result, introductions
    fields, ids = _decoded(chunk, sealed, result)
    campaigns = study.ids()
    index = by_campaign(fields.campaign, campaigns)
    result.refused["", RefusalReason.UNKNOWN_CAMPAIGN] += int((fields.valid & (index < 0)).sum())
    for number in np.unique(index[fields.valid & (index >= 0)]).tolist():
        campaign = campaigns[number]
        rows = np.flatnonzero(fields.valid & (index == number))
        if uploaded and study.cached_campaign(campaign).signed.campaign.enrolment != "open":
            result.ignored += len(rows)
            continue
        fitting = _declares_as_required(fields.prior[rows], study.cached_campaign(campaign).signed.campaign)
        result.refused[campaign, RefusalReason.MALFORMED] += int((~fitting).sum())
        rows = rows[fitting]
        usable = rows[_usable(fields.public[rows])]
        good = usable[verifier.verify(sealed.rows(usable), fields.public[usable])]
        result.refused[campaign, RefusalReason.BAD_SIGNATURE] += len(rows) - len(good)
        introductions.append(IntroducedKeys(campaign, ids[good], fields.public[good], fields.prior[good]))
    return result, introductions


def register_introduced(study: Holdings, introduction: IntroducedKeys) -> EnrolmentCounts:
    """Register introduced keys; refuse those with the key id of another public key.

    Raises:
        StudyError: the table of keys cannot be read or written.
    """
    added, known = register(study, introduction.campaign, introduction.ids, introduction.public, introduction.prior)
    conflicts = len(introduction.ids) - added - known
    return EnrolmentCounts(
        added, known, refused=Counter({(introduction.campaign, RefusalReason.BAD_SIGNATURE): conflicts})
    )


@dataclass(frozen=True)
class NamedKeys:
    """Keys named by enrolments whose signatures are not verified.

    Attributes:
        ids: (n,) key ids.
        public: (n, 32) public keys.
    """

    ids: Integers
    public: Bytes


def named_keys(study: Holdings, chunks: Iterable[Chunk]) -> dict[str, NamedKeys]:
    """Return the keys that the enrolments of the chunks name, by campaign id in hex, for campaigns of the study
    only."""
    campaigns = study.ids()
    keys_by_campaign: dict[str, list[NamedKeys]] = {}
    for chunk in chunks:
        fields, ids = _decoded(chunk, chunk.of(Kind.ENROLMENT), EnrolmentCounts())
        index = by_campaign(fields.campaign, campaigns)
        for number in np.unique(index[fields.valid & (index >= 0)]).tolist():
            rows = np.flatnonzero(fields.valid & (index == number))
            keys_by_campaign.setdefault(campaigns[number], []).append(NamedKeys(ids[rows], fields.public[rows]))
    return {
        campaign: NamedKeys(
            np.concatenate([part.ids for part in parts]), np.concatenate([part.public for part in parts])
        )
        for campaign, parts in keys_by_campaign.items()
    }


def revoke(study: Holdings, keys: Mapping[str, NamedKeys], since: int) -> int:
    """Revoke keys from a period on; see ``Study.revoke``.

    An unknown key is revoked too; this does not register the key, and an enrolment may register it later.

    Args:
        keys: the keys of each campaign, by its id in hex.
    """
    for campaign in keys:
        known = study.cached_campaign(campaign)
        last = known.signed.campaign.periods - 1
        if not 0 <= since <= last:
            valid = f"a period from 0 to {last}" if last else "period 0"
            raise CampaignError(f"campaign {known.name!r} has no period {since}: give {valid}; no key was revoked")
    return sum(
        register(study, campaign, campaign_keys.ids, campaign_keys.public, since=since)[0]
        for campaign, campaign_keys in keys.items()
    )


def revoked_ids(study: Holdings, campaign: str, keys: NamedKeys) -> Integers:
    """Return the sorted ids of the named keys that are revoked in a campaign; an id that belongs to another public key
    is left out."""
    campaign_registry = study.registry(campaign)
    index, in_registry = campaign_registry.find(keys.ids)
    index = index[in_registry]
    same = (campaign_registry.public[index] == keys.public[in_registry]).all(axis=1)
    return np.unique(keys.ids[in_registry][same & campaign_registry.revoked[index]])


def register(
    study: Holdings,
    campaign: str,
    ids: Integers,
    public: Bytes,
    prior: ByteStrings | None = None,
    *,
    since: int | None = None,
) -> tuple[int, int]:
    """Register keys in a campaign, or revoke them.

    Args:
        prior: (n,) encoded declared priors; None if no key declares one.
        since: the first period whose reports are refused; None to register the keys.
    Returns:
        The number of keys that are newly registered or revoked, and the number that already were (revoked from this or
        an earlier period on) or occur twice. The remaining keys have the key id of another public key.
    Raises:
        StudyError: the table of keys cannot be read or written.
    """
    added = known = 0

    def rows(table: DeltaTable) -> pa.Table:
        nonlocal added, known
        campaign_registry = registry.load_registry(table, campaign)
        index, in_registry = campaign_registry.find(ids)
        same = in_registry.copy()
        same[in_registry] = (campaign_registry.public[index[in_registry]] == public[in_registry]).all(axis=1)
        before = same.copy()
        if since is None:  # the enrolment of a key that is revoked from period 0 on adds only its declared prior
            declares = (
                np.zeros(len(ids), np.bool_)
                if prior is None
                else np.array([declaration is not None for declaration in prior])
            )
            before[same] = campaign_registry.registered[index[same]] | (
                (campaign_registry.since[index[same]] == 0) & ~declares[same]
            )
        else:
            before[same] = campaign_registry.since[index[same]] <= since
        new = np.flatnonzero((same | ~in_registry) & ~before)
        _, first, inverse = np.unique(ids[new], return_index=True, return_inverse=True)
        repeated = (public[new] == public[new[first]][inverse]).all(axis=1) if len(new) else np.zeros(0, np.bool_)
        added = len(first)
        known = int(before.sum()) + int(repeated.sum()) - added
        if not added:
            return SCHEMAS[KEYS].empty_table()
        chosen = new[first]
        declared = None if prior is None else prior[chosen]
        return registry.key_rows(campaign, ids[chosen], public[chosen], declared, since=since)

    if len(ids):
        append(study.path / KEYS, rows)
    return added, known


def _decoded(chunk: Chunk, sealed: EnvelopeOffsets, result: EnrolmentCounts) -> tuple[columns.Enrolments, Integers]:
    key_ids = chunk.key_ids(sealed)
    fields = columns.decode_enrolments(chunk.octets, key_ids, sealed.payload, sealed.payload_end)
    result.refused["", RefusalReason.MALFORMED] += int((~fields.valid).sum())
    return fields, columns.key_column(key_ids)


def _declares_as_required(prior: ByteStrings, campaign: Campaign) -> Mask:
    """Return, for each declaration, whether ``protocol.report.Enrolment.require_fit`` accepts it."""
    required = campaign.notion.size if isinstance(campaign.notion, DeclaredPrior) else 0
    declarations = [((), 0) if written is None else decoded_declaration(written) for written in prior]
    return np.array(
        [len(weights) == required and level < campaign.notion.level for weights, level in declarations], np.bool_
    )


def decoded_declaration(written: bytes) -> tuple[tuple[int, ...], int]:
    """Decode a declared prior and the level declared with it (0 for the campaign's level)."""
    return personal.declaration_of(codec.decode(written, limit=MAX_PAYLOAD[Kind.ENROLMENT]))


def _usable(public: Bytes) -> Mask:
    """Return, for each key, whether ``protocol.keys.require_public`` accepts it."""
    passed = np.ones(len(public), dtype=np.bool_)
    for row, key in enumerate(public):
        try:
            require_public(key.tobytes())
        except KeyRefused:
            passed[row] = False
    return passed
