"""Ingest: for any bytes, every envelope is accepted, or refused for one reason."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.estimate.estimator import estimate
from aggregator.intake import files, signatures
from aggregator.intake import ingest as intake
from aggregator.intake.files import IntakeError, batch_files, total_bytes
from aggregator.intake.ingest import ingest
from aggregator.intake.refusals import RefusalReason
from aggregator.storage import tables
from aggregator.storage.tables import StudyError
from aggregator.study import Study
from protocol import codec, envelope, exact
from protocol.campaign import encode_campaign, open_campaign, seal_campaign
from protocol.envelope import Kind
from protocol.errors import CampaignError
from protocol.keys import SigningKey, key_id
from protocol.notions.declared_prior import DeclaredPrior
from protocol.report import Enrolment, Report
from protocol.views import plain_views
from tests.aggregator import fleet
from tests.aggregator.fleet import AUTHOR, NOW, WEEK, campaign, device, enrolment, report
from tests.aggregator.slow_intake import SlowStudy
from tests.altered import flipped

PLAIN = campaign()
OPEN = campaign(enrolment="open", answers=5, title="Open")
FOREIGN = campaign(title="Never imported")


@pytest.fixture
def study(tmp_path):
    """A study of ``PLAIN`` with ten devices, and of ``OPEN`` with none."""
    made = fleet.study(tmp_path / "study", PLAIN, range(10))
    made.import_campaign(OPEN.data, [AUTHOR.public], "open")
    return made


def take(study, data, now=NOW, **options):
    """Return the result of ingesting ``data`` as one file; asserts that accepted and refused add up to read."""
    file = study.path.parent / f"{random.getrandbits(64):x}.htr"
    file.write_bytes(data)
    result = ingest(study, [file], now=now, threads=2, **options)
    assert result.accepted + sum(result.refused.values()) == result.read
    counts = result.by_campaign.values()
    assert sum(count.accepted for count in counts) == result.accepted
    assert sum((Counter(count.refused) for count in counts), Counter()) == Counter(result.refused)
    return result


def rows(study):
    """Return the counted outputs as (campaign, period, key, slot) -> output."""
    table = tables.query(tables.snapshot(study.path / "reports"), "SELECT * FROM rows").to_pylist()
    found = {(row["campaign"], row["period"], row["key"], row["slot"]): row["output"] for row in table}
    assert len(found) == len(table)
    return found


def sealed_by(signed, payload, kind=Kind.REPORT):
    """Return any payload in an envelope that the first device signs."""
    return envelope.seal(kind, device(0, signed), payload)


def one_of_each():
    """Return a report of ``PLAIN`` that counts, and an envelope for each reason of refusal, by the reason."""
    good = report(1, PLAIN, 3)
    forged = flipped(good)
    cases = {
        RefusalReason.MALFORMED: sealed_by(PLAIN, codec.encode([PLAIN.id, 0, 0, 1])),
        RefusalReason.UNKNOWN_CAMPAIGN: report(0, FOREIGN),
        RefusalReason.UNKNOWN_KEY: report(77, PLAIN),
        RefusalReason.REVOKED_KEY: report(9, PLAIN),
        RefusalReason.BAD_SIGNATURE: forged,
        RefusalReason.EARLY: report(0, PLAIN, period=2),
        RefusalReason.LATE: report(0, PLAIN, period=4),
        RefusalReason.OVER_QUOTA: report(0, PLAIN, slot=1),
        RefusalReason.BAD_OUTPUT: sealed_by(PLAIN, Report(PLAIN.id, 0, 0, 1, b"\x01").encode()),
        RefusalReason.REPLAYED: report(1, PLAIN, 5),
    }
    assert list(cases) == list(RefusalReason)
    return good, cases


@pytest.mark.parametrize("reject", list(RefusalReason))
def test_each_fault_has_its_reason(study, reject):
    """A report with one fault is refused for that fault's reason, and a correct report in the same file is counted."""
    good, cases = one_of_each()
    study.revoke(enrolment(9, PLAIN))
    now = NOW + 10 * WEEK if reject is RefusalReason.LATE else NOW
    result = take(study, good + cases[reject], now)
    assert (result.accepted, result.refused) == (1, {reject: 1})
    name = "education" if reject not in (RefusalReason.MALFORMED, RefusalReason.UNKNOWN_CAMPAIGN) else ""
    assert result.by_campaign[name].refused == {reject: 1}
    assert study.refused(PLAIN if name else None) == {reject: 1}


