"""The caches of an ingest, verified signatures and filled slots, save work and change no result."""

from __future__ import annotations

import random
import shutil

import numpy as np
import pytest
from deltalake import WriterProperties

from aggregator.intake import ingest as intake
from aggregator.intake import shards, signatures, validate
from aggregator.intake.chunk import ChunkBuilder
from aggregator.intake.compact import compact
from aggregator.intake.deduplicate import Candidates
from aggregator.intake.framing import frames
from aggregator.intake.ingest import ingest
from aggregator.intake.signatures import MIN_SIGNATURES, verifier
from aggregator.intake.slots import SlotRanges, Slots
from aggregator.intake.verified import NAME, VerifiedDigests
from aggregator.storage import tables
from aggregator.study import Study
from protocol.envelope import Kind
from tests.aggregator.fleet import AUTHOR, NOW, WEEK, campaign, device, enrolment, report
from tests.aggregator.test_intake_ingest import OPEN, PLAIN, study
from tests.altered import flipped

__all__ = ["study"]

LATER = campaign(title="Imported later")


@pytest.fixture
def verified_now(monkeypatch):
    """A list with the number of signatures that libsodium has verified; even a few envelopes are remembered."""
    count = [0]
    real = signatures.crypto_sign_open

    def counted(*arguments):
        count[0] += 1
        return real(*arguments)

    monkeypatch.setattr(signatures, "crypto_sign_open", counted)
    monkeypatch.setattr(signatures, "MIN_SIGNATURES", 1)
    monkeypatch.setattr(signatures, "BLOCK_BYTES", 500)
    return count


def everything():
    """Return envelopes of all kinds, in a mix."""
    rng = random.Random(1)
    parts = [report(n % 14, PLAIN, n % 16, period=n % 3) for n in range(60)]
    parts += [enrolment(n, OPEN) for n in (0, 1, 1, 2)]
    parts += [report(n % 4, OPEN, *range(n % 3 + 1), slot=n % 4) for n in range(40)]
    parts += [report(n, LATER) for n in range(8)]
    parts += [report(n, PLAIN, period=4) for n in range(3)]
    rng.shuffle(parts)
    forged = parts[5]
    return b"".join(parts) + b"noise" + flipped(forged)


def import_later(study):
    study.import_campaign(LATER.data, [AUTHOR.public], "later")
    study.enrol(b"".join(enrolment(n, LATER) for n in range(5)))


CHANGES = {
    "nothing": lambda _: None,
    "a key is enrolled": lambda study: study.enrol(enrolment(12, PLAIN)),
    "a key is revoked": lambda study: study.revoke(enrolment(3, PLAIN)),
    "a campaign is imported": import_later,
}


HOURS = [NOW, NOW - 2 * WEEK, NOW + 9 * WEEK]


@pytest.mark.parametrize(
    ("change", "now"),
    [
        pytest.param(change, now, marks=[] if now == NOW or change == "nothing" else pytest.mark.long)
        for change in CHANGES
        for now in HOURS
    ],
)
def test_remembered_signatures_change_no_result(study, tmp_path, verified_now, change, now):
    """After any enrolment, revocation or import, and at any time, counts are those of a study without the record of
    signatures.

    The short test has every change at one time, and every time without a change; the long test has all combinations.
    """
    file = tmp_path / "batch.htr"
    file.write_bytes(everything())
    ingest(study, [file], now=NOW)
    CHANGES[change](study)
    forgetful = Study.open(shutil.copytree(study.path, tmp_path / "forgetful"))
    (forgetful.path / NAME).unlink()
    verified_now[0] = 0
    expected = ingest(forgetful, [file], now=now)
    without, verified_now[0] = verified_now[0], 0
    assert ingest(study, [file], now=now) == expected
    assert 0 < verified_now[0] < without / 2  # only reports that are changed, or near a forged one, are verified
    for signed in (PLAIN, OPEN):
        assert study.refused(signed) == forgetful.refused(signed)
        assert study.periods(signed) == forgetful.periods(signed)


