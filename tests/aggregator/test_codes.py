"""Properties of single-use codes: each admits one device, is redeemed atomically, and is never stored with a key."""

from __future__ import annotations

import csv
import datetime
import io
import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.intake.ingest import ingest
from aggregator.invite.cards import CardTexts
from aggregator.receive import inbox
from aggregator.receive.codes import ALPHABET, CODE_CHARACTERS, CodeCounts, Codes, grouped, normalised_code
from aggregator.study import Study
from edge_sdk import Device
from edge_sdk.campaigns.invitation import Invitation
from edge_sdk.transport.upload import Outcome
from edge_sdk.transport.waiting import waiting_by_campaign
from protocol.closing import seal_closing
from protocol.keys import fingerprint
from protocol.link import Link
from protocol.report import Enrolment
from tests.aggregator import fleet
from tests.aggregator.command import printed, run
from tests.aggregator.fleet import AUTHOR, NOW, campaign, device, enrolment, report
from tests.aggregator.test_receive import post, served

ENROLLED = campaign()
OPEN = campaign(enrolment="open", title="Open")
KEYS = [device(number, ENROLLED).public for number in range(3)]


@pytest.fixture
def study(tmp_path):
    """A study of one campaign for enrolled devices only, and of an open campaign."""
    made = fleet.study(tmp_path / "lib", ENROLLED)
    made.import_campaign(OPEN.data, [AUTHOR.public], "open")
    return made


@pytest.fixture
def code(study):
    [made] = Codes(study.path).make(ENROLLED.id, 1)
    return made


def test_a_code_admits_one_key_any_number_of_times(study, code):
    """A code admits one key, as often as that key presents it, and only for its own campaign."""
    codes = Codes(study.path)
    assert codes.redeem(ENROLLED.id, code, KEYS[0])
    assert codes.redeem(ENROLLED.id, grouped(code).lower(), KEYS[0])
    assert not codes.redeem(ENROLLED.id, code, KEYS[1])
    assert not codes.redeem(OPEN.id, code, KEYS[0])  # the code is for another campaign
    assert codes.counts(ENROLLED.id) == CodeCounts(1, 1)


@pytest.mark.parametrize(
    "text", ["", "0", "0" * CODE_CHARACTERS, "U" * CODE_CHARACTERS, "é" * CODE_CHARACTERS, "0" * 500]
)
def test_an_invalid_code_admits_no_device(study, code, text):
    """A text that is not a code of the study admits no key and redeems no code."""
    codes = Codes(study.path)
    assert not codes.redeem(ENROLLED.id, text, KEYS[0])
    assert codes.counts(ENROLLED.id) == CodeCounts(1, 0)


@given(st.binary(min_size=10, max_size=10))
def test_a_code_is_read_as_people_write_it(octets):
    """Any 80 bits have a code; dashes, blanks, small letters and letters that look alike make no difference."""
    number = int.from_bytes(octets, "big")
    code = "".join(ALPHABET[number >> 5 * place & 31] for place in reversed(range(CODE_CHARACTERS)))
    assert normalised_code(code) == code
    for mistaken in (grouped(code), code.lower(), code.replace("0", "o").replace("1", "l"), f" {grouped(code)} "):
        assert normalised_code(mistaken) == code


def test_one_of_sixteen_simultaneous_keys_is_enrolled(study, code):
    """If sixteen keys present the same code at the same time, exactly one is enrolled."""
    keys = [device(number, ENROLLED).public for number in range(16)]
    with ThreadPoolExecutor(16) as pool:
        let_in = list(pool.map(lambda key: Codes(study.path).redeem(ENROLLED.id, code, key), keys))
    assert sum(let_in) == 1
    winner = keys[let_in.index(True)]
    assert [Codes(study.path).redeem(ENROLLED.id, code, key) for key in keys] == [key == winner for key in keys]


def test_the_study_keeps_no_pair_of_code_and_key(study, code):
    """After an upload with a code no file of the study contains the code, and only the stored upload has the key."""
    with served(study) as address:
        status, _ = post(
            address, enrolment(0, ENROLLED) + report(0, ENROLLED), headers={"halftruth-code": grouped(code)}
        )
    assert status == 200
    files = [file for file in study.path.rglob("*") if file.is_file()]
    for file in files:
        assert not [written for written in (code, grouped(code)) if written.encode() in file.read_bytes()], file
        # Only signed envelopes, which contain no code, may have the key.
        assert KEYS[0] not in file.read_bytes() or file.suffix == inbox.ENDING
    assert KEYS[0] not in (study.path / "codes.sqlite").read_bytes()


def test_a_redeemed_key_counts_and_others_do_not(study, code):
    """A valid code enrols the key of its upload, also in a rebuilt study; a used code, a wrong code or no code
    does not."""
    with served(study) as address:
        first = enrolment(0, ENROLLED) + report(0, ENROLLED)
        assert post(address, first, headers={"halftruth-code": code})[0] == 200
        # The device repeats the upload if its acknowledgement was lost.
        assert post(address, first, headers={"halftruth-code": code})[0] == 200
        second = enrolment(1, ENROLLED) + report(1, ENROLLED)
        for wrong in (code, "0" * CODE_CHARACTERS, "%"):
            status, answer = post(address, second, headers={"halftruth-code": wrong})
            assert (status, answer["stage"]) == (403, "code")
        # An upload without a code is accepted too.
        assert post(address, enrolment(2, ENROLLED) + report(2, ENROLLED))[0] == 200
    assert json.loads(printed("--study", study.path, "ingest", "--json"))["accepted"] == 1
    study = Study.open(study.path)
    assert study.registry(ENROLLED.id.hex()).public.tobytes() == KEYS[0]
    assert ingest(study, [], now=NOW).accepted == 0
    assert Codes(study.path).counts(ENROLLED.id) == CodeCounts(1, 1)
    # Keys admitted by a code survive a rebuild of the tables.
    run("--study", study.path, "rebuild", "--afresh", "--out", study.path.with_name("new"))
    rebuilt = Study.open(study.path.with_name("new"))
    assert rebuilt.registry(ENROLLED.id.hex()).public.tobytes() == KEYS[0]
    assert Codes(rebuilt.path).counts(ENROLLED.id) == CodeCounts(1, 1)
    assert not Codes(rebuilt.path).redeem(ENROLLED.id, code, KEYS[1])


