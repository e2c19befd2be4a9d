"""Write the test vectors: ``python -m tests.vectors.generate``.

Every case is a fixed input and its required result. A case with a ``stage`` must be refused at that stage. The stages
are written by hand, here or in the tables in this folder, and never computed, because a stage computed by the code
would prove nothing.

Secret keys and bytes are fixed, and no clock or random source is used. Checked by tests/protocol/test_vectors.py.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from protocol import codec, domain, envelope, exact, keys, notions
from protocol.campaign import Campaign, campaign_id, encode_campaign, open_campaign, seal_campaign
from protocol.channels import Bits, Blocks, Channel, Hadamard, Noise, RandomizedResponse, Table, Windows
from protocol.channels.bits.channel import S
from protocol.channels.windows.arrangement import WindowType
from protocol.closing import seal_closing
from protocol.domain import Domain, Form, FormQuestion
from protocol.envelope import Kind
from protocol.keys import FIELD, ORDER, SMALL_ORDER_Y, SigningKey
from protocol.report import Enrolment, Report, pack
from protocol.texts import Texts
from protocol.views import Coarse, Districts, Identity, QuestionsMap, View, plain_views
from tests.altered import flipped
from tests.families import CHANNELS
from tests.families.bits import TWO_CLASSES
from tests.families.blocks import BLOCKS, MANGAT, SENSITIVE, high_low, in_blocks
from tests.families.hadamard import PLAIN, truth_of
from tests.families.noise import LINE, MAP
from tests.families.projective import FANO, projective
from tests.families.response import RESPONSE, cover_of
from tests.families.shapes import NAT, ONE
from tests.families.subset import SETS, subset
from tests.families.table import TABLE
from tests.families.triples import triples
from tests.families.wave import WAVE, wave
from tests.families.windows import WINDOWS
from tests.vectors.case import ANSWERS, REFUSED, Case, number, plain, wire
from tests.vectors.channels import channel_cases
from tests.vectors.links import link_cases

HERE = Path(__file__).parent

ANALYST = SigningKey(bytes(range(32)))
STRANGER = SigningKey(bytes(range(32, 64)))
DEVICE_SECRET = bytes(range(64, 96))


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
    for name, data in {**REFUSED["codec"], "600 arrays deep": "91" * 600 + "00"}.items():
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
            "fingerprint": keys.fingerprint_text(keys.fingerprint(key.public)),
            "public_file": keys.public_line(key.public, "Town library" if key is STRANGER else ""),
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

    def refused(name: str, public: bytes, signature: bytes, stage: str) -> Case:
        return {"name": name, "public": public.hex(), "message": message.hex(), "signature": signature.hex(),
                "stage": stage}  # fmt: skip

    refused_keys = {
        "key of 31 bytes": ANALYST.public[:31],
        "key of 33 bytes": ANALYST.public + b"\0",
        "empty key": b"",
        "key with y = p": FIELD.to_bytes(32, "little"),
        "key with y = p + 1, a second encoding of the identity": (FIELD + 1).to_bytes(32, "little"),
        "key with y = 2^255 - 1": (2**255 - 1).to_bytes(32, "little"),
        **{f"key of small order {place}": y.to_bytes(32, "little") for place, y in enumerate(small)},
        "key of small order, its top bit set": (1 + 2**255).to_bytes(32, "little"),
    }
    for name, public in refused_keys.items():
        yield refused(name, public, good, "key")
    scalar = int.from_bytes(good[32:], "little")
    refused_signatures = {
        "signature of 63 bytes": good[:63],
        "signature of 65 bytes": good + b"\0",
        "S increased by the group order": good[:32] + (scalar + ORDER).to_bytes(32, "little"),
        "S equal to the group order": good[:32] + ORDER.to_bytes(32, "little"),
        "R is not canonical": (FIELD + 3).to_bytes(32, "little") + good[32:],
        "R is the identity": (1).to_bytes(32, "little") + good[32:],
        "R is the identity, its top bit set": (1 + 2**255).to_bytes(32, "little") + good[32:],
        "one bit of R flipped": flipped(good, 0),
        "one bit of S flipped": flipped(good, 8 * 32),
        "signature by another key": STRANGER.sign(message),
        "signature of another message": ANALYST.sign(b"massage"),
    }
    for name, signature in refused_signatures.items():
        yield refused(name, ANALYST.public, signature, "signature")
    yield refused("key that is not a point of the curve", (2).to_bytes(32, "little"), good, "signature")
    line = keys.public_line(ANALYST.public)
    refused_files = {
        "public key file with a secret key": ANALYST.line(),
        "public key file in upper case": line.replace(ANALYST.public.hex(), ANALYST.public.hex().upper()),
        "public key file cut short": line[:-2],
        "public key file of two keys": line + line,
        "public key file of a small-order key": f"halftruth-public-key:{small[1].to_bytes(32, 'little').hex()}\n",
        "public key file with two blanks before its name": f"{line.strip()}  Town library",
        "public key file with an invisible character in its name": f"{line.strip()} Town\u200b library",
        "public key file with a name that is too long": f"{line.strip()} {'x' * 101}",
    }
    for name, text in refused_files.items():
        yield {"name": name, "public_file": text, "stage": "key"}
    yield {"name": "secret key file with a public key", "secret_file": line, "stage": "key"}


# 3. Envelopes and batches

PAYLOADS = {
    Kind.CAMPAIGN: b"a campaign, perhaps",
    Kind.ENROLMENT: b"an enrolment, perhaps",
    Kind.REPORT: b"",
    Kind.CLOSING: b"a closing, perhaps",
}


def envelope_cases() -> Iterator[Case]:
    named = [(f"envelope of kind {int(kind)}", kind, payload) for kind, payload in PAYLOADS.items()]
    for name, kind, payload in (*named, ("enrolment of the maximum length", Kind.ENROLMENT, bytes(1024))):
        yield {
            "name": name,
            "envelope": envelope.seal(kind, ANALYST, payload).hex(),
            "public": ANALYST.public.hex(),
            "kind": int(kind),
            "key_id": ANALYST.id.hex(),
            "signed_message": envelope.signed_message(kind, ANALYST.id, payload).hex(),
            "payload": payload.hex(),
        }
    good = envelope.seal(Kind.REPORT, ANALYST, b"payload")
    body = [1, 3, ANALYST.id, b"payload", good[-64:]]

    def changed(place: int, value: Any) -> bytes:
        return bytes.fromhex(wire([*body[:place], value, *body[place + 1 :]]))

    refused = [
        ("version 0", changed(0, 0), "envelope"),
        ("version 2", changed(0, 2), "envelope"),
        ("version in a longer encoding", good[:1] + b"\xcc\x01" + good[2:], "envelope"),
        ("kind 0", changed(1, 0), "envelope"),
        ("kind 5", changed(1, 5), "envelope"),
        ("kind as text", changed(1, "3"), "envelope"),
        ("key id of 7 bytes", changed(2, ANALYST.id[:7]), "envelope"),
        ("key id as text", changed(2, "abcdefgh"), "envelope"),
        ("payload as text", changed(3, "payload"), "envelope"),
        ("payload as an array", changed(3, [1, 2]), "envelope"),
        ("signature of 63 bytes", changed(4, bytes(63)), "envelope"),
        ("four fields", bytes.fromhex(wire(body[:4])), "envelope"),
        ("six fields", bytes.fromhex(wire([*body, 0])), "envelope"),
        ("a map", bytes.fromhex("85") + good[1:], "envelope"),
        ("five fields in a longer encoding", bytes.fromhex("dc0005") + good[1:], "envelope"),
        (
            "enrolment above the length limit",
            bytes.fromhex(wire([1, 2, ANALYST.id, bytes(1025), bytes(64)])),
            "envelope",
        ),
        ("report above the length limit", bytes.fromhex("950103c408" + "00" * 8 + "c600010001"), "envelope"),
        ("4 GiB of payload claimed", bytes.fromhex("950103c408" + "00" * 8 + "c6ffffffff"), "envelope"),
        ("payload length in a longer encoding", good[:13] + b"\xc5\x00\x07" + good[15:], "codec"),
        ("nothing", b"", "codec"),
        ("cut short in its key id", good[:9], "codec"),
        ("cut short in its payload", good[:20], "codec"),
        ("cut short in its signature", good[:-1], "codec"),
        ("a byte too many", good + b"\0", "codec"),
        ("key id of another key", changed(2, STRANGER.id), "envelope"),
        ("sealed by another key under this key's id", _forged(Kind.REPORT, b"payload"), "signature"),
        ("closing above the length limit", bytes.fromhex(wire([1, 4, ANALYST.id, bytes(65), bytes(64)])), "envelope"),
        ("report as a closing", changed(1, 4), "signature"),
        ("report as an enrolment", changed(1, 2), "signature"),
        ("report as a campaign", changed(1, 1), "signature"),
        ("one bit of the payload flipped", flipped(good, 8 * 15), "signature"),
        ("one bit of the signature flipped", flipped(good, 8 * (len(good) - 40)), "signature"),
        ("one payload byte moved into the signature's place", changed(3, b"payloa"), "signature"),
    ]
    for name, data, stage in refused:
        yield {"name": name, "envelope": data.hex(), "public": ANALYST.public.hex(), "stage": stage}


def _forged(kind: Kind, payload: bytes) -> bytes:
    """Return an envelope that the stranger signed under the analyst's key id."""
    signature = STRANGER.sign(envelope.signed_message(kind, ANALYST.id, payload))
    return codec.encode([1, int(kind), ANALYST.id, payload, signature])


