"""The memo: what was drawn for each value a person gave, and where it was reported last.

A value is drawn for once in a campaign and its output kept, so asking again yields nothing new to average. There is one
row for each value, however often it is given; rows hold true answers and are the store's secrets.

How often each value was given, as a prior: disclosure/posterior.
"""

from __future__ import annotations

from dataclasses import dataclass

from edge_sdk.store.sqlite import Store


@dataclass(frozen=True)
class Kept:
    """The output of one value, packed, and the place of its last report."""

    packed: bytes
    period: int
    slot: int


class Memo:
    """The memo of one store. ``campaign`` is the store's number of a campaign; writes join the caller's transaction."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def recall(self, campaign: int, x: int) -> Kept | None:
        """What was drawn for ``x``."""
        row = self.store.row("SELECT y, period, slot FROM memo WHERE campaign = ? AND x = ?", campaign, x)
        return None if row is None else Kept(*row)

    def keep(self, campaign: int, x: int, kept: Kept) -> None:
        """Remember an output and where it is reported; counts one more report of ``x``."""
        self.store.execute(
            "INSERT INTO memo VALUES (?, ?, ?, ?, ?, 1) ON CONFLICT DO UPDATE "
            "SET y = excluded.y, period = excluded.period, slot = excluded.slot, times = times + 1",
            campaign,
            x,
            kept.packed,
            kept.period,
            kept.slot,
        )

    def entries(self, campaign: int) -> list[tuple[int, Kept, int]]:
        """(input, what was drawn for it, how many reports were of it) of each value given."""
        rows = self.store.rows("SELECT x, y, period, slot, times FROM memo WHERE campaign = ?", campaign)
        return [(int(x), Kept(bytes(packed), period, slot), int(times)) for x, packed, period, slot, times in rows]

    def counts(self, campaign: int) -> dict[int, int]:
        """How many reports were of each value; values never given are not there."""
        return dict(self.store.rows("SELECT x, times FROM memo WHERE campaign = ?", campaign))

    def forget(self, campaign: int) -> None:
        """Delete all of a campaign."""
        self.store.execute("DELETE FROM memo WHERE campaign = ?", campaign)
