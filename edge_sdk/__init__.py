"""What runs on the device: it pays, draws, signs and queues, and keeps what it knows to itself.

    from edge_sdk import BudgetPolicy, Device

One idea: the names above are loaded when they are first used, so that an app pays nothing at its start for a
question it may ask much later.

What a channel, a campaign and a report are: ``protocol``. What is made of reports: ``aggregator``, never imported
here.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it for true; the one in typing costs an import

if TYPE_CHECKING:
    from edge_sdk.budget import BudgetPolicy
    from edge_sdk.device import Device

__all__ = ["BudgetPolicy", "Device"]


def __getattr__(name: str) -> object:
    if name == "Device":
        from edge_sdk.device import Device

        return Device
    if name == "BudgetPolicy":
        from edge_sdk.budget import BudgetPolicy

        return BudgetPolicy
    raise AttributeError(f"edge_sdk has no {name!r}")
