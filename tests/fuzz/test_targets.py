"""Hostile bytes raise BadData and no other exception, and the fast decoders agree with the slow ones."""

from __future__ import annotations

import random
import time
import tracemalloc

import pytest

from protocol import codec, envelope
from protocol.campaign import unverified_campaign
from protocol.envelope import Kind
from protocol.errors import BadData
from tests.aggregator.test_intake_ingest import mutated
from tests.fuzz.targets import TARGETS, seeds_of

SHORT = {
    "codec": 10_000,
    "batch": 5_000,
    "report": 3_000,
    "enrolment": 2_000,
    "closing": 1_000,
    "signed-campaign": 2_000,
}
SLOWEST = 10.0
"""The largest processor time for reading or refusing an input, in seconds."""


def run_mutations(target: str, number: int, seed: int) -> None:
    """Run a target on mutations of its seeds; fail if its check fails or an input takes too long."""
    rng = random.Random(seed)
    seeds = seeds_of(target)
    assert len(seeds) >= 5
    for _ in range(number):
        data = rng.choice(seeds)
        if target == "edited-campaign":
            data += rng.randbytes(4 * rng.choice([1, 1, 2, 3]))
        else:
            data = mutated(data, rng)
        began = time.process_time()
        try:
            TARGETS[target](data)
        except Exception as error:
            raise AssertionError(f"target {target!r} failed on {data.hex()}") from error
        assert time.process_time() - began < SLOWEST, f"target {target!r} is too slow on {data.hex()}"


@pytest.mark.parametrize("target", TARGETS)
def test_mutations_pass_the_check_of_their_target(target):
    """The check of each target passes for hundreds or thousands of mutations of its seeds, the same in each run."""
    run_mutations(target, SHORT.get(target, 500), 1)


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
def test_a_million_mutations_pass_the_check_of_their_target(target):
    """The checks of all targets pass for more than a million mutations in total."""
    run_mutations(target, 50_000 if "campaign" in target else 215_000, 2)


# Claims


def head(kind: Kind, claim: bytes) -> bytes:
    """Return the beginning of an envelope up to the stated length of its payload."""
    return bytes([0x95, 1, kind, 0xC4, 8]) + bytes(8) + claim


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize(
    "claim", [b"\xc6\xff\xff\xff\xff", b"\xc6\x7f\xff\xff\xff", b"\xc5\xff\xff", b"\xdd\xff\xff\xff\xff"]
)
def test_a_stated_length_is_not_allocated_before_its_bytes_arrive(kind, claim):
    """Stated lengths up to 4 GiB without the bytes are refused, or treated as incomplete, within 64 KiB of memory."""
    data = head(kind, claim)
    tracemalloc.start()
    try:
        with pytest.raises(BadData):
            envelope.decode(data)
        TARGETS["batch"](data * 20)
        assert tracemalloc.get_traced_memory()[1] < 2**16
    finally:
        tracemalloc.stop()


def bombs() -> dict[str, bytes]:
    """Return campaigns of a few bytes, by name, that state a huge size; their other fields fit this size."""
    found = {}
    for number, seed in enumerate(seeds_of("campaign")):
        fields = codec.decode(seed, limit=2**20)
        assert isinstance(fields, list)
        for place, value in enumerate(fields):
            if not isinstance(value, list) or not value or not isinstance(value[-1], list):
                continue
            for claim in (2**20, 2**31, 2**64 - 1):
                inside = [claim if isinstance(one, int) else one for one in value[-1]]
                found[f"{number}.{place}.{claim}"] = codec.encode(
                    [*fields[:place], [*value[:-1], inside], *fields[place + 1 :]]
                )
    return found


def test_sizes_that_a_campaign_claims_are_not_allocated():
    """Domains, notions and channels of 2^20 to 2^64 values in a few bytes are accepted or refused within 10 seconds
    of processor time and 16 MiB of memory."""
    claims = bombs()
    assert len(claims) > 30
    for name, payload in claims.items():
        tracemalloc.start()
        began = time.process_time()
        try:
            TARGETS["campaign"](payload)
            assert tracemalloc.get_traced_memory()[1] < 2**24, name
        finally:
            tracemalloc.stop()
        assert time.process_time() - began < SLOWEST, name


def test_depth_in_an_envelope_is_refused():
    """A campaign and a report of 60,000 nested arrays, and an enrolment of 1,000, raise BadData, not a recursion
    error."""
    deep = b"\x91" * 60_000
    for target in ("campaign", "report"):
        TARGETS[target](deep)
    TARGETS["enrolment"](b"\x91" * 1_000)
    with pytest.raises(BadData):
        unverified_campaign(envelope.Envelope(Kind.CAMPAIGN, bytes(8), deep, bytes(64)).encode())
