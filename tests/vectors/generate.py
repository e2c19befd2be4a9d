"""Write the test vectors: ``python -m tests.vectors.generate``.

One idea: every case is a fixed input and what must become of it. A case with a ``stage`` must be refused there. The
stages are written down here by hand, never computed: a vector that repeated what the code does would prove nothing.

Secret keys and bytes are fixed; there is no clock and no chance. Checked by tests/protocol/test_vectors.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgpack

from protocol import codec, domain, envelope, exact, keys, notions
from protocol.campaign import Campaign, campaign_id, seal_campaign
from protocol.channels import Blocks, Channel, Hadamard, RandomizedResponse, Table
from protocol.channels.blocks import OPEN, Constant
from protocol.channels.response import RESPONSE_SCALE
from protocol.envelope import Kind
from protocol.keys import FIELD, ORDER, SMALL_ORDER_Y, SigningKey
from protocol.report import Enrolment, Report, pack

Case = dict[str, Any]

HERE = Path(__file__).parent
ONE = 1 << 64
NAT = exact.NANONATS

ANALYST = SigningKey(bytes(range(32)))
STRANGER = SigningKey(bytes(range(32, 64)))
DEVICE_SECRET = bytes(range(64, 96))


def number(value: int) -> int | str:
    """An integer as JSON can carry it through a double."""
    return value if abs(value) <= 2**53 else str(value)


def plain(value: codec.Value) -> Any:
    """A wire value as JSON: byte strings as {"bytes": hex}, large integers as {"integer": digits}."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, int) and abs(value) > 2**53:
        return {"integer": str(value)}
    return value


def wire(value: Any) -> str:
    """Any msgpack, canonical or not of this protocol, in hexadecimal."""
    packed: bytes = msgpack.packb(value, use_bin_type=True)
    return packed.hex()


# 1. Codec


def codec_cases() -> Iterator[Case]:
    for value in (0, 127, 128, 255, 256, 2**16 - 1, 2**16, 2**32 - 1, 2**32, 2**64 - 1):
        yield {"name": f"integer {value}", "bytes": codec.encode(value).hex(), "value": plain(value)}
    for value in (-1, -32, -33, -128, -129, -(2**15), -(2**15) - 1, -(2**31), -(2**31) - 1, -(2**63)):
        yield {"name": f"integer {value}", "bytes": codec.encode(value).hex(), "value": plain(value)}
    for length in (0, 31, 32, 255, 256):
        yield {"name": f"text of {length}", "bytes": codec.encode("a" * length).hex(), "value": "a" * length}
    yield {"name": "text beyond ASCII", "bytes": codec.encode("Zürich 🏔").hex(), "value": "Zürich 🏔"}
    for length in (0, 255, 256):
        value = bytes(length)
        yield {"name": f"{length} bytes", "bytes": codec.encode(value).hex(), "value": plain(value)}
    for length in (0, 15, 16):
        yield {"name": f"array of {length}", "bytes": codec.encode([1] * length).hex(), "value": [1] * length}
    yield {"name": "eight arrays deep", "bytes": "9191919191919190", "value": [[[[[[[[]]]]]]]]}
    refused = {
        "nothing": "",
        "two values": "0000",
        "nil": "c0",
        "the marker that is never used": "c1",
        "false": "c2",
        "true": "c3",
        "32-bit float": "ca3f800000",
        "64-bit float": "cb3ff0000000000000",
        "NaN": "cb7ff8000000000000",
        "short map": "810102",
        "map with one key twice": "8201020103",
        "16-bit map": "de0000",
        "32-bit map": "df00000000",
        "fixed extension": "d40100",
        "fixed extension of 16 bytes": "d801" + "00" * 16,
        "timestamp": "d6ff00000000",
        "8-bit extension": "c70001",
        "32-bit extension": "c90000000001",
        "127 in 8 bits": "cc7f",
        "255 in 16 bits": "cd00ff",
        "65535 in 32 bits": "ce0000ffff",
        "2^32 - 1 in 64 bits": "cf00000000ffffffff",
        "5 as signed 8 bits": "d005",
        "-32 in 8 bits": "d0e0",
        "-128 in 16 bits": "d1ff80",
        "-32768 in 32 bits": "d2ffff8000",
        "-2^31 in 64 bits": "d3ffffffff80000000",
        "200 as signed 16 bits": "d100c8",
        "text of 31 in 8 bits": "d91f" + "61" * 31,
        "text of 32 in 16 bits": "da0020" + "61" * 32,
        "text of 32 in 32 bits": "db00000020" + "61" * 32,
        "4 bytes in 16 bits": "c5000400000000",
        "4 bytes in 32 bits": "c60000000400000000",
        "array of 15 in 16 bits": "dc000f" + "01" * 15,
        "array of 16 in 32 bits": "dd00000010" + "01" * 16,
        "text that is not UTF-8": "a1ff",
        "text of a lone surrogate": "a3eda080",
        "text in an over-long form": "a2c080",
        "integer cut short": "cd01",
        "text cut short": "a361",
        "bytes cut short": "c40200",
        "array cut short": "9201",
        "4 GiB of text claimed": "dbffffffff",
        "4 GiB of bytes claimed": "c6ffffffff00",
        "4 Gi elements claimed": "ddffffffff00",
        "nine arrays deep": "919191919191919190",
        "600 arrays deep": "91" * 600 + "00",
    }
    for name, data in refused.items():
        yield {"name": name, "bytes": data, "stage": "codec"}
    yield {"name": "longer than the limit", "bytes": "c4050000000000", "limit": 6, "stage": "codec"}


# 2. Keys


