"""Properties of the service that receives uploads: an acknowledged upload is on the disk, and its sender is not
recorded."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import http.client
import ipaddress
import json
import os
import random
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from aggregator.estimate.estimator import estimate
from aggregator.families.bits import recipe as unary
from aggregator.intake.compact import compact
from aggregator.intake.ingest import ingest
from aggregator.intake.signatures import verifier
from aggregator.receive import inbox
from aggregator.receive import server as server_module
from aggregator.receive.acknowledgements import MAX_QUERY_REPORTS, CountedQuery, parse_upload
from aggregator.receive.app import application
from aggregator.receive.limits import CLIENTS, Limits
from aggregator.receive.output_hashes import CountedHashes, number_bytes, output_hashes
from aggregator.receive.server import (
    HEAD_LINES,
    STOP_SECONDS,
    BadAddress,
    CannotListen,
    Deadlines,
    bind,
    is_loopback,
    server,
    url,
)
from aggregator.receive.snapshot import StudySnapshot
from aggregator.storage import tables
from aggregator.storage.tables import REPORTS, snapshot
from aggregator.truth_file import Truth
from protocol import exact
from protocol.campaign import Campaign, open_campaign, seal_campaign
from protocol.domain import Values
from protocol.envelope import Envelope, read_batch
from protocol.errors import BadData
from protocol.keys import SigningKey
from protocol.notions import Ldp
from protocol.report import Report, pack
from protocol.views import plain_views
from tests.aggregator import fleet
from tests.aggregator.command import printed, run
from tests.aggregator.fault_proxy import PATIENCE, Fault, fault_proxy
from tests.aggregator.fleet import AUTHOR, NOW, OPENS, WEEK, campaign, device, enrolment, report
from tests.aggregator.simulated import population
from tests.altered import flipped
from tests.edge_sdk.certificates import self_signed

OPEN = campaign(enrolment="open", answers=5, title="Open")
PLAIN = campaign()
BATCH = "application/octet-stream"


@contextlib.contextmanager
def served(study, *, listen="127.0.0.1:0", tls=None, proxy=None, **options):
    """The address of a running service of a study."""
    inbox.prepare(study.path)
    listening = bind(listen)
    running = server(application(study, **{"per_minute": 10_000} | options), tls, proxy)
    thread = threading.Thread(target=lambda: asyncio.run(running.serve(sockets=[listening])))
    thread.start()
    try:
        yield listening.getsockname()[:2]
    finally:
        running.should_exit = True
        thread.join(PATIENCE)
        listening.close()
        assert not thread.is_alive()


@pytest.fixture
def study(tmp_path):
    """A study of ``OPEN``, and of ``PLAIN`` with ten devices."""
    made = fleet.study(tmp_path / "lib", OPEN)
    made.import_campaign(PLAIN.data, [AUTHOR.public], "plain")
    made.enrol(b"".join(enrolment(number, PLAIN) for number in range(10)))
    return made


def ask(address, method, path, body=None, headers=None, context=None, source=None):
    """Return status, headers and body of the response to one request."""
    kind = http.client.HTTPSConnection if context else http.client.HTTPConnection
    options = {"context": context} if context else {}
    connection = kind(*address, timeout=PATIENCE, source_address=source, **options)
    with contextlib.closing(connection):
        sent = {"content-type": BATCH} | (headers or {}) if method == "POST" else headers or {}
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


def post(address, body, path="/v1/reports", **options):
    """Return status and JSON of the response to an upload."""
    status, _, answer = ask(address, "POST", path, body, **options)
    return status, json.loads(answer)


def deliver(address, body, attempts=10):
    """Upload as a device does: repeat the same bytes until an acknowledgement has their digest."""
    for _ in range(attempts):
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            status, answer = post(address, body)
            if status == 200 and answer["digest"] == hashlib.sha256(body).hexdigest():
                return answer
    raise AssertionError("the upload was never acknowledged")


def raw(address, data):
    """Return all bytes that the server sends in response to raw bytes until it closes the connection."""
    with socket.create_connection(address, timeout=PATIENCE) as connection:
        connection.sendall(data)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def counted(study, body):
    """Return, for each report of a batch, whether the study confirms that it was counted."""
    question, snapshot = CountedQuery.of(body), StudySnapshot(study)
    snapshot.request(snapshot.campaigns)
    snapshot.refresh()
    known = asyncio.run(snapshot.snapshots(snapshot.campaigns, 0))
    with verifier(1) as threads:
        return question.counted(known, threads)


def sent(number, signed=OPEN, output=0):
    """Return the upload of one device."""
    return enrolment(number, signed) + report(number, signed, output)


def kept(study):
    """Return the contents of all files in the inbox, under any name."""
    return sorted(path.read_bytes() for path in inbox.inbox_of(study.path).rglob("*") if path.is_file())


def test_uploaded_reports_count_in_the_estimate_and_are_confirmed(study):
    """Simulated devices upload one by one, and a command ingests the inbox: all reports count in the estimate.

    The study confirms the reports after the ingest, and not before.
    """
    people = Truth(("0", "3"), (30, 10))
    [crowd_sent] = population(OPEN.campaign, OPEN.id, people, 0, seed=1)
    envelopes = [found.encode() for found in read_batch(crowd_sent.reports)]
    uploads = [first + second for first, second in zip(envelopes[::2], envelopes[1::2], strict=True)]
    with served(study) as address:
        for body in uploads:
            assert post(address, body) == (
                200,
                {"digest": hashlib.sha256(body).hexdigest(), "envelopes": 2, "refused": []},
            )
        assert set(json.loads(ask(address, "POST", "/v1/counted", uploads[0])[2])["counted"]) == {False}
        found = json.loads(printed("--study", study.path, "ingest", "--json"))
        assert (found["read"], found["accepted"], found["files"], found["rejected"]) == (40, 40, 40, {})
        assert post(address, b"".join(uploads), "/v1/counted") == (200, {"counted": [True] * 40})
    shares = estimate(OPEN, study.tally(OPEN))
    assert shares.reports == 40
    assert float(sum(shares.share)) == pytest.approx(1)


def test_archived_uploads_do_not_show_which_envelopes_came_together(study):
    """Archived uploads rebuild the study and do not show which envelopes were in one upload; no upload stays in the
    inbox."""
    for number in range(6):
        inbox.prepare(study.path)
        inbox.put(study.path, sent(number) + (report(number, PLAIN)))
    by_hand = inbox.inbox_of(study.path) / "by-hand.htr"
    by_hand.write_bytes(b"noise" + report(7, PLAIN))
    files = inbox.waiting(study.path)
    first = ingest(study, files, now=NOW, threads=1)
    inbox.archive(study.path, files, first.warnings)
    assert inbox.waiting(study.path) == []
    batches = sorted(inbox.done_of(study.path).iterdir())
    assert len(batches) == 2
    [mixed] = [found.read_bytes() for found in batches if not found.read_bytes().startswith(b"noise")]
    envelopes = [found.encode() for found in read_batch(mixed)]
    assert envelopes == sorted({part.encode() for n in range(6) for part in read_batch(sent(n) + report(n, PLAIN))})
    again = fleet.study(study.path.parent / "again", OPEN)
    again.import_campaign(PLAIN.data, [AUTHOR.public], "plain")
    again.enrol(b"".join(enrolment(number, PLAIN) for number in range(10)))
    second = ingest(again, [inbox.done_of(study.path)], now=NOW, threads=1)
    assert (second.accepted, second.refused) == (first.accepted, first.refused) == (13, {"malformed": 1})
    for signed in (OPEN, PLAIN):
        assert again.tally(signed).counts.tolist() == study.tally(signed).counts.tolist()


def test_a_file_that_was_not_read_to_its_end_is_not_archived(study):
    """A file that an ingest could not read to its end is not archived, so that another ingest may read it."""
    inbox.prepare(study.path)
    good, bad = (inbox.put(study.path, sent(number)) for number in range(2))
    inbox.archive(study.path, [good, bad], [f"{bad} could not be read to its end: I/O error"])
    assert inbox.waiting(study.path) == [bad]
    inbox.archive(study.path, [good, bad])  # another process has archived ``good`` meanwhile
    assert inbox.waiting(study.path) == []


def test_an_empty_inbox_is_not_an_error(study):
    """ingest without paths and without uploads counts nothing, names the inbox and ends with exit code 0."""
    done = run("--study", study.path, "ingest", "--json")
    assert json.loads(done.stdout)["read"] == 0
    assert "no uploads in" in done.stderr


def test_each_upload_counts_once_through_every_fault(study):
    """If devices retry over a network that drops, breaks, truncates and delays, each of them counts exactly once."""
    dice = random.Random(5)
    faults = [fault for fault in Fault for _ in range(3)]
    dice.shuffle(faults)
    bodies = [sent(number, OPEN, number) for number in range(12)]
    with served(study) as upstream, fault_proxy(upstream, faults) as proxy:
        for body in bodies:
            assert deliver(proxy.address, body, attempts=len(faults))["envelopes"] == 2
        assert proxy.met == len(faults) - 3
    assert kept(study) == sorted(bodies)
    result = ingest(study, inbox.waiting(study.path), now=NOW, threads=1)
    assert (result.accepted, result.refused) == (12, {})
    assert study.tally(OPEN).counts.tolist() == [1] * 12 + [0] * 4


def test_a_repeated_upload_is_stored_once(study):
    """A repeated upload gets the same acknowledgement and is stored once; if it was ingested already, it is refused as
    replayed."""
    body = sent(1)
    with served(study) as address:
        assert post(address, body) == post(address, body)
        assert kept(study) == [body]
        files = inbox.waiting(study.path)
        assert ingest(study, files, now=NOW).accepted == 1
        inbox.archive(study.path, files)
        assert post(address, body)[0] == 200
    assert ingest(study, inbox.waiting(study.path), now=NOW).refused == {"replayed": 1}


HEAD = b"POST /v1/reports HTTP/1.1\r\nhost: x\r\ncontent-type: application/octet-stream\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
LENGTH = HEAD + b"content-length: %d\r\n\r\n"


def test_an_upload_over_the_limit_is_refused_before_its_body(study):
    """An upload that states a length over the limit is refused before any byte of its body arrives."""
    with served(study, max_bytes=2000) as address:
        assert b" 413 " in raw(address, LENGTH % 2001)
        assert b" 413 " in raw(address, LENGTH % 10**15)
        body = b"".join(sent(number) for number in range(8))
        assert len(body) <= 2000
        assert post(address, body)[0] == 200
        status, found = post(address, bytes(1999))
        assert (status, found["stage"]) == (400, "envelope")
    assert kept(study) == [body]


@pytest.mark.parametrize(
    ("body", "stage", "text"),
    [
        (b"", "codec", "the upload is empty"),
        (b"GIF89a", "envelope", "envelope"),
        (sent(1)[:-1], "codec", "envelope"),
        (sent(1) + b"\x00", "envelope", "envelope"),
        (b"\x00" + sent(1), "envelope", "envelope"),
        (report(1, OPEN)[:40] + sent(1), "envelope", "signature"),
        (sent(1) + OPEN.data, "envelope", "envelope"),
    ],
)
def test_uploads_of_other_bytes_are_refused_with_their_stage(body, stage, text):
    """An upload with anything but complete reports and enrolments is refused at the stage that SPEC names."""
    with pytest.raises(BadData, match=text) as raised:
        parse_upload(body)
    assert raised.value.stage == stage


def test_uploads_are_accepted_as_by_the_slow_reader():
    """An upload is accepted if and only if read_batch, the slow reference, finds only reports and enrolments."""
    dice = random.Random(2)
    good = b"".join(sent(number) for number in range(3))
    passed = 0
    for _ in range(2000):
        body = bytearray(good)
        for _ in range(dice.randrange(2)):
            body[dice.randrange(len(body))] = dice.randrange(256)
        body = bytes(body[dice.choice((0, 0, 0, 1)) : len(body) - dice.choice((0, 0, 0, 5))])
        slow = all(isinstance(found, Envelope) and found.kind in (2, 3) for found in read_batch(body))
        try:
            parse_upload(body)
            fast = True
        except BadData:
            fast = False
        assert fast == slow
        passed += fast
    assert 100 < passed < 1900


MALFORMED = [
    (b"nonsense\r\n\r\n", 400, "request"),
    (b"GET /v1/campaigns HTTP/1.1\r\n\r\n", 400, "request"),
    (HEAD + b"content-length: many\r\n\r\n", 400, "request"),
    (HEAD + b"content-length: -1\r\n\r\n", 400, "request"),
    (HEAD + b"content-length: 1\r\ncontent-length: 2\r\n\r\n", 400, "request"),
    (CHUNKED + b"1\r\nx\r\n0\r\n\r\n", 411, "size"),
    (b"GET / HTTP/1.1\r\nx: " + bytes(100_000), 431, "request"),
    (b"GET / HTTP/1.1\r\nhost: x\r\n" + b"a: b\r\n" * 200 + b"\r\n", 431, "request"),
    (b"GET / HTTP/1.1\r\nhost: x\r\n" + b"a: b\r\n" * (HEAD_LINES - 1) + b"\r\n", 431, "request"),
    (b"GET / HTTP/1.1\r\nhost: x\r\n" + b"a: b\r\n" * (HEAD_LINES - 2) + b"\r\n", 404, "path"),
    (b"GET /v1/campaigns/ HTTP/1.1\r\nhost: elsewhere.example\r\n\r\n", 404, "path"),
]
"""Requests that no client of the service makes, with the status and stage of each refusal."""


def parsed_response(data):
    """Return status, headers and body, parsed from the bytes of a response."""
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("ascii").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, body


def response_to(address, data):
    """Return status, headers and body of the response to raw bytes.

    The connection is read to the end of the response only: the server refuses an endless head before all of it has
    arrived, and closing a socket with unread bytes resets the connection.
    """
    with socket.create_connection(address, timeout=PATIENCE) as connection:
        connection.sendall(data)
        response = http.client.HTTPResponse(connection)
        response.begin()
        return response.status, response.headers, response.read()


def test_every_refusal_is_one_line_of_json(study):
    """A wrong path, method, type, encoding or body has its status and the body {"error", "stage"}, and is not
    stored."""
    with served(study) as address:
        cases = [
            (ask(address, "GET", "/"), 404, "path"),
            (ask(address, "GET", "/v1/reports"), 405, "method"),
            (ask(address, "DELETE", "/v1/campaigns"), 405, "method"),
            (ask(address, "POST", "/v1/reports", sent(1), {"content-type": "text/plain"}), 415, "type"),
            (ask(address, "POST", "/v1/reports", sent(1), {"content-encoding": "gzip"}), 415, "type"),
            (ask(address, "POST", "/v1/reports", b"what?"), 400, "envelope"),
            (ask(address, "POST", "/v1/counted", b"what?"), 400, "envelope"),
            (ask(address, "GET", "/v1/campaigns/" + "0" * 32), 404, "path"),
            (ask(address, "GET", "/v1/campaigns/%2e%2e%2fkeys"), 404, "path"),
        ]
        cases += [(response_to(address, data), status, stage) for data, status, stage in MALFORMED]
    for (status, headers, body), expected, stage in cases:
        assert status == expected
        assert headers["content-type"] == "application/json"
        answer = json.loads(body)
        assert (answer.keys(), answer["stage"]) == ({"error", "stage"}, stage)
        assert b"\n" not in body
    assert kept(study) == []


def test_an_internal_error_does_not_reveal_its_text(study, monkeypatch, caplog, capfd):
    """Any internal error is 500 with one line of JSON; neither the line nor the log contains the error's text or the
    sender."""

    def broken(*_):
        raise RuntimeError("the secret of /srv/lib")

    monkeypatch.setattr(inbox, "put", broken)
    with served(study) as address:
        status, answer = post(address, sent(1))
    assert (status, answer["stage"]) == (500, "service")
    shown = caplog.text + "".join(capfd.readouterr())
    assert "RuntimeError" in shown
    for hidden in ("secret", "Traceback", "127.0.0.1", "/srv/lib"):
        assert hidden not in shown + json.dumps(answer)


@pytest.mark.parametrize("full", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_507_and_leaves_no_file(study, monkeypatch, full):
    """If the disk is full during an upload, the response is 507 and no file is left; once there is room again, the
    upload is stored."""

    def failing(_):
        raise OSError(full, "full")

    with served(study) as address:
        with monkeypatch.context() as patch:
            patch.setattr(inbox.os, "fsync", failing)
            status, answer = post(address, sent(1))
            assert (status, answer["stage"]) == (507, "storage")
            assert kept(study) == []
        with monkeypatch.context() as patch:
            patch.setattr(inbox, "ROOM", 2**62)
            assert post(address, sent(1))[0] == 507
            assert ask(address, "GET", "/health")[0] == 507
        assert kept(study) == []
        assert post(address, sent(1))[0] == 200
        assert ask(address, "GET", "/health")[0] == 200
    assert kept(study) == [sent(1)]


def test_slow_clients_are_disconnected_and_delay_no_other(study, monkeypatch):
    """The server closes 40 connections whose clients have sent nothing, a part of a request head, or a head without the
    whole body, long before the time limit of a connection; the response to a head without its body is 408.

    It accepts another client's upload while they are open.
    """
    # Short for the test, and long enough that each client has sent its bytes on a busy machine.
    monkeypatch.setattr(Deadlines, "head_seconds", 1)
    monkeypatch.setattr(Deadlines, "connection_seconds", 10 * PATIENCE)
    dribbles = [b"", b"POST /v1/rep", LENGTH % 100, LENGTH % 100 + b"x", LENGTH % 100 + b"ab"]
    with served(study, patience=1) as address, contextlib.ExitStack() as stack:
        held = []
        for place in range(40):
            held.append(stack.enter_context(socket.create_connection(address, timeout=PATIENCE)))
            held[-1].sendall(dribbles[place % 5])
        deliver(address, sent(1))
        answers = []
        for connection in held:
            with contextlib.suppress(ConnectionResetError):
                answers.append(connection.recv(65536))
        assert sum(b" 408 " in answer for answer in answers) == 24
    assert kept(study) == [sent(1)]


def test_a_body_sent_byte_by_byte_is_read_in_few_pieces(study, monkeypatch):
    """For a body that is sent byte by byte, the server wakes for fewer than a quarter of the bytes."""
    monkeypatch.setattr(server_module, "PAUSE", 0.2)
    monkeypatch.setattr(server_module, "READS", 10)
    body, woken = sent(1), []
    received = Deadlines.data_received

    def counted_pieces(self, data):
        woken.append(len(data))
        received(self, data)

    monkeypatch.setattr(Deadlines, "data_received", counted_pieces)
    with served(study) as address, socket.create_connection(address, timeout=PATIENCE) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(LENGTH % len(body))
        for at in range(len(body)):
            with contextlib.suppress(ConnectionError):
                connection.sendall(body[at : at + 1])
            time.sleep(0.001)
        assert b" 200 " in connection.recv(65536)
    assert sum(woken) == len(LENGTH % len(body)) + len(body)
    assert len(woken) < len(body) / 4
    assert kept(study) == [body]


def test_a_connection_is_closed_at_its_time_limit(study, monkeypatch):
    """A connection that waits for the rest of a body is closed at its time limit, long before that of the body."""
    monkeypatch.setattr(Deadlines, "connection_seconds", 0.3)
    with (
        served(study, patience=10 * PATIENCE) as address,
        socket.create_connection(address, timeout=PATIENCE) as connection,
    ):
        connection.sendall(LENGTH % 100)
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(10) == b""


def test_a_hundred_simultaneous_uploads_are_counted(study):
    """If 100 devices upload at the same time, there are 100 acknowledgements, 100 files and 100 counted reports."""
    bodies = [sent(number, OPEN, number % 16) for number in range(100)]
    with served(study) as address, ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(lambda body: post(address, body), bodies))
    assert [status for status, _ in answers] == [200] * 100
    assert kept(study) == sorted(bodies)
    assert ingest(study, inbox.waiting(study.path), now=NOW).accepted == 100


KILLED = """if True:
    import os, signal, sys
    from pathlib import Path
    from aggregator.cli.receive import receive
    from aggregator.receive import inbox

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    put = inbox.put
    if sys.argv[2] == "before the file has its name":
        Path.replace = die
    elif sys.argv[2] == "between file and response":
        inbox.put = lambda *given: (put(*given), die())
    receive(["--study", sys.argv[1], "--listen", "127.0.0.1:0"])
