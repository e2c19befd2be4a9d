"""Commands that README and docs/ show: each program takes its command's name, options and arguments."""

from __future__ import annotations

import contextlib
import re
import shlex
from pathlib import Path

import click
import pytest

from aggregator.cli.commands import COMMANDS
from aggregator.cli.group import halftruth
from benchmarks.__main__ import BENCHMARKS
from demo_app import __main__ as demo_app
from edge_sdk.cli.parser import parse
from tests.docs.test_links import PAGES, ROOT

PROGRAM = r"(?:halftruth|[\w/]*python -m|make) "
LINE = re.compile(rf'^(?: {{4,}}|\$ )(?:sudo )?(?:eval "\$\()?({PROGRAM}[^)\n]*)', re.MULTILINE)
"""A line of a block of code."""
SPAN = re.compile(rf"`(?:sudo\s)?({PROGRAM}[^`]*)`")
"""A command in a sentence; it may leave out arguments."""
EXAMPLES = {"PAPER": "lip", "COMMAND": "plan"}
"""A valid value for each placeholder that cannot itself be the name of a file."""


def takes(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse a command as its program does, without running it; files that it reads need not exist.

    Raises:
        click.UsageError: ``halftruth`` refuses it.
        SystemExit: another program of the project refuses it.
    """
    match words:
        case ["halftruth", "--study", study, name, *rest]:
            takes(["halftruth", name, "--study", study, *rest], monkeypatch)
        case ["halftruth", name, *rest]:
            command = halftruth.get_command(click.Context(halftruth), name)
            assert command is not None, name
            for parameter in command.params:
                if isinstance(parameter.type, click.Path):
                    monkeypatch.setattr(parameter.type, "exists", False)
            command.make_context(name, rest, parent=click.Context(halftruth))
        case [_, "-m", "edge_sdk", *rest]:
            parse(rest)
        case [_, "-m", "demo_app", *rest]:
            demo_app._parser().parse_args(rest)
        case [_, "-m", "benchmarks", name]:
            assert name in BENCHMARKS
        case [_, "-m", module, *_]:
            assert (ROOT / f"{module.replace('.', '/')}.py").exists(), module
        case ["make", target, *_]:
            rules = re.findall(r"^([a-z -]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
            assert target in " ".join(rules).split()


def words_of(command: str) -> list[str]:
    """Return the words of a command, without its comment, its redirection and --help."""
    words = [EXAMPLES.get(word, word) for word in shlex.split(command, comments=True) if word != "--help"]
    return words[: next((place for place, word in enumerate(words) if word in (">", "&")), None)]


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name != "examples"], ids=lambda page: page.name)
def test_every_shown_command_is_valid(page: Path, tmp_path, monkeypatch, capsys) -> None:
    """A command in a block of code is complete and valid; in a sentence it may lack arguments, and nothing else.

    test_examples.py runs the commands of docs/examples.
    """
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for command in LINE.findall(text):
        takes(words_of(command), monkeypatch)
    for command in SPAN.findall(text):
        with contextlib.suppress(click.MissingParameter, click.BadOptionUsage, SystemExit):
            takes(words_of(command), monkeypatch)
        refused = capsys.readouterr().err
        assert not refused or "arguments are required" in refused, command


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_in_a_help_is_valid(name: str, tmp_path, monkeypatch) -> None:
    """The help of each command ends with an example that the command takes."""
    monkeypatch.chdir(tmp_path)
    takes(words_of(f"halftruth {COMMANDS[name].example}"), monkeypatch)
    command = halftruth.get_command(click.Context(halftruth), name)
    assert command.get_help(click.Context(command)).endswith(f"halftruth {COMMANDS[name].example}")
