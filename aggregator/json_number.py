"""Numbers for JSON, which has no NaN."""

from __future__ import annotations

import math


def json_number(value: float) -> float | None:
    """Return a number for JSON: None for NaN, which marks an unknown number."""
    return None if math.isnan(value) else value
