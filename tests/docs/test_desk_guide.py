"""The Python example of docs/DESK.md runs as printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
from matplotlib.figure import Figure

from protocol.keys import SigningKey
from tests.aggregator.test_cli import COUNTS, DRAFT

GUIDE = (Path(__file__).parents[2] / "docs" / "DESK.md").read_text(encoding="utf-8")


def test_the_python_example_runs_as_printed(tmp_path, monkeypatch, capsys):
    """The example plans, signs, audits, simulates, counts every report once, and ends in a table and a figure."""
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.split("## From Python\n")[1], re.DOTALL)
    (tmp_path / "education.toml").write_text(DRAFT, encoding="utf-8")
    (tmp_path / "counts.csv").write_text(COUNTS, encoding="utf-8")
    (tmp_path / "analyst.key").write_text(SigningKey(bytes([7]) * 32).line())
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(code, "DESK.md", "exec"), names)  # noqa: S102  # runs the guide under test
    printed = capsys.readouterr().out.splitlines()
    # The draft names no mechanism, so it gets the planned one.
    assert printed[0] == names["campaign"].mechanism
    assert printed[-1] == "400 reports counted"
    table, figure = names["table"], names["figure"]
    assert isinstance(table, pa.Table)
    assert table["value"].to_pylist() == ["none", "primary", "secondary", "bachelor"]
    assert isinstance(figure, Figure)
