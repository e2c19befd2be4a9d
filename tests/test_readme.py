"""README is correct: its device example and its command-line session run as printed."""

import contextlib
import datetime
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from aggregator.cli.commands import COMMANDS
from aggregator.cli.group import halftruth
from edge_sdk.transport import download
from protocol import envelope
from protocol.campaign import campaign_id
from protocol.envelope import Kind
from protocol.keys import AuthorKey, fingerprint
from protocol.link import Link
from protocol.report import Report
from tests.edge_sdk.test_invited import RespondingStudy

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def block(language):
    """Return the only code block of a language."""
    (code,) = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    return code


def dated_around_today(draft):
    """Return a draft whose campaign opened 20 days ago and closes in 100 days."""
    today = datetime.datetime.now(datetime.UTC).date()
    draft = re.sub(r"opens = \S+", f"opens = {today - datetime.timedelta(days=20)}", draft)
    return re.sub(r"closes = \S+", f"closes = {today + datetime.timedelta(days=100)}", draft)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with README's draft, with dates around today, and counts; every command of README has run in
    it."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "education.toml").write_text(dated_around_today(block("toml")), encoding="utf-8")
    (folder / "counts.csv").write_text("value,count\nnone,30\nsecondary,150\nbachelor,80\n", encoding="utf-8")
    commands = re.findall(r"^\$ halftruth (.*)$", block("console"), re.MULTILINE)
    assert len(commands) >= 9
    with contextlib.chdir(folder):
        for command in commands:
            ran = CliRunner().invoke(halftruth, shlex.split(command), prog_name="halftruth")
            assert ran.exit_code == 0, (command, ran.output)
            assert ran.stdout
    return folder


def test_the_session_runs_as_printed(folder):
    """Every command of README's session succeeds, and the session writes a picture and a poster."""
    assert (folder / "education.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "poster.pdf").read_bytes().startswith(b"%PDF")


def test_the_device_example_runs_as_printed(folder, monkeypatch, capsys):
    """README's device example answers README's campaign, and leaves its enrolment and one report in its upload."""
    monkeypatch.chdir(folder)
    code = block("python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    author = AuthorKey.from_line((folder / "analyst.pub").read_text(encoding="utf-8"))
    data = (folder / "education.campaign").read_bytes()
    assert author.name == "Town library"
    monkeypatch.setattr(download, "connect", RespondingStudy(data, author.public, ""))
    given = {"pasted": str(Link("https://study.example", campaign_id(data), fingerprint(author.public)))}
    exec(compile(code, "README.md", "exec"), given)  # noqa: S102  # runs the example under test
    cost, remaining = map(float, capsys.readouterr().out.split())
    assert cost == pytest.approx(1.0)
    # Of 8 nats, the consent reserved four, one for each period.
    assert remaining == pytest.approx(4.0)
    introduction, sealed = envelope.read_batch((folder / "upload.htr").read_bytes())
    assert (introduction.kind, sealed.kind) == (Kind.ENROLMENT, Kind.REPORT)
    assert Report.decode(sealed.unverified).count == 1


def test_every_command_is_in_the_guide():
    """The guide's table of commands names every command, in the order of the command line."""
    guide = (Path(__file__).parent.parent / "docs" / "DESK.md").read_text(encoding="utf-8")
    commands = guide.split("## Commands")[1].split("\n## ")[0]
    named = re.findall(r"^\| `(?:--study DIR )?([a-z]+)[ `].*\|$", commands, re.MULTILINE)
    assert named == list(COMMANDS)


def test_the_output_in_the_guide_for_auditors_is_that_of_the_command(folder):
    """Every row that AUDIT.md shows of the audit of README's campaign is printed."""
    guide = (Path(__file__).parent.parent / "docs" / "AUDIT.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```console\n\$ halftruth audit education\.campaign\n(.*?)```", guide, re.DOTALL)
    printed = CliRunner().invoke(halftruth, ["audit", str(folder / "education.campaign")]).stdout
    for row in shown.splitlines():
        assert " ".join(row.split()) in " ".join(printed.split())
