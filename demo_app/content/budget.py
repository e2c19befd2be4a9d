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
        window: (seconds, nats) of the shortest window with a cap; None for no such cap. Of a window of a day or more,
            the whole days: the cap holds for them too.
    """

    cap: float
    spent: float
    reserved: float
    remaining: float
    per_campaign: float | None
    window: tuple[int, float] | None

    @classmethod
    def of(cls, device: Device) -> BudgetContent:
        """Return the current budget."""
        budget = device.budget
        caps = {(cap.kind, cap.seconds): cap.nanonats / 10**9 for cap in budget.caps}
        windows = sorted((seconds, nats) for (_, seconds), nats in caps.items() if seconds)
        window = None
        if windows:
            seconds, nats = windows[0]
            window = (seconds - seconds % DAY_SECONDS if seconds > DAY_SECONDS else seconds, nats)
        return cls(
            caps["lifetime", 0],
            budget.spent,
            budget.reserved,
            budget.remaining,
            caps.get(("campaign", 0)),
            window,
        )
