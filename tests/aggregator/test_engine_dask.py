"""The Dask engine has the counts of the local engine, for any bytes, any division of files, any workers and any
crash."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from distributed import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator import engines
from aggregator.engines import EngineError, connection, engine_of, pieces, steps, tallies, workers
from aggregator.engines.cluster import Cluster
from aggregator.engines.steps import StudyVersion
from aggregator.engines.workers import Workers
from aggregator.estimate.estimator import estimate
from aggregator.families.bits import recipe as unary
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.response.recipe import randomized_response
from aggregator.intake import enrolments, ranges, shards, signatures, slots
from aggregator.intake.deduplicate import Candidates
from aggregator.intake.framing import frames
from aggregator.intake.ingest import ingest
from aggregator.intake.verified import NAME
from aggregator.storage import tables
from aggregator.storage.tables import REPORTS, SCHEMAS, StudyError
from aggregator.study import Study
from protocol import codec, envelope, exact
from protocol.campaign import open_campaign, seal_campaign
from protocol.domain import Values
from protocol.notions.declared_prior import DeclaredPrior
from protocol.notions.transcript import TranscriptPrior
from protocol.views import plain_views
from tests.aggregator import fleet
from tests.aggregator.command import printed
from tests.aggregator.fleet import AUTHOR, NOW, enrolment, report
from tests.aggregator.forked import dask_processes, kill_at_commit, next_message, start_process
from tests.aggregator.object_store import prepared
from tests.aggregator.test_intake_ingest import FOREIGN, OPEN, PLAIN, mutated, one_of_each, rows
from tests.aggregator.test_intake_known import offer
from tests.aggregator.test_views import contents, filled

PATIENCE = 300
"""Maximum seconds that a test waits for an event. A test that waits this long has found a defect."""
PIECE = 6_000
"""Size of a piece in bytes: about sixty reports."""


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """The engine waits long enough for a scheduler and its workers on a busy machine."""
    monkeypatch.setattr(connection, "CONNECT_SECONDS", PATIENCE)
    monkeypatch.setattr(workers, "REPLY_SECONDS", PATIENCE)


@pytest.fixture(scope="module")
def address():
    """The address of a scheduler with two worker processes."""
    with dask_processes(2) as started:
        yield started.scheduler_address


@pytest.fixture
def dask(address):
    """An engine on the scheduler, with small pieces and commits, when both workers are present."""
    with connection.connected(address.replace("tcp", "dask"), None) as engine:
        engine.workers.client.wait_for_workers(2, timeout=PATIENCE)
        yield replace(engine, piece_bytes=PIECE, commit_outputs=80)


@pytest.fixture
def study(tmp_path):
    """A study of ``PLAIN`` with ten devices, one of them revoked, and of ``OPEN`` with none."""
    return prepared(tmp_path / "study")


CHANGES = {
    "a key is revoked": lambda study: study.revoke(enrolment(3, PLAIN)),
    "a key is enrolled": lambda study: study.enrol(enrolment(11, PLAIN)),
    "a campaign is imported": lambda study: study.import_campaign(FOREIGN.data, [AUTHOR.public], "foreign"),
}


def copied(study, name):
    """Return a copy of the study in another folder."""
    return Study.open(shutil.copytree(study.path, study.path.parent / name))


def messy(seed, number=220):
    """Return files with every kind of envelope and fault, and with many reports for the same slots."""
    rng = random.Random(seed)
    _, faulty = one_of_each()
    parts = [report(n % 10, PLAIN, n % 16, period=n % 2) for n in range(number // 2)]
    parts += [report(n % 8, OPEN, *range(n % 3 + 1), slot=n % 5) for n in range(number // 2)]
    parts += [enrolment(n % 6, OPEN) for n in range(12)] + [enrolment(0, PLAIN), enrolment(0, FOREIGN), OPEN.data]
    parts += list(faulty.values()) + [b"noise", b"\x95\x01", b""] * 3
    rng.shuffle(parts)
    parts = [part if rng.random() < 0.9 else mutated(part, rng) for part in parts if part]
    cuts = sorted(rng.sample(range(len(parts)), 3))
    return [b"".join(parts[a:b]) for a, b in zip([0, *cuts], [*cuts, len(parts)], strict=True)]


def inbox(folder, datas):
    """Make a folder of files and one empty file."""
    folder.mkdir()
    for number, data in enumerate([*datas, b""]):
        (folder / f"{number}.htr").write_bytes(data)
    return folder


# Counts equal to those of one process


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_the_result_equals_that_of_the_local_engine(dask, study, tmp_path, seed):
    """The result of an ingest, the rows and the status equal those of the local engine, also on a second ingest."""
    files = inbox(tmp_path / "inbox", messy(seed))
    other, done = copied(study, "other"), []
    for _ in range(2):
        one, two = ingest(study, [files], now=NOW), dask.ingest(other, [files], now=NOW, progress=done.append)
        assert one == two
        assert rows(study) == rows(other)
        assert study.status(NOW) == other.status(NOW)
    assert sum(done) == 2 * sum(file.stat().st_size for file in files.iterdir())
    assert (one.accepted, one.refused["replayed"] > 100) == (0, True)


def test_the_first_of_several_reports_for_a_slot_is_counted(dask, study, tmp_path):
    """Of several reports for one slot the first is counted, in the order of files and then of bytes, on any worker."""
    rng = random.Random(3)
    files, first = [], {}
    for number in range(6):
        data = []
        for _ in range(60):
            n, output = rng.randrange(9), rng.randrange(16)
            first.setdefault(n, output)
            data.append(report(n, PLAIN, output))
        files.append(tmp_path / f"{9 - number}.htr")
        files[-1].write_bytes(b"".join(data))
    result = dask.ingest(study, files, now=NOW)
    assert (result.accepted, result.refused) == (9, {"replayed": 351})
    found = {key: output for (_, _, key, _), output in rows(study).items()}
    keys = {int.from_bytes(fleet.device(n, PLAIN).id, "big", signed=True): output for n, output in first.items()}
    assert found == keys


def test_a_file_that_cannot_be_read_is_named(dask, study, tmp_path, monkeypatch):
    """A file that is missing when it is to be read is named in the warnings, and the other files are counted."""
    (tmp_path / "good").write_bytes(report(0, PLAIN))
    (tmp_path / "gone").write_bytes(report(1, PLAIN))
    real = pieces._guesses

    def guesses(*arguments):
        found = list(real(*arguments))
        (tmp_path / "gone").unlink(missing_ok=True)
        return iter(found)

    monkeypatch.setattr(pieces, "_guesses", guesses)
    result = dask.ingest(study, [tmp_path / "gone", tmp_path / "good", tmp_path / "good"], now=NOW)
    assert (result.accepted, result.refused, result.files) == (1, {"replayed": 1}, 3)
    assert result.warnings == (f"{tmp_path / 'gone'} could not be read: No such file or directory",)


@pytest.mark.parametrize("answers", [pytest.param(1, marks=pytest.mark.long), 3])
def test_views_are_counted_as_the_local_engine_counts_them(dask, tmp_path, answers):
    """Workers derive the same view of each key: rows, tallies of each view, estimates and the status are those of the
    local engine.

    The short test uses devices that may answer three times a period.
    """
    here, signed, sent = filled(tmp_path, answers)
    there = fleet.study(tmp_path / "there", signed, range(60))
    result = dask.ingest(there, [tmp_path / "batch.htr"], now=NOW + fleet.WEEK)
    assert (result.accepted, sum(result.refused.values())) == (len(sent), 0)
    assert viewed(there) == viewed(here)
    assert there.status(NOW) == here.status(NOW)
    for period in (None, 0, 1):
        expected, found = there.tally(signed, period), dask.tally(there, signed, period)
        assert found.counts.tolist() == here.tally(signed, period).counts.tolist()
        assert [contents(part) for part in found.by_view] == [contents(part) for part in expected.by_view]
        one, two = (json.dumps(estimate(signed, tally).as_json()) for tally in (found, expected))
        assert one == two
    assert {row["view"] for row in viewed(there)} == {0, 1, 2}


def viewed(study):
    """Return the key, view, period, slot, output and word of every row."""
    query = "SELECT * FROM rows"
    read = tables.query(tables.snapshot(study.path / REPORTS), query)
    return sorted(read.to_pylist(), key=repr)


# The memory of workers


def count_work(least, block):
    """On a worker: remember single envelopes, and count the verified signatures and the data files read."""
    if not hasattr(signatures, "sound_open"):
        signatures.sound_open, slots.Slots.sound_rows = signatures.crypto_sign_open, slots.Slots._rows
    signatures.MIN_SIGNATURES, signatures.BLOCK_BYTES = least, block
    seen = signatures.seen = Counter()

    def opened(*arguments):
        seen["verified"] += 1
        return signatures.sound_open(*arguments)

    def read(self, path):
        seen[self.low, path.name] += 1
        return self.sound_rows(path)

    signatures.crypto_sign_open, slots.Slots._rows = opened, read


def work_since():
    """On a worker: return the counts since the last call."""
    seen = Counter(signatures.seen)
    signatures.seen.clear()
    return seen


@pytest.fixture
def watched(dask):
    """The engine, and a function that returns the sum of its workers' counts and resets them."""
    usual = signatures.MIN_SIGNATURES, signatures.BLOCK_BYTES
    dask.workers.client.run(count_work, 1, 512)
    yield dask, lambda: sum(dask.workers.client.run(work_since).values(), Counter())
    dask.workers.client.run(count_work, *usual)


