"""Floods of hostile bytes: memory is bounded by a chunk, time is proportional to the bytes, and a key counts for at
most its quota.

A flood four times as long has the same peak memory and about four times the processor time. If anything were stored for
each envelope, or compared with each earlier one, memory would be four times or time sixteen times as large.

Other tests: test_intake_ingest and tests.fuzz send single forged envelopes, test_receive sends too many requests, and
test_estimate_forgeries has counts with many forged reports.
"""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from aggregator.estimate.estimator import estimate
from aggregator.intake.ingest import IngestResult, ingest
from aggregator.storage import tables
from protocol.envelope import Kind
from protocol.keys import SigningKey, key_id
from protocol.report import Enrolment, Report, pack
from tests.aggregator import fleet
from tests.aggregator.fleet import NOW, campaign, device, enrolment, report

PLAIN = campaign(answers=3, title="Flooded")
OPEN = campaign(enrolment="open", answers=3, title="Flooded and open")
BUFFER, CHUNK = 2**15, 500


def strangers(rng: random.Random, number: int) -> bytes:
    """Return reports that name keys which the study does not have."""
    sealed = report(0, PLAIN)
    return b"".join(sealed[:5] + rng.randbytes(8) + sealed[13:] for _ in range(number))


def forgeries(rng: random.Random, number: int) -> bytes:
    """Return reports that name a known key and are not signed with it."""
    sealed = [report(n, PLAIN, 3) for n in range(5)]
    return b"".join(rng.choice(sealed)[:-64] + rng.randbytes(64) for _ in range(number))


def replays(rng: random.Random, number: int) -> bytes:
    """Return ``number`` reports drawn from the same five, so most are replays."""
    return b"".join(rng.choices([report(n, PLAIN, n) for n in range(5)], k=number))


def scraps(rng: random.Random, number: int) -> bytes:
    """Return valid reports, each preceded by truncated envelopes, the first of which may claim a length of up to 4
    GiB."""
    heads = [bytes([0x95, 1, kind, 0xC4, 8]) + bytes(8) for kind in Kind]
    claims = [b"\xc6\xff\xff\xff\xff", b"\xc5\xff\xff", b"\xc4\xff", b""]
    sealed = report(0, PLAIN)
    return b"".join(
        rng.choice(heads) + rng.choice(claims) + b"\x95\x01" * rng.randrange(20) + sealed for _ in range(number)
    )


def enrolments(rng: random.Random, number: int) -> bytes:
    """Return enrolments of made-up keys in a campaign that accepts any key, with invalid signatures."""
    publics = [rng.randbytes(31) + b"\x01" for _ in range(number)]
    sealed = enrolment(0, OPEN)
    start = sealed.index(device(0, OPEN).public)
    return b"".join(sealed[:5] + key_id(one) + sealed[13:start] + one + sealed[start + 32 :] for one in publics)


FLOODS: dict[str, tuple[Callable[[random.Random, int], bytes], str]] = {
    "strangers": (strangers, "unknown-key"),
    "forgeries": (forgeries, "bad-signature"),
    "replays": (replays, "replayed"),
    "scraps": (scraps, "malformed"),
    "enrolments": (enrolments, "bad-signature"),
}
LONG = "scraps"
"""The flood of the long test only; test_intake_framing has short tests of the time and memory that malformed bytes
take."""