"""


@contextlib.contextmanager
def processes(study, *moments):
    """Start a service in a separate process for each moment at which it is killed; yield the processes and their
    addresses."""
    every = [
        subprocess.Popen(
            [sys.executable, "-c", KILLED, study.path, moment],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for moment in moments
    ]
    try:
        places = [running.stdout.readline().split()[0].removeprefix("http://").split(":") for running in every]
        yield [(running, (host, int(port))) for running, (host, port) in zip(every, places, strict=True)]
    finally:
        for running in every:
            running.kill()
            running.communicate()


def test_a_repeated_upload_after_a_kill_counts_once(study):
    """If the service is killed before the file has its name, or between writing the file and sending the response, the
    repeated upload counts each report once."""
    with processes(study, "before the file has its name", "between file and response") as killed:
        for number, (running, address) in enumerate(killed):
            with pytest.raises((OSError, http.client.HTTPException)):
                post(address, sent(number))
            assert running.wait(PATIENCE) == -signal.SIGKILL
    assert inbox.waiting(study.path) == [inbox.inbox_of(study.path) / f"{hashlib.sha256(sent(1)).hexdigest()}.htr"]
    assert len(kept(study)) == 2  # the other one is a file without a name, which is never read
    inbox.sweep(study.path, time.time())
    assert len(kept(study)) == 2
    inbox.sweep(study.path, time.time() + inbox.ABANDONED + 1)
    assert kept(study) == [sent(1)]
    with served(study) as address:
        for number in range(2):
            deliver(address, sent(number))
    assert kept(study) == sorted([sent(0), sent(1)])
    result = ingest(study, inbox.waiting(study.path), now=NOW, threads=1)
    assert (result.accepted, result.refused) == (2, {})


def test_a_stopped_service_finishes_uploads_and_names_no_client(study):
    """After SIGTERM the current upload gets its acknowledgement, and the exit code is 0.

    Neither output nor any file of the study has the client's address. The modification time of the upload's file is 0.
    """
    before = {path: path.read_bytes() for path in study.path.rglob("*") if path.is_file()}
    client, body = "127.9.8.7", sent(1)
    with processes(study, "never") as [(running, address)]:
        with socket.create_connection(address, timeout=PATIENCE, source_address=(client, 0)) as connection:
            connection.sendall(HEAD + b"expect: 100-continue\r\ncontent-length: %d\r\n\r\n" % len(body))
            assert b" 100 " in connection.recv(1000)
            running.send_signal(signal.SIGTERM)
            with contextlib.suppress(ConnectionError):
                for _ in range(1000):  # until the server accepts no new client
                    raw(address, b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
            connection.sendall(body)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert b" 200 " in answer
        out, err = running.communicate(timeout=PATIENCE)
        assert running.returncode == 0
    assert client not in out + err
    after = {path: path.read_bytes() for path in study.path.rglob("*") if path.is_file()}
    [(path, data)] = after.items() - before.items()
    assert data == body
    assert path.name == hashlib.sha256(body).hexdigest() + ".htr"
    assert path.stat().st_mtime == 0
    ingest(study, [path], now=NOW)
    inbox.archive(study.path, [path])
    for file in study.path.rglob("*"):
        assert client not in file.name
        assert not file.is_file() or client.encode() not in file.read_bytes()


def test_a_stopped_service_waits_for_no_slow_body(study):
    """After SIGTERM, uploads whose bodies never end get 503, and the server exits before a supervisor's limit."""
    with processes(study, "never") as [(running, address)], contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.create_connection(address, timeout=PATIENCE)) for _ in range(3)]
        for connection in held:
            connection.sendall(HEAD + b"expect: 100-continue\r\ncontent-length: 100\r\n\r\n")
            assert b" 100 " in connection.recv(1000)
            connection.sendall(b"x")
        assert STOP_SECONDS < 10  # docker waits 10 s
        running.send_signal(signal.SIGTERM)
        assert running.wait(PATIENCE) == 0
        for connection in held:
            status, _, answer = parsed_response(connection.recv(65536))
            assert (status, json.loads(answer)["stage"]) == (503, "load")
    assert kept(study) == []


