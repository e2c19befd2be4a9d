"""How much work the audit of a campaign may be, counted before it is done (SPEC 6.11).

A few bytes can describe a channel whose audit takes minutes. So every family states what its worst ratios take, every
notion which of them it asks for, and a campaign that asks for too much is refused, at the desk as on a device. A step
is about a third of a microsecond of the reference machine; the counts err upwards, and are the same everywhere.
"""

from __future__ import annotations

from protocol.errors import Uncertified

MOST_STEPS = 2**22
"""Steps of one audit."""

MOST_HELD = 2**19
"""Numbers that one audit holds at once, beside the campaign's own."""


def require_affordable(steps: int, held: int) -> None:
    """Refuse an audit that would take too long, or too much memory.

    Raises:
        Uncertified: with the limit and what was asked.
    """
    for asked, most, what in ((steps, MOST_STEPS, "take"), (held, MOST_HELD, "hold")):
        if asked > most:
            unit = "steps" if what == "take" else "numbers in memory"
            raise Uncertified(
                f"the audit of this campaign would {what} {asked:,} {unit}, and at most {most:,} are allowed: choose a "
                "mechanism with fewer outputs, or ask about fewer values"
            )
