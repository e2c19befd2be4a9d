"""The study: campaigns by name, permanent keys, and tallies of counted reports."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from aggregator.intake.columns import key_column
from aggregator.intake.enrolments import register
from aggregator.intake.ingest import ingest
from aggregator.storage.tables import StudyError
from aggregator.study import Study
from protocol import codec
from protocol.errors import BadData
from protocol.keys import ORDER, SMALL_ORDER_Y, SigningKey, key_id
from protocol.report import Enrolment
from tests.aggregator import fleet
from tests.aggregator.fleet import AUTHOR, NOW, OPENS, WEEK, campaign, device, enrolment, report

PLAIN = campaign()
SCALAR = (int.from_bytes(hashlib.sha512(bytes(32)).digest()[:32], "little") & ((1 << 254) - 8) | 1 << 254) % ORDER
"""The secret scalar of the key whose seed is 32 zero bytes."""
OTHER = campaign(answers=3, title="Other")


@pytest.fixture
def study(tmp_path):
    """A study of ``PLAIN`` with four devices."""
    return fleet.study(tmp_path / "study", PLAIN, range(4))


def take(study, *parts, now=NOW):
    """Ingest the parts as one file; return the result."""
    file = study.path.parent / "batch.htr"
    file.write_bytes(b"".join(parts))
    return ingest(study, [file], now=now, threads=1)


def test_a_study_is_made_once_and_opened_after(tmp_path):
    """create makes a study or leaves an existing one unchanged; open without a study is an error that says how to
    make one. A folder with other files is refused."""
    with pytest.raises(StudyError, match=r"does not exist: name .* with `halftruth --study .*new import"):
        Study.open(tmp_path / "new")
    assert not (tmp_path / "new").exists()
    Study.create(tmp_path / "new").import_campaign(PLAIN.data, [AUTHOR.public], "education")
    assert [known.name for known in Study.create(tmp_path / "new").campaigns()] == ["education"]
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"")
    with pytest.raises(StudyError, match=r"is not a study: name .* with `halftruth --study NEW import"):
        Study.open(tmp_path / "photos")
    with pytest.raises(StudyError, match="has other files"):
        Study.create(tmp_path / "photos")
    with pytest.raises(StudyError, match="is not a study"):
        Study.open(tmp_path / "photos")


def test_a_half_made_study_is_completed(tmp_path):
    """A study whose creation was interrupted is not opened, and creating it again completes it."""
    made = Study.create(tmp_path / "study")
    (made.path / "refusals").rename(tmp_path / "refusals")
    with pytest.raises(StudyError, match="is not a study"):
        Study.open(made.path)
    assert Study.create(made.path).campaigns() == []


def test_a_directory_that_cannot_be_made_is_an_error(tmp_path):
    """If a part of the path of a study's folder is a file, the error names it."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StudyError, match="Not a directory"):
        Study.create(tmp_path / "file" / "study")


def test_campaigns_are_imported_once_and_found_by_name_and_id(study):
    """Importing the same bytes again changes nothing, and a name can be used once.

    Names, ids and the beginnings of ids find a campaign.
    """
    assert study.import_campaign(PLAIN.data, [AUTHOR.public], "again") == PLAIN
    with pytest.raises(StudyError, match="another campaign named 'education'"):
        study.import_campaign(OTHER.data, [AUTHOR.public], "education")
    with pytest.raises(StudyError, match="printable"):
        study.import_campaign(OTHER.data, [AUTHOR.public], "two words")
    study.import_campaign(OTHER.data, [AUTHOR.public], "other")
    assert [(known.name, known.signed) for known in study.campaigns()] == [("education", PLAIN), ("other", OTHER)]
    for text in ("education", PLAIN.id.hex(), PLAIN.id.hex()[:9]):
        assert study.campaign(text) == PLAIN
    for text in ("educatio", "", "zz", PLAIN.id.hex() + "0"):
        with pytest.raises(StudyError, match="its campaigns are: education, other"):
            study.campaign(text)


