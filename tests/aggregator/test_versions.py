"""Two versions of halftruth on one study: this one reads what an earlier one wrote, and leaves what it does not know.

One idea: a study of the first version is frozen beside this file with what it told; a later version of the tables, of
the engine or of campaigns is made up, and met with an error that says to update, before anything is counted.

The wire's versions: tests.vectors. Stores of devices: tests.edge_sdk.
"""

from __future__ import annotations

import json
import shutil
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from deltalake import write_deltalake

from aggregator.cli.shell import halftruth
from aggregator.estimate.result import estimate
from aggregator.intake.compact import compact
from aggregator.intake.ingest import ingest
from aggregator.intake.rebuild import Sources, rebuild
from aggregator.storage import tables
from aggregator.storage.tables import SCHEMAS, Newer, StudyError
from aggregator.study import Study
from protocol import codec, envelope
from protocol.campaign import campaign_id
from protocol.envelope import Kind
from tests.aggregator import crowd
from tests.aggregator.crowd import AUTHOR, NOW, WEEK, campaign, enrolment, report

FROZEN = Path(__file__).parent / "studies" / "1.zip"
PLAIN = campaign(answers=3, title="Versions")
OPEN = campaign(4, enrolment="open", title="Open versions")


def told(study: Study) -> dict[str, object]:
    """What a study says of its campaigns, but for versions of tables."""
    found: dict[str, object] = {}
    for known in study.campaigns():
        shares = estimate(known.campaign, study.tally(known.campaign)).as_json()
        registry = study.registry(known.campaign.id.hex())
        found[known.name] = {
            "id": known.campaign.id.hex(),
            "keys": len(registry.ids),
            "revoked": int(registry.revoked.sum()),
            "periods": {str(period): count for period, count in study.periods(known.campaign).items()},
            "rejected": study.rejected(known.campaign),
            "raw": [round(value["raw"], 9) for value in shares["values"]],
        }
    return found


def freeze(path: Path, folder: Path) -> None:
    """Write a study, its batches and what it tells: ``python -m tests.aggregator.test_versions DIR``."""
    study = crowd.study(folder / "study", PLAIN, range(20))
    study.import_campaign(OPEN.data, [AUTHOR.public], "open")
    parts = {
        "first": [report(n, PLAIN, n % 16, 3) for n in range(12)] + [b"noise", report(50, PLAIN, 1)],
        "second": [enrolment(n, OPEN) + report(n, OPEN, n % 4) for n in range(9)] + [report(3, PLAIN, 1, period=1)],
        "later": [report(n, PLAIN, 2, period=1) for n in range(10, 14)],
    }
    for name, data in parts.items():
        (folder / f"{name}.htr").write_bytes(b"".join(data))
    ingest(study, [folder / "first.htr"], now=NOW, threads=1)
    study.revoke(enrolment(19, PLAIN))
    ingest(study, [folder / "second.htr", folder / "first.htr"], now=NOW + WEEK, threads=1)
    (folder / "told.json").write_text(json.dumps(told(study), indent=1))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as frozen:
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            frozen.write(file, file.relative_to(folder))


@pytest.fixture
def frozen(tmp_path):
    """The folder that was frozen."""
    with zipfile.ZipFile(FROZEN) as archive:
        archive.extractall(tmp_path)
    return tmp_path


def test_a_study_of_the_first_version_tells_what_it_did(frozen):
    """Tallies, keys, refusals and estimates of a frozen study are those it had when it was written."""
    assert told(Study.open(frozen / "study")) == json.loads((frozen / "told.json").read_text())


def test_a_study_of_the_first_version_goes_on(frozen):
    """What it counted is a replay, what is new counts; compacted and rebuilt it tells the same."""
    study = Study.open(frozen / "study")
    again = ingest(study, [frozen / "first.htr", frozen / "second.htr"], now=NOW + WEEK, threads=1)
    assert again.accepted == 0
    assert ingest(study, [frozen / "later.htr"], now=NOW + WEEK, threads=1).accepted == 4
    before = told(study)
    compact(study, now=NOW)
    assert told(study) == before
    rebuilt = rebuild(study.path, frozen / "new", Sources(), now=NOW + WEEK)
    assert told(Study.open(rebuilt.path)) == before


def columns_of(path: Path) -> dict[str, set[str]]:
    """The columns of each table."""
    return {name: set(tables.columns_of(tables.snapshot(path / name))) for name in SCHEMAS}


def test_what_the_first_version_could_do_stays_readable_by_it(frozen, tmp_path):
    """Enrolled, revoked, compacted and rebuilt, tables have a frozen study's columns, while nothing more is said."""
    made = crowd.study(tmp_path / "made", PLAIN, range(5))
    made.revoke(enrolment(3, PLAIN), enrolment(30, PLAIN))
    compact(made, now=NOW)
    rebuilt = rebuild(made.path, tmp_path / "rebuilt", Sources(), now=NOW)
    expected = columns_of(frozen / "study")
    assert columns_of(made.path) == columns_of(rebuilt.path) == expected
    assert {name: set(SCHEMAS[name].names) - expected[name] for name in SCHEMAS if name != "keys"} == {
        "campaigns": set(), "reports": set(), "rejects": set(),
    }  # fmt: skip


