"""The app's benchmark finds the widgets that it touches."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.app import QUESTIONS, frames, phone
from tests.demo_app.screen import display


@pytest.mark.long
def test_the_benchmark_answers_every_campaign(tmp_path: Path) -> None:
    """The benchmark of frames answers one campaign of each kind of question, and measures each."""
    store = phone(tmp_path)
    with display() as number:
        found = frames(number, store)
    assert found.keys() == QUESTIONS.keys()
    assert all(longest > 0 for longest, _ in found.values())
