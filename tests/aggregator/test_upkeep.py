"""Properties of upkeep: compaction changes no tally while other work goes on; a damaged study is detected and
rebuilt."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from aggregator.cli.group import halftruth
from aggregator.estimate.estimator import estimate
from aggregator.intake import compact as compaction
from aggregator.intake.compact import HOUR, MIN_RETENTION, compact
from aggregator.intake.ingest import ingest
from aggregator.rebuild import Sources, rebuild
from aggregator.receive import inbox
from aggregator.storage import tables
from aggregator.storage.tables import REPORTS, SCHEMAS, Damaged, StudyError
from aggregator.study import Study
from protocol import exact
from protocol.campaign import open_campaign, seal_campaign
from protocol.envelope import Kind, read_batch
from protocol.errors import BadData
from protocol.keys import SigningKey, public_line
from protocol.notions.declared_prior import DeclaredPrior
from protocol.report import Enrolment
from protocol.views import plain_views
from tests.aggregator import fleet
from tests.aggregator.fleet import AUTHOR, NOW, campaign, device, enrolment, report
from tests.aggregator.forked import PROCESSES, next_message, start_process
from tests.aggregator.test_killed import files_of
from tests.aggregator.test_views import filled

PLAIN = campaign()
OPEN = campaign(enrolment="open", answers=3, title="Open")
DAY = 24 * HOUR


def take(study, *parts):
    """Ingest and archive uploads, as `halftruth ingest` does; return the result."""
    inbox.prepare(study.path)
    for part in parts:
        inbox.put(study.path, part)
    files = inbox.waiting(study.path)
    result = ingest(study, files, now=NOW, threads=1)
    inbox.archive(study.path, files, result.warnings)
    return result


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """The folder of a study of two campaigns and several ingests, with refusals; tests copy it."""
    made = fleet.study(tmp_path_factory.mktemp("prepared") / "lib", PLAIN, range(8))
    made.import_campaign(OPEN.data, [AUTHOR.public], "open")
    take(made, b"".join(report(number, PLAIN, number) for number in range(4)))
    take(made, *(enrolment(n, OPEN) + report(n, OPEN, n, n + 1) for n in range(3)), report(99, PLAIN))
    take(
        made,
        report(4, PLAIN, 4) + report(1, PLAIN, 1, period=1),
        report(0, OPEN, 9, slot=2),
        report(5, PLAIN, 1, slot=1),
    )
    # Archived batches have no order in time, so either of two reports of one slot may be counted first; a replay is
    # therefore the same report again.
    take(made, report(5, PLAIN, 7) + report(2, PLAIN, 2, period=1), report(0, PLAIN))
    return made.path


@pytest.fixture
def study(prepared, tmp_path):
    """A copy of the study that ``prepared`` made, in a folder whose name needs quoting."""
    return Study.open(shutil.copytree(prepared, tmp_path / "our study ü"))


def contents(study):
    """Return a study's status, its refusals, and its tallies without versions: of all periods, and of the first of
    two."""
    tallies = {}
    for known in study.campaigns():
        for period in (None, 0):
            tally = study.tally(known.signed, period)
            tallies[known.name, period] = tally.counts.tolist(), tally.reports, dict(tally.refused)
    return study.status(NOW), tallies, study.refused(None)


@pytest.fixture(scope="module")
def before(prepared):
    """The status and the tallies of the study before a test changes it."""
    return contents(Study.open(prepared))


def live(study, name):
    """Return the files that a table consists of."""
    path = study.path / name
    return {file.path for file in tables.data_files(path, tables.snapshot(path))}


def versions(study):
    """Return the versions of all tables."""
    return {name: tables.snapshot(study.path / name).version() for name in SCHEMAS}


def age(folder, seconds):
    """Make every file below a folder older by ``seconds``."""
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (path.stat().st_mtime - seconds,) * 2)


def run(study_path, *arguments):
    """Run a command on a study."""
    return CliRunner().invoke(halftruth, ["--study", str(study_path), *map(str, arguments)])


# Compaction


def test_compaction_changes_only_files(study, before):
    """Compaction leaves one file in each partition; tallies, status and refusals stay the same, and a replay is
    refused."""
    done = {one.table: one for one in compact(study, now=time.time())}
    assert contents(Study.open(study.path)) == before
    reports = done["reports"]
    assert (reports.before.files, reports.after.files, reports.retained.files) == (7, 3, 7)
    assert (done["refusals"].before.files, done["refusals"].after.files) == (3, 1)
    assert all(not one.removed.files and not one.unchanged for one in done.values())
    assert take(study, report(0, PLAIN, 0)).refused == {"replayed": 1}
    assert take(study, report(6, PLAIN, 6)).accepted == 1


def test_compaction_of_a_compact_study_commits_nothing(study):
    """A second compaction gives no table a new version and does not rewrite the same files."""
    compact(study, now=time.time())
    before = versions(study), {name: live(study, name) for name in SCHEMAS}
    compact(study, now=time.time())
    assert (versions(study), {name: live(study, name) for name in SCHEMAS}) == before


def test_a_partition_is_rewritten_at_twice_the_needed_files(study):
    """A partition is rewritten once it has at least twice as many files as its size needs."""
    size = sum(path.stat().st_size for path in live(study, "refusals"))
    assert compact(study, now=time.time(), file_bytes=-(-size // 2))[-1].after.files == 3
    assert compact(study, now=time.time(), file_bytes=size)[-1].after.files == 1


def test_a_rewrite_of_an_old_snapshot_fails(study):
    """A rewrite based on an old snapshot fails after a commit or another rewrite, and each row remains exactly once."""
    path = study.path / "reports"
    first, second, third = (tables.snapshot(path) for _ in range(3))
    partition = {"campaign": PLAIN.id.hex(), "period": 0}
    assert tables.rewrite(path, first, partition, 10**8)
    before = contents(study)
    assert not tables.rewrite(path, second, partition, 10**8)
    take(study, report(6, PLAIN, 6))
    assert not tables.rewrite(path, third, partition, 10**8)
    assert contents(study)[1]["education", 0][1] == before[1]["education", 0][1] + 1 == 7


def test_compaction_retries_when_others_commit(study, monkeypatch):
    """If an ingest and a whole compaction commit between scan and commit, the compaction is retried and no row is
    lost."""
    real, others = tables.rewrite, []

    def late(path, *arguments):
        if path.name == "reports" and len(others) < 2:
            others.append(path)
            if len(others) == 1:
                assert take(study, report(6, PLAIN, 6)).accepted == 1
            else:
                compact(study, now=time.time())
        return real(path, *arguments)

    monkeypatch.setattr(compaction, "rewrite", late)
    monkeypatch.setattr(tables.time, "sleep", lambda _: None)
    done = {one.table: one for one in compact(study, now=time.time())}
    assert (len(others), done["reports"].unchanged, done["reports"].after.files) == (2, 0, 3)
    counts = study.tally(PLAIN, 0).counts.tolist()
    assert counts == [1, 1, 1, 1, 1, 0, 1, 1] + [0] * 8


def test_a_partition_that_others_keep_committing_to_is_left(study, monkeypatch):
    """If every attempt conflicts with other commits, the partition is left unchanged, and the result and the command
    say so."""
    monkeypatch.setattr(compaction, "rewrite", lambda *_: False)
    monkeypatch.setattr(tables.time, "sleep", lambda _: None)
    before = versions(study)
    assert [one.unchanged for one in compact(study, now=time.time())] == [1, 0, 3, 1]
    assert versions(study) == before
    warning = "3 partitions of reports could not be merged, because other processes write to this table"
    assert warning in run(study.path, "compact").stderr


def test_an_ingest_counts_once_if_a_compaction_commits_before_it(study, before_commit):
    """If a compaction commits between an ingest's scan and its commit, the ingest scans again, and its report counts
    once."""
    before_commit(lambda: compact(study, now=time.time()))
    assert take(study, report(6, PLAIN, 6), report(0, PLAIN, 0)).refused == {"replayed": 1}
    assert study.tally(PLAIN, 0).counts.tolist() == [1, 1, 1, 1, 1, 0, 1, 1] + [0] * 8


def test_a_reader_of_an_older_snapshot_gets_the_same_rows(study):
    """Replaced files stay for the retention time, whatever their age, and a reader of an older snapshot still gets the
    same rows."""
    age(study.path, 90 * DAY)
    table = tables.snapshot(study.path / "reports")
    batches = tables.stream(table, "SELECT * FROM rows")
    compact(study, now=time.time())
    compact(study, now=time.time())
    assert sum(batch.num_rows for batch in batches) == 15
    assert tables.query(table, "SELECT * FROM rows").num_rows == 15


def test_unused_files_are_removed_after_the_retention(study, before):
    """Replaced, uncommitted and half-written files are removed after the retention time and not before, foreign files
    never."""
    reports = study.path / "reports"
    partition = next(iter(live(study, "reports"))).parent
    strays = [partition / "part-0-lost.parquet", partition / "part-0-x.parquet#1", reports / "_delta_log" / "9.json#3"]
    strangers = [partition / "notes.parquet", reports / "README", reports / "_delta_log" / "notes"]
    for path in strays + strangers:
        path.write_bytes(b"stray")
    now = time.time()
    done = compact(study, now=now)[2]
    assert (done.removed.files, done.retained.files) == (0, 10)
    assert compact(study, now=now + 7 * DAY - HOUR)[2].removed.files == 0
    age(study.path, 8 * DAY)
    done = compact(study, now=now)[2]
    assert (done.removed.files, done.retained.files) == (10, 0)
    assert not any(path.exists() for path in strays)
    assert all(path.exists() for path in strangers)
    assert contents(study) == before


def test_a_short_retention_requires_the_option_alone(study, before):
    """Compaction refuses a retention below 24 hours unless it runs with --alone; then only files in use are left."""
    for retention in (0, MIN_RETENTION - 1):
        with pytest.raises(StudyError, match="--alone"):
            compact(study, now=time.time(), retention=retention)
    assert compact(study, now=time.time(), retention=MIN_RETENTION)[2].removed.files == 0
    compact(study, now=time.time() + 3600, retention=0, alone=True)
    for name in SCHEMAS:
        assert set((study.path / name).rglob("part-*")) == live(study, name)
    assert contents(study) == before


def test_the_age_of_a_file_is_measured_with_the_clock_that_dated_it(study, monkeypatch):
    """A compaction on a computer whose clock is a month ahead keeps a file that an ingest is about to commit."""
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 30 * DAY)
    before = files_of(study.path)
    assert abs(compaction.clock_of(study) - real()) < HOUR
    assert files_of(study.path) == before
    waiting = next(iter(live(study, "reports"))).parent / "part-0-waiting.parquet"
    waiting.write_bytes(b"written, and not committed yet")
    assert run(study.path, "compact").exit_code == 0
    assert waiting.exists()


def test_old_commits_are_removed_after_a_checkpoint(study, before):
    """Commits older than 30 days are removed once a checkpoint contains them, and the study reads the same."""
    compact(study, now=time.time())
    age(study.path, 40 * DAY)
    take(study, report(6, PLAIN, 6))
    compact(study, now=time.time())
    assert len(list((study.path / "reports" / "_delta_log").glob("*.json"))) < 5
    again = Study.open(study.path)
    assert again.tally(PLAIN, 0).reports == before[1]["education", 0][1] + 1
    assert again.tally(OPEN).counts.tolist() == before[1]["open", None][0]


def many_commits(study, reports):
    """Ingest ``reports`` reports, one after another."""
    opened = Study.open(study)
    for number in range(reports):
        file = study.parent / f"{number}.htr"
        file.write_bytes(report(number, BUCKETS, number))
        assert ingest(opened, [file], now=NOW, threads=1).accepted == 1


def many_compactions(study, rounds):
    """Compact ``rounds`` times."""
    for _ in range(rounds):
        compact(Study.open(study), now=time.time())


BUCKETS = campaign(64, title="Buckets")


@pytest.mark.parametrize(("reports", "rounds"), [(8, 2), pytest.param(64, 16, marks=pytest.mark.long)])
def test_concurrent_compactions_and_ingests_count_each_report_once(tmp_path, reports, rounds):
    """If one process ingests reports one by one while two compact repeatedly, each report counts once."""
    study = fleet.study(tmp_path / "study", BUCKETS, range(reports))
    with PROCESSES.Pool(3) as pool:
        work = [pool.apply_async(many_compactions, (study.path, rounds)) for _ in range(2)]
        work.append(pool.apply_async(many_commits, (study.path, reports)))
        for one in work:
            one.get(600)
    assert study.tally(BUCKETS).counts.tolist() == [1] * reports + [0] * (64 - reports)
    compact(study, now=time.time() + 3600, retention=0, alone=True)
    assert study.tally(BUCKETS).counts.tolist() == [1] * reports + [0] * (64 - reports)


def compacted(path, pipe):
    """Send "ready", compact, send "done", and wait to be killed."""
    pipe.send("ready")
    compact(Study.open(path), now=time.time() + 3600, retention=0, alone=True)
    pipe.send("done")
    threading.Event().wait()


@pytest.mark.parametrize(("moments", "least"), [(3, 0), pytest.param(60, 10, marks=pytest.mark.long)])
def test_a_killed_compaction_leaves_the_study_as_it_was(study, tmp_path, moments, least):
    """kill -9 at any of several moments of a compaction changes no tally; after the next compaction the status and the
    refusals are unchanged, too, and only files in use are left."""
    before, took, interrupted = contents(study), 0.0, 0
    for moment in range(-1, moments):
        copy = Path(shutil.copytree(study.path, tmp_path / f"copy{moment}"))
        process, pipe = start_process(compacted, copy)
        assert next_message(pipe) == "ready"
        began = time.perf_counter()
        if moment < 0:  # the first run is not disturbed: it measures the duration
            assert next_message(pipe) == "done"
            took = time.perf_counter() - began
        else:
            time.sleep(took * moment / moments)
        process.kill()
        process.join()
        interrupted += moment >= 0 and next_message(pipe) is None
        assert contents(Study.open(copy))[1] == before[1]
        compact(Study.open(copy), now=time.time() + 3600, retention=0, alone=True)
        assert contents(Study.open(copy)) == before
        for name in SCHEMAS:
            assert not list((copy / name).rglob("*#*"))
            assert set((copy / name).rglob("part-*")) == live(Study(copy), name)
        shutil.rmtree(copy)
    # Usually most kills come before the compaction has ended. If the machine was busy only during the first, measured
    # run, far fewer do; so the limit is low.
    assert interrupted >= least


def test_compact_prints_files_and_bytes_before_and_after(study):
    """compact prints, as text and as JSON, the files and bytes of each table before and after; a short retention is
    refused."""
    document = json.loads(run(study.path, "compact", "--json").stdout)
    assert set(document) == set(SCHEMAS)
    assert (document["reports"]["before"]["files"], document["reports"]["after"]["files"]) == (7, 3)
    assert document["reports"]["unchanged"] == document["reports"]["removed"]["files"] == 0
    assert document["reports"]["retained"]["files"] > 0
    assert "reports    3 files, " in run(study.path, "compact").stdout
    refused = run(study.path, "compact", "--retention-hours", 1)
    assert (refused.exit_code, "--alone" in refused.stderr) == (1, True)
    assert run(study.path, "compact", "--retention-hours", 0, "--alone").exit_code == 0


# Damage


def data_of(path):
    """Return a data file of a table; if campaigns have separate files, the first one of ``PLAIN``."""
    return min(path.rglob("part-*.parquet"), key=lambda file: (PLAIN.id.hex() not in str(file), file))


def gone(path):
    """Remove all files of the table."""
    shutil.rmtree(path)


def no_log(path):
    """Remove the table's log."""
    shutil.rmtree(path / "_delta_log")