def test_other_users_cannot_read_the_inbox(study):
    """Other users of the machine can read nothing in the inbox: neither uploads nor archived batches nor their
    names."""
    umask = os.umask(0)
    try:
        with served(study) as address:
            post(address, sent(1))
        files = inbox.waiting(study.path)
        by_hand = inbox.inbox_of(study.path) / "by-hand.htr"
        by_hand.write_bytes(b"noise")
        ingest(study, [*files, by_hand], now=NOW)
        modes = [file.stat().st_mode & 0o777 for file in files]
        inbox.archive(study.path, [*files, by_hand])
    finally:
        os.umask(umask)
    folders = [inbox.inbox_of(study.path), inbox.done_of(study.path)]
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700] * 2
    modes += [file.stat().st_mode & 0o777 for file in inbox.done_of(study.path).iterdir()]
    assert modes == [0o600] * 3


def test_campaigns_are_fetched_as_they_were_signed(study):
    """The list has every campaign; the bytes of each are the signed ones, and may be cached without limit."""
    with served(study) as address:
        listed = json.loads(ask(address, "GET", "/v1/campaigns")[2])["campaigns"]
        assert {one["id"]: one["title"] for one in listed} == {OPEN.id.hex(): "Open", PLAIN.id.hex(): "Education"}
        status, headers, data = ask(address, "GET", f"/v1/campaigns/{OPEN.id.hex()}")
    assert (status, data) == (200, OPEN.data)
    assert "immutable" in headers["cache-control"]