def batch_cases() -> Iterator[Case]:
    first, second, third = (envelope.seal(Kind.REPORT, ANALYST, bytes([number] * 20)) for number in (1, 2, 3))
    enrolment = envelope.seal(Kind.ENROLMENT, STRANGER, b"enrolment")
    damaged = second[:12] + b"\x00" + second[13:15] + b"\xff\xff" + second[17:]
    shortened = second[:20] + second[21:]
    unfinished = second[:-1]
    nested = envelope.seal(Kind.REPORT, ANALYST, first)
    cases: list[tuple[str, list[bytes | tuple[bytes, str]]]] = [
        ("empty", []),
        ("one envelope", [first]),
        ("three reports and an enrolment", [first, enrolment, second, third]),
        ("the same envelope twice", [first, first]),
        ("an altered envelope that can still be decoded", [first, damaged, third]),
        ("an envelope inside a payload is not read", [nested, second]),
        ("noise before the first envelope", [(b"\x00noise", "envelope"), first]),
        ("noise between two envelopes", [first, (b"\x95\x01\x03\xc4\x08", "envelope"), second]),
        ("noise that begins like an envelope", [first, (b"\x95\x01\x95\x01\x03", "envelope"), second]),
        ("noise after the last envelope", [first, (b"\xff", "envelope")]),
        ("one byte missing in the middle envelope", [first, (shortened, "envelope"), third]),
        ("two damaged neighbours in one run of garbage", [first, (shortened + shortened, "envelope"), third]),
        (
            "an envelope without its last byte takes the first byte of the next",
            [unfinished + third[:1], (third[1:], "envelope"), first],
        ),
        ("cut short at the end", [first, (unfinished, "codec")]),
        ("cut short in its first bytes", [first, (second[:2], "codec")]),
        ("noise only", [(b"not a batch at all", "envelope")]),
        ("the first byte of the first envelope missing", [(first[1:], "envelope"), second]),
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


def _dither(text: str) -> str:
    """Return a dither by its fraction of 2^64: "a/b" is the first dither at or above it, "<a/b" the one before, "1" the
    last."""
    part = Fraction(text.removeprefix("<"))
    first = -(-(part.numerator << 64) // part.denominator)
    return min(first - text.startswith("<"), 2**64 - 1).to_bytes(8, "big").hex()


def domain_cases() -> Iterator[Case]:
    kinds: dict[str, domain.Domain] = {
        "values": domain.Values(("red", "green", "blue: dark", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645")),
        "grid": domain.Grid(-1_000_000, 1_000_000, 10_000_000, 11_500_000, 500_000),
        "buckets": domain.Buckets.of([0, "2.5", 10]),
        "ordered": domain.OrderedValues(("never", "seldom", "often")),
        "number": domain.NumberRange.of(17, 90, unit="years"),
        "number, rounded at random and clamped": domain.NumberRange.of(
            "-0.5", "1", "0.25", rounds_randomly=True, clamps=True
        ),
        "date": domain.Dates(-3, 11, 7),
        "date, clamped": domain.Dates(20_000, 20_002, clamps=True),
        "buckets below zero": domain.Buckets.of(["-0.2", "-0.1", "0"]),
        "items": domain.Items(3, ("bread", "milk", "eggs", "rye bread")),
        "items by number, with a padding of 1": domain.Items(1, 5),
        "form": of_questions().domain,
    }
    for name, asked in kinds.items():
        inside, outside = ANSWERS[name]["inside"], ANSWERS[name]["outside"]
        yield {
            "name": name,
            "wire": codec.encode(asked.encode()).hex(),
            "size": asked.size,
            "labels": [asked.label(x) for x in range(asked.size)],
            "inside": [{"answer": answer, "dither": _dither(dither), "input": x} for answer, dither, x in inside],
            "outside": outside,
        }
    for name, value in {**REFUSED["domain"], **_no_forms()}.items():
        yield {"name": name, "wire": wire(value), "stage": "domain"}


def _no_forms() -> dict[str, Any]:
    """Return refused encodings of a form, by the reason of their refusal."""
    ask: list[Any] = ["a", "A?", ["values", ["x", "y"]], 0]

    def other(place: int, value: Any) -> list[Any]:
        changed: list[Any] = ["b", *ask[1:]]
        changed[place] = value
        return ["form", [ask, changed]]

    return {
        "form of one question": ["form", [ask]],
        "form of no question": ["form", []],
        "form of 33 questions": ["form", [[f"q{place}", *ask[1:]] for place in range(33)]],
        "form with a field too many": ["form", [ask, ["b", *ask[1:]]], 0],
        "form of questions as text": ["form", "ab"],
        "question that is not an array": ["form", [ask, "b"]],
        "question without the mark that it can be skipped": ["form", [ask, ["b", *ask[1:3]]]],
        "two questions of one name": ["form", [ask, ask]],
        "question without a name": other(0, ""),
        "question with a name of 41 characters": other(0, "b" * 41),
        "question with a capital in its name": other(0, "B"),
        "question with a blank in its name": other(0, "b c"),
        "question with a name as bytes": other(0, b"b"),
        "question with a letter outside a-z in its name": other(0, "\u00e9"),
        "question without a text": other(1, ""),
        "question with a blank text": other(1, "  "),
        "question with a text of 501 characters": other(1, "t" * 501),
        "question with a line break in its text": other(1, "a\nb"),
        "question of sets": other(2, ["items", 2, ["x", "y"]]),
        "question that is a form": other(2, ["form", [ask, ["b", *ask[1:]]]]),
        "question of an unknown kind": other(2, ["sets", ["x", "y"]]),
        "question with a domain as text": other(2, "values"),
        "question with an empty domain": other(2, []),
        "question of one value": other(2, ["values", ["x"]]),
        "question with a semicolon in a value": other(2, ["values", ["x", "y;z"]]),
        "question with 2 as the mark that it can be skipped": other(3, 2),
        "skippable question with the value skipped": [
            "form", [ask, ["b", "B?", ["values", ["x", "skipped"]], 1]],
        ],
        "skippable question with 2^20 inputs without skipping": [
            "form", [ask, ["b", "B?", ["number", 0, 0, 2**20 - 1, 1, 0, 0, ""], 1]],
        ],
    }  # fmt: skip


# 5. Channels are in a file of their own: tests/vectors/channels.py


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
    # A ratio of exactly n / 2^96 with n = exp_lower satisfies the level, and a ratio of one unit more does not.
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
FIVE_BITS = Bits((S // 2,), (S // 7,), ((0, 5),))
LIP_TABLE = Table.rounded([
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)],
    [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)],
    [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)],
])  # fmt: skip
STEPS = Table.rounded([
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)],
    [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)],
    [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)],
])  # fmt: skip


UNIT_A = "bits with a = 1 in one class and b = 0 in another"
ONE_COLUMN = "noise that always moves one column"


def _at_their_level() -> Iterator[tuple[str, notions.Notion, Channel]]:
    """Yield (case name, notion, channel) with the notion's level exactly that of the channel, MinID and AvgID first."""
    pairs = TWO_CLASSES.class_of

    def worst(c: int, d: int) -> int:
        x, other = ([x for x, number_of in enumerate(pairs) if number_of == each] for each in (c, d))
        return TWO_CLASSES.loss(x, other).level or 0

    within, between = (worst(0, 0), worst(1, 1)), max(worst(0, 1), worst(1, 0))
    low, high = max(within[0], between), within[1]
    yield "minid", notions.MinId(high, (low, high), TWO_CLASSES.runs), TWO_CLASSES
    high = max(within[1], 2 * between - within[0])
    yield "avgid", notions.AvgId(high, (within[0], high), TWO_CLASSES.runs), TWO_CLASSES
    line, uneven = notions.Geo.between(NAT, 4, [0], [0, 2, 4, 6]), notions.Geo.between(NAT, 3, [0, 2], [0, 1, 5])
    wide = notions.Geo.between(NAT, 7, [0], [*range(0, 1800, 3), 1799])
    two = (1, 1, 2, 2, 1)
    for name, notion, channel in (
        ("geo of noise on a line", line, LINE),
        ("geo of noise on a map of uneven gaps", uneven, MAP),
        ("geo of a table on a line of uneven gaps", notions.Geo.between(NAT, 1, [0, 1, 5], [0]), STEPS),
        ("geo of a channel too large to compare every pair", wide, Hadamard(truth_of(NAT), 601)),
        ("lip of projective", notions.Lip(NAT, (5, 1, 1, 1, 2, 3, 1)), FANO),
        ("lip of subset", notions.Lip(NAT, two), SETS),
        ("lip of bits", notions.Lip(NAT, (1, 5, 2, 2)), TWO_CLASSES),
        ("lip of noise", notions.Lip(NAT, (1, 5, 2, 2)), LINE),
        ("lip of windows", notions.Lip(NAT, (3, 200, 5, 99, 2, 40)), WINDOWS),
        ("lip of windows, under another prior than the arcs", notions.Lip(NAT, (1, 1, 9, 1, 2, 7)), WINDOWS),
        ("mutual information", notions.MutualInformation(NAT, PRIOR), LIP_TABLE),
        ("mutual information of a table with zeros", notions.MutualInformation(NAT, PRIOR), TABLE),
    ):
        audited = notions.certify(channel, replace(notion, level=20 * NAT)).audited_level
        yield f"{name}, at exactly its level", replace(notion, level=audited), channel


def _less(notion: notions.Notion) -> notions.Notion:
    """Return the notion at a level that is one nanonat lower."""
    if isinstance(notion, notions.MinId):
        low, high = notion.budgets
        return replace(notion, level=high, budgets=(low - 1, high))
    if isinstance(notion, notions.AvgId):
        low, high = notion.budgets
        return replace(notion, level=high - 1, budgets=(low, high - 1))
    return replace(notion, level=notion.level - 1)


