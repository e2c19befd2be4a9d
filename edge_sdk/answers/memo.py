"""The memo: the output drawn for each input, and the slot of its latest report.

Each input's output is drawn once per campaign and kept, so averaging repeated reports reveals nothing more. A campaign
with transcripts is the exception: every answer is a fresh draw, and the row has the latest output. There is one row per
input, even if it is given often. Rows contain true answers and must stay secret.

disclosure/posterior uses the counts of inputs as a prior.
"""

from __future__ import annotations

from dataclasses import dataclass

from edge_sdk.store.sqlite import Store


@dataclass(frozen=True)
class MemoRow:
    """The packed output of one value, and the period and slot of its latest report."""

    packed: bytes
    period: int
    slot: int


class Memo:
    """The memo of one store. ``number`` is the store's number of a campaign; writes join the caller's transaction."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def recall(self, number: int, x: int) -> MemoRow | None:
        """Return the row of input ``x``; None before the first draw."""
        row = self.store.row("SELECT y, period, slot FROM memo WHERE campaign = ? AND x = ?", number, x)
        return None if row is None else MemoRow(*row)

    def keep(self, number: int, x: int, memo_row: MemoRow) -> None:
        """Store the output of ``x`` and the slot of its report, and add one to the number of answers with ``x``."""
        self.store.execute(
            "INSERT INTO memo VALUES (?, ?, ?, ?, ?, 1) ON CONFLICT DO UPDATE "
            "SET y = excluded.y, period = excluded.period, slot = excluded.slot, times = times + 1",
            number,
            x,
            memo_row.packed,
            memo_row.period,
            memo_row.slot,
        )

    def entries(self, number: int) -> list[tuple[int, MemoRow, int]]:
        """Return (input, row, number of answers) for each input that was given."""
        rows = self.store.rows("SELECT x, y, period, slot, times FROM memo WHERE campaign = ?", number)
        return [(int(x), MemoRow(bytes(packed), period, slot), int(times)) for x, packed, period, slot, times in rows]

    def counts(self, number: int) -> dict[int, int]:
        """Return the number of answers with each input that was given."""
        return dict(self.store.rows("SELECT x, times FROM memo WHERE campaign = ?", number))

    def forget(self, number: int) -> None:
        """Delete all rows of a campaign."""
        self.store.execute("DELETE FROM memo WHERE campaign = ?", number)
