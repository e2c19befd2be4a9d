"""The owner's caps in one store, and the check that a campaign fits under them.

A cap that the owner set can only be lowered. The default lifetime cap can also be replaced by a higher one. The amounts
that are compared with a cap do not depend on the answers.

The module policy compares amounts with caps, and ledger records the spending.
"""

from __future__ import annotations

from collections.abc import Iterable

from edge_sdk.budget.consents import Consents
from edge_sdk.budget.ledger import Ledger
from edge_sdk.budget.policy import (
    DEFAULT_LIFETIME,
    LIFETIME,
    WINDOW,
    Budget,
    BudgetPolicy,
    Cap,
    Commitment,
    Commitments,
    require_kept,
    require_room,
    require_windows,
)
from edge_sdk.store.sqlite import Store


class Caps:
    """The caps of one store. ``number`` is the store's number of a campaign; writes join the caller's transaction."""

    def __init__(self, store: Store, ledger: Ledger, consents: Consents) -> None:
        self.store = store
        self._ledger = ledger
        self._consents = consents

    def lower(self, policy: BudgetPolicy) -> None:
        """Store caps; of two caps of the same kind, and of the same length if they are for windows, the lower applies.

        If there are more caps than a device can store, the end of the transaction raises a ValueError.
        """
        for cap in policy.caps():
            self.store.execute(
                "INSERT INTO cap VALUES (?, ?, ?) "
                "ON CONFLICT DO UPDATE SET nanonats = min(nanonats, excluded.nanonats)",
                cap.kind,
                cap.seconds,
                cap.nanonats,
            )

    def in_force(self) -> tuple[Cap, ...]:
        """Return the caps that the owner set; if no lifetime cap is among them, also the default one."""
        caps = tuple(Cap(*row) for row in self.store.rows("SELECT kind, seconds, nanonats FROM cap"))
        named = any(cap.kind == LIFETIME for cap in caps)
        return caps if named else (Cap(LIFETIME, 0, DEFAULT_LIFETIME), *caps)

    def budget(self) -> Budget:
        """Return the caps in force, the amount spent and the amount reserved."""
        spent = self._ledger.spent()
        return Budget(self.in_force(), spent, self._ledger.committed() - spent)

    def require_room(self, number: int, worst_cases: Iterable[Commitment], now: int, choice: int = 0) -> None:
        """Refuse a campaign that the caps leave no room for.

        Args:
            number: the campaign with these worst cases.
            worst_cases: the worst cases, one for each view; all of them must fit.
            now: UTC seconds.
            choice: nanonats charged for the random choice of a class or prior; 0 without a choice.
        Raises:
            BudgetRefused: one of its worst cases, added to all existing commitments, exceeds a cap.
        """
        existing = Commitments(*self._ledger.committed_by(number), self._consents.commitments())
        for worst_case in worst_cases:
            require_room(self.in_force(), existing, self._ledger.carried(), worst_case, now, choice)

    def require_windows(self, now: int, later_cost: int) -> None:
        """Refuse if a window cap may be exceeded from ``now`` on.

        Each window cap is compared with the worst case of all consents, plus ``later_cost`` and the carry entries
        within the window.

        Args:
            now: UTC seconds.
            later_cost: nanonats that answers with dates after ``now`` may have cost.
        Raises:
            BudgetRefused: the sum exceeds the cap.
        """
        existing = Commitments(0, 0, self._consents.commitments())
        require_windows(self.in_force(), existing, self._ledger.carried(), later_cost, now)

    def require_kept(self, number: int) -> None:
        """Refuse an answer if a cap was lowered too far.

        Raises:
            BudgetRefused: a cap is below the sum of the amounts spent and reserved.
        """
        caps, consented = self.in_force(), []
        for cap in caps:
            # Only the caps of windows need the schedules of all consents.
            if cap.kind == WINDOW:
                consented = self._consents.commitments()
                break
        require_kept(caps, Commitments(*self._ledger.committed_by(number), consented))
