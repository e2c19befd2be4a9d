"""The exit codes of ``python -m edge_sdk``, for scripts and for the unit that runs it."""

from __future__ import annotations

DONE, FAILED, USAGE, BAD_DATA, NOT_YET = 0, 1, 2, 65, 75