def test_a_query_for_too_many_reports_is_refused(study):
    """A query for more reports than the limit is refused, and one for as many as the limit is answered."""
    with served(study) as address:
        status, answer = post(address, report(1, OPEN) * (MAX_QUERY_REPORTS + 1), "/v1/counted")
        assert (status, answer["stage"]) == (413, "size")
        assert post(address, report(1, OPEN) * MAX_QUERY_REPORTS, "/v1/counted") == (
            200,
            {"counted": [False] * MAX_QUERY_REPORTS},
        )


def test_requests_do_not_open_the_tables_again(study, monkeypatch):
    """The study's tables are opened a few times after each change of the study, and not again for each request."""
    opened = []
    engine = tables.DeltaTable

    class CountedOpenings(engine):
        def __init__(self, *args, **options):
            opened.append(args)
            super().__init__(*args, **options)

    file = study.path.parent / "batch.htr"
    file.write_bytes(sent(1))
    with served(study) as address:
        assert post(address, sent(1), "/v1/counted") == (200, {"counted": [False]})
        monkeypatch.setattr(tables, "DeltaTable", CountedOpenings)
        for _ in range(5):
            assert post(address, sent(1) + sent(2) + report(1, PLAIN), "/v1/counted")[0] == 200
            assert ask(address, "GET", "/v1/campaigns")[0] == 200
            assert ask(address, "GET", f"/v1/campaigns/{OPEN.id.hex()}")[0] == 200
            assert post(address, sent(2))[0] == 200
        before = len(opened)
        assert before <= 4  # the first request for another campaign opens its files
        assert ingest(study, [file], now=NOW).accepted == 1
        ours = len(opened)
        for _ in range(5):
            assert post(address, sent(1), "/v1/counted") == (200, {"counted": [True]})
        assert len(opened) - ours <= 8