def test_a_report_is_refused_by_the_first_check_that_fails(study):
    """A report that fails several checks is refused for the reason of the first."""
    study.revoke(enrolment(9, PLAIN))

    def faulty(number, signed, period, slot, packed, *, forge=False):
        sealed = Report(signed.id, period, slot, 1, packed).seal(device(number, signed))
        return flipped(sealed) if forge else sealed

    early, late = 9, 4
    cases = [
        (faulty(77, FOREIGN, early, 1, b"\x01", forge=True), RefusalReason.UNKNOWN_CAMPAIGN, NOW),
        (faulty(77, PLAIN, early, 1, b"\x01", forge=True), RefusalReason.UNKNOWN_KEY, NOW),
        (faulty(9, PLAIN, early, 1, b"\x01", forge=True), RefusalReason.REVOKED_KEY, NOW),
        (faulty(0, PLAIN, early, 1, b"\x01", forge=True), RefusalReason.BAD_SIGNATURE, NOW),
        (faulty(0, PLAIN, early, 1, b"\x01"), RefusalReason.EARLY, NOW),
        (faulty(0, PLAIN, late, 1, b"\x01"), RefusalReason.LATE, NOW + 5 * WEEK),
        (faulty(0, PLAIN, 0, 1, b"\x01"), RefusalReason.OVER_QUOTA, NOW),
        (faulty(0, PLAIN, 0, 0, b"\x01"), RefusalReason.BAD_OUTPUT, NOW),
    ]
    for data, reject, now in cases:
        assert take(study, data, now).refused == {reject: 1}


def test_a_key_revoked_from_a_period_on_counts_for_earlier_periods(study):
    """If a key is revoked from a period on, reports of earlier periods count at any time, and later ones are refused as
    revoked.

    No other check of the later reports is made.
    """
    assert take(study, report(1, PLAIN, 1, period=0) + report(1, PLAIN, 2, period=1), NOW + 3 * WEEK).accepted == 2
    assert study.revoke(enrolment(0, PLAIN), enrolment(1, PLAIN), since=2) == 2
    for period, verdict in enumerate(["accepted", "accepted", "revoked-key", "revoked-key"]):
        sealed = report(0, PLAIN, 7, period=period)
        forged = flipped(sealed)
        result = take(study, forged + sealed, NOW + 3 * WEEK)
        if verdict == "accepted":
            assert (result.accepted, result.refused) == (1, {"bad-signature": 1})
        else:
            assert (result.accepted, result.refused) == (0, {"revoked-key": 2})
    assert take(study, report(0, PLAIN, period=2**32 - 1), NOW + 3 * WEEK).refused == {"revoked-key": 1}
    assert take(study, report(2, PLAIN, period=2**32 - 1), NOW + 3 * WEEK).refused == {"early": 1}


def test_a_second_revocation_can_only_lower_the_period(study):
    """A second revocation can only lower a key's first revoked period; it returns the number of changed keys and
    leaves other keys alone."""
    named = enrolment(0, PLAIN) + enrolment(1, PLAIN)
    for since, new, until in ((3, 2, 3), (3, 0, 3), (1, 2, 1), (2, 0, 1), (0, 2, 0), (1, 0, 0)):
        assert study.revoke(named, since=since) == new
        status = study.status(NOW)[0]
        assert (status.keys, status.revoked, status.revoked_from) == (10, 2, {until: 2})
        assert status.as_json()["revoked_from"] == {str(until): 2}
    assert take(study, report(2, PLAIN)).accepted == 1


def test_a_key_may_be_revoked_before_its_enrolment(study):
    """A key that is revoked before its enrolment is unknown until then; after it, the key's reports of earlier
    periods count."""
    named = enrolment(5, OPEN)
    assert study.revoke(named, since=1) == 1
    data = report(5, OPEN, 1) + report(5, OPEN, 2, period=1)
    assert take(study, data).refused == {"unknown-key": 1, "revoked-key": 1}
    result = take(study, data + named)
    assert (result.accepted, result.keys_added, result.refused) == (1, 1, {"revoked-key": 1})
    result = take(study, data + named)
    assert (result.keys_added, result.refused) == (0, {"replayed": 1, "revoked-key": 1})