@pytest.mark.parametrize(
    ("body", "status", "stage"),
    [
        (lambda: report(0, ENROLLED), 400, "report"),  # the enrolment is missing
        (lambda: enrolment(0, ENROLLED) + enrolment(1, ENROLLED), 400, "report"),
        (lambda: enrolment(0, OPEN), 400, "code"),
        (lambda: enrolment(0, ENROLLED)[:-1] + b"\0", 400, "signature"),
        (lambda: Enrolment(ENROLLED.id, KEYS[0], (1, 2)).seal(device(0, ENROLLED))[:-1] + b"\0", 400, "report"),
    ],
)
def test_a_refused_upload_leaves_its_code_unused(study, code, body, status, stage):
    """If the upload with a code is refused, the code stays unused."""
    with served(study) as address:
        answered, answer = post(address, body(), headers={"halftruth-code": code})
    assert (answered, answer["stage"]) == (status, stage)
    assert inbox.waiting(study.path) == [] == inbox.admitted(study.path)
    assert Codes(study.path).counts(ENROLLED.id) == CodeCounts(1, 0)


@pytest.fixture
def joined(tmp_path):
    """A function that opens devices which followed a link with a code; each has a separate store."""
    opened = []

    def join(address, code):
        made = Device.open(tmp_path / f"device{len(opened)}", clock=lambda: NOW)
        opened.append(made)
        link = Link(address, ENROLLED.id, fingerprint(AUTHOR.public), code)
        terms = made.accept(Invitation(link, ENROLLED.data, AUTHOR.public))
        return made, terms.campaign_id

    yield join
    for one in opened:
        one.close()


def test_a_device_redeems_the_code_of_its_link(study, code, joined):
    """Of two devices with the same link the first is admitted; the second keeps its answers until it has a code of its
    own."""
    [other] = Codes(study.path).make(ENROLLED.id, 1)
    with served(study) as (host, port):
        address = f"http://{host}:{port}"
        first, campaign_id = joined(address, code)
        second, _ = joined(address, code)
        for one in (first, second):
            assert one.preview(campaign_id).waiting_bytes > one.preview(campaign_id).report_bytes
            one.consent(campaign_id)
            one.answer(campaign_id, "3")
        assert first.outbox.send().envelopes == 2
        [attempt] = second.outbox.send().attempts
        assert attempt.outcome is Outcome.UPLOAD_REFUSED
        assert "used by another device" in attempt.reason
        assert (
            "ask the organisation for another link" in second.outbox.send().attempts[0].reason
        )  # the second attempt sends no request
        [left] = waiting_by_campaign(second.outbox)
        assert left.refused
        assert "used by another device" in left.reason
        second.present_code(campaign_id, other)
        assert second.outbox.send().envelopes == 2
        assert first.outbox.send().attempts == second.outbox.send().attempts == ()
    assert len(inbox.admitted(study.path)) == 2
    assert Codes(study.path).counts(ENROLLED.id) == CodeCounts(2, 2)


def test_codes_are_written_to_a_file_and_not_stored(study, tmp_path):
    """codes writes the requested number of different codes to a file for its owner alone; the study stores none.

    Cards are a PDF. A campaign for all devices needs no codes.
    """
    out = tmp_path / "codes.csv"
    options = ["--study", study.path, "codes", "education"]
    made = [*options, "--count", "7", "--address", "https://study.example"]
    run(*made, "--out", out)
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    links = [Link.parse(row["link"]) for row in rows]
    assert len({link.code for link in links}) == 7
    assert [grouped(link.code) for link in links] == [row["code"] for row in rows]
    assert out.stat().st_mode & 0o077 == 0
    stored = (study.path / "codes.sqlite").read_bytes()
    assert not any(link.code.encode() in stored for link in links)
    assert printed(*options) == "7 codes made, 0 used\n"
    assert Codes(study.path).redeem(ENROLLED.id, links[6].code, KEYS[0])
    cards = tmp_path / "cards.pdf"
    run(*made, "--out", cards)
    assert cards.read_bytes().startswith(b"%PDF")
    for count in ([], ["--count", "1"]):
        assert "needs no codes" in printed("--study", study.path, "codes", "open", *count, code=1)


def test_no_codes_are_made_after_an_early_closing(study, tmp_path):
    """A campaign that was closed early gets no new codes. Its cards name the last day before an early closing."""
    study.close_early(seal_closing(ENROLLED, int(time.time()), AUTHOR))
    made = ["--study", study.path, "codes", "education", "--address", "https://study.example", "--count", "1"]
    assert "is over: devices" in printed(*made, "--out", tmp_path / "cards.pdf", code=1)
    assert Codes(study.path).counts(ENROLLED.id) == CodeCounts(0, 0)
    last = datetime.datetime.fromtimestamp(NOW - 1, datetime.UTC)
    assert f"until {last.day} {last:%B} {last.year}." in CardTexts.of(ENROLLED, closes=NOW).below