def keys_cases() -> Iterator[Case]:
    for name, key in (("analyst", ANALYST), ("stranger", STRANGER)):
        message = f"signed by the {name}".encode()
        yield {
            "name": name,
            "secret": key.secret.hex(),
            "public": key.public.hex(),
            "id": key.id.hex(),
            "secret_file": key.line(),
            "public_file": keys.public_line(key.public),
            "message": message.hex(),
            "signature": key.sign(message).hex(),
        }
    for name, campaign in (("device in one campaign", bytes(16)), ("device in another", bytes([1] * 16))):
        key = SigningKey.for_campaign(DEVICE_SECRET, campaign)
        yield {
            "name": name,
            "device_secret": DEVICE_SECRET.hex(),
            "campaign_id": campaign.hex(),
            "secret": key.secret.hex(),
            "public": key.public.hex(),
        }
    message = b"message"
    good = ANALYST.sign(message)
    small = sorted(SMALL_ORDER_Y)
    refused_keys = {
        "key of 31 bytes": ANALYST.public[:31],
        "key of 33 bytes": ANALYST.public + b"\0",
        "key of no bytes": b"",
        "key with y = p": FIELD.to_bytes(32, "little"),
        "key with y = p + 1, the identity in another form": (FIELD + 1).to_bytes(32, "little"),
        "key with y = 2^255 - 1": (2**255 - 1).to_bytes(32, "little"),
        **{f"key of small order {place}": y.to_bytes(32, "little") for place, y in enumerate(small)},
        "key of small order, its top bit set": (1 + 2**255).to_bytes(32, "little"),
    }
    for name, public in refused_keys.items():
        yield {
            "name": name,
            "public": public.hex(),
            "message": message.hex(),
            "signature": good.hex(),
            "stage": "key",
        }
    scalar = int.from_bytes(good[32:], "little")
    refused_signatures = {
        "signature of 63 bytes": good[:63],
        "signature of 65 bytes": good + b"\0",
        "S increased by the group order": good[:32] + (scalar + ORDER).to_bytes(32, "little"),
        "S equal to the group order": good[:32] + ORDER.to_bytes(32, "little"),
        "R is not canonical": (FIELD + 3).to_bytes(32, "little") + good[32:],
        "R is the identity": (1).to_bytes(32, "little") + good[32:],
        "R is the identity, its top bit set": (1 + 2**255).to_bytes(32, "little") + good[32:],
        "one bit of R": bytes([good[0] ^ 1]) + good[1:],
        "one bit of S": good[:32] + bytes([good[32] ^ 1]) + good[33:],
        "of another key": STRANGER.sign(message),
        "of another message": ANALYST.sign(b"massage"),
    }
    for name, signature in refused_signatures.items():
        yield {
            "name": name,
            "public": ANALYST.public.hex(),
            "message": message.hex(),
            "signature": signature.hex(),
            "stage": "signature",
        }
    yield {
        "name": "key that is no point of the curve",
        "public": (2).to_bytes(32, "little").hex(),
        "message": message.hex(),
        "signature": good.hex(),
        "stage": "signature",
    }
    line = keys.public_line(ANALYST.public)
    refused_files = {
        "public key file with a secret key": ANALYST.line(),
        "public key file in upper case": line.replace(ANALYST.public.hex(), ANALYST.public.hex().upper()),
        "public key file cut short": line[:-2],
        "public key file of two keys": line + line,
        "public key file of a small-order key": keys.public_line(small[1].to_bytes(32, "little")),
    }
    for name, text in refused_files.items():
        yield {"name": name, "public_file": text, "stage": "key"}
    yield {"name": "secret key file with a public key", "secret_file": line, "stage": "key"}


# 3. Envelopes and batches

PAYLOADS = {Kind.CAMPAIGN: b"a campaign, perhaps", Kind.ENROLMENT: b"an enrolment, perhaps", Kind.REPORT: b""}


def envelope_cases() -> Iterator[Case]:
    for kind, payload in PAYLOADS.items():
        yield {
            "name": f"envelope of kind {int(kind)}",
            "envelope": envelope.seal(kind, ANALYST, payload).hex(),
            "public": ANALYST.public.hex(),
            "kind": int(kind),
            "key_id": ANALYST.id.hex(),
            "signed_message": envelope.signed_message(kind, ANALYST.id, payload).hex(),
            "payload": payload.hex(),
        }
    longest = bytes(128)
    yield {
        "name": "enrolment of the greatest length",
        "envelope": envelope.seal(Kind.ENROLMENT, ANALYST, longest).hex(),
        "public": ANALYST.public.hex(),
        "kind": 2,
        "key_id": ANALYST.id.hex(),
        "signed_message": envelope.signed_message(Kind.ENROLMENT, ANALYST.id, longest).hex(),
        "payload": longest.hex(),
    }
    good = envelope.seal(Kind.REPORT, ANALYST, b"payload")
    body = [1, 3, ANALYST.id, b"payload", good[-64:]]

    def changed(place: int, value: Any) -> bytes:
        return bytes.fromhex(wire([*body[:place], value, *body[place + 1 :]]))

    def flipped(place: int) -> bytes:
        return good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :]

    refused = [
        ("version 0", changed(0, 0), "envelope"),
        ("version 2", changed(0, 2), "envelope"),
        ("version in a long form", good[:1] + b"\xcc\x01" + good[2:], "envelope"),
        ("kind 0", changed(1, 0), "envelope"),
        ("kind 4", changed(1, 4), "envelope"),
        ("kind as text", changed(1, "3"), "envelope"),
        ("key id of 7 bytes", changed(2, ANALYST.id[:7]), "envelope"),
        ("key id as text", changed(2, "abcdefgh"), "envelope"),
        ("payload as text", changed(3, "payload"), "envelope"),
        ("payload as an array", changed(3, [1, 2]), "envelope"),
        ("signature of 63 bytes", changed(4, bytes(63)), "envelope"),
        ("four fields", bytes.fromhex(wire(body[:4])), "envelope"),
        ("six fields", bytes.fromhex(wire([*body, 0])), "envelope"),
        ("a map", bytes.fromhex("85") + good[1:], "envelope"),
        ("five fields in a long form", bytes.fromhex("dc0005") + good[1:], "envelope"),
        ("enrolment longer than it may be", bytes.fromhex(wire([1, 2, ANALYST.id, bytes(129), bytes(64)])), "envelope"),
        ("report longer than it may be", bytes.fromhex("950103c408" + "00" * 8 + "c600010001"), "envelope"),
        ("4 GiB of payload claimed", bytes.fromhex("950103c408" + "00" * 8 + "c6ffffffff"), "envelope"),
        ("payload length in a long form", good[:13] + b"\xc5\x00\x07" + good[15:], "codec"),
        ("nothing", b"", "codec"),
        ("cut short in its key id", good[:9], "codec"),
        ("cut short in its payload", good[:20], "codec"),
        ("cut short in its signature", good[:-1], "codec"),
        ("a byte too many", good + b"\0", "codec"),
        ("key id of another key", changed(2, STRANGER.id), "envelope"),
        ("sealed by another key under this key's id", _signed_by(STRANGER, ANALYST.id), "signature"),
        ("report as an enrolment", changed(1, 2), "signature"),
        ("report as a campaign", changed(1, 1), "signature"),
        ("one bit of the payload", flipped(15), "signature"),
        ("one bit of the signature", flipped(len(good) - 40), "signature"),
        ("one payload byte moved into the signature's place", changed(3, b"payloa"), "signature"),
    ]
    for name, data, stage in refused:
        yield {"name": name, "envelope": data.hex(), "public": ANALYST.public.hex(), "stage": stage}


def _signed_by(key: SigningKey, claimed: bytes) -> bytes:
    signature = key.sign(envelope.signed_message(Kind.REPORT, claimed, b"payload"))
    return codec.encode([1, 3, claimed, b"payload", signature])