def file_gone(path):
    """Remove one data file of the table."""
    data_of(path).unlink()


def file_cut(path):
    """Cut off the end of one data file of the table."""
    os.truncate(data_of(path), data_of(path).stat().st_size // 2)


def commit_emptied(path):
    """Empty the table's last commit, as a power failure may do."""
    os.truncate(max((path / "_delta_log").glob("*.json")), 0)


def zeroed(path):
    """Overwrite one data file of the table with zeros of the same size."""
    data_of(path).write_bytes(bytes(data_of(path).stat().st_size))


NOTICED = (no_log, file_gone, file_cut, commit_emptied)


@pytest.mark.parametrize(
    ("name", "damage"), [*((name, gone) for name in SCHEMAS), *(("reports", how) for how in NOTICED)]
)
def test_damage_is_one_line_that_names_rebuild(study, name, damage):
    """After any damage to a table, commands end with exit code 1 and a one-line error that names the table and the
    remedy."""
    damage(study.path / name)
    left = files_of(study.path)
    with pytest.raises(Damaged, match=f"table {name} .*rebuild --out NEW"):
        Study.open(study.path)
    with pytest.raises(Damaged, match=f"table {name} .*rebuild --out NEW"):
        Study.create(study.path)
    for command in (["status"], ["estimate", "education"], ["compact"]):
        done = run(study.path, *command)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert f"the study {study.path} is damaged: its table {name} " in done.stderr
    assert files_of(study.path) == left


def test_a_file_that_cannot_be_decoded_is_damage_too(study):
    """If files have the right size but other bytes, every read reports the damage, and compaction does not rewrite
    them."""
    for name in SCHEMAS:
        zeroed(study.path / name)
    for work in (
        lambda: study.status(NOW), lambda: study.tally(PLAIN), lambda: study.registry(PLAIN.id.hex()), study.listed,
        lambda: compact(study, now=time.time()),
    ):  # fmt: skip
        with pytest.raises(Damaged, match="cannot be read"):
            work()


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The files that an analyst would have archived: the study's campaigns, and the enrolments of its devices."""
    folder = tmp_path_factory.mktemp("sources")
    (folder / "education.campaign").write_bytes(PLAIN.data)
    (folder / "open.campaign").write_bytes(OPEN.data)
    (folder / "devices.pub").write_bytes(b"".join(enrolment(number, PLAIN) for number in range(8)))
    (folder / "author.pub").write_text(public_line(AUTHOR.public))
    return folder


def all_of(sources):
    """Return the sources with all files of a folder."""
    files = [sources / "education.campaign", sources / "open.campaign"]
    return Sources(None, files, [AUTHOR.public], [sources / "devices.pub"])


@pytest.mark.parametrize(
    ("name", "damage"),
    [*((name, gone) for name in SCHEMAS), *(("reports", how) for how in (*NOTICED, zeroed)), ("refusals", file_cut)],
)
def test_a_rebuilt_study_has_the_same_contents(study, sources, tmp_path, name, damage, before):
    """After damage to one table, the new study has the tallies, keys and refusals of the old one, which is unchanged.

    If the table of refusals is lost, the rebuild counts the refusals again and gets a smaller number, because a report
    that a batch contained twice is in the archive only once.
    """
    damage(study.path / name)
    left = files_of(study.path)
    done = rebuild(study.path, tmp_path / "new", all_of(sources), now=NOW)
    assert done.incomplete == (name,)
    assert files_of(study.path) == left
    made = Study.open(done.path)
    if name != "refusals":
        assert contents(made) == before
    else:
        assert made.tally(PLAIN).counts.tolist() == before[1]["education", None][0]
        assert made.refused(PLAIN) == {"over-quota": 1, "replayed": 1, "unknown-key": 1}
    assert done.copied + done.counted == 15
    assert done.counted == 0 or name == "reports"
    assert {path.name for path in tmp_path.iterdir()} == {study.path.name, "new"}


def test_a_rebuilt_study_has_the_views_of_its_keys(tmp_path):
    """A rebuild copies rows with their views, and derives the view of each key again from batches.

    Status, the tally of each view and the estimate are those of the old study.
    """
    old, signed, _ = filled(tmp_path, 1)
    (tmp_path / "map.campaign").write_bytes(signed.data)
    (tmp_path / "devices.pub").write_bytes(b"".join(enrolment(number, signed) for number in range(60)))
    sources = Sources(
        [tmp_path / "batch.htr"], [tmp_path / "map.campaign"], [AUTHOR.public], [tmp_path / "devices.pub"]
    )

    def by_view(study):
        tallies = [study.tally(signed, period) for period in (None, 0, 1)]
        counts = [[part.counts.tolist() for part in tally.by_view] for tally in tallies]
        found = estimate(signed, tallies[0]).as_json()
        return counts, study.status(NOW)[0].views, found["values"], found["resolutions"]

    expected = by_view(old)
    for name, afresh in (("taken", False), ("afresh", True)):
        done = rebuild(old.path, tmp_path / name, sources, now=NOW + fleet.WEEK, afresh=afresh)
        assert by_view(Study.open(done.path)) == expected


def test_a_campaign_without_reports_is_named(study, sources, tmp_path):
    """A campaign with keys whose reports are in no batch is named in a warning."""
    gone(study.path / REPORTS)
    inbox_of = study.path / "inbox" / "done"
    whole = b"".join(file.read_bytes() for file in inbox_of.iterdir())
    shutil.rmtree(inbox_of)
    inbox_of.mkdir()
    (inbox_of / "some.htr").write_bytes(
        b"".join(one.encode() for one in read_batch(whole) if one.kind is Kind.REPORT and PLAIN.id in one.unverified)
    )
    done = rebuild(study.path, tmp_path / "new", all_of(sources), now=NOW)
    silent = [warning for warning in done.warnings if "no reports" in warning]
    assert [warning.split(" has ")[0] for warning in silent] == ["'open'"]


def test_a_study_without_tables_is_rebuilt_from_its_batches(study, sources, tmp_path, before):
    """Without any table a study is rebuilt from campaigns, enrolments and archived batches, also a second time."""
    expected = before[1]
    waiting = inbox.put(study.path, report(6, PLAIN, 6))
    for name in SCHEMAS:
        gone(study.path / name)
    for old, new in ((study.path, tmp_path / "new"), (tmp_path / "new", tmp_path / "newer")):
        done = rebuild(old, new, all_of(sources), now=NOW, afresh=True)
        assert (done.copied, done.counted) == (0, 15)
        tallies = contents(Study.open(new))[1]
        assert {key: value[:2] for key, value in tallies.items()} == {key: value[:2] for key, value in expected.items()}
        kept = [path.name for path in inbox.done_of(study.path).iterdir()]
        assert sorted(path.name for path in inbox.done_of(new).iterdir()) == sorted(kept) != []
        assert [path.name for path in inbox.waiting(new)] == [waiting.name]


def test_a_rebuild_counts_reports_of_revoked_keys_only_on_request(study, tmp_path):
    """Copied rows stay counted; from batches alone, reports of revoked keys count only with count_revoked."""
    study.revoke(enrolment(0, PLAIN))
    expected = contents(study)
    gone(study.path / "refusals")
    done = rebuild(study.path, tmp_path / "taken", Sources(), now=NOW)
    assert contents(Study.open(done.path))[1]["education", 0][0] == expected[1]["education", 0][0]
    gone(study.path / "reports")
    without = rebuild(study.path, tmp_path / "without", Sources(), now=NOW)
    assert any("does not count 2 reports of revoked keys," in warning for warning in without.warnings)
    assert Study.open(without.path).tally(PLAIN, 0).reports == 5
    done = rebuild(study.path, tmp_path / "with", Sources(), now=NOW, count_revoked=True)
    made = Study.open(done.path)
    assert made.tally(PLAIN, 0).reports == 6
    assert made.status(NOW)[0].revoked == 1
    assert take(made, report(0, PLAIN, 0, period=1)).refused == {"revoked-key": 1}


@pytest.fixture
def since(study):
    """The study, with a key of two counted reports revoked from period 1 on, and another key revoked first from 3
    and then from 2 on."""
    assert study.revoke(enrolment(1, PLAIN), since=1) == study.revoke(enrolment(2, PLAIN), since=3) == 1
    assert study.revoke(enrolment(2, PLAIN), since=2) == 1
    return study


def test_revocations_from_a_period_survive_upkeep(since, sources, tmp_path):
    """Keys stay revoked from the same periods on after a compaction, a rebuild, and a recount of lost refusals."""
    compact(since, now=time.time())
    expected = contents(since)
    assert expected[0][0].revoked_from == {1: 1, 2: 1}
    done = rebuild(since.path, tmp_path / "taken", Sources(), now=NOW)
    assert (done.incomplete, contents(Study.open(done.path))) == ((), expected)
    gone(since.path / "refusals")
    done = rebuild(since.path, tmp_path / "refused", all_of(sources), now=NOW)
    made = Study.open(done.path)
    assert made.status(NOW)[0].revoked_from == {1: 1, 2: 1}
    assert made.tally(PLAIN).counts.tolist() == expected[1]["education", None][0]


def test_afresh_makes_a_study_without_outputs_of_revoked_keys(since, tmp_path):
    """A rebuild afresh omits counted outputs from the first revoked period on and keeps earlier ones; with
    count_revoked it keeps all."""
    named = enrolment(1, PLAIN)
    before = {period: since.tally(PLAIN, period).counts.tolist() for period in (0, 1)}
    assert since.counted_under(named, since=1) == 1
    done = rebuild(since.path, tmp_path / "without", Sources(), now=NOW, afresh=True)
    assert any("does not count 1 report of revoked keys," in warning for warning in done.warnings)
    made = Study.open(done.path)
    assert made.counted_under(named, since=1) == 0
    assert made.tally(PLAIN, 0).counts.tolist() == before[0]
    assert sum(before[1]) - made.tally(PLAIN, 1).reports == 1
    assert made.refused(PLAIN)["revoked-key"] == 1
    kept = rebuild(since.path, tmp_path / "kept", Sources(), now=NOW, afresh=True, count_revoked=True)
    made = Study.open(kept.path)
    assert {period: made.tally(PLAIN, period).counts.tolist() for period in (0, 1)} == before
    assert made.status(NOW)[0].revoked_from == {1: 1, 2: 1}
    assert take(made, report(1, PLAIN, 4, period=1), report(2, PLAIN, 4, period=1)).refused == {
        "revoked-key": 1,
        "replayed": 1,
    }


def test_a_key_that_was_revoked_before_it_enrolled_is_not_enrolled_by_a_rebuild(study, tmp_path):
    """A rebuild that recounts refusals reads keys from batches, but does not enrol a key known only from a
    revocation."""
    study.revoke(enrolment(9, OPEN), enrolment(99, PLAIN), since=1)
    gone(study.path / "refusals")
    made = Study.open(rebuild(study.path, tmp_path / "new", Sources(), now=NOW).path)
    assert take(made, report(99, PLAIN)).refused == {"unknown-key": 1}
    assert take(made, report(9, OPEN), report(9, OPEN, period=1)).refused == {"unknown-key": 1, "revoked-key": 1}
    assert take(made, enrolment(9, OPEN)).keys_added == 1
    assert take(made, report(9, OPEN, 1)).accepted == 1


def test_readable_tables_are_rebuilt_without_batches(study, tmp_path):
    """Without batches a rebuild still copies the readable rows of a table, and reports the loss."""
    shutil.rmtree(inbox.done_of(study.path))
    (lost,) = [path for path in live(study, "reports") if OPEN.id.hex() in str(path)][:1]
    rows = pq.ParquetFile(lost).metadata.num_rows
    lost.unlink()
    done = rebuild(study.path, tmp_path / "new", Sources(), now=NOW)
    assert (done.copied, done.counted) == (15 - rows, 0)
    assert any("no batches" in warning for warning in done.warnings)
    assert Study.open(done.path).tally(PLAIN).reports == study.tally(PLAIN).reports


def test_afresh_counts_signed_reports_and_ignores_altered_rows(study, tmp_path):
    """A rebuild copies rows that were changed on the disk; a rebuild afresh does not."""
    expected = study.tally(PLAIN).counts.tolist()
    path = next(path for path in live(study, "reports") if PLAIN.id.hex() in str(path) and "period=0" in str(path))
    rows = pq.ParquetFile(path).read()
    changed = pa.array([15] * rows.num_rows)
    pq.write_table(rows.set_column(rows.schema.get_field_index("output"), "output", changed), path)

    taken = rebuild(study.path, tmp_path / "taken", Sources(), now=NOW)
    assert Study.open(taken.path).tally(PLAIN).counts[15] > 0
    signed = rebuild(study.path, tmp_path / "signed", Sources(), now=NOW, afresh=True)
    assert Study.open(signed.path).tally(PLAIN).counts.tolist() == expected


def test_a_rebuild_that_fails_leaves_nothing(study, sources, tmp_path, monkeypatch):
    """A missing study, a missing or untrusted campaign, an existing name and a full disk are errors that leave no new
    study and no files."""
    with pytest.raises(StudyError, match="other does not exist"):
        rebuild(tmp_path / "other", tmp_path / "new", all_of(sources), now=NOW)
    gone(study.path / "campaigns")
    with pytest.raises(StudyError, match="--campaign"):
        rebuild(study.path, tmp_path / "new", Sources(), now=NOW)
    with pytest.raises(BadData):
        rebuild(
            study.path, tmp_path / "new",
            Sources(None, [sources / "open.campaign"], [SigningKey(bytes(32)).public]), now=NOW,
        )  # fmt: skip
    with pytest.raises(StudyError, match="exists"):
        rebuild(study.path, study.path, all_of(sources), now=NOW)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copy2", full)
        with pytest.raises(StudyError, match="a full disk"):
            rebuild(study.path, tmp_path / "new", all_of(sources), now=NOW)
    assert [path.name for path in tmp_path.iterdir()] == [study.path.name]


def test_campaigns_that_a_rebuild_lacks_are_named(study, sources, tmp_path):
    """If a campaign is not supplied, its reports are omitted, and a warning has its id."""
    gone(study.path / "campaigns")
    found = Sources(None, [sources / "open.campaign"], [AUTHOR.public])
    done = rebuild(study.path, tmp_path / "new", found, now=NOW)
    assert any(PLAIN.id.hex() in warning for warning in done.warnings)
    assert [known.name for known in Study.open(done.path).campaigns()] == ["open"]


def test_the_command_rebuild_works_as_the_error_advises(study, sources, tmp_path, before):
    """The command that the error advises works as printed; options give the sources, and JSON lists the recreated
    tables."""
    file_gone(study.path / "reports")
    done = run(study.path, "rebuild", "--out", tmp_path / "first")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "not copied completely: reports" in done.stdout
    assert contents(Study.open(tmp_path / "first")) == before
    kept = shutil.move(inbox.done_of(study.path), tmp_path / "kept")
    shutil.rmtree(study.path)
    study.path.mkdir()
    options = ["--from", kept, "--keys", sources / "devices.pub", "--trust", sources / "author.pub"]
    for name in ("education", "open"):
        options += ["--campaign", sources / f"{name}.campaign"]
    done = run(study.path, "rebuild", "--out", tmp_path / "second", *options, "--json")
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert (document["incomplete"], document["copied"], document["counted"]) == (
        ["campaigns", "reports", "keys", "refusals"],
        0,
        13,
    )
    # The command reads the real clock, at which the two other devices' reports are early, but the study was made at
    # NOW.
    assert contents(Study.open(tmp_path / "second"))[1]["education", 0][0] == before[1]["education", 0][0]


def test_the_command_rebuild_warns_of_files_without_envelopes(study, tmp_path):
    """A file of --from or --keys without any envelope causes a warning that names it."""
    (tmp_path / "counts.csv").write_text("value,count")
    for option in ("--from", "--keys"):
        done = run(study.path, "rebuild", "--out", tmp_path / option, option, tmp_path / "counts.csv")
        assert "no envelope in " in done.stderr
        assert "counts.csv" in done.stderr


def test_a_rebuild_does_not_change_an_intact_study(study, tmp_path, before):
    """An intact study is unchanged by a rebuild, and no report is counted again."""
    done = rebuild(study.path, tmp_path / "new", Sources(), now=NOW)
    assert (done.incomplete, done.copied, done.counted, done.warnings) == ((), 15, 0, ())
    assert contents(Study.open(done.path)) == before


@pytest.fixture
def declared(tmp_path):
    """Return a study with one report of a device that declared a prior, the signed campaign, and the device's
    enrolment."""
    notion = DeclaredPrior(exact.NANONATS, 16)
    campaign = replace(
        PLAIN.campaign,
        notion=notion,
        views=plain_views(notion.channel_of(notion.uniform)),
        mechanism="lip",
        enrolment="open",
    )
    signed = open_campaign(seal_campaign(campaign, AUTHOR), [AUTHOR.public])
    study = Study.create(tmp_path / "lib")
    study.import_campaign(signed.data, [AUTHOR.public], "declared")
    named = Enrolment(signed.id, device(0, signed).public, tuple(range(1, 17))).seal(device(0, signed))
    take(study, named + report(0, signed, 3))
    return study, signed, named


def test_declared_priors_that_are_lost_stop_a_rebuild(declared, tmp_path):
    """A rebuild fails if the priors of reports' keys are lost, unless batches or enrolments contain them."""
    study, signed, _ = declared
    expected = study.tally(signed)
    assert (expected.reports, expected.priors.tolist()) == (1, [list(range(1, 17))])
    gone(study.path / "keys")
    done = rebuild(study.path, tmp_path / "new", Sources(), now=NOW)
    tally = Study.open(done.path).tally(signed)
    assert (tally.counts.tolist(), tally.priors.tolist()) == (expected.counts.tolist(), expected.priors.tolist())
    shutil.rmtree(inbox.done_of(study.path))
    with pytest.raises(StudyError, match=r"declared priors are lost: 1 in campaign .*--keys"):
        rebuild(study.path, tmp_path / "newer", Sources(), now=NOW)


def test_the_lost_prior_of_a_revoked_key_stops_a_rebuild(declared, tmp_path):
    """A rebuild fails if the enrolment that declared a revoked key's prior is lost: the revocation does not have it."""
    study, _, named = declared
    (enrolling,) = live(study, "keys")
    study.revoke(named)
    enrolling.unlink()
    shutil.rmtree(inbox.done_of(study.path))
    with pytest.raises(StudyError, match=r"declared priors are lost: 1 in campaign .*--keys"):
        rebuild(study.path, tmp_path / "new", Sources(), now=NOW)


@pytest.mark.parametrize("kept", [True, False], ids=["batches", "enrolments"])
def test_a_rebuild_restores_the_prior_of_a_revoked_key(declared, tmp_path, kept):
    """If the enrolment of a key is lost but its revocation is not, its earlier reports are decoded as before."""
    study, signed, named = declared
    expected = study.tally(signed)
    (enrolling,) = live(study, "keys")
    study.revoke(named)
    enrolling.unlink()
    file = tmp_path / "devices.pub"
    file.write_bytes(named)
    sources = Sources() if kept else Sources(batches=[], keys=[file])
    made = Study.open(rebuild(study.path, tmp_path / "new", sources, now=NOW).path)
    assert made.tally(signed).priors.tolist() == expected.priors.tolist()
    assert made.status(NOW)[0].revoked == 1
    assert take(made, report(0, signed, 3, period=1)).refused == {"revoked-key": 1}