def test_a_known_file_is_not_verified_again(study, tmp_path, verified_now):
    """If all signatures of a file were valid, they are not verified again, also together with another file.

    The reports of the file are then replays, and the other file's report counts.
    """
    file, other = tmp_path / "batch.htr", tmp_path / "a.htr"
    file.write_bytes(b"".join(report(n, PLAIN, n) for n in range(10)) + enrolment(1, OPEN) + report(1, OPEN, 1))
    other.write_bytes(report(2, PLAIN, 1, period=1))
    intake_size = file.stat().st_size
    assert ingest(study, [file], now=NOW, buffer_bytes=intake_size).accepted == 11
    before, verified_now[0] = verified_now[0], 0
    again = ingest(study, [other, file], now=NOW, buffer_bytes=intake_size)
    assert (before, verified_now[0]) == (12, 1)
    assert (again.accepted, again.refused, again.enrolments) == (1, {"replayed": 11}, 1)


@pytest.mark.parametrize("moment", ["before the commit", "after the commit", "before the refusals"])
def test_after_a_crash_nothing_is_verified_again(study, tmp_path, verified_now, monkeypatch, moment):
    """A run after a crash has the counts of an uninterrupted run, and verifies no signature again."""
    file = tmp_path / "batch.htr"
    file.write_bytes(b"".join(report(n, PLAIN, n) for n in range(10)) + b"noise")
    real = tables.append

    def crashing(path, rows_for):
        if moment != "before the commit":
            real(path, rows_for)
        if moment != "before the refusals":
            raise KeyboardInterrupt

    def crashing_add(path, rows):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(validate, "append", crashing)
        patch.setattr(intake, "append_rows", crashing_add)
        with pytest.raises(KeyboardInterrupt):
            ingest(study, [file], now=NOW)
    verified_now[0] = 0
    result = ingest(study, [file], now=NOW)
    assert verified_now[0] == 0
    assert result.accepted == (10 if moment == "before the commit" else 0)
    assert study.periods(PLAIN) == {0: 10}


def test_every_byte_of_a_known_file_still_counts(study, tmp_path, verified_now):
    """If any byte of a signed report changes, the report is refused, although the other reports of its file are
    known."""
    good = [report(n, PLAIN, n) for n in range(3)]
    file = tmp_path / "batch.htr"
    file.write_bytes(b"".join(good))
    ingest(study, [file], now=NOW)
    verified_now[0] = 0

    def passing(*envelopes):
        data = b"".join(envelopes)
        builder = ChunkBuilder()
        builder.add(data, frames(data, final=True))
        with verifier(1, VerifiedDigests.of(study.path)) as verifying:
            _, offers = validate.validate_chunk(study, builder.chunk(), verifying, NOW, 10**6)
        return sum(offer.reports for offer in offers)

    assert (passing(*good), verified_now[0]) == (3, 0)
    for at in range(len(good[1])):
        assert passing(good[0], flipped(good[1], 8 * at), good[2]) < 3, at
    assert verified_now[0]


def test_a_truncated_record_is_read_and_a_missing_folder_is_not_an_error(tmp_path):
    """The complete lines of a record that a crash truncated are read; without a folder the record is in memory only."""
    digests = [bytes([n]) * 32 for n in range(3)]
    VerifiedDigests.of(tmp_path).add(digests[:2])
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:-9])
    VerifiedDigests.of(tmp_path).add(digests[2:])
    assert [digest in VerifiedDigests.of(tmp_path) for digest in digests] == [True, False, True]
    nowhere = VerifiedDigests.of(tmp_path / "nowhere")
    nowhere.add(digests)
    assert digests[0] in nowhere


def offer(rng, devices, reports):
    """Return reports of one or more slots, in a few periods."""
    columns = []
    for number in range(reports):
        key, period, slot = int(devices[rng.integers(len(devices))]), rng.integers(2), rng.integers(6)
        columns += [(number, 0, period, key, slot + more, 1) for more in range(rng.integers(1, 5))]
    report_, campaign_, period, key, slot, output = np.array(columns, dtype=np.int64).T
    return Candidates(
        (PLAIN.id.hex(),), reports, report_, campaign_, period, key, slot, np.zeros_like(slot), output, None
    )