def test_a_prior_declared_after_a_revocation_is_used(study):
    """If a key is revoked from a later period on and then enrols with a prior, its reports are decoded with that
    prior."""
    notion = DeclaredPrior(exact.NANONATS, 16)
    campaign = replace(
        OPEN.campaign,
        notion=notion,
        views=plain_views(notion.channel_of(notion.uniform)),
        mechanism="lip",
        answers_per_period=1,
    )
    own = open_campaign(seal_campaign(campaign, AUTHOR), [AUTHOR.public])
    study.import_campaign(own.data, [AUTHOR.public], "own")
    declared = tuple(range(1, 17))
    named = Enrolment(own.id, device(0, own).public, declared).seal(device(0, own))
    assert study.revoke(named, since=1) == 1
    assert take(study, named + report(0, own, 3)).accepted == 1
    assert study.tally(own).priors.tolist() == [list(declared)]


@pytest.mark.parametrize("since", [-1, 4, 2**40])
def test_a_key_is_revoked_from_a_period_of_its_campaign(study, since):
    """A revocation from a period outside the campaign is refused with the valid periods, and no key of any campaign
    is revoked."""
    with pytest.raises(CampaignError, match=rf"has no period {since}: give a period from 0 to 3; no key was revoked"):
        study.revoke(enrolment(0, OPEN), enrolment(0, PLAIN), since=since)
    assert not any(study.registry(signed.id.hex()).revoked.any() for signed in (PLAIN, OPEN))


def test_counted_outputs_of_revoked_keys_are_reported(study):
    """The number of counted outputs is that of the revoked keys from the given period on, without other keys."""
    take(study, b"".join(report(n, PLAIN, n, period=p) for n in range(3) for p in range(2)))
    take(study, enrolment(0, OPEN) + report(0, OPEN, 1, 2, period=1))
    named = enrolment(0, PLAIN), enrolment(1, PLAIN) + enrolment(1, PLAIN), enrolment(0, OPEN)
    assert study.counted_under(*named) == 0
    study.revoke(*named, since=1)
    assert [study.counted_under(*named, since=since) for since in range(3)] == [6, 4, 0]
    assert study.counted_under(enrolment(1, PLAIN), enrolment(2, PLAIN)) == 2


@pytest.mark.parametrize(
    ("now", "period", "accepted"),
    [
        (fleet.OPENS - 100 * WEEK, 0, True),
        (fleet.OPENS - 1, 0, True),
        (fleet.OPENS - 1, 1, False),
        (fleet.OPENS, 1, True),
        (fleet.OPENS, 2, False),
        (fleet.OPENS + WEEK - 1, 2, False),
        (fleet.OPENS + WEEK, 2, True),
        (fleet.OPENS + 400 * WEEK, 0, True),
        (fleet.OPENS + 400 * WEEK, 3, True),
    ],
)
def test_reports_may_be_a_period_ahead_and_any_time_late(study, now, period, accepted):
    """Reports of the next period are accepted; reports of the period after it are refused as early. Before the campaign
    opens, the next period is the first."""
    result = take(study, report(0, PLAIN, period=period), now)
    assert result.refused == ({} if accepted else {"early": 1})


def test_no_altered_report_is_accepted(study):
    """A report with any bit flipped is not counted."""
    good = report(0, PLAIN, 3)
    for bit in range(8 * len(good)):
        (study.path.parent / "altered").mkdir(exist_ok=True)
        (study.path.parent / "altered" / f"{bit:05}").write_bytes(flipped(good, bit))
    result = ingest(study, [study.path.parent / "altered"], now=NOW)
    assert (result.files, result.accepted) == (8 * len(good), 0)
    assert result.read == sum(result.refused.values()) >= 8 * len(good)
    assert take(study, good).accepted == 1


def test_an_envelope_of_a_changed_kind_is_refused(study):
    """An envelope that was signed as one kind is refused if its kind is changed to any other."""
    bodies = {
        Kind.REPORT: Report(OPEN.id, 0, 0, 1, b"\x00").encode(),
        Kind.ENROLMENT: Enrolment(OPEN.id, device(1, OPEN).public).encode(),
        Kind.CAMPAIGN: encode_campaign(OPEN.campaign),
    }
    study.enrol(enrolment(1, OPEN))
    passed_off = []
    for signed_as in Kind:
        for sent_as in Kind:
            for body in bodies.values():
                if len(body) > envelope.MAX_PAYLOAD[signed_as] or len(body) > envelope.MAX_PAYLOAD[sent_as]:
                    continue
                sealed = bytearray(envelope.seal(signed_as, device(1, OPEN), body))
                sealed[2] = sent_as
                if signed_as is not sent_as:
                    passed_off.append(bytes(sealed))
    result = take(study, b"".join(passed_off))
    assert result.accepted == result.keys_added == 0
    assert result.read == len(passed_off) > 10
    assert rows(study) == {}