def test_only_trusted_authors_campaigns_are_imported(study):
    """A campaign of an untrusted author, an altered campaign and a report are refused, and the study is unchanged."""
    for data, trusted, fault in (
        (OTHER.data, SigningKey(bytes(32)).public, "no trusted author has the key "),
        (OTHER.data[:-1] + b"\x00", AUTHOR.public, "the signature does not verify"),
        (report(0, PLAIN), AUTHOR.public, "of kind report, not a campaign"),
    ):
        with pytest.raises(BadData, match=fault):
            study.import_campaign(data, [trusted], "other")
    assert len(study.campaigns()) == 1


def test_enrolments_are_verified_and_keys_registered_once(study):
    """New keys are added, known and repeated ones are counted as known, and invalid enrolments are counted
    by the reason of refusal."""
    result = study.enrol(enrolment(3, PLAIN) + enrolment(4, PLAIN) * 2 + enrolment(5, PLAIN))
    assert (result.added, result.known, result.refused) == (2, 2, {})
    forged = enrolment(6, PLAIN)[:-1] + b"\x00"
    result = study.enrol(forged + enrolment(0, OTHER) + report(0, PLAIN) + b"noise" + enrolment(7, PLAIN))
    assert (result.added, result.known) == (1, 0)
    assert result.refused == {"bad-signature": 1, "malformed": 2, "unknown-campaign": 1}
    assert study.status(NOW)[0].keys == 7


def test_keys_of_small_order_are_not_enrolled(study):
    """A public key of small order is refused, because anybody can sign for it."""
    # If the public key is the identity, a library that does not check for small order accepts this signature, R = [S]B,
    # for every message.
    signature = SigningKey(bytes(32)).public + SCALAR.to_bytes(32, "little")
    for y in sorted(SMALL_ORDER_Y):
        for top in (0, 2**255):
            public = (y + top).to_bytes(32, "little")
            sealed = codec.encode([1, 2, key_id(public), Enrolment(PLAIN.id, public).encode(), signature])
            result = study.enrol(sealed)
            assert (result.added, result.refused) == (0, {"bad-signature": 1})


def test_a_key_id_belongs_to_its_first_key(study):
    """A second public key with the id of a registered key is not registered, even if both are in the same batch."""
    ids = key_column(np.frombuffer(device(0, PLAIN).id + b"new id!!" * 2, dtype=np.uint8).reshape(-1, 8))
    public = np.frombuffer(device(8, PLAIN).public * 2 + device(9, PLAIN).public, dtype=np.uint8).reshape(-1, 32)
    assert register(study, PLAIN.id.hex(), ids, public) == (1, 0)
    assert register(study, PLAIN.id.hex(), ids, public) == (0, 1)
    registry = study.registry(PLAIN.id.hex())
    at, found = registry.find(ids)
    assert found.all()
    assert registry.public[at[0]].tobytes() == device(0, PLAIN).public
    assert registry.public[at[1]].tobytes() == device(8, PLAIN).public


def test_a_revocation_keeps_the_key_and_its_counted_reports(study):
    """After revocation a key's reports are refused as revoked, its counted reports stay, and it cannot be enrolled
    again."""
    assert take(study, report(0, PLAIN, 7)).accepted == 1
    assert study.revoke(enrolment(0, PLAIN) + enrolment(0, PLAIN) + enrolment(9, PLAIN)) == 2
    assert study.revoke(enrolment(0, PLAIN)) == 0
    result = study.enrol(enrolment(0, PLAIN) + enrolment(9, PLAIN))
    assert (result.added, result.known) == (0, 2)
    result = take(study, report(0, PLAIN, 7), report(9, PLAIN, 7), report(1, PLAIN, 7))
    assert (result.accepted, result.refused) == (1, {"revoked-key": 2})
    assert study.tally(PLAIN).counts[7] == 2
    (row,) = study.status(NOW)
    assert (row.keys, row.revoked) == (5, 2)


