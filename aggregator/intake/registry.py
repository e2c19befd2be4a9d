"""Which keys may speak in a campaign.

One idea: the registered keys of a campaign are sorted columns in memory, so a whole batch of key ids is looked up at
once. A key is never taken out: a row that revokes it is added.

How keys come in: enrolments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from aggregator.intake.columns import Bytes, Integers, Mask, Words
from aggregator.intake.tables import KEYS, SCHEMAS, storage
from protocol.keys import PUBLIC_BYTES


@dataclass(frozen=True)
class Registry:
    """The keys of one campaign, in ascending order of key id.

    Attributes:
        ids: (n,) key ids.
        public: (n, 32) public keys.
        revoked: (n,)
        prior: (n,) the prior that each declared, as its enrolment wrote it; None where it declared none, and None
            altogether where nobody did.
    """

    ids: Integers
    public: Bytes
    revoked: Mask
    prior: Words | None

    def find(self, ids: Integers) -> tuple[Integers, Mask]:
        """Where key ids stand in the registry, and whether they do."""
        at = np.searchsorted(self.ids, ids)
        at[at == len(self.ids)] = 0
        return at, (self.ids[at] == ids) if len(self.ids) else np.zeros(len(ids), dtype=np.bool_)


def load(table: DeltaTable, campaign: str) -> Registry:
    """The keys that a snapshot of the ``keys`` table holds for a campaign.

    Raises:
        StudyError
    """
    ids: list[Integers] = [np.zeros(0, dtype=np.int64)]
    public: list[Bytes] = [np.zeros((0, PUBLIC_BYTES), dtype=np.uint8)]
    revoked: list[Mask] = [np.zeros(0, dtype=np.bool_)]
    declared: Words | None = None
    declarations: dict[bytes, bytes] = {}
    # Batch by batch, because a table of all rows takes several times the memory of its numbers.
    with storage(table):
        for batch in table.scan(columns=["key", "public", "revoked", "prior"], predicate=f"campaign = '{campaign}'"):
            columns = pa.record_batch(batch)
            fixed = columns["public"].cast(pa.binary(PUBLIC_BYTES))
            raw = np.frombuffer(fixed.buffers()[1], dtype=np.uint8).reshape(-1, PUBLIC_BYTES)
            # Copied, so that Arrow has its memory back before the next batch.
            ids.append(columns["key"].to_numpy().copy())
            public.append(raw[fixed.offset : fixed.offset + len(fixed)].copy())
            revoked.append(columns["revoked"].to_numpy(zero_copy_only=False))
            # A row that revokes says nothing.
            for place in np.flatnonzero(columns["prior"].is_valid().to_numpy(zero_copy_only=False)).tolist():
                declarations[ids[-1][place].tobytes()] = columns["prior"][place].as_py()
    unique, first, inverse = np.unique(np.concatenate(ids), return_index=True, return_inverse=True)
    anywhere = np.zeros(len(unique), dtype=np.bool_)
    anywhere[inverse[np.concatenate(revoked)]] = True
    if declarations:
        declared = np.full(len(unique), None, dtype=np.object_)
        at = np.searchsorted(unique, np.frombuffer(b"".join(declarations), dtype=np.int64))
        declared[at] = list(declarations.values())
    return Registry(unique, np.concatenate(public)[first], anywhere, declared)


def rows(campaign: str, ids: Integers, public: Bytes, prior: Words | None, *, revoked: bool) -> pa.Table:
    """Rows of the ``keys`` table."""
    blob = np.ascontiguousarray(public).tobytes()
    fixed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(PUBLIC_BYTES), len(ids), [None, pa.py_buffer(blob)])
    return pa.table(
        [
            pa.repeat(campaign, len(ids)),
            pa.array(ids),
            fixed.cast(pa.binary()),
            pa.repeat(revoked, len(ids)),
            pa.nulls(len(ids), pa.binary()) if prior is None else pa.array(prior, pa.binary()),
        ],
        schema=SCHEMAS[KEYS],
    )
