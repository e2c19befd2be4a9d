"""The command that installs a missing part of halftruth."""

from __future__ import annotations


def install_command(extras: str) -> str:
    """Return the command that installs extras of the package, and the one for a clone, as text for an error.

    Args:
        extras: their names, separated by commas.
    """
    return f"pip install 'halftruth[{extras}]' (in a clone of the repository: pip install '.[{extras}]')"
