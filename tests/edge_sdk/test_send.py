"""Sending: a report counts once, is sent as the same bytes until acknowledged, and never early."""

from __future__ import annotations

import email.utils
import hashlib
import http.client
import json
import random
from fractions import Fraction

import pytest

from aggregator.intake.ingest import ingest
from aggregator.receive import inbox
from aggregator.study import Study
from edge_sdk import Device
from edge_sdk.__main__ import main
from edge_sdk.errors import AddressRefused, OutboxFull
from edge_sdk.transport.address import address
from edge_sdk.transport.exchange import connect
from edge_sdk.transport.outbox import Outbox
from edge_sdk.transport.stored_outbox import MAX_ENVELOPES, MAX_WAITING_BYTES
from edge_sdk.transport.upload import CODE_HEADER, MAX_SECONDS, Outcome, delay, retry_after
from edge_sdk.transport.waiting import waiting_by_campaign
from protocol.campaign import campaign_id, open_campaign
from protocol.domain import Values
from protocol.envelope import Kind, read_batch
from protocol.errors import NotYet
from protocol.keys import public_line
from tests.aggregator.fault_proxy import Fault, fault_proxy
from tests.aggregator.test_receive import kept, served
from tests.edge_sdk.certificates import self_signed
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, Dice, campaign
from tests.edge_sdk.test_roles import of_classes

PERIOD = 60
PERIODS = 8
"""The number of periods in which people answer under faults."""

DATA = campaign(periods=5000, period_seconds=PERIOD)
SECOND = campaign("Second", periods=5000, period_seconds=PERIOD)
URL = "http://127.0.0.1:9"


