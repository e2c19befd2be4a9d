"""What a device loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

FOREIGN = "numpy", "scipy", "click", "rich", "nacl", "deltalake", "aggregator", "demo_app", "hypothesis"


@pytest.mark.parametrize("statement", ["import edge_sdk", "import edge_sdk.__main__, edge_sdk.device, edge_sdk.joined"])
def test_a_device_loads_no_numpy_and_no_desktop(statement):
    """Whatever of the device is imported, nothing of the aggregator's world comes with it."""
    code = f"{statement}\nimport sys\nprint([name for name in {FOREIGN!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_public_names_are_there_and_no_others():
    """``edge_sdk`` offers what the README uses."""
    import edge_sdk
    from edge_sdk import BudgetPolicy, Device

    assert edge_sdk.__all__ == ["BudgetPolicy", "Device"]
    assert (edge_sdk.BudgetPolicy, edge_sdk.Device) == (BudgetPolicy, Device)
    with pytest.raises(AttributeError, match="no 'Nothing'"):
        _ = edge_sdk.Nothing