def test_empty_noisy_and_foreign_batches_are_refused_one_by_one(study):
    """An empty file causes a warning, and a run of noise is one refusal; truncated, foreign and misplaced envelopes
    are refused one by one."""
    assert take(study, b"").warnings[0].endswith("is empty")
    assert take(study, b"hello, world").refused == {"malformed": 1}
    assert take(study, report(0, PLAIN)[:-1]).refused == {"malformed": 1}
    assert take(study, PLAIN.data).refused == {"malformed": 1}
    assert take(study, report(0, FOREIGN) * 3).refused == {"unknown-campaign": 3}
    result = take(study, b"??" + report(0, PLAIN) + b"!!" + report(1, PLAIN) + b"\x95\x01")
    assert (result.read, result.accepted, result.refused) == (5, 2, {"malformed": 3})


def test_files_are_those_of_the_folders_in_order(study, tmp_path):
    """Folders are read recursively and in sorted order, without hidden and unfinished files; a missing path stops
    the ingest."""
    inbox = tmp_path / "inbox"
    for number, name in enumerate(["b.htr", "a/z.htr", "a/.hidden", ".git/x", "c.part", "a/y"]):
        (inbox / name).parent.mkdir(parents=True, exist_ok=True)
        (inbox / name).write_bytes(report(number, PLAIN))
    assert [str(path.relative_to(inbox)) for path in batch_files([inbox])] == ["a/y", "a/z.htr", "b.htr"]
    with pytest.raises(IntakeError, match="gone"):
        ingest(study, [inbox, tmp_path / "gone"], now=NOW)
    assert rows(study) == {}
    assert total_bytes([inbox]) == 3 * len(report(0, PLAIN))
    done = []
    result = ingest(study, [inbox], now=NOW, progress=done.append)
    assert (result.accepted, result.files, sum(done)) == (3, 3, 3 * len(report(0, PLAIN)))


@given(data=st.binary(max_size=60), begin=st.integers(0, 60), size=st.integers(1, 9), length=st.integers(2, 6))
def test_a_search_for_bytes_finds_them_in_pieces_of_any_size(tmp_path_factory, data, begin, size, length):
    """The search finds bytes at their places in a file, in buffers of any size, and nowhere else; an unreadable file
    counts as a match."""
    mark = bytes(range(200, 200 + length))
    path = tmp_path_factory.mktemp("file") / "data"
    for content in (data, data[:begin] + mark + data[begin:]):
        path.write_bytes(content)
        assert files.may_hold(path, mark, size) == (mark in content)
    assert files.may_hold(path.with_name("nothing"), mark, size)


def test_an_unreadable_file_is_named_and_other_reports_count(study, tmp_path, monkeypatch):
    """A file that cannot be read to its end is named in the warnings, and the reports before the fault count."""
    for name, number in (("bad", 0), ("good", 1), ("worse", 2)):
        (tmp_path / name).write_bytes(report(number, PLAIN) * 2)
    real = files.buffers

    def failing(path, size):
        if path.name == "worse":
            raise PermissionError(13, "Permission denied", str(path))
        for buffer in real(path, size):
            yield buffer
            if path.name == "bad":
                raise OSError(5, "Input/output error", str(path))

    monkeypatch.setattr(files, "buffers", failing)
    result = ingest(study, [tmp_path / name for name in ("bad", "good", "worse")], now=NOW, buffer_bytes=150)
    assert (result.accepted, result.refused) == (2, {"malformed": 1, "replayed": 1})
    assert [warning.partition(" ")[0].rpartition("/")[2] for warning in result.warnings] == ["bad", "worse"]


def test_open_campaigns_register_the_uploaded_keys(study):
    """In an open campaign an uploaded enrolment registers its key before any report is checked, and is not a report
    itself."""
    data = report(0, OPEN, 1, 2) + report(1, OPEN, 3) + enrolment(0, OPEN)
    result = take(study, data, chunk_reports=1, buffer_bytes=100)
    assert (result.read, result.accepted, result.outputs, result.refused) == (2, 1, 2, {"unknown-key": 1})
    assert (result.enrolments, result.keys_added) == (1, 1)
    again = take(study, data)
    assert (again.enrolments, again.keys_added, again.refused) == (1, 0, {"unknown-key": 1, "replayed": 1})


