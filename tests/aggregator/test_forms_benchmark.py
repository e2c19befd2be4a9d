"""The benchmark of forms: figures are printed beside their targets."""

from __future__ import annotations

import pytest

from benchmarks.forms import OVER, _beside


@pytest.mark.parametrize(
    ("measured", "target", "slack", "text"),
    [
        (0.0682, 0.066, OVER, "0.068 [0.066]"),
        (0.0726, 0.066, OVER, "0.073 [0.066, 10.0% over]"),
        (0.0661, 0.066, 1.0, "0.066 [0.066, 0.2% over]"),
        (0.066, 0.066, 1.0, "0.066 [0.066]"),
        (0.0726, None, 1.0, "0.073"),
    ],
)
def test_a_figure_above_its_limit_has_its_excess_over_the_target(
    measured: float, target: float | None, slack: float, text: str
) -> None:
    """Up to the limit, the target times ``slack``, a figure has its target beside it; above the limit also its excess
    over the target, in percent."""
    assert _beside(measured, target, 3, slack) == text
