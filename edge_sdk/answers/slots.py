"""Which of a period's slots are filled, and which outputs wait to be sealed together.

A reading fills one slot. A slot is filled once and never given back, so the number of reports of a device tells how
often it was asked, and nothing of the values. What filled the slots of the latest period is remembered, for a retry to
get the same bytes; earlier ones are forgotten once they are sealed, so a year of hourly readings stays small.

What was drawn for a value: memo. When a reading may be filled and what it costs: answering.
"""

from __future__ import annotations

from dataclasses import dataclass

from edge_sdk.errors import OutboxFull
from edge_sdk.store.sqlite import Store

MOST_WAITING = 4096
"""Outputs that wait to be sealed at most, all campaigns together; also the most that one report carries."""

_WAITS = 0


@dataclass(frozen=True)
class Filled:
    """What fills a slot. Its repr tells the input: it is a secret of the store.

    Attributes:
        x: the input.
        first: the first slot of the report that carries it; None while it waits to be sealed.
    """

    x: int
    first: int | None


@dataclass(frozen=True)
class Run:
    """Outputs that wait in neighbouring slots of one period.

    Attributes:
        period, slot: of the first.
        packed: the outputs, in order.
    """

    period: int
    slot: int
    packed: tuple[bytes, ...]


class Readings:
    """The readings of one store. ``campaign`` is the store's number of a campaign; writes join the caller's
    transaction."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def following(self, campaign: int, period: int) -> int:
        """The next free slot of a period; those below it are filled or were passed over, even if forgotten since."""
        row = self.store.row("SELECT slots FROM used WHERE campaign = ? AND period = ?", campaign, period)
        return 0 if row is None else int(row[0])

    def used(self, campaign: int, after: int = -1) -> int:
        """How many slots of the periods after one are filled or were passed over; public, whatever filled them."""
        query = "SELECT coalesce(sum(slots), 0) FROM used WHERE campaign = ? AND period > ?"
        row = self.store.row(query, campaign, after)
        return 0 if row is None else int(row[0])

    def latest(self, campaign: int, most: int) -> tuple[int, int]:
        """(period, slot) of the latest slot that is filled or was passed over, in period ``most`` or before it; (0, -1)
        before the first."""
        query = "SELECT period, slots FROM used WHERE campaign = ? AND period <= ? ORDER BY period DESC LIMIT 1"
        row = self.store.row(query, campaign, most)
        return (0, -1) if row is None else (int(row[0]), int(row[1]) - 1)

    def find(self, campaign: int, period: int, slot: int) -> Filled | None:
        """What fills a slot, where it is still remembered."""
        query = "SELECT x, sealed FROM reading WHERE campaign = ? AND period = ? AND slot = ?"
        row = self.store.row(query, campaign, period, slot)
        return None if row is None else Filled(int(row[0]), None if row[1] == _WAITS else int(row[1]) - 1)

    def pass_to(self, campaign: int, period: int, slot: int) -> None:
        """Use a slot up for good, and all below it."""
        self.store.execute(
            "INSERT INTO used VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET slots = excluded.slots",
            campaign,
            period,
            slot + 1,
        )

    def fill(self, campaign: int, period: int, slot: int, x: int, *, waits: bool) -> None:
        """Fill a slot, and forget what filled those of earlier periods, but for what waits."""
        self.pass_to(campaign, period, slot)
        sealed = _WAITS if waits else slot + 1
        self.store.execute("INSERT INTO reading VALUES (?, ?, ?, ?, ?)", campaign, period, slot, x, sealed)
        self.store.execute(
            "DELETE FROM reading WHERE campaign = ? AND period < ? AND sealed <> ?", campaign, period, _WAITS
        )

    def packed(self, campaign: int, period: int, first: int) -> tuple[bytes, ...]:
        """The outputs of the report whose first slot is ``first``, in order."""
        rows = self.store.rows(
            "SELECT y FROM reading JOIN memo USING (campaign, x) "
            "WHERE campaign = ? AND reading.period = ? AND sealed = ? ORDER BY reading.slot",
            campaign,
            period,
            first + 1,
        )
        return tuple(bytes(packed) for (packed,) in rows)

    # Waiting

    def waiting(self, campaign: int | None = None) -> int:
        """How many outputs wait to be sealed, of one campaign or of all."""
        query = "SELECT count(*) FROM reading WHERE sealed = ? AND campaign = coalesce(?, campaign)"
        [[count]] = self.store.rows(query, _WAITS, campaign)
        return int(count)

    def require_room(self) -> None:
        """Refuse one more that would wait; nothing that waits is ever dropped to make room.

        Raises:
            OutboxFull
        """
        if self.waiting() >= MOST_WAITING:
            raise OutboxFull(
                f"{MOST_WAITING} readings wait to be bundled, and no more may: nothing was drawn or charged; bundle "
                "and send them first"
            )

    def runs(self, campaign: int, most: int) -> list[Run]:
        """What waits, in order, as runs of neighbouring slots.

        Args:
            most: the longest run; a longer one comes as several.
        """
        rows = self.store.rows(
            "SELECT reading.period, reading.slot, y FROM reading JOIN memo USING (campaign, x) "
            "WHERE campaign = ? AND sealed = ? ORDER BY reading.period, reading.slot",
            campaign,
            _WAITS,
        )
        begun: list[tuple[int, int, list[bytes]]] = []
        for period, slot, packed in rows:
            if begun:
                then, first, outputs = begun[-1]
                if then == period and first + len(outputs) == slot and len(outputs) < most:
                    outputs.append(bytes(packed))
                    continue
            begun.append((int(period), int(slot), [bytes(packed)]))
        return [Run(period, slot, tuple(outputs)) for period, slot, outputs in begun]

    def sealed(self, campaign: int, run: Run) -> None:
        """A run waits no longer: one report carries it."""
        self.store.execute(
            "UPDATE reading SET sealed = ? WHERE campaign = ? AND period = ? AND slot BETWEEN ? AND ?",
            run.slot + 1,
            campaign,
            run.period,
            run.slot,
            run.slot + len(run.packed) - 1,
        )

    def forget(self, campaign: int) -> None:
        """Delete what filled a campaign's slots and what waits; the slots stay used."""
        self.store.execute("DELETE FROM reading WHERE campaign = ?", campaign)
