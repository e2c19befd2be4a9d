"""Write the sections of docs/BENCHMARKS.md that benchmarks compute."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "BENCHMARKS.md"


def folder_with(file: str, description: str) -> Path:
    """Return the folder of data that the command line names; end the program if ``file`` is not in the folder."""
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / file).is_file():
        fault = f"{sys.argv[1]} has no {file}" if any(sys.argv[1:2]) else "no folder is named"
        sys.exit(f"{fault}: name a folder with {file}{description}")
    return Path(sys.argv[1])


def print_rows(rows: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Print each row as soon as it is measured; return all rows."""
    printed_rows = []
    for row in rows:
        print(*row, sep="  ", flush=True)
        printed_rows.append(row)
    return printed_rows


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join("| " + " | ".join(row) + " |" for row in (heads, ["---"] * len(heads), *rows))


def write(name: str, template: Path, **figures: object) -> None:
    """Fill ``figures`` into the text of a file, and write it between the marks of the section ``name`` of
    docs/BENCHMARKS.md."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = PAGE.read_text(encoding="utf-8").split(begin, 1)
    filled = template.read_text(encoding="utf-8").format(**figures)
    PAGE.write_text(f"{before}{begin}\n{filled}{end}{rest.split(end, 1)[1]}", encoding="utf-8")
