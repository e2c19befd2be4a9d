"""Counts of work, for tests of linear time: interpreter instructions, and bytes that are copied or searched.

Counts are the same on every machine and under any load, unlike times.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def instructions(work: Callable[[], Any]) -> int:
    """Return the number of interpreter instructions that a call runs in Python code."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


class CountedBytes(bytes):
    """A byte string that counts the bytes that its slices copy and its searches visit.

    Attributes:
        visited: the number of these bytes up to now.
    """

    visited = 0

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        if isinstance(part, bytes):
            self.visited += len(part)
        return part

    def find(self, part: Any, start: Any = 0, end: Any = None) -> int:
        """Return the first offset of a part, as ``bytes.find`` does."""
        found = super().find(part, start, end)
        self.visited += (len(self) if found < 0 else found) - start
        return found