def test_a_known_file_is_not_verified_again(watched, study, tmp_path):
    """If all signatures of a file were valid, they are not verified again, with or without other files, and all reports
    count."""
    dask, seen = watched
    one, other = tmp_path / "one.htr", tmp_path / "a.htr"
    one.write_bytes(b"".join(report(n % 8, PLAIN, period=n // 8) for n in range(16)) + enrolment(1, OPEN))
    other.write_bytes(report(8, PLAIN))
    dask.ingest(study, [one], now=NOW)
    assert seen()["verified"] == 17
    again = dask.ingest(study, [one], now=NOW)
    assert (seen()["verified"], again.refused, again.enrolments) == (0, {"replayed": 16}, 1)
    large = replace(dask, piece_bytes=1024)  # with this limit, ``one`` is a large file
    large.ingest(study, [one], now=NOW)
    seen()
    assert large.ingest(study, [other, one], now=NOW).accepted == 1
    assert seen()["verified"] == 1


def test_a_verified_file_is_recognised_in_different_pieces(watched, study, tmp_path):
    """A file that was verified in different pieces, for another number of workers, is not verified again."""
    dask, seen = watched
    file = tmp_path / "one.htr"
    file.write_bytes(b"".join(report(n % 8, PLAIN, period=n // 8) for n in range(48)))
    for size, verified in ((1024, 48), (2048, 0), (512, 0)):
        again = replace(dask, piece_bytes=size).ingest(study, [file], now=NOW)
        assert (seen()["verified"], again.read) == (verified, 48)


@pytest.mark.parametrize(
    "change", ["a key is revoked", *(pytest.param(one, marks=pytest.mark.long) for one in list(CHANGES)[1:])]
)
def test_remembered_signatures_change_no_result(watched, study, tmp_path, change):
    """After any later enrolment, revocation or import, the result is that of a local engine that remembers no
    signatures."""
    dask, seen = watched
    files = inbox(tmp_path / "inbox", messy(5))
    dask.ingest(study, [files], now=NOW)
    first = seen()["verified"]
    CHANGES[change](study)
    forgetful = copied(study, "forgetful")
    (forgetful.path / NAME).unlink()
    assert dask.ingest(study, [files], now=NOW) == ingest(forgetful, [files], now=NOW)
    assert rows(study) == rows(forgetful)
    assert 0 < seen()["verified"] < first  # only reports that are changed, or near a forged one, are verified


def test_a_data_file_is_read_once_for_a_shard(watched, study, tmp_path):
    """Each data file is read once for each shard, in any number of commits, or twice if another worker takes over."""
    dask, seen = watched
    file = many(study, tmp_path)
    replace(dask, piece_bytes=2000, commit_outputs=40).ingest(study, [file], now=NOW)
    written = len(tables.data_files(study.path / REPORTS, tables.snapshot(study.path / REPORTS)))
    found = seen()
    del found["verified"]
    assert written >= 3
    assert len(found) >= 2 * (written - 1)  # at least two shards read each file but the last
    # If the other worker takes over a shard, it reads the files too.
    assert max(found.values()) <= 2


@pytest.mark.parametrize("number", [1, pytest.param(2, marks=pytest.mark.long), 8])
def test_slots_of_a_shard_are_those_of_the_table(study, number):
    """The cache of a shard finds the same free slots as a scan of the whole table, in files sorted by key and in
    others."""
    rng, path = np.random.default_rng(number), study.path / REPORTS
    devices = rng.integers(-(2**63), 2**63 - 1, 60)
    kept = [slots.Slots(path, 10**6, *shards.bounds(shard, number)) for shard in range(number)]
    for step in range(4):
        table = tables.snapshot(path)
        for shard, parcel in enumerate(shards.split([offer(rng, devices, 40)], number)):
            one = shards.joined((PLAIN.id.hex(),), [parcel])
            free = one.free(table)
            assert one.free(table, shards.shard_condition(shard, number), kept[shard]).tolist() == free.tolist()
            added = one.rows(free)
            tables.append_rows(path, added.sort_by("key") if step % 2 else added)
    assert sum(one._rows_in_memory() for one in kept) > 60
    assert all(one._partitions for one in kept)  # no shard had to read the whole table


# The division of files


def ranges_of(path, size):
    """Return the ranges of a file that readers of pieces of ``size`` bytes find."""
    guesses = [(guess, ranges.frame_range(guess)) for guess in ranges.nominal(path, path.stat().st_size, size)]
    return [where for where, _ in ranges.stitched(guesses, ranges.frame_range)]


def envelopes_of(chunk_data, found):
    return [chunk_data[a:b] for a, b in found.columns[[0, 2]].T.tolist()]


def require_same_ranges(path, size):
    """Assert that the ranges of a file are adjacent and have the envelopes and malformed items of the whole file."""
    data = path.read_bytes()
    whole, found = frames(data, final=True), ranges_of(path, size)
    assert [one.begin for one in found[1:]] == [one.stop for one in found[:-1]]
    assert (found[0].begin, found[-1].stop) == (0, len(data))
    read = [ranges.read_range(where) for where in found]
    assert [one for some, there, *_ in read for one in envelopes_of(some, there)] == envelopes_of(data, whole)
    assert sum(there.malformed_items for _, there, *_ in read) == whole.malformed_items
    for one, (_, there, *_) in zip(found, read, strict=True):
        assert all(one.begin + begin < (one.begin // size + 1) * size for begin in there.columns[0].tolist())


def report_around(payload):
    """Return a report envelope whose payload contains the given bytes."""
    return envelope.seal(envelope.Kind.REPORT, fleet.device(0, PLAIN), payload)


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(8, 700))
def test_ranges_of_a_file_contain_the_same_envelopes_as_the_file(tmp_path_factory, seed, size):
    """The ranges of a file, divided anywhere, contain the same envelopes and malformed items as the whole file."""
    rng = random.Random(seed)
    inner = report(1, PLAIN)
    parts = [report(n % 10, PLAIN) for n in range(12)]
    # Add envelopes within payloads, and heads that claim the bytes after them.
    parts += [report_around(inner * 3), inner[: rng.randrange(5, 30)], b"\x95" * 3, b"\x95\x01\x03\xc4\x08" * 2]
    parts += [b"\x95\x01\x01\xc4\x08" + bytes(8) + b"\xc6" + (10**6).to_bytes(4, "big"), OPEN.data]
    rng.shuffle(parts)
    path = tmp_path_factory.mktemp("cut") / "batch.htr"
    path.write_bytes(b"".join(part if rng.random() < 0.8 else mutated(part, rng) for part in parts))
    require_same_ranges(path, size)


@pytest.mark.parametrize("size", range(40, 300, 20))
def test_a_range_that_begins_at_a_false_head_is_corrected(tmp_path, monkeypatch, size):
    """A false head in a payload misleads only a reader that begins inside that payload, and its range is corrected.

    The head claims the bytes up to the middle of a later envelope.
    """
    one, two = report(1, PLAIN), report_around(b"\xc4\x40" + bytes(84))
    until = one + two[: two.index(b"\xc4\x40" + bytes(84)) + 66]
    head = one[:13] + bytes([0xC4, len(until)])
    trap = report_around(bytes(20) + head) + one + two
    hidden = trap.index(head)
    assert frames(trap[hidden:], final=True).columns[2, 0] == trap.index(until) + len(until) - hidden
    monkeypatch.setattr(ranges, "_LOOKAHEAD", 16)  # too few bytes for the last envelope of a range
    path = tmp_path / "batch.htr"
    for shift in range(0, size, 9):
        path.write_bytes(b"?" * shift + trap * 4)
        require_same_ranges(path, size)


# Shards


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.sampled_from([1, 2, 8, 16]), st.booleans())
def test_every_report_is_in_exactly_one_shard(seed, number, words):
    """Every report is whole and in order in exactly one shard, that of its key, and the shards cover all keys."""
    rng = np.random.default_rng(seed)
    offers = []
    for _ in range(rng.integers(0, 4)):
        counts = rng.integers(1, 4, rng.integers(0, 20))
        total = counts.sum()
        report_of = np.repeat(np.arange(len(counts)), counts)
        key = rng.integers(-(2**63), 2**63 - 1, len(counts))[report_of] if len(counts) else report_of
        word = np.array([None if rng.random() < 0.3 else rng.bytes(3) for _ in range(total)], dtype=object)
        columns = [rng.integers(0, high, total) for high in (2, 2**20, 2**16, 4096, 2**40)]
        offers.append(
            Candidates(("a", "b"), len(counts), report_of, columns[0], columns[1], key, columns[2], columns[3],
                  columns[4], word if words else None)
        )  # fmt: skip

    names = ("report", "campaign", "period", "key", "slot", "view", "output")

    def unpacked(offer, before=0):
        words = [None] * len(offer.report) if offer.word is None else offer.word.tolist()
        numbers = [getattr(offer, name).tolist() for name in names]
        return [(before + row[0], *row[1:]) for row in zip(*numbers, words, strict=True)]

    everything = [row for place, offer in enumerate(offers) for row in unpacked(offer, 1000 * place)]
    parcels = shards.split(offers, number)
    width = 2**64 // number
    for shard, parcel in enumerate(parcels):
        inside = [row for row in everything if shard * width <= row[3] + 2**63 < (shard + 1) * width]
        order = {place: new for new, place in enumerate(sorted({row[0] for row in inside}))}
        back = unpacked(shards.joined(("a", "b"), [parcel]))
        assert [(order[row[0]], *row[1:]) for row in inside] == back
        assert parcel.reports == len(order)
    assert sum(parcel.reports for parcel in parcels) == sum(offer.reports for offer in offers)
    keys = np.array([-(2**63), -1, 0, 2**63 - 1])
    for shard in range(number):
        inside = shards.shard_of(keys, number) == shard
        condition = shards.shard_condition(shard, number).replace("AND", "and") or "True"
        assert [eval(condition, {"key": key}) for key in keys.tolist()] == inside.tolist()  # noqa: S307  # this program wrote the condition


# Tallies

SIZE = 6


def signed_campaign(kind):
    """Return a signed campaign of four periods, of the given kind of channel and notion."""
    level = exact.NANONATS
    own, transcript = DeclaredPrior(level, SIZE), TranscriptPrior(level, tuple(range(1, SIZE + 1)))
    changes = {
        "plain": {"views": plain_views(randomized_response(SIZE, level))},
        "several": {"views": plain_views(hadamard(SIZE, level)), "answers_per_period": 3},
        "bits": {"views": plain_views(unary.oue(SIZE, level)), "mechanism": "oue", "answers_per_period": 2},
        "own": {
            "views": plain_views(own.channel_of(own.uniform)), "notion": own, "mechanism": "lip", "enrolment": "open",
        },
        "transcript": {
            "views": plain_views(transcript.channel_of(transcript.prior)), "notion": transcript,
            "mechanism": "lip-response", "enrolment": "open",
        },
    }[kind.split(",")[0]]  # fmt: skip
    if kind.endswith(", several"):
        changes["answers_per_period"] = 2
    campaign = replace(PLAIN.campaign, domain=Values(tuple("abcdef")), title=kind, **changes)
    return open_campaign(seal_campaign(campaign, AUTHOR), [AUTHOR.public])


def counted(tmp_path, kind, devices=150):
    """Return a study with rows of many devices and of another campaign, in two commits, and the signed campaign."""
    signed = signed_campaign(kind)
    made = fleet.study(tmp_path / kind, signed)
    rng, campaign = np.random.default_rng(1), signed.campaign
    ids = rng.integers(-(2**63), 2**63 - 1, devices)
    public = rng.integers(0, 256, (devices, 32)).astype(np.uint8)
    prior = np.full(devices, None, dtype=object)
    if kind.startswith("own"):
        prior[:] = [codec.encode([1 + n % 60, *range(2, SIZE + 1)]) for n in range(devices)]
    enrolments.register(made, signed.id.hex(), ids, public, prior if kind.startswith("own") else None)
    found = []
    for key in ids.tolist():
        periods = sorted(rng.choice(4, rng.integers(1, 4), replace=False).tolist())
        for place, period in enumerate(periods):
            for slot in range(rng.integers(1, campaign.answers_per_period + 1)):
                output = int(rng.integers(campaign.channel.output_count if kind != "bits" else SIZE))
                slot = place + (rng.random() < 0.05) if kind == "transcript" else slot
                word = bytes([int(rng.integers(2**SIZE)) << 2]) if kind == "bits" else None
                found.append((signed.id.hex(), period, key, slot, 0, None if word else output, word))
    strangers = [("0" * 32, 0, key, 0, 0, 1, None) for key in ids.tolist()[:20]]
    for some in (found[::2], found[1::2] + strangers):
        columns = [list(column) for column in zip(*some, strict=True)]
        tables.append_rows(made.path / REPORTS, pa.table(columns, schema=SCHEMAS[REPORTS]))
    return made, signed


@pytest.mark.parametrize(
    "kind", ["plain", "several", "bits", pytest.param("own", marks=pytest.mark.long), "own, several", "transcript"]
)
def test_the_tallies_of_the_shards_add_up_to_the_tally_of_the_study(tmp_path, kind):
    """The tallies of the shards add up to the study's tally, exactly, and their estimate is the study's.

    The short test leaves out people with declared priors who answer once.
    """
    made, signed = counted(tmp_path, kind)
    study_version = StudyVersion.of(made)
    version = tables.snapshot(made.path / REPORTS).version()
    spans = [(1, 1)] if kind == "transcript" else [(1, 1), (0, 2)]
    for chosen, number in ((None, 4), (2, 2), (9, 1), *((span, 4) for span in spans)):
        parts = [
            tallies.part_tally(study_version, version, one, number, signed.id.hex(), chosen) for one in range(number)
        ]
        whole = tallies.total_tally(parts, made.refused(signed))
        expected = next(made.spans(signed, [chosen])) if isinstance(chosen, tuple) else made.tally(signed, chosen)
        assert contents(whole) == contents(expected)
        assert (whole.groups is not None) >= isinstance(chosen, tuple)
        if expected.reports and (chosen is None or isinstance(chosen, tuple)):
            one, two = (json.dumps(estimate(signed, tally).as_json()) for tally in (whole, expected))
            assert one == two
    if kind == "transcript":
        assert made.tally(signed, 9).lost == 0 < made.tally(signed).lost


def test_the_tally_of_the_cluster_equals_the_tally_of_the_study(dask, tmp_path):
    """The tally computed on workers equals the study's, with refusals and version, also for an empty table."""
    made, signed = counted(tmp_path, "several")
    for period in (None, 1):
        assert contents(dask.tally(made, signed, period)) == contents(made.tally(signed, period))
    spans = [(2, 2), (0, 1), (9, 9)]
    assert list(map(contents, dask.spans(made, signed, spans))) == list(map(contents, made.spans(signed, spans)))
    chained, transcripts = counted(tmp_path, "transcript", 10)
    with pytest.raises(StudyError, match="select single periods"):
        list(dask.spans(chained, transcripts, [(0, 1)]))
    empty = fleet.study(tmp_path / "empty", PLAIN)
    assert contents(dask.tally(empty, PLAIN)) == contents(empty.tally(PLAIN))


# Faults


def many(study, tmp_path):
    """Enrol half of 200 new devices of ``PLAIN``, and return a file with one report of each."""
    study.enrol(b"".join(enrolment(n, PLAIN) for n in range(100, 200)))
    file = tmp_path / "many.htr"
    file.write_bytes(b"".join(report(n, PLAIN, n % 16) for n in range(100, 300)))
    return file


def fail_once(flag, how):
    """On a worker: fail in the first piece that is read after the file ``flag`` exists."""
    if not hasattr(ranges, "sound"):
        ranges.sound = ranges.gather

    def gather(parts):
        try:
            Path(flag).rename(f"{flag}.{os.getpid()}")
        except FileNotFoundError:
            return ranges.sound(parts)
        if how == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        return ranges.sound(parts)

    ranges.gather = gather


def ingest_with_failure(engine, study, tmp_path, how):
    """Ingest ``many`` while one worker fails, and assert that every report is counted once."""
    file, flag = many(study, tmp_path), tmp_path / "flag"
    engine.workers.client.run(fail_once, str(flag), how)
    flag.touch()
    result = engine.ingest(study, [file], now=NOW)
    assert len(list(tmp_path.glob("flag.[0-9]*"))) == 1
    assert (result.accepted, result.refused) == (100, {"unknown-key": 100})
    assert study.tally(PLAIN).counts.sum() == len(rows(study)) == 100


def test_the_work_of_a_killed_worker_is_counted_once(dask, study, tmp_path):
    """If a worker is killed in the middle of a piece, its work is done again and every report is counted once."""
    ingest_with_failure(dask, study, tmp_path, "die")


@pytest.mark.long
def test_the_work_of_a_stopped_worker_is_counted_once(study, tmp_path):
    """Results of a stopped worker that others need are computed again, and every report is counted once.

    A worker that is stopped at the end of the ingest is killed with the others.
    """
    with dask_processes(2, heartbeat=3) as started, Client(started) as client, (
        client.as_current()
    ):  # fmt: skip
        ingest_with_failure(Cluster(Workers(client), piece_bytes=PIECE, commit_outputs=80), study, tmp_path, "stop")
        client.wait_for_workers(2, timeout=PATIENCE)
        workers = list(client.run(os.getpid).values())
        os.kill(workers[0], signal.SIGSTOP)
        began = time.monotonic()
    assert time.monotonic() - began < PATIENCE
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


@pytest.mark.long
def test_workers_that_write_results_to_disk_give_the_same_result(study, tmp_path, address):
    """Workers that must write all results to disk give the same result."""
    file, other = many(study, tmp_path), copied(study, "other")
    tight = {"memory_limit": "2GB", "config": {"distributed.worker.memory.target": 1e-6}}
    with dask_processes(1, **tight) as started, Client(started) as client, (
        client.as_current()
    ):  # fmt: skip
        held = client.submit(bytes, 100_000)
        held.result()
        on_disk = client.run(lambda dask_worker: len(dask_worker.data.slow))
        assert list(on_disk.values()) == [1]
        result = Cluster(Workers(client), piece_bytes=PIECE).ingest(other, [file], now=NOW)
    assert result == ingest(study, [file], now=NOW)
    assert rows(study) == rows(other)


def ingest_until_killed(address, study, file, when, step, pipe):
    """Ingest in a driver that kills itself before or after one of its commits; send the number of accepted reports."""
    kill_at_commit(when, step)
    with connection.connected(address.replace("tcp", "dask"), None) as engine:
        engine.piece_bytes, engine.commit_outputs = PIECE // 3, 30
        pipe.send(engine.ingest(Study.open(study), [file], now=NOW).accepted)


@pytest.mark.parametrize("die", [pytest.param("before", marks=pytest.mark.long), "after"])
def test_the_work_of_a_killed_driver_is_completed_by_the_next(dask, address, study, tmp_path, die):
    """If the driver is killed with kill -9 just before or after the second commit, a second run counts every
    report once."""
    file = many(study, tmp_path)
    process, _ = start_process(ingest_until_killed, address, study.path, file, die, 1)
    process.join(PATIENCE)
    assert process.exitcode == -signal.SIGKILL
    before = len(rows(study))
    assert 0 < before < 100
    result = dask.ingest(study, [file], now=NOW)
    assert (result.accepted, result.refused) == (100 - before, {"unknown-key": 100, "replayed": before})
    assert study.tally(PLAIN).counts.sum() == len(rows(study)) == 100


def test_several_engines_on_one_study_count_each_report_once(dask, address, study, tmp_path):
    """If a Dask driver ingests a file while a local one and a second Dask driver ingest the same file in turn, every
    report is counted once in total."""
    file = many(study, tmp_path)
    process, pipe = start_process(ingest_until_killed, address, study.path, file, "never", -1)
    local = ingest(study, [file], now=NOW, threads=1, chunk_reports=40, buffer_bytes=PIECE)
    by_dask = dask.ingest(study, [file], now=NOW)
    theirs = next_message(pipe)
    process.join(PATIENCE)
    assert local.accepted + by_dask.accepted + theirs == len(rows(study)) == 100
    assert study.refused(PLAIN)["unknown-key"] == 300


def test_free_slots_are_computed_again_after_another_commit(dask, study, tmp_path, before_commit):
    """If another process fills slots between the scan and the commit, the free slots of the shards are computed
    again."""
    file, second = many(study, tmp_path), tmp_path / "second.htr"
    second.write_bytes(b"".join(report(n, PLAIN, 7) for n in range(100, 150)))
    others = before_commit(lambda: ingest(study, [second], now=NOW))
    result = dask.ingest(study, [file], now=NOW)
    assert (others[0].accepted, result.accepted) == (50, 50)
    assert result.refused == {"unknown-key": 100, "replayed": 50}
    assert len(rows(study)) == 100


# Error messages


def test_workers_without_the_study_or_of_another_version_are_named(study, monkeypatch):
    """A worker without the study, with another study, or of another version is named in an error before any work is
    done."""
    identity = str(tables.snapshot(study.path / "campaigns").metadata().id)
    assert steps.probe(study.path, identity)[1] == ""
    assert "another study" in steps.probe(study.path, "somebody else")[1]
    assert "cannot be read there" in steps.probe(study.path / "nowhere", identity)[1]
    version = steps.probe(study.path, identity)[0]
    cases = [
        ((version, "there is no study"), "shared|storage"),
        (("0.0", ""), "install the same version"),
        (ModuleNotFoundError("No module named 'aggregator'"), "cannot run halftruth"),
        (OSError("in <TCP>: Stream is closed"), "no worker answers"),
    ]
    for found, message in cases:
        client = SimpleNamespace(run=lambda *_, found=found, **__: {"tcp://there": found})
        monkeypatch.setattr(workers, "REPLY_SECONDS", 0.1)
        with pytest.raises(EngineError, match=message):
            Cluster(Workers(client)).ingest(study, [study.path / "campaigns"], now=NOW)
    assert rows(study) == {}


def test_workers_that_are_all_lost_are_waited_for(dask, study, tmp_path, monkeypatch):
    """If all workers are lost, the engine repeats its call until workers that replace them answer, and the ingest
    succeeds."""
    file, asked = many(study, tmp_path), []
    real = dask.workers.client.run

    def lost_twice(*arguments, **options):
        asked.append(arguments)
        lost = {f"tcp://lost:{n}": OSError("Stream is closed") for n in range(2)}
        return lost if len(asked) <= 2 else real(*arguments, **options)

    monkeypatch.setattr(dask.workers.client, "run", lost_twice)
    assert dask.ingest(study, [file], now=NOW).accepted == len(rows(study)) > 0
    assert len(asked) == 3


def test_a_file_that_only_the_driver_has_is_an_error(dask, study, tmp_path):
    """A file that the workers cannot find stops the ingest with an error that names it, and no report is counted."""
    file, flag = many(study, tmp_path), tmp_path / "flag"
    dask.workers.client.run(hide_files, str(flag))
    flag.touch()
    try:
        with pytest.raises(EngineError, match=r"cannot find .*many.htr"):
            dask.ingest(study, [file], now=NOW)
    finally:
        flag.unlink()
    assert rows(study) == {}


def hide_files(flag):
    """On a worker: pretend that no file exists while ``flag`` exists."""
    real = ranges.read_part

    def read_part(path, begin, size):
        return real(path.with_name("nowhere") if Path(flag).exists() else path, begin, size)

    ranges.read_part = read_part


def test_no_scheduler_is_an_error(monkeypatch):
    """If no scheduler answers at the address, the error says so."""
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 0.2)
    with pytest.raises(EngineError, match="no Dask scheduler"), engine_of("dask://127.0.0.1:9"):
        pass


def test_without_dask_the_extra_is_named(monkeypatch):
    """If Dask is not installed, the error names the extra to install."""
    monkeypatch.delitem(sys.modules, "aggregator.engines.connection")
    monkeypatch.delattr(engines, "connection")
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(EngineError, match=r"halftruth\[aggregator,dask\]"), engine_of("dask"):
        pass


def test_the_local_engine_imports_no_dask(study, tmp_path):
    """Neither an ingest without --engine nor the modules of the estimates import any Dask module."""
    file = tmp_path / "batch.htr"
    file.write_bytes(report(0, PLAIN, 3))
    program = f"""if True:
        import sys
        from aggregator.cli.group import halftruth
        halftruth(["--study", {str(study.path)!r}, "ingest", {str(file)!r}], standalone_mode=False)
        import aggregator.cli.add_data, aggregator.cli.doctor, aggregator.estimate.estimator
        print(sorted({{name.split(".")[0] for name in sys.modules}} & {{"dask", "distributed"}}))
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_command_takes_an_engine(address, study, tmp_path):
    """ingest and estimate print the same with an engine as without; an unknown engine, and --threads with a cluster,
    are usage errors."""
    file = tmp_path / "batch.htr"
    file.write_bytes(b"".join(report(n, PLAIN, n) for n in (0, 1, 2, 2, 9)))
    local, other = (("--study", one.path) for one in (study, copied(study, "other")))
    there = address.replace("tcp", "dask")
    for words in (["ingest", file, "--json"], ["ingest", file], ["estimate", "education", "--json"]):
        assert printed(*local, *words) == printed(*other, *words, "--engine", there)
    assert "dask://HOST:PORT" in printed(*local, "ingest", file, "--engine", "spark", code=2)
    assert "--threads" in printed(*local, "ingest", file, "--engine", there, "--threads", 2, code=2)
