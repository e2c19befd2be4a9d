"""No invalid argument that is tried here causes a traceback.

receive, demo and reproduce are not tested, because they run for long.
"""

from __future__ import annotations

import shutil

import click
import pytest
from click.testing import CliRunner

from aggregator.cli.commands import COMMANDS
from aggregator.cli.group import halftruth
from tests.aggregator.test_cli import COUNTS, DRAFT

COMMAND = {
    "keygen": ["out"],
    "plan": ["draft"],
    "campaign": ["draft", "--key", "author.key", "--out", "out"],
    "close": ["campaign", "--key", "author.key", "--out", "out"],
    "audit": ["campaign"],
    "anonymity": ["it"],
    "import": ["campaign", "--trust", "author.pub"],
    "enrol": ["devices"],
    "revoke": ["devices"],
    "invite": ["it"],
    "codes": ["it"],
    "page": ["it", "--out", "out.html"],
    "ingest": ["batch"],
    "status": [],
    "estimate": ["it"],
    "compare": ["it", "again"],
    "export": ["it", "--out", "out.csv"],
    "compact": [],
    "rebuild": ["--out", "out"],
    "simulate": ["campaign", "--truth", "counts", "--out", "out", "--keys", "out.pub"],
    "inspect": ["batch"],
    "doctor": [],
    "completion": ["bash"],
}
"""Valid arguments for each command except receive, demo and reproduce, which run for long."""

WORDS = [
    "", "\0", "-1", "0", "1e400", "9" * 400, "nan", "inf", "1e-300", "=1", "1,2", "0-9,3", "x" * 5000, "\udcff",
    "\x1b[31m", "folder", "noise", "empty", "missing", "draft", "batch", "counts", "campaign", "s3://",
]  # fmt: skip
LEFT_ALONE = ("--engine",)
"""Options whose values start processes; they are never replaced."""


def run(*words):
    """Run a command in this folder."""
    return CliRunner().invoke(halftruth, ["--study", "lib", *words], prog_name="halftruth")


def wrong(name):
    """Yield a command's valid arguments with the first one replaced by an invalid word, or an option added with one."""
    for place in halftruth.get_command(click.Context(halftruth), name).params:
        for word in WORDS:
            if not isinstance(place, click.Option):
                yield [word, *COMMAND[name][1:]]
            elif not place.is_flag and place.opts[0] not in LEFT_ALONE:
                yield [*COMMAND[name], place.opts[0], word]


@pytest.mark.long
@pytest.mark.parametrize("name", COMMAND)
def test_no_argument_ends_in_a_traceback(tmp_path, monkeypatch, name):
    """With numbers out of range, folders, wrong or missing files and control characters, each tested command ends with
    exit code 0, 1, 2, 65 or 75."""
    monkeypatch.chdir(tmp_path)
    assert COMMAND.keys() | {"receive", "demo", "reproduce"} == COMMANDS.keys()
    (tmp_path / "folder").mkdir()
    for file, data in (("draft", DRAFT), ("counts", COUNTS), ("noise", "\x93\x01\xff" * 99), ("empty", "")):
        (tmp_path / file).write_text(data, encoding="latin-1")
    (tmp_path / "again").write_text(DRAFT.replace("Highest education", "Once more"), encoding="utf-8")
    assert run("keygen", "author").exit_code == 0
    for study, signed, end in (("again", "again.campaign", ".again"), ("it", "campaign", "")):
        for words in (
            ["campaign", "again" if end else "draft", "--key", "author.key", "--out", signed],
            ["import", signed, "--trust", "author.pub", "--name", study],
            ["simulate", signed, "--truth", "counts", "--out", f"batch{end}", "--keys", f"devices{end}"],
            ["enrol", f"devices{end}"],
            ["ingest", f"batch{end}"],
        ):
            assert run(*words).exit_code == 0
    assert run(name, *COMMAND[name]).exit_code == 0, "expected valid arguments"
    before = {path.name for path in tmp_path.iterdir()}
    for words in wrong(name):
        done = run(name, *words)
        assert done.exception is None or isinstance(done.exception, SystemExit), words
        assert done.exit_code in (0, 1, 2, 65, 75), words
        for made in {path.name for path in tmp_path.iterdir()} - before:
            shutil.rmtree(tmp_path / made) if (tmp_path / made).is_dir() else (tmp_path / made).unlink()