def _too_much() -> Iterator[tuple[str, notions.Notion, Channel]]:
    """Yield (case name, notion, channel): the channel is clearly below the level, but its audit needs more steps or
    cells than allowed."""
    level, truth = 20 * NAT, truth_of(NAT)
    half = 1 << 61

    def windows(cells: int, orders: int, types: int) -> Windows:
        weight = (1 << 62) // (cells * types)
        shapes = tuple(WindowType(cells // 3 + n, weight, weight // 2, 0, ()) for n in range(types))
        return Windows((1, 2), cells, orders, (), (), shapes)

    cells = ((2 * half - 2 * 199, *[2] * 199),) * 110
    line = Noise(1, 4096, (2 * half - 2 * 4095, *[1] * 4095))
    yield "ldp of windows of 65,535 cells in 256 orders", notions.Ldp(level), windows(65_535, 256, 1)
    yield "ldp of windows of many types", notions.Ldp(level), windows(4096, 16, 64)
    yield "ldp of noise on 4,096 points", notions.Ldp(level), line
    yield "geo of noise on 4,096 points", notions.Geo.between(level, 1, [0], range(4096)), line
    yield (
        "lip of a channel with a row more than 2^22 cells",
        notions.Lip(9 * NAT // 10, (1,) * 2047),
        Hadamard(truth, 2047),
    )
    yield (
        "lip of projective of 2^20 - 1 outputs",
        notions.Lip(9 * NAT // 10, (1, 1)),
        projective(2, 2, 20, NAT),
    )
    matrix = tuple(tuple(0 if x == y else NAT for y in range(110)) for x in range(110))
    yield "pairwise of a table, 11,990 pairs", notions.Matrix(NAT, matrix), Table(cells)
    runs = *((number, 2) for number in range(2**13)), (2**13, 2**20 - 2**14)
    inner = (Hadamard(truth, 2),) * 2**13 + (Hadamard(truth, 2**20 - 2**14),)
    inside = Blocks(0, tuple((number + 1, length) for number, length in runs), inner)
    yield "block of 2^20 values", notions.Block(level, runs), inside
    classes = notions.Classes.of(tuple(notions.Lip(level - x, (1,) * 1024) for x in range(4)))
    four = Blocks(0, tuple((x + 1, 1024) for x in range(4)), (Hadamard(truth, 1024),) * 4)
    yield "classes whose audits together exceed the limit", classes, four


def _levels(certificate: notions.Certificate) -> Case:
    """Return the levels and the cost of a certificate."""
    return {
        "declared": certificate.declared_level,
        "audited": certificate.audited_level,
        "ldp": certificate.ldp_level,
        "cost": certificate.cost,
    }


def certificate_cases() -> Iterator[Case]:
    def case(name: str, notion: notions.Notion, channel: Channel) -> Case:
        certificate = notions.certify(channel, notion)
        return {
            "name": name,
            "notion": codec.encode(notion.encode()).hex(),
            "channel": codec.encode(channel.encode()).hex(),
            **_levels(certificate),
            "ball": certificate.ball_level,
        }

    half = Table.rounded([[Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)]])
    two = exact.level_of(half.weight(0, 0), half.weight(1, 0)) or 0
    matrix = ((0, two, notions.UNBOUNDED), (two, 0, two), (notions.UNBOUNDED, two, 0))
    line = Table.rounded([
        [Fraction(2, 3), Fraction(1, 3), Fraction(0)],
        [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)],
        [Fraction(0), Fraction(1, 3), Fraction(2, 3)],
    ])  # fmt: skip
    high = notions.HighLow(NAT, 5, (1, 2, 4))
    one = notions.HighLow(NAT, 3, (1,))
    blocks = notions.Block.over(NAT, [0, 0, 1, 2, 1, 1, 0, 1, 3])
    yield case("ldp of Hadamard response", notions.Ldp(NAT), PLAIN)
    yield case("ldp of k-ary response", notions.Ldp(NAT), RESPONSE)
    yield case("ldp of a table", notions.Ldp(two), half)
    yield case("ldp below its level", notions.Ldp(20 * NAT), half)
    yield case(
        "ldp of a channel that reveals nothing",
        notions.Ldp(10**6),
        CHANNELS["response whose output is independent of the input"],
    )
    yield case("high-low", high, SENSITIVE)
    yield case("high-low of one input", one, MANGAT)
    yield case("block", blocks, BLOCKS)
    yield case("pairwise with finite ldp", notions.Matrix(two, matrix), STEPS)
    yield case("lip of a table", notions.Lip(NAT, PRIOR), LIP_TABLE)
    yield case("lip of a response", notions.Lip(3 * NAT, PRIOR), RandomizedResponse(3, (ONE // 4,)))
    yield case("lip of a Hadamard channel", notions.Lip(NAT, (1, 1, 1, 1, 1)), PLAIN)
    lip_level = notions.certify(LIP_TABLE, notions.Lip(NAT, PRIOR)).audited_level
    yield case("lip at exactly its level", notions.Lip(lip_level, PRIOR), LIP_TABLE)
    yield case("lip with a ball of priors", notions.Lip(2 * NAT, PRIOR, 10**8), LIP_TABLE)
    yield case("lip with the ball of all priors", notions.Lip(2 * NAT, PRIOR, 10**9), LIP_TABLE)
    ball_level = notions.certify(LIP_TABLE, notions.Lip(2 * NAT, PRIOR, 10**8)).ball_level
    yield case("lip with a ball at exactly its level", notions.Lip(ball_level, PRIOR, 10**8), LIP_TABLE)
    for name, channel in (
        ("response", RandomizedResponse(2100, (cover_of(NAT, 2100),))),
        ("subset", subset(30, 8, NAT)),
        ("triples", triples(400, NAT)),
    ):
        notion = notions.Lip(NAT, tuple(1 + x % 3 for x in range(channel.input_count)))
        yield case(f"lip of {name} of more than 2^22 cells", notion, channel)
    large = Hadamard(truth_of(NAT), 2047)
    ldp_level = notions.certify(large, notions.Ldp(20 * NAT)).audited_level
    even = notions.Lip(ldp_level, (1,) * 2047, 5 * 10**7)
    yield case("lip with a radius, of a channel too large to audit cell by cell that satisfies ldp", even, large)
    yield case(
        "lip of projective of 2^20 - 1 outputs that satisfies ldp",
        notions.Lip(NAT, (1, 1)),
        projective(2, 2, 20, NAT),
    )
    at_their_level = list(_at_their_level())
    heavier = replace(TWO_CLASSES, other_weights=(S // 5, S // 20 - 1))
    for name, notion, channel in at_their_level:
        yield case(name, notion, channel)
    open_classes = notions.MinId(NAT, (NAT, NAT), ((0, 3), (1, 3)), ((0, 1),))
    apart = in_blocks(NAT, [1, 1, 1, 2, 2, 2])
    yield case("minid with classes that need no protection from each other", open_classes, apart)
    yield case("minid of one class", notions.MinId(NAT, (NAT,), ((0, 5),)), PLAIN)
    own = notions.DeclaredPrior(NAT, 4)
    for_all = own.channel_of((1,) * 4)
    yield case("own-lip", own, for_all)
    yield case("own-lip that offers LDP", notions.DeclaredPrior(NAT, 10), OFFERED)
    transcript = notions.TranscriptPrior(NAT, PRIOR, 2**10)
    at_first = transcript.channel_of(PRIOR)
    yield case("transcript-lip", transcript, at_first)
    two_classes = notions.Classes.of((notions.Ldp(NAT), notions.Lip(2 * NAT, PRIOR)))
    response = RandomizedResponse(3, (cover_of(NAT, 3),))
    of_classes = Blocks(0, ((1, 3), (2, 3)), (response, LIP_TABLE))
    yield case("classes of two notions", two_classes, of_classes)
    identity = Table.rounded([
        [Fraction(2, 3), Fraction(1, 3), Fraction(0)],
        [Fraction(1, 3), Fraction(2, 3), Fraction(0)],
        [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)],
    ])  # fmt: skip
    yield case(
        "classes, one without an ldp level",
        notions.Classes.of((notions.Ldp(NAT), notions.HighLow(NAT, 3, (0, 1)))),
        Blocks(0, ((1, 3), (2, 3)), (response, identity)),
    )
    yield case(
        "classes of one notion and channel",
        notions.Classes.of((notions.Ldp(NAT),) * 3),
        Blocks(0, ((1, 3), (2, 3), (3, 3)), (response,) * 3),
    )
    yield case(
        "classes, one with a wave",
        notions.Classes.of((notions.Ldp(NAT), notions.Ldp(2 * NAT))),
        Blocks(0, ((1, 6), (2, 6)), (WAVE, RandomizedResponse(6, (cover_of(2 * NAT, 6),)))),
    )
    forged = NAT + NAT // 1000
    refused: list[tuple[str, notions.Notion, Channel]] = [
        ("Hadamard 0.1% above its level", notions.Ldp(NAT), Hadamard(truth_of(forged), 5)),
        ("Hadamard one unit of weight above its level", notions.Ldp(NAT), replace(PLAIN, truth=PLAIN.truth + 1)),
        ("response 0.1% above its level", notions.Ldp(NAT), RandomizedResponse(4, (cover_of(forged, 4),))),
        (
            "response one unit of weight above its level",
            notions.Ldp(NAT),
            RandomizedResponse(4, (cover_of(NAT, 4) - 1,)),
        ),
        ("table a nanonat above its level", notions.Ldp(two - 1), half),
        (
            "response that always gives the true input",
            notions.Ldp(20 * NAT),
            CHANNELS["response that always gives the true input"],
        ),
        ("table with a zero", notions.Ldp(20 * NAT), line),
        ("blocks under plain ldp", notions.Ldp(20 * NAT), BLOCKS),
        (
            "high-low one unit of weight above its level",
            high,
            replace(SENSITIVE, channels=(Hadamard(truth_of(NAT) + 1, 3),)),
        ),
        ("high-low with too little cover", high, replace(SENSITIVE, cover=SENSITIVE.cover - 1)),
        ("high-low of one input with too little cover", one, replace(MANGAT, cover=MANGAT.cover - 1)),
        ("high-low with other inputs sensitive", notions.HighLow(NAT, 5, (0, 1, 2)), SENSITIVE),
        ("block with other blocks than the channel's", notions.Block(NAT, ((0, 9),)), BLOCKS),
        (
            "block one unit of weight above its level",
            blocks,
            replace(BLOCKS, channels=(BLOCKS.channels[0], Hadamard(truth_of(NAT) + 1, 4))),
        ),
        ("pairwise with a zero for a bounded pair", notions.Matrix(two, matrix), line),
        ("lip a nanonat above its level", notions.Lip(lip_level - 1, PRIOR), LIP_TABLE),
        (
            "lip of a channel too large to audit cell by cell, ldp a nanonat above",
            replace(even, level=ldp_level - 1),
            large,
        ),
        ("lip of a ball a nanonat above its level", notions.Lip(ball_level - 1, PRIOR, 10**8), LIP_TABLE),
        ("lip under another prior", notions.Lip(lip_level, (98, 1, 1)), LIP_TABLE),
        ("lip with a zero", notions.Lip(20 * NAT, PRIOR), line),
        (
            "lip of a channel of 2^23 cells",
            notions.Lip(9 * NAT // 10, (1,) * 2048),
            Hadamard(truth_of(NAT), 2048),
        ),
        ("lip of projective of 2^23 - 2 cells", notions.Lip(9 * NAT // 10, (1, 1)), projective(2, 2, 22, NAT)),
        ("lip of bits with b = 0 in one class", notions.Lip(20 * NAT, (1, 1, 1)), CHANNELS[UNIT_A]),
        (
            "lip of bits of 836 classes",
            notions.Lip(20 * NAT, (1,) * 836),
            Bits.over((2**31, 1 + x) for x in range(836)),
        ),
        ("ldp of bits with b = 0 in one class", notions.Ldp(20 * NAT), CHANNELS[UNIT_A]),
        *((f"{name}, a nanonat more", _less(notion), channel) for name, notion, channel in at_their_level),
        ("minid one unit of weight above its level", at_their_level[0][1], heavier),
        ("avgid one unit of weight above its level", at_their_level[1][1], heavier),
        ("minid with a bound between inputs of two blocks", notions.MinId.over([NAT] * 3 + [2 * NAT] * 3), apart),
        ("geo with an infinite ratio", notions.Geo.between(20 * NAT, 1, [0], [0, 1, 2]), CHANNELS[ONE_COLUMN]),
        (
            "mutual information of more steps than are allowed",
            notions.MutualInformation(20 * NAT, (1,) * 257),
            RandomizedResponse(257, (cover_of(NAT, 257),)),
        ),
        *_too_much(),
        ("own-lip with another channel that satisfies the level", own, RandomizedResponse(4, (for_all.cover[0] + 1,))),
        ("own-lip with a channel for another level", own, notions.DeclaredPrior(3 * NAT // 4, 4).response),
        ("own-lip that offers LDP at more than its level", notions.DeclaredPrior(NAT - 10, 10), OFFERED),
        ("own-lip that offers bits", notions.DeclaredPrior(20 * NAT, 4), TWO_CLASSES),
        ("own-lip that offers fewer outputs than values", own, Table(((2**61, 2**61),) * 4)),
        ("own-lip with a channel for another prior", own, own.channel_of((1, 1, 1, 2))),
        ("transcript-lip with a channel for another prior", transcript, transcript.channel_of((1, 1, 1))),
        (
            "transcript-lip with another channel that satisfies the level",
            transcript,
            RandomizedResponse(3, (at_first.cover[0] + 1, *at_first.cover[1:])),
        ),
        (
            "classes, one with one unit of weight above its level",
            two_classes,
            Blocks(0, ((1, 3), (2, 3)), (RandomizedResponse(3, (response.cover[0] - 1,)), LIP_TABLE)),
        ),
        (
            "classes, a wave at the level of the other class",
            notions.Classes.of((notions.Ldp(NAT // 2), notions.Ldp(NAT))),
            Blocks(0, ((1, 6), (2, 6)), (WAVE, RandomizedResponse(6, (cover_of(NAT, 6),)))),
        ),
        (
            "classes in reverse order",
            notions.Classes.of((notions.Lip(2 * NAT // 3, PRIOR), notions.Ldp(NAT))),
            Blocks(0, ((1, 3), (2, 3)), (response, LIP_TABLE)),
        ),
        (
            "classes in a channel whose first blocks are larger",
            two_classes,
            Blocks(0, ((1, 4), (2, 2)), (RESPONSE, RandomizedResponse(2, (ONE // 4,)))),
        ),
        (
            "classes whose blocks are interleaved",
            two_classes,
            Blocks(0, ((1, 1), (2, 1)) * 3, (response, LIP_TABLE)),
        ),
        ("classes with a channel without blocks", two_classes, Hadamard(truth_of(NAT // 10), 6)),
        ("classes with open inputs", two_classes, in_blocks(NAT // 10, [1, 1, 1, 0, 0, 0])),
    ]
    for name, notion, channel in refused:
        yield {
            "name": name,
            "notion": codec.encode(notion.encode()).hex(),
            "channel": codec.encode(channel.encode()).hex(),
            "stage": "certificate",
        }
    budgets = [NAT + c for c in range(65)]
    many = {"minid of 65 classes": ["minid", NAT + 62, budgets, [n for c in range(65) for n in (c, 1)], []]}
    for name, value in {**REFUSED["notion"], **many}.items():
        yield {"name": name, "notion": wire(value), "channel": codec.encode(PLAIN.encode()).hex(), "stage": "notion"}


# 7. Campaigns

OPENS = 1_800_000_000
WEEK = 7 * 86_400


def unsigned_campaign(channel: Channel = PLAIN, **changes: Any) -> Campaign:
    """Return the education campaign that the campaign and report vectors share."""
    labels = ("none", "primary", "secondary", "bachelor", "master")
    fields: dict[str, Any] = {
        "title": "Highest education",
        "question": "What is the highest level of education you have completed?",
        "purpose": "Plan evening classes.",
        "organisation": "Town library",
        "domain": domain.Values(labels),
        "notion": notions.Ldp(NAT),
        "mechanism": "hadamard",
        "views": plain_views(channel),
        "opens": OPENS,
        "closes": OPENS + 4 * WEEK + 1,
        "period_seconds": WEEK,
        "answers_per_period": 2,
        "minimum_devices": 100,
        "enrolment": "open",
    }
    return Campaign(**{**fields, **changes})


def of_classes() -> Campaign:
    """Return a campaign for two classes of people, each with a notion and a channel."""
    return unsigned_campaign(
        domain=domain.Values(("bus", "bicycle", "on foot")),
        notion=notions.Classes.of((notions.Ldp(NAT), notions.Lip(2 * NAT, PRIOR))),
        mechanism="response; lip",
        channel=Blocks(0, ((1, 3), (2, 3)), (RandomizedResponse(3, (cover_of(NAT, 3),)), LIP_TABLE)),
        classes=("members", "guests"),
    )


def numbers_of_classes() -> Campaign:
    """Return a campaign that asks two classes of people for a number; each class has a wave at its own level."""
    return unsigned_campaign(
        domain=domain.NumberRange.of(0, 5, unit="days"),
        notion=notions.Classes.of((notions.Ldp(NAT), notions.Ldp(2 * NAT))),
        mechanism="wave",
        channel=Blocks(0, ((1, 6), (2, 6)), (WAVE, wave(6, 1, 2 * NAT))),
        classes=("members", "guests"),
    )


def declared_priors() -> Campaign:
    """Return a campaign in which every device declares a prior."""
    notion = notions.DeclaredPrior(NAT, 4)
    return unsigned_campaign(
        domain=domain.Values(("A", "B", "AB", "0")), notion=notion, mechanism="own-lip",
        channel=notion.response,
    )  # fmt: skip


OFFERED = Hadamard(truth_of(NAT), 10)


def offering() -> Campaign:
    """Return a campaign in which every device declares a prior, and uses an LDP channel if that has the smaller
    error."""
    return unsigned_campaign(
        domain=domain.Values(tuple("ABCDEFGHIJ")), notion=notions.DeclaredPrior(NAT, 10),
        mechanism="own-lip or hadamard", channel=OFFERED,
    )  # fmt: skip


TWO_LIKELY, FALLING = (500, 500, 1, 1, 1, 1, 1, 1, 1, 1), (10, 9, 8, 7, 6, 5, 4, 3, 2, 1)
"""A prior under which the offered channel has the larger gain, and one under which the response has it."""


def transcripts() -> Campaign:
    """Return a campaign in which each report is drawn from the channel for the posterior after the device's earlier
    reports."""
    notion = notions.TranscriptPrior(NAT, PRIOR, 2**10)
    return unsigned_campaign(
        domain=domain.Values(("well", "so-so", "unwell")), notion=notion, mechanism="transcript-lip",
        channel=notion.channel_of(PRIOR), answers_per_period=1,
    )  # fmt: skip


def transcripts_of(numbers: domain.Line, drift: int) -> Campaign:
    """Return a campaign with transcripts about three numbers."""
    notion = notions.TranscriptPrior(NAT, PRIOR, drift)
    return replace(transcripts(), domain=numbers, notion=notion)


BASKET = domain.Items(2, ("bread", "milk", "eggs"))
DUMMIES_AS_BREAD = ((0, 1), (1, 2), (0, 2))
"""The runs of two budget classes: bread and both dummies, milk and eggs."""


def of_items(**changes: Any) -> Campaign:
    """Return a campaign for sets of three items, with a padding of 2."""
    return unsigned_campaign(domain=BASKET, **changes)


def item_transcripts() -> Campaign:
    """Return a campaign for sets of items with transcripts, without a drift."""
    notion = notions.TranscriptPrior(NAT, (1,) * BASKET.size)
    return of_items(
        notion=notion, mechanism="transcript-lip", views=plain_views(notion.channel_of(notion.prior)),
        answers_per_period=1,
    )  # fmt: skip


def item_classes() -> Campaign:
    """Return a campaign for sets of items and two classes of people."""
    return of_items(
        notion=notions.Classes.of((notions.Ldp(NAT), notions.Ldp(NAT))),
        views=plain_views(Blocks(0, ((1, 5), (2, 5)), (PLAIN, PLAIN))),
        classes=("members", "guests"),
    )


def of_sets() -> Campaign:
    """Return a campaign with subset selection: an output is a word of five bits, of which exactly two are set."""
    return unsigned_campaign(mechanism="subset", channel=SETS)


GERMAN = Texts(
    "de", "Höchster Abschluss", "Was ist Ihr höchster Bildungsabschluss?", "Abendkurse planen.", "Stadtbücherei",
    "datenschutz@library.example", "Berichte 1 Jahr.", "https://library.example/datenschutz#lang=de",
    ("keiner", "Grundschule", "Sekundarstufe", "Bachelor", "Master"),
)  # fmt: skip


def informed(**changes: Any) -> Campaign:
    """Return a campaign with every text that a person may see, in English and German, and some texts in Portuguese."""
    fields: dict[str, Any] = {
        "addresses": ("https://study.library.example", "http://127.0.0.1:8000/evening_classes"),
        "contact": "privacy@library.example, +44 20 7946 0000",
        "retention": "Reports: one year.\nResults: for good.",
        "notice": "https://library.example/privacy?study=education",
        "language": "en",
        "translations": (GERMAN, Texts("pt-br", "Escolaridade", "Qual é a sua escolaridade?")),
        "goal": "distribution",
    }
    return unsigned_campaign(**{**fields, **changes})


def _payload(base: Campaign | None = None, **changes: Any) -> bytes:
    """Return the payload of a campaign, by default the shared one, with the given fields replaced by any values."""
    names = (
        "title", "question", "purpose", "organisation", "domain", "notion", "mechanism", "channel",
        "opens", "closes", "period_seconds", "answers_per_period", "minimum_reports", "enrolment", "classes",
        "addresses", "contact", "retention", "notice", "language", "translations", "goal",
    )  # fmt: skip
    fields = codec.decode(encode_campaign(base or unsigned_campaign()), limit=2**20)
    assert isinstance(fields, list)
    for name, value in changes.items():
        fields[names.index(name)] = value
    return bytes.fromhex(wire(fields))


LANGUAGES = ("en", "de-AT", "pt_BR", "fr")
"""The languages of readers, for the texts that a campaign shows."""


def _shown(texts: Texts) -> list[Any]:
    """Return the texts that a person sees, in the order of a translation."""
    return [
        texts.language, texts.title, texts.question, texts.purpose, texts.organisation, texts.contact, texts.retention,
        texts.notice, list(texts.labels), list(texts.classes),
    ]  # fmt: skip


def _translatable_texts(shown: Domain) -> list[Any]:
    """Return the texts to translate: for a form, each question and the names of its domain; otherwise the names."""
    if not isinstance(shown, Form):
        return list(shown.named)
    return [[one.text, list(one.domain.named)] for one in shown.questions]


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
            "input_counts": [view.channel.input_count for view in made.views],
            "audited": made.certificate.audited_level,
            "classes": list(made.classes),
            "addresses": list(made.addresses),
            "shown": {language: _shown(made.texts(language)) for language in LANGUAGES},
            "asked": {language: _translatable_texts(made.domain_in(language)) for language in LANGUAGES},
            "costs": [made.cost_of(place) for place in range(max(1, len(made.classes)))],
            "worst_case": number(made.worst_case),
        }

    yield described("education", unsigned_campaign())
    yield described("enrolled keys only", unsigned_campaign(enrolment="enrolled"))
    yield described("one second", unsigned_campaign(closes=OPENS + 1))
    yield described("the maximum number of periods", unsigned_campaign(closes=OPENS + 2**20, period_seconds=1))
    yield described(
        "paragraphs and other scripts",
        unsigned_campaign(question="O\u00f9\u00a0?\n\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", purpose=""),
    )
    grid = domain.Grid(0, 1_000_000, 0, 2_000_000, 500_000)
    yield described(
        "places, with a sensitive set",
        unsigned_campaign(
            domain=grid,
            notion=notions.HighLow(NAT, 8, (1, 2, 6)),
            channel=high_low(NAT, [int(x in (1, 2, 6)) for x in range(8)]),
        ),
    )
    yield described(
        "lip",
        unsigned_campaign(
            domain=domain.Buckets.of([0, "0.5", 1]), notion=notions.Lip(NAT, PRIOR), channel=LIP_TABLE,
            mechanism="lip",
        ),
    )  # fmt: skip
    yield described("two classes of people", of_classes())
    yield described("a number for two classes, with a wave for each", numbers_of_classes())
    yield described("declared priors", declared_priors())
    yield described("transcripts", transcripts())
    yield described(
        "transcripts about numbers rounded to the nearest, with a drift",
        transcripts_of(domain.NumberRange.of(0, 2), 2**10),
    )
    yield described("transcripts about buckets, without a drift", transcripts_of(domain.Buckets.of([0, 1, 2]), 0))
    yield described("sets of items", of_items())
    yield described(
        "sets of items under minid", of_items(notion=notions.MinId(2 * NAT, (NAT, 2 * NAT), DUMMIES_AS_BREAD))
    )
    yield described("sets of items under lip", of_items(notion=notions.Lip(NAT, (5, 3, 2, 1, 1))))
    yield described("sets of items with transcripts", item_transcripts())
    yield described("bits", unsigned_campaign(notion=notions.Ldp(2 * NAT), mechanism="bits", channel=FIVE_BITS))
    yield described("addresses, contact, retention, notice and translations", informed())
    yield described(
        "addresses of every form",
        unsigned_campaign(addresses=(
            "https://a", "https://xn--bcher-kva.example:65535/a/~b/c.d-e_f", "https://192.0.2.1:1", "https://[2001:db8::1]",
        )),
    )  # fmt: skip
    yield described(
        "plain http to this machine",
        unsigned_campaign(addresses=("http://localhost", "http://127.1.2.3:8000", "http://[::1]:8000/a")),
    )
    yield described(
        "classes in two languages",
        replace(
            of_classes(), language="en", translations=(Texts("de", "T", "F?", classes=("Mitglieder", "Gäste")),),
        ),
    )  # fmt: skip
    yield described("a form with German questions, labels and unit, and French questions", in_german())
    yield described("a number whose unit is in German", of_hours())
    yield described(
        "items in German",
        unsigned_campaign(
            domain=BASKET,
            language="en",
            translations=(Texts("de", "Korb", "Was ist im Korb?", labels=("Brot", "Milch", "Eier")),),
        ),
    )
    west = Texts("de", "Karte", "Wo wohnen Sie?", labels=("Westen", "Osten", "Norden"))
    yield described("districts in German", replace(at_resolutions(), language="en", translations=(west,)))
    good = seal_campaign(unsigned_campaign(), ANALYST)
    trusted = [ANALYST.public.hex()]

    def refused(name: str, data: bytes, stage: str, trust: list[str] = trusted) -> Case:
        return {"name": name, "campaign": data.hex(), "trusted": trust, "stage": stage}

    yield refused("untrusted author", good, "campaign", [STRANGER.public.hex()])
    yield refused("no trusted author", good, "campaign", [])
    yield refused("one bit of the payload flipped", good[:20] + bytes([good[20] ^ 4]) + good[21:], "signature")
    yield refused("cut short", good[:-1], "codec")
    yield refused("a byte too many", good + b"\0", "codec")
    yield refused("a text file", b"title = 'Highest education'", "envelope")
    yield refused("a report", envelope.seal(Kind.REPORT, ANALYST, encode_campaign(unsigned_campaign())), "campaign")
    yield refused("a trusted key of small order", _small_order_campaign(), "key", [(1).to_bytes(32, "little").hex()])
    too_long = encode_campaign(unsigned_campaign(channel=Table.rounded([[Fraction(1, 2000)] * 2000] * 5)))
    yield refused("above the length limit of a campaign", envelope.seal(Kind.CAMPAIGN, ANALYST, too_long), "campaign")
    fields = codec.decode(encode_campaign(unsigned_campaign()), limit=2**20)
    assert isinstance(fields, list)
    raised = Hadamard(truth_of(NAT + NAT // 1000), 5)
    payloads: list[tuple[str, bytes, str]] = [
        ("payload is not msgpack", b"\xc1", "codec"),
        ("payload with a byte too many", encode_campaign(unsigned_campaign()) + b"\0", "codec"),
        ("payload with a float", bytes.fromhex(wire([*fields[:10], 604800.0, *fields[11:]])), "codec"),
        ("payload is text", codec.encode("campaign"), "campaign"),
        ("a field missing", codec.encode(fields[:-1]), "campaign"),
        ("an unknown field", codec.encode([*fields, 0]), "campaign"),
        ("no title", _payload(title=""), "campaign"),
        ("blank title", _payload(title=" \u00a0"), "campaign"),
        ("title of two lines", _payload(title="Highest\neducation"), "campaign"),
        ("title of 201 characters", _payload(title="t" * 201), "campaign"),
        ("title as bytes", _payload(title=b"Highest education"), "campaign"),
        ("no question", _payload(question="\n"), "campaign"),
        ("question with a control character", _payload(question="What\x1b[2J?"), "campaign"),
        ("question of 2,001 characters", _payload(question="q" * 2001), "campaign"),
        ("no organisation", _payload(organisation=""), "campaign"),
        ("purpose with a right-to-left override", _payload(purpose="\u202e"), "campaign"),
        ("domain of another size", _payload(domain=["values", ["a", "b"]]), "campaign"),
        ("invalid domain", _payload(domain=["values", ["a"]]), "domain"),
        ("invalid notion", _payload(notion=["ldp", 0]), "notion"),
        ("notion of another size", _payload(notion=["lip", NAT, [1, 1], 0]), "notion"),
        ("invalid channel", _payload(channel=["hadamard", 0, 0, [1, 5]]), "channel"),
        ("channel 0.1% above its level", _payload(channel=raised.encode()), "certificate"),
        ("level a nanonat below the channel's", _payload(notion=["ldp", NAT - 1]), "certificate"),
        ("closes when it opens", _payload(closes=OPENS), "campaign"),
        ("opens before 1970", _payload(opens=-1), "campaign"),
        ("closes after 2^40", _payload(closes=2**40 + 1), "campaign"),
        ("periods of length 0", _payload(period_seconds=0), "campaign"),
        ("more periods than allowed", _payload(period_seconds=1), "campaign"),
        ("no answers", _payload(answers_per_period=0), "campaign"),
        ("4,097 answers a period", _payload(answers_per_period=4097), "campaign"),
        ("a minimum of no devices", _payload(minimum_reports=0), "campaign"),
        ("enrolment 2", _payload(enrolment=2), "campaign"),
        ("enrolment as text", _payload(enrolment="open"), "campaign"),
        ("items of another size", _payload(domain=["items", 2, 4]), "campaign"),
        *(
            (f"sets of items under {name}", _payload(of_items(), notion=notion), "campaign")
            for name, notion in (
                ("high-low", ["high-low", NAT, 5, [0]]),
                ("block", ["block", NAT, [0, 3, 1, 2]]),
                ("pairwise", ["pairwise", NAT, [[NAT * (x != y) for y in range(5)] for x in range(5)]]),
                ("geo", ["geo", NAT, 1, [], [1, 4]]),
                ("minid with a pair that has no bound", ["minid", NAT, [NAT, 2 * NAT], [0, 1, 1, 2, 0, 2], [1, 1]]),
                ("avgid with two budgets of dummies", ["avgid", 3 * NAT // 2, [NAT, 2 * NAT], [0, 4, 1, 1], []]),
            )
        ),
        *(
            (f"transcripts about {name}, with a drift", _payload(transcripts(), domain=numbers.encode()), "campaign")
            for name, numbers in (
                ("buckets", domain.Buckets.of([0, 1, 2])),
                ("numbers rounded at random", domain.NumberRange.of(0, 2, rounds_randomly=True)),
            )
        ),
        (
            "sets of items with transcripts and a drift",
            _payload(item_transcripts(), notion=["transcript-lip", NAT, [1] * 5, 1]),
            "campaign",
        ),
        (
            "sets of items under high-low in one class",
            _payload(item_classes(), notion=["classes", NAT, [["ldp", NAT], ["high-low", NAT, 5, [0]]]]),
            "campaign",
        ),
        (
            "sets of items under minid of another size",
            _payload(of_items(), notion=["minid", NAT, [NAT], [0, 4], []]),
            "notion",
        ),
        ("names of classes for a campaign without classes", _payload(classes=["members", "guests"]), "campaign"),
        ("classes as text", _payload(classes="members"), "campaign"),
        ("classes without names", _payload(of_classes(), classes=[]), "campaign"),
        ("one name for two classes", _payload(of_classes(), classes=["members"]), "campaign"),
        ("three names for two classes", _payload(of_classes(), classes=["a", "b", "c"]), "campaign"),
        ("two classes of one name", _payload(of_classes(), classes=["members", "members"]), "campaign"),
        ("class without a name", _payload(of_classes(), classes=["members", ""]), "campaign"),
        ("class with a blank at its end", _payload(of_classes(), classes=["members", "guests "]), "campaign"),
        ("class with a line break", _payload(of_classes(), classes=["members", "gu\nests"]), "campaign"),
        ("class of 201 characters", _payload(of_classes(), classes=["members", "g" * 201]), "campaign"),
        ("class as a number", _payload(of_classes(), classes=["members", 2]), "campaign"),
        ("classes in a channel for one", _payload(of_classes(), channel=LIP_TABLE.encode()), "campaign"),
        (
            "classes with a channel without blocks",
            _payload(of_classes(), channel=Hadamard(truth_of(10**6), 6).encode()),
            "certificate",
        ),
        (
            "a class above its level",
            _payload(of_classes(), notion=["classes", 2 * NAT, [["ldp", NAT - 1], ["lip", 2 * NAT, [5, 3, 2], 0]]]),
            "certificate",
        ),
        (
            "declared priors for another number of values",
            _payload(declared_priors(), notion=["own-lip", NAT, 5]),
            "notion",
        ),
        ("transcripts with two answers a period", _payload(transcripts(), answers_per_period=2), "campaign"),
        ("transcripts of 65 periods", _payload(transcripts(), period_seconds=4 * WEEK // 64), "campaign"),
        (
            "transcripts with the channel after a report",
            _payload(transcripts(), channel=notions.TranscriptPrior(NAT, PRIOR).channel_of((6, 3, 2)).encode()),
            "certificate",
        ),
        *((f"address: {name}", _payload(addresses=[text]), "campaign") for name, text in REFUSED["address"].items()),
        ("five addresses", _payload(addresses=[f"https://{host}" for host in "abcde"]), "campaign"),
        ("an address twice", _payload(addresses=["https://a", "https://b", "https://a"]), "campaign"),
        ("addresses as text", _payload(addresses="https://a"), "campaign"),
        ("an address as bytes", _payload(addresses=[b"https://a"]), "campaign"),
        ("contact of two lines", _payload(contact="a\nb"), "campaign"),
        ("contact of 201 characters", _payload(contact="c" * 201), "campaign"),
        ("retention of 2,001 characters", _payload(retention="r" * 2001), "campaign"),
        ("retention with a right-to-left override", _payload(retention="a\u200fb"), "campaign"),
        *((f"notice: {name}", _payload(notice=text), "campaign") for name, text in REFUSED["notice"].items()),
        ("an unknown goal", _payload(goal="median"), "campaign"),
        ("a goal as a number", _payload(goal=1), "campaign"),
        *((f"language {tag!r}", _payload(language=tag), "campaign") for tag in REFUSED["language"]),
        *(
            (f"invisible character in the {name}", _payload(**{name: value}), stage)
            for name, value, stage in (
                ("title", "Town\u200b", "campaign"),
                ("organisation", "Town\u00ad library", "campaign"),
                ("question", "Which\ufeff?", "campaign"),
                ("purpose", "\U000e0041", "campaign"),
                ("contact", "a\u200db", "campaign"),
                ("retention", "a\u3164", "campaign"),
                ("mechanism", "a\u2060", "campaign"),
                ("domain", ["values", ["a", "a\u061c", "c", "d", "e"]], "domain"),
            )
        ),
        ("invisible character in a class", _payload(of_classes(), classes=["a", "b\u200e"]), "campaign"),
        *(
            (f"translation of a form: {name}", _payload(of_questions(), translations=[edited]), "campaign")
            for name, edited in (
                ("two lines for three questions", ["de", "S", "Gewählt?\nBezahlt?", "", "", "", "", "", [], []]),
                ("four lines for three questions", ["de", "S", "A?\nB?\nC?\nD?", "", "", "", "", "", [], []]),
                ("a blank line", ["de", "S", "A?\n \nC?", "", "", "", "", "", [], []]),
                ("a line of 501 characters", ["de", "S", f"A?\n{501 * 'b'}\nC?", "", "", "", "", "", [], []]),
                ("labels of one question of two", ["de", "S", "A?\nB?\nC?", "", "", "", "", "", ["nein"], []]),
            )
        ),
        *(
            (f"labels of a form: {name}", _payload(in_german(), translations=[labelled(labels)]), "campaign")
            for name, labels in (
                ("without one for the unit", ["nein", "ja", "nein", "ja"]),
                ("one too many", ["nein", "ja", "nein", "ja", "Stunden", "x"]),
                ("two that are equal, of one question", ["nein", "nein", "nein", "ja", "Stunden"]),
                ("one with a semicolon", ["nein; nie", "ja", "nein", "ja", "Stunden"]),
                ("skipped, for a question that can be skipped", ["nein", "ja", "skipped", "ja", "Stunden"]),
                ("a unit of 21 characters", ["nein", "ja", "nein", "ja", 21 * "h"]),
                ("a unit with a blank at its end", ["nein", "ja", "nein", "ja", "Stunden "]),
                ("a unit that is empty", ["nein", "ja", "nein", "ja", ""]),
                ("an array for each question", [["nein", "ja"], ["nein", "ja"], ["Stunden"]]),
            )
        ),
        *(
            (
                f"names of districts: {name}",
                _payload(at_resolutions(), language="en", translations=[edited]),
                "campaign",
            )
            for name, edited in (
                ("two for three", labelled(["Westen", "Osten"])),
                ("four for three", labelled(["Westen", "Osten", "Norden", "Süden"])),
                ("two that are equal", labelled(["Westen", "Osten", "Osten"])),
            )
        ),
        (
            "two labels of numbers",
            _payload(of_hours(), translations=[labelled(["null", "eins"])]),
            "campaign",
        ),
        (
            "a unit for numbers without a unit",
            _payload(of_hours(), domain=["number", 0, 0, 4, 1, 0, 0, ""], translations=[labelled(["Stunden"])]),
            "campaign",
        ),
        *((f"translation: {name}", _payload(informed(), **changes), "campaign") for name, changes in _mistranslated()),
        (
            "declared priors with the channel of one person's prior",
            _payload(declared_priors(), channel=notions.DeclaredPrior(NAT, 4).channel_of((3, 1, 1, 1)).encode()),
            "certificate",
        ),
    ]
    for name, payload, stage in payloads:
        yield refused(name, envelope.seal(Kind.CAMPAIGN, ANALYST, payload), stage)


def _mistranslated() -> Iterator[tuple[str, dict[str, Any]]]:
    good: Any = GERMAN.encode()
    yield "a field missing", {"translations": [good[:-1]]}
    yield "a field too many", {"translations": [[*good, 0]]}
    yield "text in place of an array", {"translations": ["de"]}
    yield "not an array", {"translations": "de"}
    yield "one in the campaign's own language", {"translations": [["en", *good[1:]]]}
    yield "without a language", {"translations": [["", *good[1:]]]}
    yield "tag in upper case", {"translations": [["DE", *good[1:]]]}
    yield "of a campaign without a language", {"language": ""}
    yield "two of one language", {"translations": [good, good]}
    yield "out of order", {"translations": [["fr", *good[1:]], good]}
    yield "33 languages", {"translations": [[f"a{chr(97 + n // 26)}{chr(97 + n % 26)}", *good[1:]] for n in range(33)]}
    yield "no title", {"translations": [["de", "", *good[2:]]]}
    yield "no question", {"translations": [["de", "T", " ", *good[3:]]]}
    yield "blank organisation", {"translations": [[*good[:4], " ", *good[5:]]]}
    yield "four labels for five values", {"translations": [[*good[:8], good[8][:4], []]]}
    yield "equal labels", {"translations": [[*good[:8], ["a"] * 5, []]]}
    yield "empty label", {"translations": [[*good[:8], ["a", "b", "c", "d", ""], []]]}
    yield "label with a blank at its end", {"translations": [[*good[:8], ["a", "b", "c", "d", "e "], []]]}
    yield "label with an invisible character", {"translations": [[*good[:8], ["a", "b", "c", "d", "d\u200b"], []]]}
    yield "label as a number", {"translations": [[*good[:8], ["a", "b", "c", "d", 5], []]]}
    yield "names of classes for a campaign without classes", {"translations": [[*good[:9], ["Gäste"]]]}
    yield "notice that is not an https link", {"translations": [[*good[:7], "http://library.example", [], []]]}
    for place, name in enumerate(("title", "question", "purpose", "organisation", "contact", "retention"), 1):
        yield (
            f"{name} with an invisible character",
            {"translations": [[*good[:place], f"{good[place]}\u2064", *good[place + 1 :]]]},
        )


def _small_order_campaign() -> bytes:
    public = (1).to_bytes(32, "little")
    return codec.encode([1, 1, keys.key_id(public), encode_campaign(unsigned_campaign()), public + bytes(32)])


def closing_cases() -> Iterator[Case]:
    data, other = (seal_campaign(made, ANALYST) for made in (unsigned_campaign(), unsigned_campaign(title="Another")))
    signed = open_campaign(data, [ANALYST.public])

    def sealed(*fields: Any, by: SigningKey = ANALYST, kind: Kind = Kind.CLOSING) -> bytes:
        return envelope.seal(kind, by, bytes.fromhex(wire(list(fields))))

    for name, closes, periods in (
        ("a second before its own closing", OPENS + 4 * WEEK, 4),
        ("within a period", OPENS + WEEK + 1, 2),
        ("between two periods", OPENS + WEEK, 1),
        ("before it opens", OPENS, 0),
        ("in 1970", 0, 0),
    ):
        yield {
            "name": name,
            "campaign": data.hex(),
            "closing": seal_closing(signed, closes, ANALYST).hex(),
            "closes": closes,
            "periods": periods,
        }
    good = sealed(signed.id, OPENS + WEEK)
    forged = _forged(Kind.CLOSING, codec.encode([signed.id, OPENS + WEEK]))
    too_long = codec.encode([signed.id, 1]) + b"\0"
    refused = [
        ("at its own closing", sealed(signed.id, OPENS + 4 * WEEK + 1), "campaign"),
        ("later than its own closing", sealed(signed.id, OPENS + 5 * WEEK), "campaign"),
        ("after 2^40", sealed(signed.id, 2**40 + 1), "campaign"),
        ("before 1970", sealed(signed.id, -1), "campaign"),
        ("time as text", sealed(signed.id, "now"), "campaign"),
        ("time as a float", sealed(signed.id, 1.5), "codec"),
        ("another campaign", sealed(campaign_id(other), OPENS + WEEK), "campaign"),
        ("campaign id of 15 bytes", sealed(signed.id[:15], OPENS + WEEK), "campaign"),
        ("campaign id as text", sealed(signed.id.hex()[:16], OPENS + WEEK), "campaign"),
        ("a field missing", sealed(signed.id), "campaign"),
        ("a field too many", sealed(signed.id, OPENS + WEEK, 0), "campaign"),
        ("payload is not msgpack", envelope.seal(Kind.CLOSING, ANALYST, b"\xc1"), "codec"),
        ("payload with a byte too many", envelope.seal(Kind.CLOSING, ANALYST, too_long), "codec"),
        ("another author", sealed(signed.id, OPENS + WEEK, by=STRANGER), "envelope"),
        ("another author under this author's key id", forged, "signature"),
        ("a report", sealed(signed.id, OPENS + WEEK, kind=Kind.REPORT), "campaign"),
        ("the campaign itself", data, "campaign"),
        ("one bit of the payload flipped", good[:20] + bytes([good[20] ^ 4]) + good[21:], "signature"),
        ("cut short", good[:-1], "codec"),
        ("a byte too many", good + b"\0", "codec"),
        ("nothing", b"", "codec"),
        ("a text file", b"closed", "envelope"),
    ]  # fmt: skip
    for name, notice, stage in refused:
        yield {"name": name, "campaign": data.hex(), "closing": notice.hex(), "stage": stage}


# 7.3 Views


def at_resolutions(level: int = NAT) -> Campaign:
    """Return a campaign for a map of 3 x 4 cells, with views by cell, by square and by district."""
    districts = Districts(((0, 2), (1, 2), (0, 1), (1, 3), (2, 4)), ("West", "East", "North"))
    return unsigned_campaign(
        notion=notions.Ldp(level),
        domain=domain.Grid(0, 1_500_000, 0, 2_000_000, 500_000),
        views=(
            View(5, Identity(), Hadamard(truth_of(level), 12)),
            View(3, Coarse(2), RandomizedResponse(4, (cover_of(level, 4),))),
            View(2, districts, RandomizedResponse(3, (cover_of(level, 3),))),
        ),
    )


def of_budgets() -> Campaign:
    """Return a campaign for five values with three budgets; one view has pairs of neighbours, the other all values."""
    notion = notions.Graded.over([NAT, 2 * NAT, 2 * NAT, 3 * NAT, 3 * NAT])
    return unsigned_campaign(
        notion=notion,
        views=(
            View(1, Coarse(2), RandomizedResponse(3, (cover_of(NAT, 3),))),
            View(2, Identity(), RandomizedResponse(5, (cover_of(NAT, 5),))),
        ),
    )


def of_pairs(most: int = 4) -> Campaign:
    """Return a campaign with a matrix of levels, several of them unbounded; the view has pairs of neighbours."""
    rows = [
        [0 if x == y else -1 if abs(x - y) > 2 else NAT * min(most, 1 + min(x, y)) for y in range(5)] for x in range(5)
    ]
    notion = notions.Matrix(most * NAT, tuple(map(tuple, rows)))
    return unsigned_campaign(notion=notion, views=(View(1, Coarse(2), RandomizedResponse(3, (cover_of(NAT, 3),))),))


WITHIN_PAIRS = [
    "pairwise", NAT, [[0 if x == y else NAT if x // 2 == y // 2 else -1 for y in range(5)] for x in range(5)],
]  # fmt: skip
"""The wire form of a matrix that bounds only the values within each pair of neighbours."""


def of_questions(level: int = NAT) -> Campaign:
    """Return a campaign with a form of three questions; each device answers one or two of them."""
    questions = (
        FormQuestion("vote", "Did you vote?", domain.Values(("no", "yes"))),
        FormQuestion("paid", "What did you pay?", domain.Buckets.of([0, 5, 10])),
        FormQuestion("home", "Where do you live?", domain.Grid(0, 10**6, 0, 2 * 10**6, 10**6), skippable=True),
    )
    asked = (((0,), 2), ((0, 1), 6), ((0, 2), 6), ((1, 2), 9))
    german = Texts("de", "Stadt", "Haben Sie gewählt?\nWas haben Sie bezahlt?\nWo wohnen Sie?")
    return unsigned_campaign(
        language="en",
        translations=(german,),
        notion=notions.Ldp(level),
        domain=Form(questions),
        views=tuple(
            View(weight, QuestionsMap(places), RandomizedResponse(k, (cover_of(level, k),)))
            for weight, (places, k) in enumerate(asked, 1)
        ),
    )


def in_german(**changes: Any) -> Campaign:
    """Return a campaign with a form in which two questions share labels and one has a unit; one of its two translations
    has labels and a unit."""
    voted = domain.Values(("no", "yes"))
    questions = (
        FormQuestion("vote", "Did you vote?", voted),
        FormQuestion("paid", "Did you pay?", voted, skippable=True),
        FormQuestion("hours", "How long did you wait?", domain.NumberRange.of(0, 4, unit="hours")),
    )
    asked = "Haben Sie gewählt?\nHaben Sie bezahlt?\nWie lange haben Sie gewartet?"
    german = Texts("de", "Wahl", asked, labels=("nein", "ja", "nein", "ja", "Stunden"))
    french = Texts("fr", "Vote", "Avez-vous voté ?\nAvez-vous payé ?\nCombien de temps ?")
    views = tuple(
        View(1, QuestionsMap((place,)), RandomizedResponse(one.size, (cover_of(NAT, one.size),)))
        for place, one in enumerate(questions)
    )
    fields = {"language": "en", "translations": (german, french), "domain": Form(questions), "views": views}
    return unsigned_campaign(**{**fields, **changes})


def of_hours() -> Campaign:
    """Return a campaign for a number with a unit that is translated."""
    german = Texts("de", "Wartezeit", "Wie lange?", labels=("Stunden",))
    return unsigned_campaign(language="en", translations=(german,), domain=domain.NumberRange.of(0, 4, unit="hours"))


def labelled(labels: Any) -> list[Any]:
    """Return the wire form of a German translation of three questions with these labels and units."""
    return ["de", "S", "A?\nB?\nC?", "", "", "", "", "", labels, []]


def in_classes(*made: Campaign) -> Campaign:
    """Return a campaign with one class for each given campaign; each class has the notion and the channels of its
    campaign."""
    notion = notions.Classes.of(tuple(one.notion for one in made))
    names = ("members", "guests", "strangers")[: len(made)]
    listed = []
    for views in zip(*(one.views for one in made), strict=True):
        inner = tuple(view.channel for view in views)
        runs = tuple((block, one.input_count) for block, one in enumerate(inner, 1))
        listed.append(View(views[0].weight, views[0].map, Blocks(0, runs, inner)))
    return replace(made[0], notion=notion, views=tuple(listed), classes=names)


def _several(
    listed: list[Any], channels: list[Any] | None = None, base: Campaign | None = None, **changes: Any
) -> bytes:
    """Return the payload of a campaign with these views; by default one channel has five inputs and the other has
    three."""
    if channels is None:
        channels = [RandomizedResponse(k, (cover_of(NAT, k),)).encode() for k in (5, 3)]
    return _payload(base, channel=["views", listed, channels], **changes)


def in_districts(runs: list[int], names: Any = ()) -> bytes:
    """Return the payload of a campaign that asks some devices for the value, and the others for its district."""
    return _several([[1, ["identity"], 0], [1, ["districts", runs, list(names)], 1]])


def view_cases() -> Iterator[Case]:
    publics = [SigningKey(bytes([number] * 32)).public for number in range(12)]
    for name, made in (
        ("a map at three resolutions", at_resolutions()),
        ("budgets, in pairs of neighbours", of_budgets()),
        ("a matrix of levels, in pairs of neighbours", of_pairs()),
        ("a form, by single questions and pairs", of_questions()),
        ("a form, in two classes of two levels", in_classes(of_questions(2 * NAT), of_questions(NAT // 2))),
        ("a form, in classes of which two are equal", in_classes(*map(of_questions, (NAT, NAT, NAT + 1)))),
        ("a map at three resolutions, in two classes", in_classes(at_resolutions(), at_resolutions(2 * NAT))),
        ("budgets, in pairs of neighbours, in two equal classes", in_classes(of_budgets(), of_budgets())),
        ("matrices of levels, in pairs of neighbours, in two classes", in_classes(of_pairs(), of_pairs(2))),
        (
            "weights that sum to 2^32",
            unsigned_campaign(views=(
                View(2**32 - 1, Identity(), PLAIN), View(1, Coarse(3), RandomizedResponse(2, (cover_of(NAT, 2),))),
            )),
        ),
        (
            "many views of two channels",
            unsigned_campaign(views=tuple(
                View(1, Districts(((0, cut), (1, 5 - cut))), RandomizedResponse(2, (cover_of(level, 2),)))
                for cut in (1, 2, 3, 4) for level in (NAT, NAT // 2)
            )),
        ),
    ):  # fmt: skip
        data = seal_campaign(made, ANALYST)
        signed = open_campaign(data, [ANALYST.public])
        yield {
            "name": name,
            "campaign": data.hex(),
            "output_bits": made.output_bits,
            "audited": made.certificate.audited_level,
            "ldp": made.certificate.ldp_level,
            "worst_case": number(made.worst_case),
            "views": [
                {
                    "weight": view.weight,
                    "inputs": [view.map.input(made.domain, x) for x in range(made.domain.size)],
                    **_levels(found),
                    "draws": made.max_draws_of(place),
                    "classes": [_levels(one) for one in found.class_certificates],
                }
                for place, (view, found) in enumerate(zip(made.views, made.view_certificates, strict=True))
            ],
            "keys": [{"public": public.hex(), "view": signed.view_of(public)} for public in publics],
        }
    whole, pairs = [1, ["identity"], 0], [1, ["coarse", 2], 1]
    alone = [1, ["coarse", 2], 0]
    halves = [0, 2, 1, 1, 2, 2]
    one, three = (RandomizedResponse(k, (cover_of(NAT, k),)).encode() for k in (5, 3))
    left_out = notions.Graded.over([NAT, NAT, NAT, 2 * NAT, 2 * NAT], pairs=[(NAT, NAT), (NAT, 2 * NAT)])
    refused: list[tuple[str, bytes, str]] = [
        ("views that are not an array", _payload(channel=["views", 1, [one]]), "view"),
        ("channels that are not an array", _payload(channel=["views", [whole], 1]), "view"),
        ("a part missing", _payload(channel=["views", [whole, pairs]]), "view"),
        ("an unknown part", _payload(channel=["views", [whole, pairs], [one, three], 0]), "view"),
        ("no views", _several([], []), "view"),
        ("a view that is not an array", _several([1]), "view"),
        ("a view without a channel", _several([[1, ["identity"]], pairs]), "view"),
        ("a single view of the unchanged answer", _several([whole], [one]), "view"),
        ("a weight of 0", _several([[0, ["identity"], 0], pairs]), "view"),
        ("a weight below 0", _several([[-1, ["identity"], 0], pairs]), "view"),
        ("a weight as text", _several([["1", ["identity"], 0], pairs]), "view"),
        ("weights above 2^32", _several([[2**32, ["identity"], 0], pairs]), "view"),
        ("weights with a common factor", _several([[4, ["identity"], 0], [6, ["coarse", 2], 1]]), "view"),
        ("one view of weight 2", _several([[2, ["coarse", 2], 0]], [three]), "view"),
        ("two equal views", _several([whole, [1, ["coarse", 2], 1], [3, ["coarse", 2], 1]]), "view"),
        ("a map that is not an array", _several([whole, [1, "coarse", 1]]), "view"),
        ("an empty map", _several([whole, [1, [], 1]]), "view"),
        ("an unknown map", _several([whole, [1, ["nearest", 2], 1]]), "view"),
        ("identity with a factor", _several([[1, ["identity", 1], 0], pairs]), "view"),
        ("coarse without a factor", _several([whole, [1, ["coarse"], 1]]), "view"),
        ("coarse by 1", _several([whole, [1, ["coarse", 1], 1]]), "view"),
        ("coarse by 2^20 + 1", _several([whole, [1, ["coarse", 2**20 + 1], 1]]), "view"),
        ("a channel number outside the list", _several([whole, [1, ["coarse", 2], 2]]), "view"),
        ("a channel number below 0", _several([whole, [1, ["coarse", 2], -1]]), "view"),
        ("a channel that no view has", _several([whole], [one, three]), "view"),
        ("channels in another order", _several([pairs, whole]), "view"),
        ("a channel twice", _several([whole, [1, ["identity"], 1]], [one, one]), "view"),
        ("an invalid channel", _several([whole, pairs], [one, ["response", 3, [2**63]]]), "channel"),
        ("districts as numbers", _several([whole, [1, ["districts", 3, []], 1]]), "view"),
        ("districts without a list of names", _several([whole, [1, ["districts", halves], 1]]), "view"),
        ("half a run", in_districts([*halves, 0]), "view"),
        ("an empty run", in_districts([0, 2, 1, 0, 2, 3]), "view"),
        ("a run that is divided in two", in_districts([0, 1, 0, 1, 1, 1, 2, 2]), "view"),
        ("a district without values", in_districts([0, 2, 2, 1, 1, 2]), "view"),
        ("one district", in_districts([0, 5]), "view"),
        ("a district for each value", in_districts([0, 1, 1, 1, 2, 1, 3, 1, 4, 1]), "view"),
        ("two names for three districts", in_districts(halves, ["a", "b"]), "view"),
        ("one name twice", in_districts(halves, ["a", "b", "b"]), "view"),
        ("a district without a name", in_districts(halves, ["a", "b", ""]), "view"),
        ("a name that ends in a blank", in_districts(halves, ["a", "b", "c "]), "view"),
        ("a name of 201 characters", in_districts(halves, ["a", "b", "c" * 201]), "view"),
        ("a name with an invisible character", in_districts(halves, ["a", "b", "c\u200b"]), "view"),
        ("a name as a number", in_districts(halves, ["a", "b", 3]), "view"),
        ("a channel of other inputs than the view", _several([whole, [1, ["coarse", 3], 1]]), "campaign"),
        ("a channel of other inputs than the answer", _several([whole, pairs], [three, one]), "campaign"),
        ("coarse until one value remains", _several([whole, [1, ["coarse", 5], 1]]), "campaign"),
        ("districts of another number of values", in_districts([0, 2, 1, 1, 2, 3]), "campaign"),
        (
            "sets in pairs",
            _several([whole, pairs], domain=BASKET.encode()),
            "campaign",
        ),
        ("views under lip", _several([whole, pairs], notion=["lip", NAT, [1] * 5, 0]), "campaign"),
        ("views under high-low", _several([whole, pairs], notion=["high-low", NAT, 5, [0]]), "campaign"),
        ("views under block", _several([whole, pairs], notion=["block", NAT, [0, 3, 1, 2]]), "campaign"),
        ("one coarse view under lip", _several([alone], [three], notion=["lip", NAT, [1] * 5, 0]), "campaign"),
        ("views under own-lip", _several([whole, pairs], notion=["own-lip", NAT, 5]), "campaign"),
        (
            "views under transcript-lip",
            _several([whole, pairs], notion=["transcript-lip", NAT, [1] * 5, 0], answers_per_period=1),
            "campaign",
        ),
        ("views of classes", _several([whole, pairs], base=of_classes()), "campaign"),
        ("views under minid with a pair left out", _several([whole, pairs], notion=left_out.encode()), "campaign"),
        (
            "a notion of another number of values",
            _several([whole, pairs], notion=["minid", NAT, [NAT], [0, 6], []]),
            "notion",
        ),
        (
            "a matrix that bounds no pair of a view",
            _several([alone], [three], notion=WITHIN_PAIRS),
            "notion",
        ),
        ("the second view a nanonat above its level", _several([[1, ["identity"], 0], pairs], [
            one, RandomizedResponse(3, (cover_of(NAT, 3) - 10**11,)).encode(),
        ]), "certificate"),
        (
            "a pair of neighbours above the smaller of their budgets",
            _several([alone], [RandomizedResponse(3, (cover_of(2 * NAT, 3),)).encode()], base=of_budgets()),
            "certificate",
        ),
    ]  # fmt: skip
    for name, payload, stage in (*refused, *_no_form_views(), *_no_views_of_classes()):
        yield {"name": name, "campaign": envelope.seal(Kind.CAMPAIGN, ANALYST, payload).hex(), "stage": stage}


def _no_form_views() -> Iterator[tuple[str, bytes, str]]:
    """Yield (case name, payload, stage) of refused campaigns with a form, or with a view of questions."""
    form = of_questions()
    two, six, other, nine = (view.channel.encode() for view in form.views)
    assert six == other

    def asking(*maps: Any, channels: list[Any], **changes: Any) -> bytes:
        return _several([[1, map_, place] for place, map_ in enumerate(maps)], channels, form, **changes)

    def pair(*places: Any) -> list[Any]:
        return ["questions", list(places)]

    whole = RandomizedResponse(18, (cover_of(NAT, 18),)).encode()
    yield "no question", asking(pair(0, 1), pair(), channels=[six, nine]), "view"
    yield "three questions", asking(pair(0, 1, 2), channels=[whole]), "view"
    yield "a question twice", asking(pair(0, 1), pair(2, 2), channels=[six, nine]), "view"
    yield "questions in another order", asking(pair(0, 1), pair(2, 1), channels=[six, nine]), "view"
    yield "a question below 0", asking(pair(0, 1), pair(-1, 2), channels=[six, nine]), "view"
    yield "a question by its name", asking(pair(0, 1), pair("home"), channels=[six, nine]), "view"
    yield "questions as a number", asking(pair(0, 1), ["questions", 2], channels=[six, nine]), "view"
    yield "questions with a part too many", asking(pair(0, 1), ["questions", [1, 2], 0], channels=[six, nine]), "view"
    yield "a question that the form does not have", asking(pair(0, 1), pair(2, 3), channels=[six, nine]), "campaign"
    yield "a question in no view", asking(pair(0), pair(0, 1), channels=[two, six]), "campaign"
    yield (
        "a channel of other inputs than the questions",
        asking(pair(0, 1), pair(1, 2), channels=[six, two]),
        "campaign",
    )
    yield "a form with a channel of the whole answer and no views", _payload(form, channel=whole), "campaign"
    yield "a form with a view of the whole answer", asking(pair(0, 1), ["identity"], channels=[six, whole]), "campaign"
    yield "a form with a coarse view", asking(pair(0, 1), ["coarse", 2], channels=[six, nine]), "campaign"
    yield (
        "a form with a view of districts",
        asking(pair(0, 1), ["districts", [0, 9, 1, 9], []], channels=[six, two]),
        "campaign",
    )
    yield "a view of questions of a campaign without a form", _several([[1, pair(0), 0]], [PLAIN.encode()]), "campaign"
    yield (
        "a form under minid",
        asking(pair(0, 1), pair(1, 2), channels=[six, nine], notion=["minid", NAT, [NAT], [0, 18], []]),
        "campaign",
    )
    yield (
        "a form under lip",
        asking(pair(0, 1), pair(1, 2), channels=[six, nine], notion=["lip", NAT, [1] * 18, 0]),
        "campaign",
    )
    broad = [[f"q{place}", "How many?", ["number", 0, 0, 1024, 1, 0, 0, ""], 0] for place in range(2)]
    yield "a pair of more than 2^20 inputs", asking(pair(0, 1), channels=[six], domain=["form", broad]), "campaign"
    loud = RandomizedResponse(9, (cover_of(NAT, 9) - 10**11,)).encode()
    yield (
        "a pair of questions above its level",
        asking(pair(0, 1), pair(1, 2), channels=[six, loud]),
        "certificate",
    )


def _no_views_of_classes() -> Iterator[tuple[str, bytes, str]]:
    """Yield (case name, payload, stage) of refused campaigns of two classes with views."""
    made = in_classes(of_questions(), of_questions(NAT // 2))
    two, six, _, nine = (view.channel.encode() for view in made.views)
    listed = [[view.weight, view.map.encode(), place] for view, place in zip(made.views, (0, 1, 1, 2), strict=True)]

    def asking(*channels: Any, **changes: Any) -> bytes:
        return _several(listed, list(channels), made, **changes)

    def blocks(runs: list[int], *inner: Any) -> list[Any]:
        return ["blocks", bytes(16), runs, list(inner), list(range(len(inner)))]

    loud, quiet = (RandomizedResponse(6, (cover_of(level, 6),)).encode() for level in (NAT, NAT // 2))
    alone = RandomizedResponse(12, (cover_of(NAT // 2, 12),)).encode()
    yield "a view without classes, and views with classes", asking(two, loud, nine), "campaign"
    yield "a view with one channel over all classes", asking(two, alone, nine), "certificate"
    backwards = blocks([1, 6, 2, 6], quiet, loud)
    yield "a view with the classes in reverse order", asking(two, backwards, nine), "certificate"
    yield (
        "a view with the second class at the level of the first",
        asking(two, ["blocks", bytes(16), [1, 6, 2, 6], [loud], [0, 0]], nine),
        "certificate",
    )
    yield "a view with interleaved classes", asking(two, blocks([1, 3, 2, 6, 1, 3], loud, quiet), nine), "certificate"
    three, more = RandomizedResponse(3, (cover_of(NAT // 2, 3),)), RandomizedResponse(9, (cover_of(NAT, 9),))
    yield (
        "a view whose first class has more inputs",
        asking(two, blocks([1, 9, 2, 3], more.encode(), three.encode()), nine),
        "certificate",
    )
    under_minid = ["classes", NAT, [["ldp", NAT], ["minid", NAT // 2, [NAT // 2], [0, 54], []]]]
    yield "a form with a class under minid", asking(two, six, nine, notion=under_minid), "campaign"
    under_lip = ["classes", NAT, [["ldp", NAT], ["lip", NAT // 2, [1] * 54, 0]]]
    yield "a form with a class under lip", asking(two, six, nine, notion=under_lip), "campaign"
    pairs = in_classes(of_budgets(), of_budgets())
    of_six = [["minid", NAT, [NAT], [0, 6], []], ["minid", NAT, [NAT], [0, 6], []]]
    yield "classes of another number of values", _payload(pairs, notion=["classes", NAT, of_six]), "notion"
    yield "classes that bound no pair of a view", _no_bound_in_a_class(), "notion"


def _no_bound_in_a_class() -> bytes:
    """Return the payload of a campaign whose second class bounds only the values within each pair of neighbours."""
    first = of_pairs().notion
    changed = ["classes", first.level, [first.encode(), WITHIN_PAIRS]]
    return _payload(in_classes(of_pairs(), of_pairs(2)), notion=changed)


# 8. Reports and enrolments


def report_cases() -> Iterator[Case]:
    data = seal_campaign(unsigned_campaign(), ANALYST)
    campaign, made = campaign_id(data), unsigned_campaign()
    key = SigningKey.for_campaign(DEVICE_SECRET, campaign)

    def sent(name: str, terms_: bytes, by: SigningKey, report: Report, outputs: list[int]) -> Case:
        return {
            "name": name,
            "campaign": terms_.hex(),
            "report": report.seal(by).hex(),
            "public": by.public.hex(),
            "period": report.period,
            "slot": report.slot,
            "outputs": outputs,
        }

    def refused(name: str, terms_: bytes, by: SigningKey, payload: bytes, stage: str = "report") -> Case:
        sealed = envelope.seal(Kind.REPORT, by, payload)
        return {"name": name, "campaign": terms_.hex(), "report": sealed.hex(), "public": by.public.hex(),
                "stage": stage}  # fmt: skip

    for name, period, slot, outputs in (
        ("one output", 0, 0, [5]),
        ("both outputs of the last period", 4, 0, [7, 0]),
        ("the second slot", 2, 1, [3]),
    ):
        yield sent(name, data, key, Report.of(campaign, made, period, slot, outputs), outputs)
    sets = seal_campaign(of_sets(), ANALYST)
    for name, outputs in (("a word with two bits set", [0b01010]), ("two words", [0b11000, 0b00011])):
        yield sent(name, sets, key, Report.of(campaign_id(sets), of_sets(), 0, 0, outputs), outputs)
    coarse = seal_campaign(at_resolutions(), ANALYST)
    views, devices = open_campaign(coarse, [ANALYST.public]), {}
    for number_ in range(20):
        device = SigningKey(bytes([number_] * 32))
        devices.setdefault(views.view_of(device.public), device)
    for view, outputs in ((0, [15]), (1, [3]), (2, [2, 0])):
        name = f"a report of the view of {views.campaign.views[view].channel.input_count} inputs"
        yield sent(name, coarse, devices[view], Report.of(views.id, views.campaign, 0, 0, outputs, view), outputs)
    for view, output in ((1, 4), (2, 3)):
        name = f"an output of a wider view than that of {views.campaign.views[view].channel.input_count} inputs"
        yield refused(name, coarse, devices[view], codec.encode([views.id, 0, 0, 1, pack([output], 4)]))
    narrow = codec.encode([views.id, 0, 0, 3, pack([3, 3, 3], 2)])
    yield refused("an output in the width of its own view", coarse, devices[1], narrow)
    for bits, outputs in (
        (1, [1, 0, 1]), (3, [1, 2, 3, 4, 5]), (8, [255, 0]), (16, [43_749]), (21, [2**20, 1, 2]), (50, [2**49 + 1, 3]),
    ):  # fmt: skip
        yield {
            "name": f"{bits}-bit outputs, packed",
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
        yield refused(name, data, key, bytes.fromhex(wire(value)), stage)
    wide = seal_campaign(replace(made, views=plain_views(RandomizedResponse(5, (cover_of(NAT, 5),)))), ANALYST)
    foreign = codec.encode([campaign_id(wide), 0, 0, 1, pack([5], 3)])
    yield refused("an output the channel does not have", wide, key, foreign)
    for name, outputs, bits in (
        ("a word with one bit too few set", [0b01000], 5),
        ("a word with one bit too many set", [0b01110], 5),
        ("a word with no bit set", [0], 5),
        ("a valid word and an invalid one", [0b11000, 0b11100], 5),
        ("a word of six bits", [0b000011], 6),
        ("the number of a set in place of its word", [8], 4),
    ):
        yield refused(name, sets, key, codec.encode([campaign_id(sets), 0, 0, len(outputs), pack(outputs, bits)]))


def _own_channel(made: Campaign, prior: tuple[int, ...], level: int) -> Channel:
    """Return the channel of a device that declares ``prior`` and a level in a campaign for declared priors."""
    if not isinstance(made.notion, notions.DeclaredPrior):
        raise TypeError("expected a campaign for declared priors, not one with another notion")
    return made.notion.channel_of(prior, made.channel, level)


def enrolment_cases() -> Iterator[Case]:
    made = plain_campaign, own_campaign, offering_campaign = unsigned_campaign(), declared_priors(), offering()
    plain_data, own_data, offering_data = (seal_campaign(one, ANALYST) for one in made)
    key, own_key, offering_key = (
        SigningKey.for_campaign(DEVICE_SECRET, campaign_id(data)) for data in (plain_data, own_data, offering_data)
    )
    own, offers = (own_campaign, own_data, own_key), (offering_campaign, offering_data, offering_key)
    most = own_campaign.notion.level - 1
    for name, (one, data, by), prior, level in (
        ("a device without a prior", (plain_campaign, plain_data, key), None, 0),
        ("a device declares a prior", own, (1, 50, 7, 1), 0),
        ("a declared prior of weights that sum to 2^20", own, (2**20 - 3, 1, 1, 1), 0),
        ("a uniform declared prior", own, (1, 1, 1, 1), 0),
        ("a prior under which the offered channel has the larger gain", offers, TWO_LIKELY, 0),
        ("a prior under which the response has the larger gain", offers, FALLING, 0),
        ("a declared prior with the lowest level", own, (1, 50, 7, 1), exact.MIN_LEVEL),
        ("a declared prior with a level a nanonat below the campaign's", own, (1, 50, 7, 1), most),
        ("a level below that of the offered channel, which would have the larger gain", offers, TWO_LIKELY, NAT // 2),
    ):
        yield {
            "name": name,
            "enrolment": Enrolment(campaign_id(data), by.public, prior, level).seal(by).hex(),
            "campaign": data.hex(),
            "campaign_id": campaign_id(data).hex(),
            "public": by.public.hex(),
            "prior": None if prior is None else list(prior),
            "level": level,
            "channel": None if prior is None else codec.encode(_own_channel(one, prior, level).encode()).hex(),
        }
    longest = (2**12 - 1, 2**12 + 1) * 128
    yield {
        "name": "a declared prior of the most values",
        "enrolment": Enrolment(bytes(16), key.public, longest).seal(key).hex(),
        "campaign_id": bytes(16).hex(),
        "public": key.public.hex(),
        "prior": list(longest),
        "level": 0,
    }
    identity = (1).to_bytes(32, "little")
    campaign = campaign_id(plain_data)

    def sealed(value: Any, kind: Kind = Kind.ENROLMENT, by: SigningKey = key) -> bytes:
        return envelope.seal(kind, by, bytes.fromhex(wire(value)))

    def declaring(prior: Any) -> bytes:
        return sealed([campaign_id(own_data), own_key.public, prior], by=own_key)

    good = Enrolment(campaign, key.public).seal(key)
    refused = [
        ("the key of another device", sealed([campaign, STRANGER.public]), "envelope"),
        ("a key of 31 bytes", sealed([campaign, key.public[:31]]), "report"),
        ("campaign id of 17 bytes", sealed([campaign + b"\0", key.public]), "report"),
        ("a field missing", sealed([campaign]), "report"),
        ("an unknown field", sealed([campaign, key.public, [1, 2], 0]), "report"),
        ("a report", sealed([campaign, key.public], Kind.REPORT), "report"),
        ("not msgpack", envelope.seal(Kind.ENROLMENT, key, b"\xc1"), "codec"),
        ("altered", flipped(good), "signature"),
        (
            "a key of small order",
            codec.encode([1, 2, keys.key_id(identity), codec.encode([campaign, identity]), identity + bytes(32)]),
            "key",
        ),
        ("a declared prior as an integer", declaring(4), "report"),
        ("a declared prior of no weights", declaring([]), "report"),
        ("a declared prior of one value", declaring([1]), "report"),
        ("a declared prior of 257 values", declaring([1] * 257), "report"),
        ("a declared prior with a weight of zero", declaring([1, 1, 1, 0]), "report"),
        ("a declared prior with a negative weight", declaring([1, 1, 1, -1]), "report"),
        ("a declared prior with a weight as text", declaring([1, 1, 1, "1"]), "report"),
        ("a declared prior of weights that sum to 2^20 + 1", declaring([2**20 - 2, 1, 1, 1]), "report"),
        ("a declared prior with a factor in common", declaring([2, 4, 6, 8]), "report"),
        ("a declared prior with a float", declaring([1, 1, 1, 0.5]), "codec"),
        ("a declared prior alone in an array", declaring([[1, 1, 1, 2]]), "report"),
        ("a declared prior with a level of zero", declaring([[1, 1, 1, 2], 0]), "report"),
        ("a declared prior with a level below the lowest", declaring([[1, 1, 1, 2], exact.MIN_LEVEL - 1]), "report"),
        ("a declared prior with two levels", declaring([[1, 1, 1, 2], NAT // 2, NAT // 2]), "report"),
        ("a declared prior with a factor in common and a level", declaring([[2, 2, 2, 4], NAT // 2]), "report"),
        ("a level before the prior", declaring([NAT // 2, [1, 1, 1, 2]]), "report"),
        (
            "an enrolment above the length limit",
            bytes.fromhex(wire([1, 2, key.id, codec.encode([campaign, key.public, [2**12] * 330]), bytes(64)])),
            "envelope",
        ),
    ]
    for name, data, stage in refused:
        yield {"name": name, "enrolment": data.hex(), "stage": stage}
    for name, data, campaign_data in (
        ("a prior in a campaign without declared priors", sealed([campaign, key.public, [1, 1, 1, 1, 2]]), plain_data),
        (
            "no prior in a campaign for declared priors",
            sealed([campaign_id(own_data), own_key.public], by=own_key),
            own_data,
        ),
        ("a declared prior of three values for a campaign of four", declaring([1, 2, 3]), own_data),
        ("the campaign's level as a personal level", declaring([[1, 1, 1, 2], most + 1]), own_data),
        ("a level above the campaign's", declaring([[1, 1, 1, 2], most + 2]), own_data),
        ("a declared prior of five values for a campaign of four", declaring([1, 2, 3, 4, 5]), own_data),
    ):
        yield {"name": name, "enrolment": data.hex(), "campaign": campaign_data.hex(), "stage": "report"}


# 9. Devices


def answer_cases() -> Iterator[Case]:
    """Yield cases of a device in a campaign, from its secret and its random bytes to its envelopes."""
    numbers = domain.NumberRange.of(0, 100, 25, rounds_randomly=True, clamps=True, unit="EUR")
    items = domain.Items(2, ("tea", "coffee", "cocoa"))
    secrets = [bytes([number_] * 32) for number_ in range(1, 4)]
    lives: list[tuple[str, Campaign, bytes, int | None, tuple[int, ...] | None, list[tuple[int, str]]]] = [
        (
            "Hadamard response",
            unsigned_campaign(),
            DEVICE_SECRET,
            None,
            None,
            [(0, "secondary"), (0, "none"), (2, "master")],
        ),
        (
            "a number",
            unsigned_campaign(domain=numbers),
            DEVICE_SECRET,
            None,
            None,
            [(0, "30"), (1, "1e3"), (3, "-0.5")],
        ),
        ("a set of items", unsigned_campaign(domain=items), DEVICE_SECRET, None, None, [(0, "cocoa; tea"), (4, "")]),
        ("subset selection", of_sets(), DEVICE_SECRET, None, None, [(0, "primary"), (1, "bachelor")]),
        ("triples", unsigned_campaign(triples(5, NAT)), DEVICE_SECRET, None, None, [(0, "none"), (1, "master")]),
        ("the first of two classes", of_classes(), DEVICE_SECRET, 0, None, [(0, "bicycle")]),
        ("the second of two classes", of_classes(), DEVICE_SECRET, 1, None, [(0, "on foot")]),
        ("a declared prior", declared_priors(), DEVICE_SECRET, None, (1, 50, 7, 1), [(0, "B"), (1, "0")]),
        ("a declared prior, and the offered channel", offering(), DEVICE_SECRET, None, TWO_LIKELY, [(0, "C")]),
        ("a declared prior, and the rule's channel", offering(), DEVICE_SECRET, None, FALLING, [(0, "C")]),
        ("a transcript", transcripts(), DEVICE_SECRET, None, None, [(0, "well"), (1, "well"), (3, "unwell")]),
        *(("a map at three resolutions", at_resolutions(), secret, None, None, [(0, "1.2,0.4")]) for secret in secrets),
        ("budgets, in pairs of neighbours", of_budgets(), DEVICE_SECRET, None, None, [(0, "primary")]),
    ]
    form = {0: "vote=yes", 1: "paid=7; vote=no", 2: "vote=yes; home=skipped", 3: "home=0.5,0.5; paid=5"}
    signed = open_campaign(seal_campaign(of_questions(), ANALYST), [ANALYST.public])
    for secret in secrets:
        view = signed.view_of(SigningKey.for_campaign(secret, signed.id).public)
        lives.append(("questions of a form", of_questions(), secret, None, None, [(1, form[view])]))
    both = in_classes(of_questions(2 * NAT), of_questions(NAT // 2))
    signed = open_campaign(seal_campaign(both, ANALYST), [ANALYST.public])
    for number_, secret in enumerate(secrets):
        view = signed.view_of(SigningKey.for_campaign(secret, signed.id).public)
        lives.append(("a form in two classes", both, secret, number_ % 2, None, [(1, form[view])]))
    map_ = in_classes(at_resolutions(), at_resolutions(2 * NAT))
    lives.append(("a map in two classes", map_, DEVICE_SECRET, 1, None, [(0, "1.2,0.4"), (2, "0.2,0.4")]))
    for place, (name, made, secret, class_, prior, answers) in enumerate(lives):
        yield _life(f"{name}, device {place}", made, secret, class_, prior, answers)
    weeks = list(enumerate(declared_priors().domain.label(x) for x in range(2)))
    yield _life("a level of one's own", declared_priors(), DEVICE_SECRET, None, (4, 3, 2, 1), weeks, NAT // 2)


def _life(
    name: str,
    made: Campaign,
    secret: bytes,
    class_: int | None,
    prior: tuple[int, ...] | None,
    answers: list[tuple[int, str]],
    level: int = 0,
) -> Case:
    """Return the case of one device that gives each answer, as (period, text), once."""
    data = seal_campaign(made, ANALYST)
    signed = open_campaign(data, [ANALYST.public])
    key = SigningKey.for_campaign(secret, signed.id)
    place = signed.view_of(key.public)
    view, proved = made.views[place], made.view_certificates[place]
    dither = hashlib.sha256(b"dither" + name.encode()).digest()[: domain.DITHER_BYTES]
    given: list[Case] = []
    earlier: list[tuple[int, int]] = []
    for number_, (period, text) in enumerate(answers):
        rand = hashlib.shake_128(f"{name} {number_}".encode()).digest(view.channel.rand_bytes)
        channel, cost, notion = view.channel, proved.cost, made.notion
        if isinstance(notion, notions.DeclaredPrior) and prior is not None:
            cost = notion.certificate_of(prior, channel, level).cost
            channel = notion.channel_of(prior, channel, level)
        if isinstance(notion, notions.TranscriptPrior):
            channel = notion.channel_of(notion.prior_after(earlier, period))
        if class_ is not None:
            cost = proved.class_certificates[class_].cost
        x = view.map.input(made.domain, view.map.index(made.domain, made.domain.parse(text), dither))
        x += (class_ or 0) * view.map.input_count(made.domain)
        output = channel.sample(x, rand[: channel.rand_bytes])
        earlier.append((period, output))
        before = number_ if made.transcript else sum(one["period"] == period for one in given)
        report = Report.of(signed.id, made, period, before, [output], place)
        given.append({
            "period": period,
            "slot": before,
            "answer": text,
            "rand": rand.hex(),
            "input": x,
            "output": str(output),
            "cost": cost,
            "report": report.seal(key).hex(),
        })  # fmt: skip
    return {
        "name": name,
        "campaign": data.hex(),
        "device_secret": secret.hex(),
        "class": class_,
        "prior": None if prior is None else list(prior),
        "level": level,
        "dither": dither.hex(),
        "public": key.public.hex(),
        "view": place,
        "enrolment": Enrolment(signed.id, key.public, prior, level).seal(key).hex(),
        "answers": given,
    }


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
    "closing": ("7.2", closing_cases),
    "view": ("7.3", view_cases),
    "link": ("7.4", link_cases),
    "report": ("8", report_cases),
    "enrolment": ("8.3", enrolment_cases),
    "answer": ("9", answer_cases),
}


def written() -> dict[str, str]:
    """Return the text of every vector file, by the file's name."""
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