def flooded(path: Path, data: bytes, first: bytes) -> tuple[IngestResult, int, float]:
    """Ingest a flood into a new study; return the result, its peak memory and the processor time."""
    study = fleet.study(path, PLAIN, range(10))
    study.import_campaign(OPEN.data, [fleet.AUTHOR.public], "open")
    file = path.with_suffix(".htr")
    file.write_bytes(data)
    before = path.with_suffix(".before")
    before.write_bytes(first)
    ingest(study, [before], now=0, threads=1)  # imports modules, which must not be measured below
    tracemalloc.start()
    try:
        began = time.process_time()
        result = ingest(study, [file], now=NOW, threads=1, buffer_bytes=BUFFER, chunk_reports=CHUNK)
        took = time.process_time() - began
        return result, tracemalloc.get_traced_memory()[1], took
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", [pytest.param(one, marks=pytest.mark.long if one == LONG else ()) for one in FLOODS])
def test_a_longer_flood_needs_the_same_memory_and_proportional_time(tmp_path, name):
    """A flood four times as long needs about the same memory and at most ten times the time.

    It adds at most four rows of refusals for each buffer or chunk.
    """
    make, reject = FLOODS[name]
    number = 1_200
    first = make(random.Random(0), 50)
    _, small, brief = flooded(tmp_path / "small", make(random.Random(1), number), first)
    data = make(random.Random(2), 4 * number)
    result, large, long = flooded(tmp_path / "large", data, first)
    assert large < 1.25 * small + 2**19
    assert long < 10 * brief + 0.5
    assert result.read == result.accepted + sum(result.refused.values())
    assert set(result.refused) <= {reject, "replayed"}
    assert result.refused[reject] > number
    assert result.accepted <= 5
    rows = tables.snapshot(tmp_path / "large" / "refusals")
    written = tables.query(rows, "SELECT count(*) AS n FROM rows")["n"][0].as_py()
    assert written <= 4 * (len(data) // BUFFER + 4 * number // CHUNK + 4)


def test_a_key_counts_for_at_most_its_quota(tmp_path):
    """3,000 validly signed reports of one key count for 3 outputs a period.

    Their periods, slots, lengths and outputs are drawn at random, from valid and invalid ones.
    """
    study = fleet.study(tmp_path / "study", PLAIN, range(2))
    rng = random.Random(3)
    key = device(0, PLAIN)
    bits = PLAIN.campaign.channel.output_bits
    sent = []
    for _ in range(3_000):
        outputs = [rng.randrange(16) for _ in range(rng.choice([1, 1, 2, 3, 4, 9]))]
        period, slot = rng.choice([0, 0, 1, 2, 9]), rng.choice([0, 1, 2, 3, 4095])
        sent.append(Report(PLAIN.id, period, slot, len(outputs), pack(outputs, bits)).seal(key))
    file = tmp_path / "flood.htr"
    file.write_bytes(b"".join(sent))
    result = ingest(study, [file], now=NOW, threads=1, chunk_reports=700)
    assert result.read == 3_000
    assert set(result.refused) == {"early", "over-quota", "replayed"}
    assert study.periods(PLAIN) == {0: 3, 1: 3}


def test_every_forged_key_counts_as_a_person_if_any_key_is_accepted(tmp_path):
    """If any key is accepted, 300 forged keys count as 300 people.

    The estimate warns, and the stated change of a share by 300 forged reports is above 1.
    """
    study = fleet.study(tmp_path / "study", OPEN)
    data = [enrolment(n, OPEN) + report(n, OPEN, n % 16) for n in range(100)]
    for number in range(300):
        key = SigningKey.for_campaign(b"forger" + number.to_bytes(26, "big"), OPEN.id)
        sealed = Report(OPEN.id, 0, 0, 1, pack([5], OPEN.campaign.channel.output_bits)).seal(key)
        data.append(Enrolment(OPEN.id, key.public).seal(key) + sealed)
    file = tmp_path / "flood.htr"
    file.write_bytes(b"".join(data))
    assert ingest(study, [file], now=NOW, threads=1).accepted == 400
    found = estimate(OPEN, study.tally(OPEN), forged=300)
    assert found.influence.share_of(300) > 1
    assert any("look forged" in warning for warning in found.warnings)


@pytest.mark.long
def test_a_gibibyte_of_false_lengths_and_zeros_is_refused_in_64_mib(tmp_path):
    """1 GiB of false claims of 1 MiB and of zero bytes is refused as one malformed run, within 64 MiB of memory and two
    minutes of processor time."""
    study = fleet.study(tmp_path / "study", PLAIN)
    file = tmp_path / "flood.htr"
    with file.open("wb") as opened:
        for _ in range(1000):
            opened.write(b"\x95\x01\x01\xc4\x08" + bytes(8) + b"\xc6\x00\x0f\xff\xff" * 3)
        opened.truncate(2**30)
    tracemalloc.start()
    try:
        began = time.process_time()
        result = ingest(study, [file], now=NOW, threads=1)
        assert time.process_time() - began < 120
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()
    assert result.refused == {"malformed": 1}