def batch_cases() -> Iterator[Case]:
    first, second, third = (envelope.seal(Kind.REPORT, ANALYST, bytes([number] * 20)) for number in (1, 2, 3))
    enrolment = envelope.seal(Kind.ENROLMENT, STRANGER, b"enrolment")
    damaged = second[:12] + b"\x00" + second[13:15] + b"\xff\xff" + second[17:]
    shortened = second[:20] + second[21:]
    unfinished = second[:-1]
    nested = envelope.seal(Kind.REPORT, ANALYST, first)
    cases: list[tuple[str, list[bytes | tuple[bytes, str]]]] = [
        ("empty", []),
        ("one", [first]),
        ("three and an enrolment", [first, enrolment, second, third]),
        ("the same one twice", [first, first]),
        ("altered but still an envelope", [first, damaged, third]),
        ("an envelope inside a payload is not read", [nested, second]),
        ("noise before the first", [(b"\x00noise", "envelope"), first]),
        ("noise between", [first, (b"\x95\x01\x03\xc4\x08", "envelope"), second]),
        ("noise that begins like an envelope", [first, (b"\x95\x01\x95\x01\x03", "envelope"), second]),
        ("noise after the last", [first, (b"\xff", "envelope")]),
        ("one missing byte in the middle one", [first, (shortened, "envelope"), third]),
        ("two damaged neighbours are one run", [first, (shortened + shortened, "envelope"), third]),
        (
            "one that lost its last byte takes the next one's first",
            [unfinished + third[:1], (third[1:], "envelope"), first],
        ),
        ("cut short at the end", [first, (unfinished, "codec")]),
        ("cut short in its first bytes", [first, (second[:2], "codec")]),
        ("nothing but noise", [(b"not a batch at all", "envelope")]),
        ("first byte of the first lost", [(first[1:], "envelope"), second]),
        ("a length that reaches past the end", [(second[:13] + b"\xc5\x10\x00" + second[15:], "codec"), third]),
    ]
    for name, items in cases:
        yield {
            "name": name,
            "batch": b"".join(item if isinstance(item, bytes) else item[0] for item in items).hex(),
            "items": [
                {"envelope": item.hex()} if isinstance(item, bytes) else {"bytes": item[0].hex(), "stage": item[1]}
                for item in items
            ],
        }


# 4. Domains