class UploadNetwork:
    """A replacement for a connection that records the sent bytes and returns the prepared responses; by default an
    acknowledgement."""

    def __init__(self, *responses: object) -> None:
        self.responses = list(responses)
        self.bodies: list[bytes] = []

    def __call__(self, to: object) -> UploadNetwork:
        return self

    def request(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> None:
        sent = {name: value for name, value in headers.items() if name != CODE_HEADER}
        assert (method, path, sent) == ("POST", "/v1/reports", {"Content-Type": "application/octet-stream"})
        self.bodies.append(body)

    def getresponse(self) -> FakeResponse:
        response = self.responses.pop(0) if self.responses else FakeResponse(200, acknowledgement(self.bodies[-1]))
        if isinstance(response, BaseException):
            raise response
        return response

    def close(self) -> None:
        pass


class FakeResponse:
    """A response of a study's server."""

    def __init__(self, status: int, said: bytes = b"", after: str | None = None) -> None:
        self.status, self.said, self.after = status, said, after

    def read(self, most: int) -> bytes:
        return self.said[:most]

    def getheader(self, name: str) -> str | None:
        assert name == "Retry-After"
        return self.after


def acknowledgement(body: bytes, *refused: int) -> bytes:
    """Return the acknowledgement of a study that stored all envelopes except those at the given positions."""
    count = len(list(read_batch(body)))
    said = {"digest": hashlib.sha256(body).hexdigest(), "envelopes": count, "refused": list(refused)}
    return json.dumps(said).encode()


def never(to: object) -> http.client.HTTPConnection:
    """Fail the test, because the network must not be used."""
    raise AssertionError("something was sent")


def agreed(device, data=DATA, address=URL):
    """Let the device join and agree to a campaign with an address for its reports; return the campaign's id."""
    joined = device.join(data, address).campaign_id
    device.consent(joined)
    return joined


def waiting(device):
    """Return all waiting envelopes, in order."""
    return [bytes(row) for (row,) in device._store.rows("SELECT envelope FROM outbox ORDER BY number")]


def outcomes(sent):
    return [attempt.outcome for attempt in sent.attempts]


def at(address):
    return f"http://{address[0]}:{address[1]}"


@pytest.fixture
def study(tmp_path):
    """Return a study of both campaigns."""
    made = Study.create(tmp_path / "lib")
    made.import_campaign(DATA, [AUTHOR.public], "first")
    made.import_campaign(SECOND, [AUTHOR.public], "second")
    return made


def count(study):
    """Ingest the uploads; return the number of counted reports of each campaign, and the numbers of refused envelopes
    by reason."""
    files = inbox.waiting(study.path)
    done = ingest(study, files, now=OPENS + 5000 * PERIOD - 1, threads=1)
    signed = [open_campaign(data, [AUTHOR.public]) for data in (DATA, SECOND)]
    totals = [sum(study.tally(one, period).reports for period in range(PERIODS)) for one in signed]
    return totals, {name: number for name, number in done.refused.items() if number}


# The caps


def test_an_answer_beside_200_waiting_envelopes_is_refused_without_a_charge(open_device, clock):
    """If 200 envelopes wait, an answer is refused before it is drawn, for every value; the oldest envelopes stay;
    sending makes room."""
    device = open_device()
    first, second = agreed(device), device.join(SECOND).campaign_id
    for period in range(MAX_ENVELOPES - 1):
        clock.now = OPENS + PERIOD * period
        device.answer(first, "none")
    full, ledger, history = waiting(device), device.ledger, device.history(first)
    # "none" was answered already in the first of these periods.
    for period in (MAX_ENVELOPES - 2, MAX_ENVELOPES):
        clock.now = OPENS + PERIOD * period
        for label in LABELS:
            with pytest.raises(OutboxFull, match="200 envelopes") as refused:
                device.answer(first, label)
            assert isinstance(refused.value, NotYet)
    with pytest.raises(OutboxFull):
        device.consent(second)
    assert not device.consented(second)
    assert (waiting(device), device.ledger, device.history(first)) == (full, ledger, history)
    assert device.outbox.send(URL, opener=UploadNetwork()).envelopes == MAX_ENVELOPES
    device.consent(second)
    assert not device.answer(first, "primary").repeated


def test_at_most_256_kib_are_queued(open_device):
    """An answer whose report might not fit is refused, and so is any envelope that does not fit; one that fits is
    queued."""
    device = open_device()
    first = agreed(device)
    longest = device.records.campaigns.find(first).longest_report
    with pytest.raises(OutboxFull), device._store.transaction():
        device.outbox.require_room(MAX_WAITING_BYTES - device.outbox.bytes + 1)
    with device._store.transaction():
        device.outbox.enqueue(1, bytes(MAX_WAITING_BYTES - device.outbox.bytes - longest + 1))
    with pytest.raises(OutboxFull):
        device.answer(first, "none")
    assert device.budget.spent == 0
    with device._store.transaction():
        device._store.execute("UPDATE outbox SET envelope = substr(envelope, 2) WHERE number = 2")
    assert len(device.answer(first, "none").envelope) <= longest
    assert device.outbox.bytes <= MAX_WAITING_BYTES


def test_a_class_is_not_drawn_if_the_queue_has_no_room_for_the_enrolment(open_device, monkeypatch):
    """If the queue has no room for the enrolment, ``choose_class`` refuses before the class is drawn; nothing is
    charged."""
    device = open_device()
    chosen = device.join(of_classes()).campaign_id
    other = agreed(device)
    with device._store.transaction():
        device.outbox.enqueue(1, bytes(MAX_WAITING_BYTES - device.outbox.bytes))
    monkeypatch.setattr("protocol.personal.nearest_prior", never)
    for call in (lambda: device.choose_class(chosen, 1.0), lambda: device.consent(chosen, as_class="others")):
        with pytest.raises(OutboxFull):
            call()
    assert device.budget.spent == 0
    assert (device.consented(chosen), device.consented(other)) == (False, True)


# Uploads at the study


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.NONE] + [None])
def test_every_report_counts_once_under_each_network_fault(study, open_device, clock, fault):
    """Under each fault, and under a mixture of all, while people continue to answer, the study counts each report
    exactly once and refuses nothing.

    If the response is lost, a campaign's second upload has the same bytes, so the study stores it once and refuses no
    report as replayed.
    """
    dice = random.Random(1)
    kinds = [fault] if fault else [kind for kind in Fault if kind is not Fault.NONE]
    faults = [dice.choice([*kinds, Fault.NONE]) for _ in range(12)]
    device = open_device()
    ids = [agreed(device, DATA), agreed(device, SECOND)]
    with served(study) as upstream, fault_proxy(upstream, [kinds[0], *faults]) as proxy:
        for joined in ids:
            device.set_address(joined, at(proxy.address))
        for period in range(PERIODS):
            clock.now = OPENS + PERIOD * period
            for joined in ids:
                device.answer(joined, LABELS[period % 6])
            device.outbox.send()
        for _ in range(40):
            sent = device.outbox.send()
            if sent.next_attempt is None:
                break
            clock.now = sent.next_attempt
        assert proxy.met > 1
    assert len(device.outbox) == 0
    assert device._store.rows("SELECT * FROM upload") == []
    assert count(study) == ([PERIODS, PERIODS], {})


