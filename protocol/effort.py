"""Limits on the work of a campaign's audit, checked before the audit runs (SPEC 6.11).

A few bytes can describe a channel whose audit takes minutes. So every channel computes the number of steps for its
worst ratios, and every notion computes from these numbers the steps of its audit. The aggregator and every device
refuse a campaign that needs too many steps. A step is about a third of a microsecond on the reference machine; the
numbers of steps are upper bounds, and the same on every machine.
"""

from __future__ import annotations

from protocol.errors import Uncertified

MAX_STEPS = 2**22
"""Maximum number of steps of one audit."""

MAX_HELD = 2**19
"""Maximum number of integers that one audit stores at once, without those of the campaign."""

MAX_SHOWN = 10**15
"""The largest amount that the text of a refusal states."""


def require_affordable(steps: int, numbers_held: int) -> None:
    """Refuse an audit that would take too long, or too much memory.

    Raises:
        Uncertified: the audit needs more steps or memory than the limit.
    """
    for required, limit, verb in ((steps, MAX_STEPS, "take"), (numbers_held, MAX_HELD, "hold")):
        if required > limit:
            unit = "steps" if verb == "take" else "numbers in memory"
            # Python refuses to print an integer of more than 4,300 digits.
            amount = f"{required:,}" if required <= MAX_SHOWN else f"more than {MAX_SHOWN:,}"
            raise Uncertified(
                f"the audit of this campaign would {verb} {amount} {unit}, and at most {limit:,} are allowed: choose a "
                "mechanism with fewer outputs, or ask about fewer values"
            )