@pytest.mark.parametrize("most", [10**6, 150])
def test_kept_slots_are_those_of_the_table(study, most):
    """After commits without the cache and a compaction, the cache finds the same free slots as a scan of the table."""
    rng = np.random.default_rng(1)
    devices = rng.integers(-(2**63), 2**63 - 1, 40)
    path = study.path / "reports"
    slots = Slots(path, most)
    for step in range(12):
        one = offer(rng, devices, int(rng.integers(1, 30)))
        table = tables.snapshot(path)
        free = one.free(table)
        assert one.free(table, slots=slots).tolist() == free.tolist()
        tables.append_rows(path, one.rows(free))
        if step == 5:
            compact(study, now=NOW, alone=True)
    rows = tables.query(tables.snapshot(path), "SELECT DISTINCT period, key, slot FROM rows")
    assert rows.num_rows == tables.query(tables.snapshot(path), "SELECT * FROM rows").num_rows > 150


def test_cached_spans_find_every_overlap():
    """Rows that are all slot 0 are cached as keys only; with other slots they stay distinct, and adjacent spans do
    not overlap."""
    zeros, ones = np.zeros(3, dtype=np.int64), np.ones(3, dtype=np.int64)
    plain = SlotRanges.of(np.array([5, -7, 9]), zeros, ones)
    assert plain.start is None
    assert plain.meet(np.array([5, 5, 6]), np.array([0, 1, 0]), np.array([1, 2, 1])).tolist() == [True, False, False]
    mixed = plain.joined(SlotRanges.of(np.array([5, 5]), np.array([2, 3]), np.array([3, 5])))
    assert len(mixed) == 4
    assert mixed.disjoint()
    for start in range(7):
        for stop in range(start + 1, 8):
            expected = not set(range(start, stop)).isdisjoint({0, 2, 3, 4})
            assert mixed.meet(np.array([5]), np.array([start]), np.array([stop])).tolist() == [expected]
    assert not mixed.joined(SlotRanges.of(np.array([5]), np.array([4]), np.array([6]))).disjoint()


@pytest.mark.parametrize("ordered", [False, True], ids=["files in any order", "files sorted by key"])
def test_slots_of_some_keys_take_a_part_of_the_rows(study, monkeypatch, ordered):
    """For a quarter of all keys, free slots are those of a full scan, and row groups of other keys in sorted files are
    not read.

    The cache holds at most half of the rows, so the rows of a quarter of the keys fit, and all rows do not.
    """
    monkeypatch.setattr(tables, "_LAYOUT", WriterProperties(max_row_group_size=16))
    rng, path = np.random.default_rng(3), study.path / tables.REPORTS
    devices = rng.integers(-(2**63), 2**63 - 1, 200)
    for _ in range(2):
        made = offer(rng, devices, 100)
        added = made.rows(made.free(tables.snapshot(path)))
        tables.append_rows(path, added.sort_by("key") if ordered else added)
    table, asked = tables.snapshot(path), offer(rng, devices, 100)
    most = sum(file.rows for file in tables.data_files(path, table)) // 2
    looked = []
    near = Slots._may_hold

    def noted(self, group):
        looked.append(near(self, group))
        return looked[-1]

    monkeypatch.setattr(Slots, "_may_hold", noted)
    for shard, parcel in enumerate(shards.split([asked], 4)):
        rows = shards.joined(asked.campaigns, [parcel])
        kept = Slots(path, most, *shards.bounds(shard, 4))
        assert rows.free(table, slots=kept).tolist() == rows.free(table).tolist()
        assert 0 < kept._rows_in_memory() < most
    assert not ordered or sum(looked) < len(looked) / 2
    whole = Slots(path, most)
    assert asked.free(table, slots=whole).tolist() == asked.free(table).tolist()
    assert not whole._rows_in_memory()


def test_a_remembered_signature_is_valid_for_one_key_only(tmp_path):
    """The same bytes with the same key id and another public key are verified again, and refused."""
    data = report(0, PLAIN)
    builder = ChunkBuilder()
    builder.add(data * MIN_SIGNATURES, frames(data * MIN_SIGNATURES, final=True))
    sealed = builder.chunk().of(Kind.REPORT)
    publics = [
        np.frombuffer(device(n, PLAIN).public * MIN_SIGNATURES, dtype=np.uint8).reshape(-1, 32) for n in range(2)
    ]
    with verifier(1, VerifiedDigests.of(tmp_path)) as verifying:
        assert [verifying.verify(sealed, publics[n]).all() for n in (0, 0, 1)] == [True, True, False]
    assert (tmp_path / NAME).read_bytes().count(b"\n") == 2
