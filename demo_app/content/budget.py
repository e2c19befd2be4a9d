"""The privacy budget, as a screen shows it.

The lifetime cap is drawn as a bar; the other caps are shown as text.
"""

from __future__ import annotations

from dataclasses import dataclass

from edge_sdk import Device

DAY_SECONDS = 86_400


@dataclass(frozen=True)
class BudgetContent:
    """The lifetime budget, in nats.

    Attributes:
        cap: the lifetime cap.
        spent, reserved, remaining: nats of the lifetime cap; spent and reserved may exceed a cap that was lowered
            later.
        per_campaign: the cap on one campaign; None for no cap.
        windows: the caps on windows in nats, by the length of the window in seconds, the shortest first. A length above
            one day is rounded down to whole days, because the cap also holds for the shorter window.
    """

    cap: float
    spent: float
    reserved: float
    remaining: float
    per_campaign: float | None
    windows: dict[int, float]

    @classmethod
    def of(cls, device: Device) -> BudgetContent:
        budget = device.budget
        caps = {(cap.kind, cap.seconds): cap.nats for cap in budget.caps}
        windows: dict[int, float] = {}
        for seconds, nats in sorted((seconds, nats) for (_, seconds), nats in caps.items() if seconds):
            shown = seconds - seconds % DAY_SECONDS if seconds > DAY_SECONDS else seconds
            windows[shown] = min(nats, windows.get(shown, nats))
        return cls(
            caps["lifetime", 0], budget.spent, budget.reserved, budget.remaining, caps.get(("campaign", 0)), windows
        )