def test_campaigns_of_enrolled_keys_take_no_keys_from_uploads(study):
    """In a campaign of enrolled keys an uploaded enrolment is skipped and not counted as read."""
    result = take(study, enrolment(77, PLAIN) + report(77, PLAIN))
    assert (result.read, result.enrolments, result.enrolments_ignored) == (1, 0, 1)
    assert result.refused == {"unknown-key": 1}


def test_enrolments_that_fail_are_counted(study):
    """An invalid enrolment is refused as malformed, of an unknown campaign or badly signed.

    A key of small order counts as badly signed, and a key under the id of another one as malformed.
    """
    good = enrolment(0, OPEN)
    key = device(0, OPEN)
    weak = bytes(32)
    forged_weak = codec.encode([1, 2, key_id(weak), Enrolment(OPEN.id, weak).encode(), bytes(64)])
    other_key = codec.encode([1, 2, key.id, Enrolment(OPEN.id, AUTHOR.public).encode(), bytes(64)])
    result = take(
        study,
        flipped(good) + forged_weak + other_key + enrolment(0, FOREIGN)
        + sealed_by(OPEN, b"\x90", Kind.ENROLMENT),
    )  # fmt: skip
    assert result.refused == {"bad-signature": 2, "malformed": 2, "unknown-campaign": 1}
    assert (result.enrolments, result.keys_added) == (0, 0)


def test_a_report_fills_all_its_slots_or_none(study):
    """If one slot of a report is filled already, in the batch or in the study, the report fills none of its slots."""
    for number in range(3):
        study.enrol(enrolment(number, OPEN))
    first = take(study, report(0, OPEN, 1, 2, slot=0) + report(0, OPEN, 3, 4, slot=1) + report(0, OPEN, 5, slot=2))
    # The second report is refused because of slot 1, so slot 2 is free for the third.
    assert (first.accepted, first.outputs, first.refused) == (2, 3, {"replayed": 1})
    second = take(study, report(0, OPEN, 6, 7, slot=2) + report(0, OPEN, 8, 9, slot=3) + report(1, OPEN, 1, 1, 1, 1, 1))
    assert (second.accepted, second.outputs, second.refused) == (2, 7, {"replayed": 1})
    counted = {slot: output for (_, _, key, slot), output in rows(study).items() if _is(key, device(0, OPEN))}
    assert counted == {0: 1, 1: 2, 2: 5, 3: 8, 4: 9}


def _is(number: int, key: SigningKey) -> bool:
    return number.to_bytes(8, "big", signed=True) == key.id


def test_a_file_may_mix_campaigns_of_different_output_widths(study):
    """In a file of several campaigns, periods and report lengths, each report is counted in its campaign."""
    wide = campaign(300, answers=9, title="Wide")
    study.import_campaign(wide.data, [AUTHOR.public], "wide")
    study.enrol(b"".join(enrolment(number, wide) for number in range(4)))
    study.enrol(enrolment(3, OPEN))
    result = take(
        study,
        report(0, wide, 299, 0, 150) + report(0, PLAIN, 15) + report(1, wide, 7, period=1) + report(3, OPEN, 1, 2, 3)
        + report(2, wide, *range(9)) + report(3, wide, 300) + report(1, PLAIN, 14, period=1),
    )  # fmt: skip
    assert (result.accepted, result.refused) == (6, {"bad-output": 1})
    assert {name: counts.outputs for name, counts in result.by_campaign.items()} == {
        "education": 2,
        "open": 3,
        "wide": 13,
    }
    assert sorted(rows(study).values()) == sorted([299, 0, 150, 15, 7, 1, 2, 3, *range(9), 14])


