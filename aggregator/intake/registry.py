"""The known keys of a campaign, which are registered, revoked, or both, and the first refused period of each.

The known keys of a campaign are sorted columns in memory, which makes it fast to look up many key ids. A key is never
removed: revoking it adds a row with the first refused period. If a key has several such rows, the earliest period
applies. The order of registration and revocation does not matter.

``enrolments`` registers and revokes keys.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from aggregator.intake.columns import Bytes, ByteStrings, Integers, Mask
from aggregator.storage.tables import KEYS, SCHEMAS, raising_study_errors
from protocol.keys import PUBLIC_BYTES

NEVER = 2**63 - 1
"""First refused period of a key that is not revoked; later than any period of a report."""


@dataclass(frozen=True)
class Registry:
    """The known keys of one campaign, in ascending order of key id.

    Attributes:
        ids: (n,) key ids.
        public: (n, 32) public keys.
        registered: (n,) whether each key is registered; a key may be revoked before it is registered.
        since: (n,) the first period whose reports are refused; ``NEVER`` if the key is not revoked.
        prior: (n,) encoded declared priors, None for a key without one; None if no key declared a prior.
    """

    ids: Integers
    public: Bytes
    registered: Mask
    since: Integers
    prior: ByteStrings | None

    @property
    def revoked(self) -> Mask:
        """Mask of the keys that are revoked, from any period on, (n,)."""
        revoked: Mask = self.since != NEVER
        return revoked

    def find(self, ids: Integers) -> tuple[Integers, Mask]:
        """Return the index of each key id in the registry, and whether the registry has the id; if not, the index is
        meaningless."""
        index = np.empty(len(ids), dtype=np.int64)
        order = np.argsort(ids)  # sorted lookups use the cache better
        index[order] = np.searchsorted(self.ids, ids[order])
        index[index == len(self.ids)] = 0
        return index, (self.ids[index] == ids) if len(self.ids) else np.zeros(len(ids), dtype=np.bool_)


def load_registry(table: DeltaTable, campaign: str) -> Registry:
    """Return the known keys of a campaign in a snapshot of the ``keys`` table.

    Raises:
        StudyError: the table cannot be read.
    """
    ids: list[Integers] = [np.zeros(0, dtype=np.int64)]
    public: list[Bytes] = [np.zeros((0, PUBLIC_BYTES), dtype=np.uint8)]
    registers: list[Mask] = [np.zeros(0, dtype=np.bool_)]
    # Each revocation has a key in ``revoked_keys``, and the first refused period in ``since``.
    revoked_keys: list[Integers] = [np.zeros(0, dtype=np.int64)]
    since: list[Integers] = [np.zeros(0, dtype=np.int64)]
    declared: ByteStrings | None = None
    declarations: dict[bytes, bytes] = {}
    # The table is read in record batches, because all its rows at once take several times the memory of the result.
    names = [name for name in SCHEMAS[KEYS].names if name != "campaign"]
    with raising_study_errors(table):
        for batch in table.scan(columns=names, predicate=f"campaign = '{campaign}'"):
            columns = pa.record_batch(batch)
            fixed = columns["public"].cast(pa.binary(PUBLIC_BYTES))
            raw = np.frombuffer(fixed.buffers()[1], dtype=np.uint8).reshape(-1, PUBLIC_BYTES)
            # The copy allows Arrow to free the memory of a record batch before the next one.
            ids.append(columns["key"].to_numpy().copy())
            public.append(raw[fixed.offset : fixed.offset + len(fixed)].copy())
            revokes = columns["revoked"].to_numpy(zero_copy_only=False)
            registers.append(~revokes)
            revoked_keys.append(ids[-1][revokes])
            since.append(columns["since"].fill_null(0).to_numpy()[revokes].astype(np.int64))
            # Revocation rows have no declared prior.
            for place in np.flatnonzero(columns["prior"].is_valid().to_numpy(zero_copy_only=False)).tolist():
                declarations[ids[-1][place].tobytes()] = columns["prior"][place].as_py()
    unique, first, inverse = np.unique(np.concatenate(ids), return_index=True, return_inverse=True)
    registered = np.zeros(len(unique), dtype=np.bool_)
    registered[inverse[np.concatenate(registers)]] = True
    earliest = np.full(len(unique), NEVER, dtype=np.int64)
    np.minimum.at(earliest, np.searchsorted(unique, np.concatenate(revoked_keys)), np.concatenate(since))
    if declarations:
        declared = np.full(len(unique), None, dtype=np.object_)
        index = np.searchsorted(unique, np.frombuffer(b"".join(declarations), dtype=np.int64))
        declared[index] = list(declarations.values())
    return Registry(unique, np.concatenate(public)[first], registered, earliest, declared)


def key_rows(campaign: str, ids: Integers, public: Bytes, prior: ByteStrings | None, *, since: int | None) -> pa.Table:
    """Return rows of the ``keys`` table.

    Args:
        since: the first period whose reports are refused; None for rows that register the keys.
    """
    blob = np.ascontiguousarray(public).tobytes()
    fixed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(PUBLIC_BYTES), len(ids), [None, pa.py_buffer(blob)])
    return pa.table(
        [
            pa.repeat(campaign, len(ids)),
            pa.array(ids),
            fixed.cast(pa.binary()),
            pa.repeat(since is not None, len(ids)),
            pa.nulls(len(ids), pa.binary()) if prior is None else pa.array(prior, pa.binary()),
            pa.repeat(since, len(ids)).cast(pa.int32()) if since else pa.nulls(len(ids), pa.int32()),
        ],
        schema=SCHEMAS[KEYS],
    )
