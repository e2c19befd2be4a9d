"""Runs of ``halftruth`` in this process, and checks of its error messages."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Sequence
from pathlib import Path

from click.testing import CliRunner, Result

from aggregator.cli.group import halftruth


def run(*words: object, code: int = 0) -> Result:
    """Run a command and assert that it ends with ``code`` and without a traceback."""
    result = CliRunner().invoke(halftruth, [str(word) for word in words], prog_name="halftruth")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.output
    return result


def printed(*words: object, code: int = 0) -> str:
    """Return the output of a command, with its error messages if ``code`` is not 0."""
    result = run(*words, code=code)
    return result.output if code else result.stdout


def invalid_command_lines(part: str) -> list[tuple[list[str], int]]:
    """Return the invalid command lines of one section of wrong.toml, each with its exit code."""
    found = tomllib.loads(Path(__file__).with_name("wrong.toml").read_text(encoding="utf-8"))[part]
    return [(shlex.split(line), int(code)) for code, lines in found.items() for line in lines]


def require_one_clear_line(
    words: Sequence[str], code: int, places: dict[str, Path], folder: Path, longest: int = 400
) -> None:
    """Assert that an invalid command line ends with ``code`` and a short message without control characters, and leaves
    ``folder`` unchanged."""
    before = set(folder.iterdir())
    typed = [word.format(**places, huge="9" * 400) for word in words]
    errors = run(*typed, code=code).stderr
    assert errors.strip()
    assert "Traceback" not in errors
    assert len(errors.strip().splitlines()[-1]) < (longest if max(map(len, typed)) < 400 else 1000)
    assert not set(errors) & {*map(chr, range(10)), "\x1b", "\x9b", "\u202e"}
    assert set(folder.iterdir()) == before