def test_output_hashes_agree_with_the_table_after_commits_and_compactions(study, monkeypatch):
    """Output hashes agree with the table's rows after commits, several outputs in a report, and a compaction.

    Each data file is read once.
    """
    read = []
    reading = CountedHashes._read

    def noted(self, file):
        read.append(file.path)
        return reading(self, file)

    monkeypatch.setattr(CountedHashes, "_read", noted)
    path, name = study.path / REPORTS, OPEN.id.hex()
    known = CountedHashes(7)
    for number in range(6):
        file = study.path.parent / "batch.htr"
        file.write_bytes(enrolment(number, OPEN) + report(number, OPEN, 1, 2, 3) + report(number, OPEN, 4, slot=3))
        ingest(study, [file], now=NOW, threads=1)
        known = known.updated(path, snapshot(path), name)
        key = np.array([int.from_bytes(device(number, OPEN).id, "big", signed=True)] * 5)
        slot, output = np.array([0, 1, 2, 3, 4]), np.array([1, 2, 3, 4, 4])
        found = known.holds(output_hashes(7, 0, key, slot, number_bytes(output)))
        assert found.tolist() == [True] * 4 + [False]
        assert not known.holds(output_hashes(7, 1, key, slot, number_bytes(output))).any()
        assert not known.holds(output_hashes(7, 0, key, slot, number_bytes(output + 5))).any()
    assert len(read) == len(set(read)) == 6
    assert sum(map(len, known.runs)) == 24
    compact(study, now=NOW, alone=True)
    again = known.updated(path, snapshot(path), name)
    assert np.sort(np.concatenate(again.runs)).tolist() == np.sort(np.concatenate(known.runs)).tolist()