def test_a_crash_before_the_queue_records_an_acknowledgement_sends_the_same_bytes(
    study, open_device, place, clock, monkeypatch
):
    """An envelope that was acknowledged but is still queued is sent a second time and counted once."""
    device = open_device(place)
    device.answer(agreed(device), "none")

    def crash(*arguments: object) -> None:
        raise KeyboardInterrupt

    with served(study) as upstream:
        device.set_address(device.campaigns[0], at(upstream))
        with monkeypatch.context() as patch:
            patch.setattr(Outbox, "acknowledged", crash)
            with pytest.raises(KeyboardInterrupt):
                device.outbox.send()
        once = kept(study)
        with Device.open(place, clock=clock) as again:
            assert len(again.outbox) == 2
            clock.now = OPENS - 0.5
            early = again.outbox.send(opener=never)
            assert outcomes(early) == [Outcome.WAITING], "a crash counts as a failure, so the next attempt must wait"
            clock.now = early.next_attempt
            assert again.outbox.send().envelopes == 2
        assert kept(study) == once
        assert len(once) == 1
    assert count(study) == ([1, 0], {})


def test_each_upload_has_the_envelopes_of_one_campaign(open_device, clock):
    """Each upload has the envelopes of one campaign, the enrolment first; all uploads together have exactly the waiting
    envelopes."""
    device = open_device()
    ids = [agreed(device, DATA), agreed(device, SECOND)]
    for period in range(3):
        clock.now = OPENS + PERIOD * period
        for joined in ids:
            device.answer(joined, "none")
    everything, network = waiting(device), UploadNetwork()
    sent = device.outbox.send(URL, opener=network)
    assert [(attempt.campaign_id, attempt.envelopes) for attempt in sent.attempts] == [(joined, 4) for joined in ids]
    for body, start in zip(network.bodies, (0, 1), strict=True):
        assert body == b"".join([everything[start], *everything[2 + start :: 2]])
        items = list(read_batch(body))
        assert [item.kind for item in items] == [Kind.ENROLMENT] + [Kind.REPORT] * 3
        assert len({item.key_id for item in items}) == 1


# Retries


def test_a_failed_upload_is_repeated_with_the_same_bytes(open_device, clock, place):
    """A failed upload is repeated with the same bytes, also after a restart; an envelope queued after the failure waits
    for the next upload."""
    first = agreed(device := open_device(place))
    device.answer(first, "none")
    network = UploadNetwork(
        ConnectionResetError(),
        FakeResponse(503),
        FakeResponse(200, b'{"digest": "00"}'),
        http.client.IncompleteRead(b""),
    )
    body = b"".join(waiting(device))
    for failures in range(1, 5):
        sent = device.outbox.send(URL, opener=network)
        assert outcomes(sent) == [Outcome.FAILED]
        assert clock.now <= sent.next_attempt <= clock.now + 60 * 2 ** (failures - 1) + 1
        assert device._store.rows("SELECT envelopes, failures FROM upload") == [(2, failures)]
        clock.now = max(clock.now + PERIOD, sent.next_attempt)
        device.answer(first, LABELS[failures])
        if failures == 2:
            device.close()
            device = open_device(place)
    later = b"".join(waiting(device))[len(body) :]
    assert outcomes(device.outbox.send(URL, opener=network)) == [Outcome.SENT, Outcome.SENT]
    assert network.bodies == [body] * 5 + [later]
    assert device.outbox.send(URL, opener=never).attempts == ()


