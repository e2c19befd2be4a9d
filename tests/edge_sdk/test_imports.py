"""The modules that a device loads only when it needs them; tests/test_architecture.py has those that it never loads."""

from __future__ import annotations

import subprocess
import sys


def test_a_unit_loads_no_command_and_a_store_in_memory_no_rollback():
    """A unit loads no module for printing or uploads, and a store in memory loads none for rollback detection, because
    they need none."""
    code = (
        "import edge_sdk.unit.daemon, sys\nfrom edge_sdk.device import Device\nDevice.open(':memory:').close()\nunused "
        "= 'edge_sdk.cli.output', 'edge_sdk.rollback', 'edge_sdk.transport.upload'\nprint([name for name in "
        "sys.modules if name.startswith(unused)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_an_answer_on_the_command_line_loads_no_terms_and_no_network():
    """Importing the command line and joined campaigns loads no module for terms, sending, doctor, CSV, JSON or TLS."""
    unused = "edge_sdk.campaigns.terms", "edge_sdk.transport.upload", "edge_sdk.doctor", "csv", "json", "ssl"
    code = f"""import edge_sdk.__main__, edge_sdk.campaigns.joined, sys
print([name for name in {unused!r} if name in sys.modules])"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