def test_only_the_signed_report_itself_is_confirmed(study):
    """A counted report is confirmed to its holder; for forged, foreign, altered or other reports the response is that
    they were not counted."""
    study.enrol(enrolment(3, PLAIN))
    bundle = enrolment(1, OPEN) + report(1, OPEN, 4, 5, 6, slot=1)
    file = study.path.parent / "batch.htr"
    file.write_bytes(bundle + report(3, PLAIN, 9))
    assert ingest(study, [file], now=NOW).accepted == 2
    assert counted(study, bundle + report(3, PLAIN, 9)) == [True, True]
    assert counted(study, report(3, PLAIN, 9)) == [True]
    guesses = [report(3, PLAIN, output) for output in range(16)]
    assert counted(study, b"".join(map(flipped, guesses))) == [False] * 16
    others = [
        report(1, OPEN, 4, 5, 7, slot=1),  # its signature is valid, and its outputs are others
        report(1, OPEN, 4, 5, 6, 7, slot=1),  # one slot more than was counted
        report(1, OPEN, 4, 5, 6, period=1, slot=1),
        report(3, PLAIN, 9, period=2**31),
        report(77, PLAIN, 9),
        report(3, campaign(title="Never imported"), 9),
        Report(PLAIN.id, 0, 0, 1, b"\x9f\x00").seal(device(3, PLAIN)),
        Report(PLAIN.id, 0, 0, 1, pack([9], 4)).seal(SigningKey(bytes(32))),
    ]
    assert counted(study, b"".join(others)) == [False] * len(others)
    assert counted(study, enrolment(3, PLAIN)) == []
    study.revoke(enrolment(3, PLAIN))
    assert counted(study, report(3, PLAIN, 9)) == [True]  # a counted report stays counted