def test_a_tally_takes_the_latest_period_of_each_device(study):
    """A tally without a period counts each device's latest outputs only; one with a period counts that period."""
    assert study.tally(PLAIN).reports == 0
    assert study.tally(PLAIN, 0).counts.tolist() == [0] * 16
    late = NOW + 3 * WEEK
    study.import_campaign(OTHER.data, [AUTHOR.public], "other")
    study.enrol(b"".join(enrolment(number, OTHER) for number in range(3)))
    take(study, report(0, OTHER, 1, 2), report(1, OTHER, 3), report(0, PLAIN, 9), now=late)
    assert study.tally(OTHER).counts.tolist() == [0, 1, 1, 1] + [0] * 12
    take(study, report(0, OTHER, 4, period=2), report(2, OTHER, 5, 5, 5, period=1), now=late)
    assert study.tally(OTHER).counts.tolist() == [0, 0, 0, 1, 1, 3] + [0] * 10
    assert study.tally(OTHER, 0).counts.tolist() == [0, 1, 1, 1] + [0] * 12
    assert study.tally(OTHER, 2).counts.tolist() == [0, 0, 0, 0, 1] + [0] * 11
    assert study.tally(OTHER, 3).reports == 0
    assert study.tally(PLAIN).counts[9] == study.tally(PLAIN).reports == 1


def test_a_tally_has_its_version_and_refusals(study):
    """A tally has the version of the counted table and the refusals of its own campaign only."""
    study.import_campaign(OTHER.data, [AUTHOR.public], "other")
    before = study.tally(PLAIN)
    take(study, report(0, PLAIN), report(0, PLAIN), report(88, OTHER), b"noise")
    after = study.tally(PLAIN)
    assert after.version == before.version + 1
    assert (before.refused, after.refused) == ({}, {"replayed": 1})
    assert study.refused(None) == {"malformed": 1}
    take(study, report(0, PLAIN))
    assert study.tally(PLAIN).refused == {"replayed": 2}
    assert study.tally(PLAIN).version == after.version


def test_status_has_the_counts_of_each_campaign(study):
    """status has, by campaign name, the number of keys, the outputs by period, the refusals and whether the campaign
    is open."""
    study.import_campaign(OTHER.data, [AUTHOR.public], "a-first")
    study.enrol(enrolment(0, OTHER))
    take(study, report(0, OTHER, 1, 2, period=1), report(0, OTHER, 1), report(5, PLAIN))
    first, second = study.status(NOW)
    assert (first.name, first.title, first.id) == ("a-first", "Other", OTHER.id.hex())
    assert (first.keys, first.revoked, first.outputs, first.periods) == (1, 0, 3, {0: 1, 1: 2})
    assert (second.outputs, second.refused, second.keys) == (0, {"unknown-key": 1}, 4)
    assert first.as_json()["periods"] == {"0": 1, "1": 2}
    times = (OPENS - 1, OPENS, OPENS + 4 * WEEK - 1, OPENS + 4 * WEEK)
    assert [study.status(now)[0].open for now in times] == [False, True, True, False]


def test_a_device_has_different_keys_in_two_campaigns(study):
    """One device has different key ids and different public keys in two campaigns."""
    assert device(0, PLAIN).id != device(0, OTHER).id
    study.import_campaign(OTHER.data, [AUTHOR.public], "other")
    study.enrol(enrolment(0, OTHER))
    first, second = (study.registry(signed.id.hex()) for signed in (PLAIN, OTHER))
    assert not set(first.ids.tolist()) & set(second.ids.tolist())
    assert not {key.tobytes() for key in first.public} & {key.tobytes() for key in second.public}


def test_the_error_of_a_deleted_table_names_it(study):
    """If a table of an open study is deleted, the error names the table."""
    (study.path / "keys").rename(study.path / "lost")
    with pytest.raises(StudyError, match="its table keys is missing"):
        study.enrol(enrolment(5, PLAIN))