@st.composite
def batches(draw: st.DrawFn) -> bytes:
    """Envelopes of all kinds and faults, in any order; a part of them is damaged."""
    _, faulty = one_of_each()
    numbers, outputs = st.integers(0, 3), st.lists(st.integers(0, 15), min_size=1, max_size=3)
    parts = st.one_of(
        st.builds(lambda n, y, p: report(n, PLAIN, y, period=p), numbers, st.integers(0, 15), st.integers(0, 2)),
        st.builds(
            lambda n, ys, slot, p: report(n, OPEN, *ys, slot=slot, period=p),
            numbers,
            outputs,
            st.integers(0, 4),
            st.integers(0, 1),
        ),
        st.builds(lambda n: enrolment(n, OPEN), numbers),
        st.builds(lambda n: enrolment(n, PLAIN), numbers),
        st.sampled_from([*faulty.values(), enrolment(0, FOREIGN), OPEN.data, b"\x95\x01", b"noise"]),
    )
    data = draw(st.lists(parts, max_size=12))
    for _ in range(draw(st.integers(0, 3))):
        if data:
            where = draw(st.integers(0, len(data) - 1))
            data[where] = mutated(data[where], random.Random(draw(st.integers(0, 2**32))))
    return b"".join(data)


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return ``data`` with random changes: flipped bits, and lost, repeated or made-up bytes."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(changed) + 1)
        change = rng.randrange(5)
        if change == 0 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif change == 1:
            del changed[at : at + rng.randrange(1, 20)]
        elif change == 2:
            changed[at:at] = rng.randbytes(rng.randrange(1, 20))
        elif change == 3 and at < len(changed):
            changed[at] = rng.choice([0, 0x7F, 0x80, 0x95, 0xC4, 0xC5, 0xC6, 0xCC, 0xCD, 0xCE, 0xCF, 0xFF])
        else:
            changed[at:at] = changed[at : at + rng.randrange(1, 40)]
    return bytes(changed)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """The folder of a study with keys 0, 1, 2 and 9; several keys are revoked, and several of those never enrolled."""
    made = fleet.study(tmp_path_factory.mktemp("prepared") / "study", PLAIN, (0, 1, 2, 9))
    made.import_campaign(OPEN.data, [AUTHOR.public], "open")
    made.revoke(enrolment(9, PLAIN), enrolment(2, OPEN))
    made.revoke(enrolment(2, PLAIN), enrolment(3, PLAIN), enrolment(3, OPEN), since=1)
    return made.path


@given(st.lists(batches(), min_size=1, max_size=3))
def test_ingest_equals_the_slow_reference(prepared, tmp_path_factory, datas):
    """ingest has the counts by reason and the rows of the slow reference, which reads one envelope at a time as in
    SPEC 10."""
    study = Study.open(shutil.copytree(prepared, tmp_path_factory.mktemp("twin") / "study"))
    slow = SlowStudy.of([PLAIN, OPEN])
    slow.enrol(b"".join(enrolment(number, PLAIN) for number in (0, 1, 2, 9)))
    for signed, number, since in ((PLAIN, 9, 0), (OPEN, 2, 0), (PLAIN, 2, 1), (PLAIN, 3, 1), (OPEN, 3, 1)):
        slow.revoked[signed.id, device(number, signed).id] = since
    for data in datas:
        result = take(study, data)
        expected = slow.ingest(data, NOW)
        fast = Counter(result.refused)
        fast.update(accepted=result.accepted, enrolments=result.enrolments, ignored=result.enrolments_ignored)
        assert +fast == +expected
    expected_rows = {
        (signed.hex(), period, int.from_bytes(key, "big", signed=True), slot): output
        for (signed, period, key, slot), output in slow.slots.items()
    }
    assert rows(study) == expected_rows


def test_any_number_of_threads_gives_the_same_study(tmp_path, monkeypatch):
    """Any number of threads gives the same verdicts, rows and estimate, to the last bit, of honest and mutated reports.

    test_engine_dask compares the other engine.
    """
    monkeypatch.setattr(signatures, "SLICE", 16)  # small slices give every thread work
    made = fleet.study(tmp_path / "made", PLAIN, range(200))
    rng = random.Random(18)
    honest = [report(n, PLAIN, n * n % 16, period=n % 2) for n in range(200)]
    given = honest + [mutated(rng.choice(honest), rng) for _ in range(600)] + rng.sample(honest, 50)
    rng.shuffle(given)
    file = tmp_path / "batch.htr"
    file.write_bytes(b"".join(given))
    seen = []
    for threads in (1, 2, 8):
        study = Study.open(shutil.copytree(made.path, tmp_path / str(threads)))
        result = ingest(study, [file], now=NOW + WEEK, threads=threads, chunk_reports=300)
        found = estimate(PLAIN, study.tally(PLAIN))
        arrays = (found.raw, found.share, found.se, found.low, found.high)
        seen.append((result, rows(study), [each.tobytes() for each in arrays]))
    assert len(seen[0][1]) > 150
    assert seen[1] == seen[0]
    assert seen[2] == seen[0]