def test_the_study_confirms_a_report_of_bits(tmp_path):
    """A report of a unary channel is confirmed by its word."""
    channel = unary.oue(12, exact.NANONATS)
    campaign = Campaign(
        "Words", "Which?", "", "Town library", Values(tuple(map(str, range(12)))), Ldp(exact.NANONATS),
        "oue", plain_views(channel), OPENS, OPENS + WEEK, WEEK, 2, 1, "enrolled",
    )  # fmt: skip
    signed = open_campaign(seal_campaign(campaign, AUTHOR), [AUTHOR.public])
    study = fleet.study(tmp_path / "lib", signed, [0])
    file = tmp_path / "batch.htr"
    file.write_bytes(report(0, signed, 0b1000_0000_0001, 0b11))
    assert ingest(study, [file], now=NOW).accepted == 1
    asked = report(0, signed, 0b1000_0000_0001, 0b11) + report(0, signed, 0b1000_0000_0001, 0b10)
    assert counted(study, asked) == [True, False]


def test_each_client_has_a_token_bucket():
    """A token bucket has room for per_minute requests and fills evenly; each client has a separate bucket, and all
    addresses of an IPv6 /64 network share one."""
    limits = Limits(3)
    assert [limits.wait("10.0.0.1", 0, 0) for _ in range(4)] == [0, 0, 0, 20]
    assert limits.wait("10.0.0.2", 0, 0) == 0
    assert limits.wait("10.0.0.1", 19, 0) == pytest.approx(1)
    assert limits.wait("10.0.0.1", 20, 0) == 0
    assert limits.wait("10.0.0.1", 20, 0) == pytest.approx(20)
    assert [limits.wait(address, 0, 0) for address in ("2001:db8::1", "2001:db8::2", "2001:db8::3")] == [0, 0, 0]
    assert limits.wait("2001:db8::ffff:1", 0, 0) > 0
    assert limits.wait("2001:db8:0:1::1", 0, 0) == 0
    assert limits.wait("::ffff:10.0.0.1", 20, 0) > 0