def test_no_call_sends_before_the_drawn_time(open_device, clock):
    """No call sends before the drawn time; a waiting campaign does not delay another one."""
    device = open_device(urandom=lambda n: b"\xff" * n)
    agreed(device)
    clock.now = OPENS + 0.25
    sent = device.outbox.send(URL, opener=UploadNetwork(TimeoutError()))
    assert sent.next_attempt == OPENS + 61
    for clock.now in (OPENS, OPENS + 30, OPENS + 60.9):
        early = device.outbox.send(URL, opener=never)
        assert (outcomes(early), early.next_attempt) == ([Outcome.WAITING], OPENS + 61)
    agreed(device, SECOND)
    network = UploadNetwork()
    assert outcomes(device.outbox.send(URL, opener=network)) == [Outcome.WAITING, Outcome.SENT]
    clock.now = OPENS + 61
    assert device.outbox.send(URL, opener=network).envelopes == 1


def test_a_clock_that_went_back_does_not_stop_sending(open_device, clock):
    """If the next attempt is later than the longest delay allows, the clock was set back, so the attempt is made
    now."""
    device = open_device(urandom=lambda n: b"\xff" * n)
    agreed(device)
    clock.now = OPENS + 10 * MAX_SECONDS
    device.outbox.send(URL, opener=UploadNetwork(FakeResponse(500)))
    clock.now = OPENS
    assert device.outbox.send(URL, opener=UploadNetwork()).envelopes == 1


@pytest.mark.parametrize(
    ("asked", "waits"), [("7200", 7200), ("1", 60), ("9" * 5000, MAX_SECONDS), ("-5", 60), ("x", 60)]
)
def test_a_device_obeys_retry_after_up_to_a_day(open_device, asked, waits):
    """After a status that is neither an acknowledgement nor a final refusal, the device waits until the later of the
    drawn moment and Retry-After, at most a day."""
    for status in (429, 503, 507, 302, 404, 413, 408):
        device = open_device(urandom=lambda n: b"\xff" * n)
        agreed(device)
        sent = device.outbox.send(URL, opener=UploadNetwork(FakeResponse(status, b"", asked)))
        assert (outcomes(sent), sent.next_attempt) == ([Outcome.FAILED], OPENS + waits)
        assert str(status) in sent.attempts[0].reason


def test_retry_after_may_be_a_date():
    """A date in Retry-After is converted to seconds from now: a past date to 0, a distant date to a day."""
    for seconds, waits in ((100, 100), (-100, 0), (10**7, MAX_SECONDS)):
        assert retry_after(email.utils.formatdate(OPENS + seconds, usegmt=True), OPENS) == waits
    assert retry_after(None, OPENS) == retry_after("Mon, 99 Foo 2020", OPENS) == 0