def domain_cases() -> Iterator[Case]:
    zero, most = bytes(8).hex(), "ff" * 8
    colours = domain.Values(("red", "green", "blue: dark", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"))
    grid = domain.Grid(-1_000_000, 1_000_000, 10_000_000, 11_500_000, 500_000)
    buckets = domain.Buckets.of([0, "2.5", 10])
    negative = domain.Buckets.of(["-0.2", "-0.1", "0"])
    half = (1 << 63).to_bytes(8, "big").hex()
    below_half = ((1 << 63) - 1).to_bytes(8, "big").hex()
    third = (2**64 // 3).to_bytes(8, "big").hex()
    above_third = (2**64 // 3 + 1).to_bytes(8, "big").hex()
    for name, asked, inside, outside in (
        ("values", colours, [("red", zero, 0), ("blue: dark", zero, 2)], ["", "Red", "red ", "4", "greenblue"]),
        (
            "grid",
            grid,
            [
                ("-1,10", zero, 0),
                ("-0.5000001,10.4999999", zero, 0),
                ("-0.5,10.5", zero, 4),
                ("1,11.5", zero, 11),
                ("0.9999999999999999999,11.4999999999999999999", zero, 11),
                (" 0 , 1.1e1 ", zero, 8),
            ],
            ["1.0000000000000000001,10", "0,9.9999999", "0", "0,10,0", "nan,10", "north,east", "1/2,10", ""],
        ),
        (
            "buckets",
            buckets,
            [
                ("0", zero, 0),
                ("0", most, 0),
                ("1.25", below_half, 1),
                ("1.25", half, 0),
                ("5", third, 2),
                ("5", above_third, 1),
                ("2.5", zero, 1),
                ("2.5", most, 1),
                ("10", most, 2),
                ("1e1", most, 2),
                ("0.0000000000000000000000001", zero, 1),
            ],
            ["-0.1", "10.0000000000000000001", "inf", "-inf", "nan", "1,5", "one", "1_0", "٣", "1e9999", ""],
        ),
        ("buckets below zero", negative, [("-0.2", zero, 0), ("-0.15", half, 0), ("-0", most, 2)], ["-0.3", "1"]),
    ):
        yield {
            "name": name,
            "wire": codec.encode(asked.encode()).hex(),
            "size": asked.size,
            "labels": [asked.label(x) for x in range(asked.size)],
            "inside": [{"answer": answer, "dither": dither, "input": x} for answer, dither, x in inside],
            "outside": outside,
        }
    refused: dict[str, Any] = {
        "no array": "values",
        "empty": [],
        "kind as a number": [1, ["a", "b"]],
        "unknown kind": ["items", ["a", "b"]],
        "one value": ["values", ["a"]],
        "no value": ["values", []],
        "the same value twice": ["values", ["a", "b", "a"]],
        "empty value": ["values", ["a", ""]],
        "value with a blank at its end": ["values", ["a", "b "]],
        "value with a no-break space at its start": ["values", ["a", "\u00a0b"]],
        "value with a line break": ["values", ["a", "b\nc"]],
        "value that turns the line around": ["values", ["a", "b\u202ec"]],
        "value of 201 characters": ["values", ["a", "b" * 201]],
        "value as bytes": ["values", ["a", b"b"]],
        "values as text": ["values", "ab"],
        "a field too many": ["values", ["a", "b"], 0],
        "grid upside down": ["grid", 1, 0, 0, 1, 1],
        "grid of no width": ["grid", 0, 1, 1, 1, 1],
        "grid beyond the pole": ["grid", 0, 90_000_001, 0, 1, 1],
        "grid beyond the date line": ["grid", 0, 1, -180_000_001, 0, 1],
        "grid of step 0": ["grid", 0, 2, 0, 2, 0],
        "grid of a step that does not divide": ["grid", 0, 3, 0, 4, 2],
        "grid of one cell": ["grid", 0, 2, 0, 2, 2],
        "grid of too many cells": ["grid", 0, 2**11, 0, 2**10, 1],
        "grid of five numbers": ["grid", 0, 2, 0, 2],
        "one edge": ["buckets", 0, [1]],
        "edges out of order": ["buckets", 0, [1, 3, 2]],
        "equal edges": ["buckets", 0, [1, 1]],
        "more places than needed": ["buckets", 1, [0, 10, 20]],
        "19 places": ["buckets", 19, [0, 1]],
        "edge of 2^62": ["buckets", 0, [0, 2**62]],
        "edge as text": ["buckets", 0, ["0", "1"]],
    }
    for name, value in refused.items():
        yield {"name": name, "wire": wire(value), "stage": "domain"}


# 5. Channels


def truth_of(level: int) -> int:
    """floor(2^64 e / (1 + e)) with e bounded from below: the Hadamard truth weight at ``level``."""
    odds = exact.exp_lower(level)
    return (odds << 64) // (odds + (1 << exact.EXP_BITS))


def cover_of(level: int, size: int) -> int:
    """ceil(2^64 / (e + k - 1)): the cover weight of k-ary randomised response at ``level``."""
    odds = exact.exp_lower(level)
    one = 1 << exact.EXP_BITS
    return -(-(one << RESPONSE_SCALE) // (odds + (size - 1) * one))


def in_blocks(level: int, blocks: list[int]) -> Blocks:
    """Hadamard response in each block; 0 is open."""
    return Blocks.over(0, blocks, lambda size: Hadamard(truth_of(level), size))


def high_low(level: int, marks: list[int]) -> Blocks:
    """The high-low channel: ``marks`` 1 for sensitive. The cover is ceil(largest weight / e)."""
    inner = Hadamard(truth_of(level), sum(marks))
    largest = inner.truth << 128 - inner.scale
    return Blocks.over(-(-(largest << exact.EXP_BITS) // exact.exp_lower(level)), marks, lambda _: inner)


TABLE = Table.nearest([
    [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6), Fraction(0)],
    [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2), Fraction(0)],
    [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3), Fraction(0)],
])  # fmt: skip
RESPONSE = RandomizedResponse(4, (cover_of(NAT, 4),))
UNEQUAL = RandomizedResponse(3, (ONE // 8, ONE // 16, ONE // 32 + 1))
PLAIN = Hadamard(truth_of(NAT), 5)
POWER_OF_TWO = Hadamard(truth_of(2 * NAT), 4)
BLOCKS = in_blocks(NAT, [1, 1, 2, 0, 2, 2, 1, 2, 0])
SENSITIVE = high_low(NAT, [0, 1, 1, 0, 1])
MANGAT = Blocks(
    -(-(1 << 128 + exact.EXP_BITS) // exact.exp_lower(NAT)), ((0, 1), (1, 1), (0, 1)), (Constant(),)
)  # fmt: skip
CHANNELS: dict[str, Channel] = {
    "table": TABLE,
    "response of equal weights": RESPONSE,
    "response of unequal weights": UNEQUAL,
    "response that always tells": RandomizedResponse(2, (0,)),
    "response that never tells": RandomizedResponse(2, (ONE // 2,)),
    "Hadamard, plain": PLAIN,
    "Hadamard, k a power of two": POWER_OF_TWO,
    "blocks of unequal sizes, and open inputs": BLOCKS,
    "blocks of a family each": Blocks(0, ((1, 3), (2, 2), (3, 4), (2, 2)), (TABLE, POWER_OF_TWO, RESPONSE)),
    "blocks, with a sensitive set": SENSITIVE,
    "blocks, with one sensitive input": MANGAT,
    "blocks, with a sensitive set and response inside": Blocks(cover_of(NAT, 4) << 64, ((1, 4), (0, 2)), (RESPONSE,)),
}


def channel_cases() -> Iterator[Case]:
    for name, channel in CHANNELS.items():
        draws = []
        for x in range(channel.inputs):
            for rand in _rands(channel, x):
                draws.append({"input": x, "rand": rand.hex(), "output": channel.sample(x, rand)})
        yield {
            "name": name,
            "wire": codec.encode(channel.encode()).hex(),
            "inputs": channel.inputs,
            "outputs": channel.outputs,
            "output_bits": channel.output_bits,
            "scale": channel.scale,
            "rand_bytes": channel.rand_bytes,
            "weights": [[str(channel.weight(x, y)) for y in range(channel.outputs)] for x in range(channel.inputs)],
            "draws": draws,
        }
    k = 43_750
    for name, channel, pairs in (
        ("Hadamard, k = 43,750", Hadamard(truth_of(NAT), k), [(0, 0), (43_749, 65_535), (43_749, 1)]),
        ("response, k = 43,750", RandomizedResponse(k, (cover_of(8 * NAT, k),)), [(0, 0), (0, 1), (43_749, 43_749)]),
    ):
        rands = [bytes(channel.rand_bytes), bytes([255] * channel.rand_bytes), bytes(range(channel.rand_bytes))]
        yield {
            "name": name,
            "wire": codec.encode(channel.encode()).hex(),
            "inputs": channel.inputs,
            "outputs": channel.outputs,
            "output_bits": channel.output_bits,
            "scale": channel.scale,
            "rand_bytes": channel.rand_bytes,
            "some_weights": [{"input": x, "output": y, "weight": str(channel.weight(x, y))} for x, y in pairs],
            "draws": [
                {"input": x, "rand": rand.hex(), "output": channel.sample(x, rand)}
                for x in (0, k // 2, k - 1)
                for rand in rands
            ],
        }
    whole = 1 << 62
    truth = ONE // 4 * 3
    four = ["hadamard", 4, truth]
    five = ["hadamard", 5, truth]
    never, often = bytes(16), (2**120).to_bytes(16, "big")
    # The plane over 4,093 elements has nearly 2^24 points, 4,094 of them on a line.
    vast = ["projective", 2, 4093, 3, (2**128 % 4094).to_bytes(16, "big")]
    refused: dict[str, Any] = {
        "no array": 1,
        "empty": [],
        "unknown family": ["gaussian", 1],
        "family as bytes": [b"table", [[whole, 0], [0, whole]]],
        "table of one row": ["table", [[whole, 0]]],
        "table of one column": ["table", [[whole], [whole]]],
        "table of no rows": ["table", []],
        "table row a unit short": ["table", [[whole, 0], [0, whole - 1]]],
        "table row a unit over": ["table", [[whole, 0], [1, whole]]],
        "table row with a negative weight": ["table", [[whole, 0], [-1, whole + 1]]],
        "table rows of unequal lengths": ["table", [[whole, 0], [0, 0, whole]]],
        "table weight as text": ["table", [[whole, 0], ["0", whole]]],
        "table with a field too many": ["table", [[whole, 0], [0, whole]], 0],
        "response of one input": ["response", 1, [1]],
        "response of too many inputs": ["response", 2**20 + 1, [1]],
        "response with two weights for three": ["response", 3, [1, 2]],
        "response with equal weights written out": ["response", 3, [7, 7, 7]],
        "response with a cover above one": ["response", 2, [2**63 + 1]],
        "response with unequal covers above one": ["response", 2, [2**63, 2**63 + 1]],
        "response with no weight": ["response", 2, []],
        "response with a negative weight": ["response", 2, [-1]],
        "Hadamard of one half": ["hadamard", 4, ONE // 2],
        "Hadamard that never tells the truth": ["hadamard", 4, 0],
        "Hadamard of one input": ["hadamard", 1, truth],
        "Hadamard of too many inputs": ["hadamard", 2**20 + 1, truth],
        "Hadamard with a field too many": ["hadamard", 4, truth, 0],
        "blocks without runs": ["blocks", never, [], [], []],
        "blocks with half a run": ["blocks", never, [0, 1, 1, 4, 2], [four], [0]],
        "blocks with only open inputs": ["blocks", never, [0, 4], [], []],
        "blocks whose first block is 2": ["blocks", never, [0, 1, 2, 4], [four], [0]],
        "blocks out of order": ["blocks", never, [1, 4, 3, 4, 2, 4], [four], [0, 0, 0]],
        "blocks with a run of none": ["blocks", never, [1, 4, 2, 0, 0, 1], [four], [0]],
        "blocks with a run in two parts": ["blocks", never, [1, 2, 1, 2, 0, 1], [four], [0]],
        "blocks with a block of one and no cover": ["blocks", never, [1, 4, 2, 1], [four, ["constant"]], [0, 1]],
        "blocks of too many inputs": ["blocks", never, [0, 2**20, 1, 4], [four], [0]],
        "blocks that are one block of all inputs": ["blocks", never, [1, 4], [four], [0]],
        "blocks with a cover but nobody open": ["blocks", often, [1, 4], [four], [0]],
        "blocks with a cover and two blocks": ["blocks", often, [0, 2, 1, 4, 2, 4], [four], [0, 0]],
        "blocks whose open inputs always hide": ["blocks", (2**125).to_bytes(16, "big"), [0, 2, 1, 4], [four], [0]],
        "blocks with a cover of 15 bytes": ["blocks", often[1:], [0, 2, 1, 4], [four], [0]],
        "blocks with a cover as an integer": ["blocks", 0, [0, 2, 1, 4], [four], [0]],
        "blocks with a channel too few": ["blocks", never, [0, 2, 1, 4, 2, 4], [four], [0]],
        "blocks with a channel too many": ["blocks", never, [0, 2, 1, 4], [four], [0, 0]],
        "blocks with a channel of other inputs": ["blocks", never, [0, 2, 1, 3], [four], [0]],
        "blocks in blocks": ["blocks", never, [0, 2, 1, 6], [["blocks", never, [0, 2, 1, 4], [four], [0]]], [0]],
        "blocks of an unknown family": ["blocks", never, [0, 2, 1, 4], [["gaussian", 4]], [0]],
        "blocks with an inner channel that is none": ["blocks", never, [0, 2, 1, 4], [["hadamard", 4, 0]], [0]],
        "blocks with an inner channel of no fields": ["blocks", never, [0, 2, 1, 4], [[]], [0]],
        "blocks without channels": ["blocks", never, [0, 2, 1, 4], 0, [0]],
        "blocks with a field too many": ["blocks", never, [0, 2, 1, 4], [four], [0], 0],
        "blocks of too many outputs": ["blocks", never, [1, 2, 2, 2], [vast], [0, 0]],
        "constant with a field": ["blocks", often, [0, 1, 1, 1], [["constant", 1]], [0]],
        "constant of two inputs": ["blocks", often, [0, 1, 1, 2], [["constant"]], [0]],
        "blocks with an inner channel written twice": ["blocks", never, [0, 2, 1, 4, 2, 4], [four, four], [0, 1]],
        "blocks with inner channels out of order": ["blocks", never, [1, 4, 2, 5], [five, four], [1, 0]],
        "blocks with an inner channel of no block": ["blocks", never, [0, 2, 1, 4], [four, five], [0]],
        "blocks with a number of no inner channel": ["blocks", never, [0, 2, 1, 4, 2, 4], [four], [0, 1]],
        "constant alone": ["constant"],
    }
    for name, value in refused.items():
        yield {"name": name, "wire": wire(value), "stage": "channel"}


def _rands(channel: Channel, x: int) -> list[bytes]:
    """Draws at the ends of the random integer and on both sides of every threshold of ``channel`` at ``x``."""
    if isinstance(channel, Hadamard):
        width = channel.rand_bytes - 8
        tails = [bytes(width), bytes([0xA5] * width), bytes([0xFF] * width)]
        heads = (0, channel.truth - 1, channel.truth, ONE - 1)
        return [head.to_bytes(8, "big") + tail for head in heads for tail in tails]
    if isinstance(channel, Constant):
        return [b""]
    if isinstance(channel, Blocks):
        block = channel.block_of[x]
        edges = {0, channel.cover - 1, channel.cover, channel.hidden - 1, channel.hidden, ONE * ONE - 1}
        heads = [edge.to_bytes(16, "big") for edge in sorted(edges) if edge >= 0]
        if block == OPEN:
            return [head + bytes([0xA5] * (channel.rand_bytes - 16)) for head in heads]
        tails = _rands(channel.channels[block - 1], channel.place_of[x])
        return [heads[-1] + tail + bytes(channel.rand_bytes - 16 - len(tail)) for tail in tails]
    unit = 4 if isinstance(channel, Table) else 1
    edges, total = {0, ONE - 1}, 0
    for y in range(channel.outputs):
        share = channel.cover_of(y) if isinstance(channel, RandomizedResponse) else channel.weight(x, y)
        total += share * unit
        edges |= {edge for edge in (total - 1, total) if 0 <= edge < ONE}
    return [edge.to_bytes(8, "big") for edge in sorted(edges)]


# 6. Levels, notions, certificates


def level_cases() -> Iterator[Case]:
    for level in (0, 1, 10**6, NAT // 10, NAT, 2 * NAT, 693_147_180, 693_147_181, 8 * NAT, 20 * NAT):
        yield {"name": f"exp_lower of {level}", "level": level, "exp_lower": str(exact.exp_lower(level))}
    for numerator, denominator in (
        (1, 2), (1, 1), (2, 1), (3, 1), (ONE, ONE - 1), (ONE - 1, 1), (PLAIN.truth, ONE - PLAIN.truth), (1, 0),
    ):  # fmt: skip
        yield {
            "name": f"level of {numerator} to {denominator}",
            "numerator": str(numerator),
            "denominator": str(denominator),
            "level": exact.level_of(numerator, denominator),
        }
    # A bound of ratio exactly n/2^96 with n = exp_lower is kept; one unit more is not.
    for level in (10**6, NAT, 20 * NAT):
        bound = exact.exp_lower(level)
        for numerator, kept in ((bound, True), (bound + 1, False)):
            yield {
                "name": f"{'the bound' if kept else 'one unit above the bound'} at {level}",
                "numerator": str(numerator),
                "denominator": str(1 << exact.EXP_BITS),
                "level": level if kept else level + 1,
            }


PRIOR = (5, 3, 2)
LIP_TABLE = Table.nearest([
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)],
    [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)],
    [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)],
])  # fmt: skip


def certificate_cases() -> Iterator[Case]:
    def case(name: str, notion: notions.Notion, channel: Channel) -> Case:
        certificate = notions.certify(channel, notion)
        return {
            "name": name,
            "notion": codec.encode(notion.encode()).hex(),
            "channel": codec.encode(channel.encode()).hex(),
            "declared": certificate.declared,
            "audited": certificate.audited,
            "ldp": certificate.ldp,
            "cost": certificate.cost,
        }

    half = Table.nearest([[Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)]])
    two = exact.level_of(half.weight(0, 0), half.weight(1, 0)) or 0
    matrix = ((0, two, notions.UNBOUNDED), (two, 0, two), (notions.UNBOUNDED, two, 0))
    line = Table.nearest([
        [Fraction(2, 3), Fraction(1, 3), Fraction(0)],
        [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)],
        [Fraction(0), Fraction(1, 3), Fraction(2, 3)],
    ])  # fmt: skip
    steps = Table.nearest([
        [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)],
        [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)],
        [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)],
    ])  # fmt: skip
    high = notions.HighLow(NAT, 5, (1, 2, 4))
    one = notions.HighLow(NAT, 3, (1,))
    blocks = notions.Block.over(NAT, [0, 0, 1, 2, 1, 1, 0, 1, 3])
    yield case("ldp of Hadamard response", notions.Ldp(NAT), PLAIN)
    yield case("ldp of k-ary response", notions.Ldp(NAT), RESPONSE)
    yield case("ldp of a table", notions.Ldp(two), half)
    yield case("ldp with room to spare", notions.Ldp(20 * NAT), half)
    yield case("ldp of a channel that tells nothing", notions.Ldp(10**6), CHANNELS["response that never tells"])
    yield case("high-low", high, SENSITIVE)
    yield case("high-low of one input", one, MANGAT)
    yield case("block", blocks, BLOCKS)
    yield case("pairwise with finite ldp", notions.Matrix(two, matrix), steps)
    yield case("lip of a table", notions.Information(NAT, PRIOR), LIP_TABLE)
    yield case("lip of a response", notions.Information(3 * NAT, PRIOR), RandomizedResponse(3, (ONE // 4,)))
    yield case("lip of a Hadamard channel", notions.Information(NAT, (1, 1, 1, 1, 1)), PLAIN)
    lip_level = notions.certify(LIP_TABLE, notions.Information(NAT, PRIOR)).audited
    yield case("lip at its very level", notions.Information(lip_level, PRIOR), LIP_TABLE)

    def raised(truth: int) -> Hadamard:
        return Hadamard(truth, 5)

    forged = NAT + NAT // 1000
    refused: list[tuple[str, notions.Notion, Channel]] = [
        ("Hadamard 0.1% above its level", notions.Ldp(NAT), raised(truth_of(forged))),
        ("Hadamard one unit too truthful", notions.Ldp(NAT), raised(PLAIN.truth + 1)),
        ("response 0.1% above its level", notions.Ldp(NAT), RandomizedResponse(4, (cover_of(forged, 4),))),
        ("response one unit too truthful", notions.Ldp(NAT), RandomizedResponse(4, (cover_of(NAT, 4) - 1,))),
        ("table a nanonat above its level", notions.Ldp(two - 1), half),
        ("response that always tells", notions.Ldp(20 * NAT), CHANNELS["response that always tells"]),
        ("table with a zero", notions.Ldp(20 * NAT), line),
        ("blocks under plain ldp", notions.Ldp(20 * NAT), BLOCKS),
        ("high-low one unit too truthful", high, replace(SENSITIVE, channels=(Hadamard(truth_of(NAT) + 1, 3),))),
        ("high-low with too little cover", high, replace(SENSITIVE, cover=SENSITIVE.cover - 1)),
        ("high-low of one input with too little cover", one, replace(MANGAT, cover=MANGAT.cover - 1)),
        ("high-low with other inputs sensitive", notions.HighLow(NAT, 5, (0, 1, 2)), SENSITIVE),
        ("block with the blocks drawn otherwise", notions.Block(NAT, ((0, 9),)), BLOCKS),
        (
            "block one unit too truthful",
            blocks,
            replace(BLOCKS, channels=(BLOCKS.channels[0], Hadamard(truth_of(NAT) + 1, 4))),
        ),
        ("pairwise with a zero where a bound is", notions.Matrix(two, matrix), line),
        ("lip a nanonat above its level", notions.Information(lip_level - 1, PRIOR), LIP_TABLE),
        ("lip under another prior", notions.Information(lip_level, (98, 1, 1)), LIP_TABLE),
        ("lip with a zero", notions.Information(20 * NAT, PRIOR), line),
        ("lip of a channel of 2^23 cells", notions.Information(20 * NAT, (1,) * 2048), Hadamard(truth_of(NAT), 2048)),
    ]
    for name, notion, channel in refused:
        yield {
            "name": name,
            "notion": codec.encode(notion.encode()).hex(),
            "channel": codec.encode(channel.encode()).hex(),
            "stage": "certificate",
        }
    without_meaning: dict[str, Any] = {
        "no array": "ldp",
        "without a level": ["ldp"],
        "unknown notion": ["central", NAT],
        "level of zero": ["ldp", 0],
        "level below 0.001": ["ldp", 10**6 - 1],
        "level above 20": ["ldp", 20 * NAT + 1],
        "level as text": ["ldp", "1"],
        "negative level": ["ldp", -1],
        "ldp with a field too many": ["ldp", NAT, 0],
        "high-low of nobody": ["high-low", NAT, 5, []],
        "high-low of everybody": ["high-low", NAT, 5, [0, 1, 2, 3, 4]],
        "high-low out of order": ["high-low", NAT, 5, [2, 1]],
        "high-low with an input twice": ["high-low", NAT, 5, [1, 1]],
        "high-low outside the domain": ["high-low", NAT, 5, [5]],
        "high-low of another size": ["high-low", NAT, 6, [1]],
        "block of singles": ["block", NAT, [0, 1, 1, 1, 2, 1, 3, 1, 4, 1]],
        "block out of order": ["block", NAT, [1, 2, 0, 3]],
        "block with a run in two parts": ["block", NAT, [0, 2, 0, 3]],
        "block with half a run": ["block", NAT, [0, 2, 1]],
        "block without runs": ["block", NAT, []],
        "block of another size": ["block", NAT, [0, 4]],
        "pairwise of one": ["pairwise", NAT, [[0]]],
        "pairwise that is not square": ["pairwise", NAT, [[0, NAT], [NAT]]],
        "pairwise with a diagonal": ["pairwise", NAT, [[1, NAT], [NAT, 0]]],
        "pairwise with another maximum": ["pairwise", 2 * NAT, [[0, NAT], [NAT, 0]]],
        "pairwise with level -2": ["pairwise", NAT, [[0, NAT], [-2, 0]]],
        "pairwise with a level above 20": ["pairwise", NAT, [[0, 20 * NAT + 1], [NAT, 0]]],
        "lip with a weight of zero": ["lip", NAT, [1, 1, 1, 1, 0]],
        "lip of one": ["lip", NAT, [1]],
        "lip of another size": ["lip", NAT, [1, 1]],
        "lip with weights above 2^53": ["lip", NAT, [2**53, 1, 1, 1, 1]],
    }
    for name, value in without_meaning.items():
        yield {"name": name, "notion": wire(value), "channel": codec.encode(PLAIN.encode()).hex(), "stage": "notion"}


# 7. Campaigns

OPENS = 1_800_000_000
WEEK = 7 * 86_400


def terms(**changes: Any) -> Campaign:
    """The education campaign that campaign and report vectors share."""
    labels = ("none", "primary", "secondary", "bachelor", "master")
    fields: dict[str, Any] = {
        "title": "Highest education",
        "question": "What is the highest level of education you have completed?",
        "purpose": "Plan evening classes.",
        "organisation": "Town library",
        "domain": domain.Values(labels),
        "notion": notions.Ldp(NAT),
        "mechanism": "hadamard",
        "channel": PLAIN,
        "opens": OPENS,
        "closes": OPENS + 4 * WEEK + 1,
        "period_seconds": WEEK,
        "answers_per_period": 2,
        "minimum_reports": 100,
        "enrolment": "open",
    }
    return Campaign(**{**fields, **changes})


def _payload(**changes: Any) -> bytes:
    """The campaign's payload with some fields replaced, whatever they then are."""
    names = (
        "title", "question", "purpose", "organisation", "domain", "notion", "mechanism", "channel",
        "opens", "closes", "period_seconds", "answers_per_period", "minimum_reports", "enrolment",
    )  # fmt: skip
    fields = codec.decode(terms().encode(), limit=2**20)
    assert isinstance(fields, list)
    for name, value in changes.items():
        fields[names.index(name)] = value
    return bytes.fromhex(wire(fields))


def campaign_cases() -> Iterator[Case]:
    def described(name: str, made: Campaign) -> Case:
        data = seal_campaign(made, ANALYST)
        return {
            "name": name,
            "campaign": data.hex(),
            "trusted": [STRANGER.public.hex(), ANALYST.public.hex()],
            "id": campaign_id(data).hex(),
            "title": made.title,
            "periods": made.periods,
            "inputs": made.channel.inputs,
            "audited": made.certificate.audited,
            "worst_case": number(made.worst_case),
        }

    yield described("education", terms())
    yield described("enrolled keys only", terms(enrolment="enrolled"))
    yield described("one second", terms(closes=OPENS + 1))
    yield described("as many periods as there may be", terms(closes=OPENS + 2**20, period_seconds=1))
    yield described(
        "paragraphs and other scripts",
        terms(question="O\u00f9\u00a0?\n\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", purpose=""),
    )
    grid = domain.Grid(0, 1_000_000, 0, 2_000_000, 500_000)
    yield described(
        "places, with a sensitive set",
        terms(
            domain=grid,
            notion=notions.HighLow(NAT, 8, (1, 2, 6)),
            channel=high_low(NAT, [int(x in (1, 2, 6)) for x in range(8)]),
        ),
    )
    yield described(
        "lip",
        terms(
            domain=domain.Buckets.of([0, "0.5", 1]), notion=notions.Information(NAT, PRIOR), channel=LIP_TABLE,
            mechanism="lip",
        ),
    )  # fmt: skip
    good = seal_campaign(terms(), ANALYST)
    trusted = [ANALYST.public.hex()]

    def refused(name: str, data: bytes, stage: str, trust: list[str] = trusted) -> Case:
        return {"name": name, "campaign": data.hex(), "trusted": trust, "stage": stage}

    yield refused("author nobody trusts", good, "campaign", [STRANGER.public.hex()])
    yield refused("nobody trusted", good, "campaign", [])
    yield refused("one bit of the payload", good[:20] + bytes([good[20] ^ 4]) + good[21:], "signature")
    yield refused("cut short", good[:-1], "codec")
    yield refused("a byte too many", good + b"\0", "codec")
    yield refused("a text file", b"title = 'Highest education'", "envelope")
    yield refused("a report", envelope.seal(Kind.REPORT, ANALYST, terms().encode()), "campaign")
    yield refused("a trusted key of small order", _small_order_campaign(), "key", [(1).to_bytes(32, "little").hex()])
    too_long = terms(channel=Table.nearest(_wide_table(2000)))
    yield refused("longer than a campaign may be", envelope.seal(Kind.CAMPAIGN, ANALYST, too_long.encode()), "campaign")
    fields = codec.decode(terms().encode(), limit=2**20)
    assert isinstance(fields, list)
    raised = Hadamard(truth_of(NAT + NAT // 1000), 5)
    payloads: list[tuple[str, bytes, str]] = [
        ("payload is not msgpack", b"\xc1", "codec"),
        ("payload with a byte too many", terms().encode() + b"\0", "codec"),
        ("payload with a float", bytes.fromhex(wire([*fields[:10], 604800.0, *fields[11:]])), "codec"),
        ("payload is text", codec.encode("campaign"), "campaign"),
        ("a field missing", codec.encode(fields[:13]), "campaign"),
        ("an unknown field", codec.encode([*fields, 0]), "campaign"),
        ("no title", _payload(title=""), "campaign"),
        ("title of blanks", _payload(title=" \u00a0"), "campaign"),
        ("title of two lines", _payload(title="Highest\neducation"), "campaign"),
        ("title of 201 characters", _payload(title="t" * 201), "campaign"),
        ("title as bytes", _payload(title=b"Highest education"), "campaign"),
        ("no question", _payload(question="\n"), "campaign"),
        ("question with a control character", _payload(question="What\x1b[2J?"), "campaign"),
        ("question of 2,001 characters", _payload(question="q" * 2001), "campaign"),
        ("no organisation", _payload(organisation=""), "campaign"),
        ("purpose that turns the line around", _payload(purpose="\u202e"), "campaign"),
        ("domain of another size", _payload(domain=["values", ["a", "b"]]), "campaign"),
        ("domain that cannot be", _payload(domain=["values", ["a"]]), "domain"),
        ("notion without meaning", _payload(notion=["ldp", 0]), "notion"),
        ("notion of another size", _payload(notion=["lip", NAT, [1, 1]]), "notion"),
        ("channel that is none", _payload(channel=["hadamard", 0, 0, [1, 5]]), "channel"),
        ("channel 0.1% above its level", _payload(channel=raised.encode()), "certificate"),
        ("level a nanonat below the channel's", _payload(notion=["ldp", NAT - 1]), "certificate"),
        ("closes when it opens", _payload(closes=OPENS), "campaign"),
        ("opens before 1970", _payload(opens=-1), "campaign"),
        ("closes after 2^40", _payload(closes=2**40 + 1), "campaign"),
        ("periods of no length", _payload(period_seconds=0), "campaign"),
        ("more periods than there may be", _payload(period_seconds=1), "campaign"),
        ("no answers", _payload(answers_per_period=0), "campaign"),
        ("4,097 answers a period", _payload(answers_per_period=4097), "campaign"),
        ("a minimum of no reports", _payload(minimum_reports=0), "campaign"),
        ("enrolment 2", _payload(enrolment=2), "campaign"),
        ("enrolment as text", _payload(enrolment="open"), "campaign"),
    ]
    for name, payload, stage in payloads:
        yield refused(name, envelope.seal(Kind.CAMPAIGN, ANALYST, payload), stage)


def _wide_table(width: int) -> list[list[Fraction]]:
    return [[Fraction(1, width)] * width] * 5


def _small_order_campaign() -> bytes:
    public = (1).to_bytes(32, "little")
    return codec.encode([1, 1, keys.key_id(public), terms().encode(), public + bytes(32)])


# 8. Reports and enrolments


def report_cases() -> Iterator[Case]:
    data = seal_campaign(terms(), ANALYST)
    campaign, made = campaign_id(data), terms()
    key = SigningKey.for_campaign(DEVICE_SECRET, campaign)
    for name, period, slot, outputs in (
        ("one output", 0, 0, [5]),
        ("both outputs of the last period", 4, 0, [7, 0]),
        ("the second slot", 2, 1, [3]),
    ):
        report = Report.of(campaign, made, period, slot, outputs)
        yield {
            "name": name,
            "campaign": data.hex(),
            "report": report.seal(key).hex(),
            "public": key.public.hex(),
            "period": period,
            "slot": slot,
            "outputs": outputs,
        }
    for bits, outputs in ((1, [1, 0, 1]), (3, [1, 2, 3, 4, 5]), (8, [255, 0]), (16, [43_749]), (21, [2**20, 1, 2])):
        yield {
            "name": f"{len(outputs)} outputs of {bits} bits packed",
            "bits": bits,
            "outputs": outputs,
            "packed": pack(outputs, bits).hex(),
        }
    one = pack([5], 3)
    payloads: list[tuple[str, Any, str]] = [
        ("not an array", "report", "report"),
        ("a field missing", [campaign, 0, 0, 1], "report"),
        ("an unknown field", [campaign, 0, 0, 1, one, 0], "report"),
        ("campaign id of 15 bytes", [campaign[:15], 0, 0, 1, one], "report"),
        ("campaign id as text", ["education", 0, 0, 1, one], "report"),
        ("negative period", [campaign, -1, 0, 1, one], "report"),
        ("period of 2^32", [campaign, 2**32, 0, 1, one], "report"),
        ("slot of 2^16", [campaign, 0, 2**16, 1, one], "report"),
        ("no outputs", [campaign, 0, 0, 0, b""], "report"),
        ("4,097 outputs", [campaign, 0, 0, 4097, bytes(1537)], "report"),
        ("outputs as an array", [campaign, 0, 0, 1, [5]], "report"),
        ("fewer bytes than the count says", [campaign, 0, 0, 1, b""], "report"),
        ("more bytes than the count says", [campaign, 0, 0, 1, one + b"\0"], "report"),
        ("padding that is not zero", [campaign, 0, 0, 1, bytes([one[0] | 1])], "report"),
        ("a period after the last", [campaign, 5, 0, 1, one], "report"),
        ("a slot over the quota", [campaign, 0, 2, 1, one], "report"),
        ("three outputs where two are allowed", [campaign, 0, 0, 3, pack([1, 2, 3], 3)], "report"),
        ("period as a float", [campaign, 0.0, 0, 1, one], "codec"),
        ("count as true", [campaign, 0, 0, True, one], "codec"),
    ]
    for name, value, stage in payloads:
        sealed = envelope.seal(Kind.REPORT, key, bytes.fromhex(wire(value)))
        yield {"name": name, "campaign": data.hex(), "report": sealed.hex(), "public": key.public.hex(), "stage": stage}
    wide = seal_campaign(replace(made, channel=RandomizedResponse(5, (cover_of(NAT, 5),))), ANALYST)
    foreign = envelope.seal(Kind.REPORT, key, codec.encode([campaign_id(wide), 0, 0, 1, pack([5], 3)]))
    yield {
        "name": "an output the channel does not have",
        "campaign": wide.hex(),
        "report": foreign.hex(),
        "public": key.public.hex(),
        "stage": "report",
    }


def enrolment_cases() -> Iterator[Case]:
    campaign = campaign_id(seal_campaign(terms(), ANALYST))
    key = SigningKey.for_campaign(DEVICE_SECRET, campaign)
    yield {
        "name": "a device introduces itself",
        "enrolment": Enrolment(campaign, key.public).seal(key).hex(),
        "campaign_id": campaign.hex(),
        "public": key.public.hex(),
    }
    identity = (1).to_bytes(32, "little")

    def sealed(value: Any, kind: Kind = Kind.ENROLMENT, by: SigningKey = key) -> bytes:
        return envelope.seal(kind, by, bytes.fromhex(wire(value)))

    good = Enrolment(campaign, key.public).seal(key)
    refused = [
        ("the key of somebody else", sealed([campaign, STRANGER.public]), "envelope"),
        ("a key of 31 bytes", sealed([campaign, key.public[:31]]), "report"),
        ("campaign id of 17 bytes", sealed([campaign + b"\0", key.public]), "report"),
        ("an unknown field", sealed([campaign, key.public, 0]), "report"),
        ("a report", sealed([campaign, key.public], Kind.REPORT), "report"),
        ("not msgpack", envelope.seal(Kind.ENROLMENT, key, b"\xc1"), "codec"),
        ("altered", good[:-1] + bytes([good[-1] ^ 1]), "signature"),
        (
            "a key of small order",
            codec.encode([1, 2, keys.key_id(identity), codec.encode([campaign, identity]), identity + bytes(32)]),
            "key",
        ),
    ]
    for name, data, stage in refused:
        yield {"name": name, "enrolment": data.hex(), "stage": stage}


FILES = {
    "codec": ("1", codec_cases),
    "keys": ("2", keys_cases),
    "envelope": ("3", envelope_cases),
    "batch": ("3.3", batch_cases),
    "domain": ("4", domain_cases),
    "channel": ("5", channel_cases),
    "level": ("6.1", level_cases),
    "certificate": ("6", certificate_cases),
    "campaign": ("7", campaign_cases),
    "report": ("8", report_cases),
    "enrolment": ("8.3", enrolment_cases),
}


def written() -> dict[str, str]:
    """Name and text of every vector file."""
    return {
        f"{topic}.json": json.dumps({"spec": section, "cases": list(cases())}, ensure_ascii=False, indent=1) + "\n"
        for topic, (section, cases) in FILES.items()
    }


def main() -> None:
    """Write the vector files beside this one."""
    for name, text in written().items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