def test_clients_are_forgotten_with_the_day():
    """Memory contains no address, and the hash of an address differs from day to day; memory is bounded, and a new
    day starts empty."""
    limits = Limits(1)
    assert [limits.wait("10.0.0.1", 0, 0) for _ in range(2)] == [0, 60]
    [first] = limits._buckets
    assert "10.0.0.1" not in repr(vars(limits))
    assert ipaddress.ip_address("10.0.0.1").packed not in first
    assert limits.wait("10.0.0.1", 1, 1) == 0
    [second] = limits._buckets
    assert first != second
    for number in range(CLIENTS + 10):
        limits.wait(f"client {number}", 2, 1)
    assert len(limits) == CLIENTS


def test_requests_over_the_limit_get_429_and_retry_after(study):
    """A request over the limit gets 429 with Retry-After and is not stored; a forwarding header counts only from a
    trusted proxy."""
    forwarded = [{"x-forwarded-for": f"10.0.0.{number}"} for number in range(4)]
    with served(study, per_minute=2) as address:
        statuses = [ask(address, "POST", "/v1/reports", sent(n), forwarded[n]) for n in range(4)]
        assert [status for status, *_ in statuses] == [200, 200, 429, 429]
        assert 1 <= int(statuses[-1][1]["retry-after"]) <= 30
        assert ask(address, "GET", "/health")[0] == 200
    assert len(kept(study)) == 2
    with served(study, per_minute=1, proxy="127.0.0.1") as address:
        statuses = [ask(address, "POST", "/v1/reports", sent(n), forwarded[n])[0] for n in range(4)]
        assert statuses == [200] * 4
        assert ask(address, "POST", "/v1/reports", sent(0), forwarded[0])[0] == 429


def test_a_device_uploads_over_tls(study, tmp_path):
    """With a certificate and its key, a device that trusts the certificate uploads over TLS."""
    tls = self_signed(tmp_path)
    context = ssl.create_default_context(cafile=tls.certificate)
    with served(study, tls=tls) as address:
        assert post(address, sent(1), context=context)[0] == 200
    assert kept(study) == [sent(1)]


def test_addresses_to_listen_on_are_bound_or_refused():
    """An address to listen on is HOST:PORT or [HOST]:PORT, and all others are refused; addresses beyond loopback are
    recognised."""
    for wrong in (
        "",
        "8700",
        ":8700",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:70000",
        "::1:8700",
        "[127.0.0.1:1",
        "a:-1",
    ):
        with pytest.raises(BadAddress):
            bind(wrong)
    with bind("127.0.0.1:0") as listening:
        assert is_loopback(listening)
        assert url(listening, None).startswith("http://127.0.0.1:")
        port = listening.getsockname()[1]
        with pytest.raises(
            CannotListen, match=rf"127.0.0.1:{port}: Address already in use. Choose another port, or stop"
        ):
            bind(f"127.0.0.1:{port}")
    with pytest.raises(CannotListen, match="this machine does not have this address"):
        bind("203.0.113.1:0")
    with bind("0.0.0.0:0") as listening:
        assert not is_loopback(listening)


def test_the_command_refuses_invalid_options(study, tmp_path):
    """No named study, a TLS certificate without its key or the reverse, a proxy that is not an address, and a limit of
    one byte are usage errors.

    TLS files that are not PEM and a folder without a study are errors.
    """
    pem = tmp_path / "x.pem"
    pem.write_text("")
    lib = ["--study", study.path]
    for words, fault in (
        ([], "no study is named"),
        ([*lib, "--tls-cert", pem], "only one of --tls-cert and --tls-key is given"),
        ([*lib, "--tls-key", pem], "only one of --tls-cert and --tls-key is given"),
        ([*lib, "--forwarded-for", "*"], "--forwarded-for '*' is not an IP address"),
        ([*lib, "--max-bytes", "1"], "must be a whole number from 1,024 to 67,108,864, not '1'"),
    ):
        assert fault in printed("receive", *words, code=2)
    good = self_signed(tmp_path).certificate
    for certificate, fault in ((pem, "--tls-cert has no certificate"), (good, "--tls-key has no key")):
        assert fault in printed(*lib, "receive", "--tls-cert", certificate, "--tls-key", pem, code=65)
    assert "is not a study" in printed("--study", tmp_path, "receive", code=1)
