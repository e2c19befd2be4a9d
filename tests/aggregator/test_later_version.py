"""A study that a later version of halftruth wrote to is left unchanged, and the error says to update.

The tests make up a later version of the tables, of the engine and of campaigns.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from aggregator.intake.ingest import ingest
from aggregator.storage import tables
from aggregator.storage.tables import SCHEMAS, Newer, StudyError
from aggregator.study import Study
from protocol import codec, envelope
from protocol.campaign import campaign_id
from protocol.envelope import Kind
from protocol.errors import BadData
from tests.aggregator import fleet
from tests.aggregator.command import run
from tests.aggregator.fleet import AUTHOR, NOW, campaign, enrolment, report
from tests.aggregator.test_killed import files_of

PLAIN = campaign(answers=3, title="Versions")


@pytest.fixture
def study(tmp_path):
    """A study with two reports."""
    made = fleet.study(tmp_path / "study", PLAIN, range(5))
    take(made.path, report(0, PLAIN, 1) + report(1, PLAIN, 2))
    return made.path


def take(path: Path, data: bytes) -> int:
    """Return the number of reports that an ingest accepts."""
    file = path.with_name("batch.htr")
    file.write_bytes(data)
    return ingest(Study.open(path), [file], now=NOW, threads=1).accepted


def later_column(path: Path, name: str) -> None:
    """Add a column that this version does not know to a table."""
    schema = SCHEMAS[name].append(pa.field("later", pa.int32()))
    write_deltalake(str(path / name), schema.empty_table(), mode="append", schema_mode="merge")


def later_engine(path: Path, name: str) -> None:
    """Change a table so that only a later engine can read it."""
    log = path / name / "_delta_log"
    commit = log / f"{len(list(log.glob('*.json'))):020}.json"
    commit.write_text(json.dumps({"protocol": {"minReaderVersion": 99, "minWriterVersion": 99}}) + "\n")


@pytest.mark.parametrize("change", [later_column, later_engine])
@pytest.mark.parametrize("name", SCHEMAS)
def test_tables_of_a_later_version_are_not_changed(study, name, change):
    """On such tables status, estimate, ingest, enrol and compact end with exit code 1 and a line that says to update,
    and change no byte."""
    change(study, name)
    before = files_of(study)
    study.with_name("keys.pub").write_bytes(enrolment(9, PLAIN))
    for command in (["status"], ["estimate", "education"], ["ingest", "batch.htr"], ["enrol", "keys.pub"], ["compact"]):
        words = [str(study.with_name(word)) if "." in word else word for word in command]
        error = " ".join(run("--study", study, *words, code=1).stderr.split())
        assert f"its table {name}" in error, command
        assert "Update halftruth" in error
    assert files_of(study) == before


@pytest.mark.parametrize("name", ["reports", "refusals"])
def test_a_table_extended_by_a_later_version_stops_the_ingest(study, name):
    """If a later version adds a column to a table after this process opened it, an ingest says to update; if the table
    is reports, it gets no new row.

    In a copy that was not extended the same file is counted.
    """
    opened, before = Study.open(study), Study.open(study).tally(PLAIN).counts.tolist()
    copy = Path(shutil.copytree(study, study.with_name("copy")))
    later_column(study, name)
    file = study.with_name("batch.htr")
    file.write_bytes(report(2, PLAIN, 3) + b"noise")
    with pytest.raises(Newer, match="Update halftruth"):
        ingest(opened, [file], now=NOW, threads=1)
    if name == "reports":
        assert tables.query(tables.snapshot(study / name), "SELECT * FROM rows").num_rows == sum(before)
    assert ingest(Study.open(copy), [file], now=NOW, threads=1).accepted == 1


def later_campaign() -> bytes:
    """A campaign with a notion that this version does not know."""
    fields = codec.decode(envelope.decode(PLAIN.data).unverified, limit=2**20)
    fields[5] = ["later", 1]
    return envelope.seal(Kind.CAMPAIGN, AUTHOR, codec.encode(fields))


def test_a_campaign_of_a_later_version_stops_no_other(study):
    """A campaign of a later version cannot be imported. If a later version imported it, other campaigns still work.

    Their reports are ingested and tallied. The errors for the unknown campaign and for the status say to update.
    """
    data = later_campaign()
    with pytest.raises(BadData, match="a notion must be one of"):
        Study.open(study).import_campaign(data, [AUTHOR.public], "later")
    row = [[campaign_id(data).hex()], ["later"], [AUTHOR.public], [data]]
    tables.append_rows(study / "campaigns", pa.table(row, schema=SCHEMAS["campaigns"]))
    opened = Study.open(study)
    assert take(study, report(2, PLAIN, 3)) == 1
    assert opened.tally(opened.campaign("education")).reports == 3
    for work in (lambda: opened.campaign("later"), lambda: opened.status(NOW)):
        with pytest.raises(StudyError, match=r"campaign 'later'.*Update halftruth"):
            work()