@pytest.mark.parametrize(("seed", "number"), [(1, 20_000), pytest.param(2, 1_000_000, marks=pytest.mark.long)])
def test_mutated_envelopes_never_crash(study, seed, number):
    """An ingest of mutated envelopes raises no exception, counts each once as accepted or refused, and fills only
    slots of the original reports."""
    rng = random.Random(seed)
    _, faulty = one_of_each()
    originals = [report(n, PLAIN, n) for n in range(10)] + [report(n, OPEN, *range(n)) for n in range(1, 6)]
    originals += [enrolment(n, OPEN) for n in range(3)] + list(faulty.values())
    known = set(originals)
    for _ in range(number // 10_000):
        parts = [mutated(rng.choice(originals), rng) for _ in range(10_000)]
        result = take(
            study, b"".join(part for part in parts if part not in known), buffer_bytes=rng.choice([2**16, 2**20])
        )
        assert result.read > 5_000
    assert set(rows(study)) <= {
        (PLAIN.id.hex(), 0, int.from_bytes(device(n, PLAIN).id, "big", signed=True), 0) for n in range(10)
    } | {
        (OPEN.id.hex(), 0, int.from_bytes(device(n, OPEN).id, "big", signed=True), slot)
        for n in range(6) for slot in range(5)
    }  # fmt: skip


def test_counts_do_not_depend_on_pieces_chunks_and_commits(study, tmp_path):
    """Buffers, chunks and commits of any size give the same counts and the same rows."""
    rng = random.Random(3)
    parts = [report(n % 10, PLAIN, n % 16, period=n % 2) for n in range(40)]
    parts += [enrolment(n, OPEN) for n in (0, 1, 1, 2)]
    parts += [report(n % 4, OPEN, *range(n % 3 + 1), slot=n % 4) for n in range(40)]
    rng.shuffle(parts)
    data = b"".join(part if rng.random() < 0.9 else mutated(part, rng) for part in parts)
    whole = take(study, data)
    for number, sizes in enumerate([(1000, 10**6, 10**6), (10**6, 7, 10**6), (10**6, 10**6, 3), (300, 5, 2)]):
        other = fleet.study(tmp_path / str(number) / "study", PLAIN, range(10))
        other.import_campaign(OPEN.data, [AUTHOR.public], "open")
        buffer_bytes, chunk_reports, chunk_outputs = sizes
        cut = take(other, data, buffer_bytes=buffer_bytes, chunk_reports=chunk_reports, chunk_outputs=chunk_outputs)
        assert (cut.read, cut.accepted, cut.refused) == (whole.read, whole.accepted, whole.refused)
        assert rows(other) == rows(study)


def test_many_small_files_are_one_commit(study, tmp_path):
    """A thousand files of one report each are committed together."""
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    for number in range(1000):
        (inbox / f"{number:04}.htr").write_bytes(report(number % 10, PLAIN))
    before = tables.snapshot(study.path / "reports").version()
    result = ingest(study, [inbox], now=NOW)
    assert (result.read, result.accepted, result.refused) == (1000, 10, {"replayed": 990})
    assert tables.snapshot(study.path / "reports").version() == before + 1


def test_a_commit_that_keeps_failing_is_an_error(study, monkeypatch):
    """If commits fail without another writer, ingest stops with an error and counts nothing."""
    monkeypatch.setattr(tables.time, "sleep", lambda _: None)

    def failing(*_args, **_options):
        raise tables.CommitFailedError("no")

    monkeypatch.setattr(tables, "write_deltalake", failing)
    with pytest.raises(StudyError, match="cannot be read or written"):
        take(study, report(0, PLAIN))
    monkeypatch.undo()
    assert rows(study) == {}


def test_reports_are_counted_once_if_the_refusals_are_not_written(study, monkeypatch):
    """A failure between the commits of reports and of refusals loses counts of refusals only, and no report is
    counted twice."""

    def failing(*_):
        raise StudyError("no room")

    data = report(0, PLAIN) + report(1, PLAIN) + b"noise"
    with monkeypatch.context() as patch:
        patch.setattr(intake, "append_rows", failing)
        with pytest.raises(StudyError, match="no room"):
            take(study, data)
    again = take(study, data)
    assert (again.accepted, again.refused) == (0, {"malformed": 1, "replayed": 2})
    assert len(rows(study)) == 2
