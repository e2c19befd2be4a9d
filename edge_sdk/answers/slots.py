"""The slots of each period that are filled, and the outputs that wait to be sealed in a bundle.

An answer fills one slot. A slot is filled once and never released, so the filled slots reveal the number of answers,
and nothing about the values. The inputs of the latest period's slots are stored, so that a retry returns the same
bytes. When the next slot is filled, the sealed inputs of earlier periods are deleted, so the store stays small after a
year of hourly readings.

The module memo stores the drawn outputs, and answering decides when a slot is filled and charges for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from edge_sdk.errors import OutboxFull
from edge_sdk.store.sqlite import Store

MAX_WAITING = 4096
"""Maximum number of outputs that wait to be sealed, over all campaigns; also the maximum in one report."""

_WAITS = 0


@dataclass(frozen=True)
class SlotContent:
    """The content of a slot. Its repr shows the input, which must stay secret.

    Attributes:
        x: the input.
        first: the first slot of the report that carries the slot's output; None while the output waits to be sealed.
    """

    x: int
    first: int | None


@dataclass(frozen=True)
class Run:
    """Outputs that wait in consecutive slots of one period.

    Attributes:
        period, slot: the period and the slot of the first output.
        packed: the outputs, in order, each packed by itself.
    """

    period: int
    slot: int
    packed: tuple[bytes, ...]


class FilledSlots:
    """The filled slots of one store. ``number`` is the store's number of a campaign; writes join the caller's
    transaction."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def next_slot(self, number: int, period: int) -> int:
        """Return the next free slot of a period; all lower slots are used."""
        row = self.store.row("SELECT slots FROM used WHERE campaign = ? AND period = ?", number, period)
        return 0 if row is None else int(row[0])

    def used(self, number: int, after: int = -1) -> int:
        """Return the number of used slots in the periods after ``after``; this number is public."""
        query = "SELECT coalesce(sum(slots), 0) FROM used WHERE campaign = ? AND period > ?"
        row = self.store.row(query, number, after)
        return 0 if row is None else int(row[0])

    def latest(self, number: int, last_period: int) -> tuple[int, int]:
        """Return (period, slot) of the latest used slot up to period ``last_period``; (0, -1) if no slot is used."""
        query = "SELECT period, slots FROM used WHERE campaign = ? AND period <= ? ORDER BY period DESC LIMIT 1"
        row = self.store.row(query, number, last_period)
        return (0, -1) if row is None else (int(row[0]), int(row[1]) - 1)

    def find(self, number: int, period: int, slot: int) -> SlotContent | None:
        """Return the content of a slot; None if it was never stored, or was deleted."""
        query = "SELECT x, sealed FROM reading WHERE campaign = ? AND period = ? AND slot = ?"
        row = self.store.row(query, number, period, slot)
        return None if row is None else SlotContent(int(row[0]), None if row[1] == _WAITS else int(row[1]) - 1)

    def use_up_to(self, number: int, period: int, slot: int) -> None:
        """Mark a slot and all lower slots of its period as used."""
        self.store.execute(
            "INSERT INTO used VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET slots = excluded.slots",
            number,
            period,
            slot + 1,
        )

    def fill(self, number: int, period: int, slot: int, x: int, *, waits: bool) -> None:
        """Mark a slot as used and store its content; delete the content of earlier periods, except for outputs that
        wait."""
        self.use_up_to(number, period, slot)
        sealed = _WAITS if waits else slot + 1
        self.store.execute("INSERT INTO reading VALUES (?, ?, ?, ?, ?)", number, period, slot, x, sealed)
        self.store.execute(
            "DELETE FROM reading WHERE campaign = ? AND period < ? AND sealed <> ?", number, period, _WAITS
        )

    def outputs_of(self, number: int, period: int, first: int) -> tuple[bytes, ...]:
        """Return the outputs of the report that begins at slot ``first``, in order."""
        rows = self.store.rows(
            "SELECT y FROM reading JOIN memo USING (campaign, x) "
            "WHERE campaign = ? AND reading.period = ? AND sealed = ? ORDER BY reading.slot",
            number,
            period,
            first + 1,
        )
        return tuple(bytes(packed) for (packed,) in rows)

    # Outputs that wait to be sealed

    def waiting_count(self, number: int | None = None) -> int:
        """Return the number of outputs that wait to be sealed, of one campaign or of all campaigns."""
        query = "SELECT count(*) FROM reading WHERE sealed = ? AND campaign = coalesce(?, campaign)"
        [[count]] = self.store.rows(query, _WAITS, number)
        return int(count)

    def require_room(self) -> None:
        """Refuse another waiting output if there is no room; waiting outputs are never dropped.

        Raises:
            OutboxFull: ``MAX_WAITING`` outputs wait.
        """
        if self.waiting_count() >= MAX_WAITING:
            raise OutboxFull(
                f"{MAX_WAITING} answers wait to be bundled, which is the limit: nothing was drawn or charged; "
                "bundle and send them first"
            )

    def waiting_runs(self, number: int, limit: int) -> list[Run]:
        """Return the waiting outputs, in order, as runs of consecutive slots.

        Args:
            limit: maximum length of a run; a longer one is split.
        """
        rows = self.store.rows(
            "SELECT reading.period, reading.slot, y FROM reading JOIN memo USING (campaign, x) "
            "WHERE campaign = ? AND sealed = ? ORDER BY reading.period, reading.slot",
            number,
            _WAITS,
        )
        begun: list[tuple[int, int, list[bytes]]] = []
        for period, slot, packed in rows:
            if begun:
                then, first, outputs = begun[-1]
                if then == period and first + len(outputs) == slot and len(outputs) < limit:
                    outputs.append(bytes(packed))
                    continue
            begun.append((int(period), int(slot), [bytes(packed)]))
        return [Run(period, slot, tuple(outputs)) for period, slot, outputs in begun]

    def mark_sealed(self, number: int, run: Run) -> None:
        """Mark a run as sealed into one report."""
        self.store.execute(
            "UPDATE reading SET sealed = ? WHERE campaign = ? AND period = ? AND slot BETWEEN ? AND ?",
            run.slot + 1,
            number,
            run.period,
            run.slot,
            run.slot + len(run.packed) - 1,
        )

    def forget(self, number: int) -> None:
        """Delete the content of a campaign's slots and its waiting outputs; the slots stay used."""
        self.store.execute("DELETE FROM reading WHERE campaign = ?", number)