def test_a_study_of_the_first_version_learns_of_periods(frozen, tmp_path):
    """Keys of a frozen study are revoked from a period on; earlier revocations are from the first; all are kept."""
    study = Study.open(frozen / "study")
    assert study.revoke(enrolment(10, PLAIN), enrolment(19, PLAIN), since=1) == 1
    assert study.status(NOW)[0].revoked_from == {0: 1, 1: 1}
    result = ingest(study, [frozen / "later.htr"], now=NOW + WEEK, threads=1)
    assert (result.accepted, result.rejected) == (3, {"revoked-key": 1})
    study.enrol(enrolment(60, PLAIN))
    before = told(study), study.status(NOW)
    compact(study, now=NOW)
    assert (told(study), study.status(NOW)) == before
    rebuilt = Study.open(rebuild(study.path, tmp_path / "rebuilt", Sources(), now=NOW).path)
    assert (told(rebuilt), rebuilt.status(NOW)) == before


def test_a_revocation_from_a_period_is_not_ignored_by_the_first_version(frozen, monkeypatch):
    """Where a period is named, that version meets a column that it does not know, and says to update."""
    study = frozen / "study"
    Study.open(study).revoke(enrolment(10, PLAIN), since=1)
    first = pa.schema(field for field in SCHEMAS["keys"] if field.name not in tables.LATER["keys"])
    monkeypatch.setitem(tables.SCHEMAS, "keys", first)
    monkeypatch.setattr(tables, "LATER", {})
    with pytest.raises(Newer, match=r"table keys has columns that are not known here: since.*update halftruth here"):
        Study.open(study)


@pytest.fixture
def study(tmp_path):
    """A study with two reports."""
    made = crowd.study(tmp_path / "study", PLAIN, range(5))
    take(made.path, report(0, PLAIN, 1) + report(1, PLAIN, 2))
    return made.path


def take(path: Path, data: bytes) -> int:
    """The reports that an ingest accepts."""
    file = path.with_name("batch.htr")
    file.write_bytes(data)
    return ingest(Study.open(path), [file], now=NOW, threads=1).accepted


def later_column(path: Path, name: str) -> None:
    """A column in a table that this version knows nothing of."""
    schema = SCHEMAS[name].append(pa.field("later", pa.int32()))
    write_deltalake(str(path / name), schema.empty_table(), mode="append", schema_mode="merge")


def later_engine(path: Path, name: str) -> None:
    """A table that only a later engine can read."""
    log = path / name / "_delta_log"
    commit = log / f"{len(list(log.glob('*.json'))):020}.json"
    commit.write_text(json.dumps({"protocol": {"minReaderVersion": 99, "minWriterVersion": 99}}) + "\n")


def files_of(path: Path) -> dict[str, bytes]:
    """All bytes below a folder."""
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.mark.parametrize("change", [later_column, later_engine])
@pytest.mark.parametrize("name", SCHEMAS)
def test_tables_of_a_later_version_are_left_alone(study, name, change):
    """Every command ends with exit code 1 and a line that says to update, and not a byte is changed."""
    change(study, name)
    before = files_of(study)
    study.with_name("keys.pub").write_bytes(enrolment(9, PLAIN))
    for command in (["status"], ["estimate", "education"], ["ingest", "batch.htr"], ["enrol", "keys.pub"], ["compact"]):
        words = [str(study.with_name(word)) if "." in word else word for word in command]
        done = CliRunner().invoke(halftruth, ["--study", str(study), *words])
        assert done.exit_code == 1, command
        assert f"its table {name}" in " ".join(done.stderr.split())
        assert "update halftruth here" in " ".join(done.stderr.split())
        assert "Traceback" not in done.stderr
    assert files_of(study) == before


@pytest.mark.parametrize("name", ["reports", "rejects"])
def test_a_table_that_a_later_version_extends_meanwhile_counts_nothing_more(study, name):
    """Where another process extends a table after it was opened, an ingest says to update, and loses no report."""
    opened, before = Study.open(study), Study.open(study).tally(PLAIN).counts.tolist()
    copy = Path(shutil.copytree(study, study.with_name("copy")))
    later_column(study, name)
    file = study.with_name("batch.htr")
    file.write_bytes(report(2, PLAIN, 3) + b"noise")
    with pytest.raises(Newer, match="update halftruth here"):
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
    """It is not imported here; where a later version did, others are ingested and told, and it is named to update."""
    data = later_campaign()
    with pytest.raises(Exception, match="a notion is one of"):
        Study.open(study).import_campaign(data, [AUTHOR.public], "later")
    row = [[campaign_id(data).hex()], ["later"], [AUTHOR.public], [data]]
    tables.add(study / "campaigns", pa.table(row, schema=SCHEMAS["campaigns"]))
    opened = Study.open(study)
    assert take(study, report(2, PLAIN, 3)) == 1
    assert opened.tally(opened.campaign("education")).reports == 3
    for work in (lambda: opened.campaign("later"), lambda: opened.status(NOW)):
        with pytest.raises(StudyError, match=r"campaign 'later'.*update halftruth here"):
            work()


if __name__ == "__main__":
    FROZEN.parent.mkdir(exist_ok=True)
    freeze(FROZEN, Path(sys.argv[1]))