@pytest.mark.parametrize("failures", [0, 1, 5, 10, 11, 12, 5000])
def test_the_delay_is_uniform_up_to_a_minute_doubled_with_each_failure_and_a_day_at_most(failures):
    """After f failures the delay is uniform over the seconds from 0 to 2^f minutes, or to 24 hours if that is less.

    The numbers of the 2^64 draws that give each second differ by at most one.
    """
    window = min(86_400, 60 * 2**failures)
    firsts = [-(-(second << 64) // (window + 1)) for second in range(window + 2)]
    for second in range(0, window + 1, max(1, window // 500)):
        for draw in (firsts[second], firsts[second + 1] - 1):
            assert delay(failures, lambda n, draw=draw: draw.to_bytes(n, "big")) == second
        assert abs(firsts[second + 1] - firsts[second] - Fraction(2**64, window + 1)) < 1
    assert delay(failures, lambda n: b"\xff" * n) == window
    dice = Dice()
    delay(failures, dice)
    assert dice.asked == [8]


@pytest.mark.parametrize("value", LABELS)
def test_times_and_lengths_of_uploads_do_not_depend_on_the_answer(open_device, clock, value):
    """Under the same seed, every answer gives the same attempts at the same times with bodies of the same length."""

    def manner(label: str) -> tuple[object, ...]:
        clock.now = OPENS
        device = open_device(urandom=(dice := Dice(7)))
        joined = agreed(device)
        network = UploadNetwork(*(FakeResponse(503) for _ in range(4)))
        seen = []
        for period in range(20):
            clock.now = OPENS + PERIOD * period
            device.answer(joined, label if period % 3 else "none")
            seen.append(device.outbox.send(URL, opener=network))
        return seen, list(map(len, network.bodies)), dice.asked

    assert manner(value) == manner("none")


# Responses of a study


def test_a_permanently_refused_upload_is_kept_and_not_retried(open_device, place, clock, tmp_path):
    """After status 400 at the stage envelope, an upload is kept, reported as refused each time and never retried; other
    uploads continue."""
    device = open_device(place)
    first = agreed(device)
    agreed(device, SECOND)
    mine = waiting(device)[0]
    network = UploadNetwork(FakeResponse(400, b'{"error": "no", "stage": "envelope"}'))
    assert outcomes(device.outbox.send(URL, opener=network)) == [Outcome.UPLOAD_REFUSED, Outcome.SENT]
    device.answer(first, "none")
    with open_device(place) as again:
        for clock.now in (OPENS, OPENS + 10 * MAX_SECONDS):
            assert outcomes(again.outbox.send(URL, opener=never)) == [Outcome.UPLOAD_REFUSED]
        assert waiting(again)[0] == mine
        assert again.outbox.export(tmp_path / "kept.htr") == 2
        assert again._store.rows("SELECT * FROM upload") == []


def test_a_refusal_by_only_one_address_is_not_called_permanent(open_device, clock):
    """If one address refuses the bytes and another one fails, they are sent again, and the reason does not say that
    they are kept unsent. Only a refusal by every address is permanent."""
    device = open_device()
    agreed(device, campaign(addresses=("https://first.example", "https://second.example")), None)
    refused = FakeResponse(400, b'{"error": "no", "stage": "codec"}')
    for clock.now, other in ((OPENS, OSError("x")), (OPENS + MAX_SECONDS, refused)):
        [attempt] = device.outbox.send(opener=UploadNetwork(refused, other)).attempts
        permanent = attempt.outcome is Outcome.UPLOAD_REFUSED
        assert permanent == (other is refused)
        kept = "; the envelopes are kept: to remove them, export them or forget the campaign"
        assert attempt.reason.endswith(kept) == permanent
        assert ("are kept" in attempt.reason) == permanent


def test_a_refusal_by_the_only_named_address_is_not_permanent(open_device, clock):
    """If ``send`` names one of two addresses, and this one refuses the bytes, the next attempt sends them to both."""
    device = open_device()
    addresses = "https://first.example", "https://second.example"
    agreed(device, campaign(addresses=addresses), None)
    refused = UploadNetwork(FakeResponse(400, b'{"error": "no", "stage": "codec"}'))
    assert outcomes(device.outbox.send(addresses[0], opener=refused)) == [Outcome.FAILED]
    clock.now += MAX_SECONDS
    assert outcomes(device.outbox.send(opener=UploadNetwork())) == [Outcome.SENT]


@pytest.mark.parametrize(("status", "stage", "of_code"), [(400, "envelope", False), (403, "code", True)])
def test_a_code_is_called_refused_only_if_the_study_refused_it(open_device, status, stage, of_code):
    """With a code, the reason names the code if the study refused the code, and not if it refused the bytes; in every
    later call and in the list of waiting envelopes as well."""
    device = open_device()
    joined = device.join(campaign(enrolment="enrolled"), URL).campaign_id
    device.present_code(joined, "x7Kq")
    device.consent(joined)
    refused = FakeResponse(status, json.dumps({"error": "no", "stage": stage}).encode())
    for opener in (UploadNetwork(refused), never):
        [attempt] = device.outbox.send(opener=opener).attempts
        assert attempt.outcome is Outcome.UPLOAD_REFUSED
        assert ("code" in attempt.reason) == of_code
    [left] = waiting_by_campaign(device.outbox)
    assert (left.refused, "code" in left.reason) == (True, of_code)


@pytest.mark.parametrize(
    "response",
    [
        *(FakeResponse(200, body) for body in (b"", b"{}", b"[]", b"[" * 4000, b"\xff")),
        FakeResponse(201, b"{}"),
        *(FakeResponse(400, body) for body in (b"", b'{"stage": "size"}', b'{"stage": ["codec"]}')),
        http.client.BadStatusLine("x"),
        OSError("x"),
        UnicodeError("x"),
    ],
)
def test_only_an_acknowledgement_removes_envelopes_from_the_queue(open_device, clock, response):
    """After any response except an acknowledgement, everything stays queued and is sent again."""
    device = open_device()
    agreed(device)
    before = waiting(device)
    assert outcomes(device.outbox.send(URL, opener=UploadNetwork(response))) == [Outcome.FAILED]
    assert waiting(device) == before
    clock.now = OPENS + MAX_SECONDS
    assert device.outbox.send(URL, opener=UploadNetwork()).envelopes == 1


def test_a_response_longer_than_an_acknowledgement_is_a_failed_attempt(open_device):
    """At most 4 KiB of a response are read, and a truncated acknowledgement counts as a failed attempt."""
    device = open_device()
    agreed(device)
    long = json.dumps({"x": "y" * 5000, **json.loads(acknowledgement(b"".join(waiting(device))))}).encode()
    assert outcomes(device.outbox.send(URL, opener=UploadNetwork(FakeResponse(200, long)))) == [Outcome.FAILED]


@pytest.mark.parametrize("meanwhile", ["send", "send and try again", "export", "forget"])
def test_an_acknowledgement_removes_only_sent_reports(open_device, tmp_path, meanwhile):
    """While an upload is on its way, another process may send, export, forget and answer, and no new report is lost."""
    device = open_device()
    joined = agreed(device)

    class Busy(UploadNetwork):
        def getresponse(self) -> FakeResponse:
            if len(self.bodies) == 1:
                if meanwhile.startswith("send"):
                    upload, tried = device.outbox.begin(1, lambda upload: 0)
                    assert (tried, upload.body) == (True, self.bodies[0])
                    device.outbox.acknowledged(upload)
                elif meanwhile == "export":
                    device.outbox.export(tmp_path / "upload.htr")
                else:
                    device.forget(joined)
                device.answer(agreed(device, SECOND if meanwhile == "forget" else DATA), "none")
                if meanwhile == "send and try again":
                    device.outbox.begin(1, lambda upload: 0)
            return super().getresponse()

    network = Busy(FakeResponse(200, acknowledgement(waiting(device)[0])), FakeResponse(503))
    device.outbox.send(URL, opener=network)
    assert len(device.outbox) == (2 if meanwhile == "forget" else 1)


def test_a_second_process_does_not_start_an_attempt(open_device, place):
    """From the moment an attempt begins, no other process starts one."""
    device, other = (open_device(place, urandom=lambda n: b"\xff" * n) for _ in range(2))
    agreed(device)

    class SlowNetwork(UploadNetwork):
        def getresponse(self) -> FakeResponse:
            assert outcomes(other.outbox.send(URL, opener=never)) == [Outcome.WAITING]
            return super().getresponse()

    assert device.outbox.send(URL, opener=SlowNetwork()).envelopes == 1


# Addresses


def test_nothing_is_sent_to_an_insecure_address(open_device):
    """Only https and this machine are accepted; other addresses are refused before any request or change."""
    device = open_device()
    agreed(device)
    for wrong in (
        "http://study.example", "http://10.0.0.1:8700", "http://localhost.example", "http://127.0.0.1@study.example",
        "ftp://study.example", "study.example", "", "https://", "https://a b", "https://a\r\nX: y", "https://\u00fc.example",
        "https://study.example:99999", "https://u:p@study.example", "https://study.example/?a=b", "https://a#b", "https://[::1",
    ):  # fmt: skip
        with pytest.raises(AddressRefused):
            device.outbox.send(wrong, opener=never)
    assert device._store.rows("SELECT * FROM upload") == []
    for right, host, port, path in (
        ("https://study.example", "study.example", 443, "/v1/reports"),
        ("https://study.example:8443/town/", "study.example", 8443, "/town/v1/reports"),
        ("http://127.0.0.1:8700", "127.0.0.1", 8700, "/v1/reports"),
        ("http://[::1]", "::1", 80, "/v1/reports"),
        ("http://localhost:1", "localhost", 1, "/v1/reports"),
    ):
        assert address(right) == address(right + "/")
        assert (address(right).host, address(right).port, address(right).path) == (host, port, path)
    assert connect(address("https://study.example")).timeout == connect(address("http://[::1]")).timeout == 30


def test_a_certificate_is_verified_with_its_name(study, open_device, tmp_path, monkeypatch):
    """With an untrusted certificate, or one for another name, nothing is sent; with a trusted certificate for this
    name, the upload is sent."""
    tls = self_signed(tmp_path)
    device = open_device()
    agreed(device)
    with served(study, tls=tls) as (host, port):
        monkeypatch.delenv("SSL_CERT_FILE", raising=False)
        device.set_address(device.campaigns[0], f"https://{host}:{port}")
        stranger = device.outbox.send()
        assert outcomes(stranger) == [Outcome.FAILED]
        assert "self-signed" in stranger.attempts[0].reason
        monkeypatch.setenv("SSL_CERT_FILE", str(tls.certificate))
        device.set_address(device.campaigns[0], f"https://localhost:{port}")
        misnamed = device.outbox.send()
        assert outcomes(misnamed) == [Outcome.FAILED]
        assert kept(study) == []
        device.set_address(device.campaigns[0], f"https://{host}:{port}")
        assert device.outbox.send().envelopes == 1
    assert len(kept(study)) == 1


# The command line


def test_the_exit_code_is_0_for_sent_75_for_not_yet_and_1_for_failed(study, tmp_path, capsys):
    """The exit code is 0 for sent or nothing to do, 75 for not yet (with the time), and 1 for failed; --json prints the
    same for a script."""
    store = ["--store", str(tmp_path / "store")]
    (tmp_path / "author.pub").write_text(public_line(AUTHOR.public))
    now = {"opens": 0, "periods": 1, "period_seconds": 2**38}
    for name in ("One", "Two"):
        (tmp_path / name).write_bytes(campaign(name, Values(LABELS), **now))
        joining = [*store, "join", str(tmp_path / name), "--trust", str(tmp_path / "author.pub"), "--address", URL]
        assert main(joining) == 0
    one = campaign_id((tmp_path / "One").read_bytes()).hex()
    assert main([*store, "outbox", "send"]) == 0
    assert main([*store, "consent", one]) == 0
    capsys.readouterr()

    def send() -> tuple[int, dict[str, object], str]:
        code = main([*store, "outbox", "send", "--json"])
        out, err = capsys.readouterr()
        assert err.count("\n") == (code != 0)
        return code, json.loads(out), err

    # No server listens there.
    code, said, err = send()
    assert (code, said["sent"], said["failed"], said["queued"]) == (1, 0, 1, 1)
    assert "not before" in err
    with Device.open(tmp_path / "store") as device, device._store.transaction():
        device._store.execute("UPDATE upload SET next_attempt = next_attempt + 3600")
    code, later, err = send()
    assert (code, later["next_attempt"], later["failed"]) == (75, said["next_attempt"] + 3600, 0)
    assert "UTC" in err
    assert main([*store, "outbox"]) == 0
    assert "next attempt not before" in capsys.readouterr().out
    with Device.open(tmp_path / "store") as device, device._store.transaction():
        device._store.execute("UPDATE upload SET next_attempt = 1")
    assert main([*store, "outbox"]) == 0
    assert "next attempt" not in capsys.readouterr().out, "a time in the past is not the time of a next attempt"
    study.import_campaign((tmp_path / "One").read_bytes(), [AUTHOR.public], "one")
    with served(study) as upstream:
        assert main([*store, "address", one[:8], at(upstream)]) == 0
        capsys.readouterr()
        code, said, err = send()
        assert (code, said.pop("sent"), said.pop("not_sent"), err) == (0, 1, [], "")
        assert not any(said.values())
        assert main([*store, "outbox", "send", at(upstream)]) == 0
        assert capsys.readouterr().out == "sent: 0\nqueued: 0\n"
