"""The browser's core in node: every vector gives its stated result, or is refused at its stated stage.

One node process reads all cases of all topics and reports the faults of each.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
import shutil
import subprocess
from fractions import Fraction
from operator import ge, sub
from pathlib import Path
from typing import Any

import pytest

from edge_sdk.disclosure.declaration import posterior_ranges
from protocol import channels, codec, domain, exact, notions, personal
from protocol.channels import Bits, Blocks, GradedProjective, Noise, SubsetSelection, Table, Windows
from protocol.channels.blocks.channel import INNER, largest_weight
from protocol.channels.windows.arrangement import WindowType
from protocol.errors import BadData, NotInDomain
from tests.families import CHANNELS
from tests.protocol.test_effort import SMALL
from tests.vectors import generate

HERE = Path(__file__).parent
VECTORS = HERE.parent / "vectors"
WEB = HERE.parent.parent / "edge_sdk" / "web"
NODE = shutil.which("node")
Case = dict[str, Any]

pytestmark = pytest.mark.skipif(NODE is None, reason="needs node")


def of_a_browser(topic: str, case: Case) -> bool:
    """Return whether a case applies to a browser, which has no key files (SPEC 2.3)."""
    return topic != "keys" or "public" in case


def read(topic: str) -> list[Case]:
    cases: list[Case] = json.loads((VECTORS / f"{topic}.json").read_text(encoding="utf-8"))["cases"]
    return [case for case in cases if of_a_browser(topic, case)]


# A device in a browser reads no batch, which is for aggregators, and no link, which the browser opens itself.
ELSEWHERE = ("batch", "link")
TOPICS = (
    "codec", "level", "keys", "envelope", "domain", "channel", "certificate", "view", "campaign", "closing", "report",
    "enrolment", "answer",
)  # fmt: skip
CASES = {topic: read(topic) for topic in TOPICS}


def run(given: object, script: Path = HERE / "node.mjs") -> Any:
    """Return the output of a script for the cases: the faults of each case."""
    assert NODE is not None
    done = subprocess.run(
        [NODE, script], input=json.dumps(given), capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_topic_is_forgotten() -> None:
    """Every file of vectors is used by these tests or is in the list of those that do not apply to a browser."""
    found = {path.stem for path in VECTORS.glob("*.json")} - {"wycheproof_ed25519"}
    assert found == {*TOPICS, *ELSEWHERE}


@pytest.fixture(scope="module")
def faults() -> dict[str, list[str | None]]:
    found: dict[str, list[str | None]] = run(CASES | {"author": generate.ANALYST.public.hex()})
    return found


@pytest.mark.parametrize("topic", TOPICS)
def test_every_vector_holds(topic: str, faults: dict[str, list[str | None]]) -> None:
    """Each case of a topic gives its stated result, or is refused at its stated stage; the assertion lists all cases
    that do not."""
    cases = zip(CASES[topic], faults[topic], strict=True)
    assert [(case["name"], fault) for case, fault in cases if fault is not None] == []


def wycheproof() -> list[Case]:
    """Return Wycheproof's Ed25519 cases in the form of the key vectors."""
    groups = json.loads((VECTORS / "wycheproof_ed25519.json").read_text(encoding="utf-8"))["testGroups"]
    return [
        {"public": group["publicKey"]["pk"], "message": test["msg"], "signature": test["sig"]}
        | ({} if test["result"] == "valid" else {"stage": "signature"})
        for group in groups
        for test in group["tests"]
    ]


def test_webcrypto_gives_the_verdict_of_every_wycheproof_case() -> None:
    """WebCrypto after the byte checks of SPEC 2.1 gives Wycheproof's verdict on all its 151 Ed25519 cases."""
    cases = wycheproof()
    assert len(cases) == 151
    assert [fault for fault in run({"keys": cases})["keys"] if fault] == []


def test_a_flipped_bit_is_refused() -> None:
    """With any one of about 3,000 bits flipped, a report or a campaign does not open."""
    report = next(case for case in CASES["report"] if "report" in case and "stage" not in case)
    cases: list[Case] = [{"data": report["report"], "public": report["public"], "campaign": report["campaign"]}]
    cases.append({"data": report["campaign"]})
    assert run({"author": generate.ANALYST.public.hex(), "flipped": cases})["flipped"] == [None, None]


def levels_of(certificate: notions.Certificate) -> Case:
    """Return a certificate as the device in the browser states it."""
    return {
        "declared": certificate.declared_level,
        "audited": certificate.audited_level,
        "ldp": certificate.ldp_level,
        "cost": certificate.cost,
        "ball": certificate.ball_level,
    }


def certificate_case(notion: notions.Notion, channel: channels.Channel) -> Case:
    """Return a case with the levels that Python certifies, or the stage at which it refuses the channel."""
    case = {"notion": codec.encode(notion.encode()).hex(), "channel": codec.encode(channel.encode()).hex()}
    try:
        return case | levels_of(notions.certify(channel, notion))
    except BadData as error:
        return case | {"stage": error.stage}


def test_audits_are_those_of_python() -> None:
    """For each family and notion, a channel that is costly to audit has the same levels, steps and stored cells as
    in Python."""
    cases = []
    for notion, channel in SMALL.values():
        case = certificate_case(notion, channel)
        cases.append(case | {"steps": notion.certificate_steps(channel), "held": channel.numbers_held})
    found = run({"certificate": cases})["certificate"]
    assert {name: fault for name, fault in zip(SMALL, found, strict=True) if fault} == {}


def test_audits_of_blocks_of_every_family_are_those_of_python() -> None:
    """For each family that a block may have, two blocks under block LDP, and one block with a cover for the open inputs
    under high-low LDP, have the same levels as in Python."""
    cases, families, level = [], set(), 20 * exact.NANONATS
    for inner in CHANNELS.values():
        if not isinstance(inner, tuple(INNER.values())):
            continue
        families.add(type(inner))
        k = inner.input_count
        runs = ((1, k), (2, k))
        cases.append(certificate_case(notions.Block(level, ((0, k), (1, k))), Blocks(0, runs, (inner, inner))))
        if not isinstance(inner, GradedProjective):
            cover = -(-(largest_weight(inner) << exact.EXP_BITS) // exact.exp_lower(2 * exact.NANONATS))
            notion = notions.HighLow(level, k + 2, tuple(range(k)))
            cases.append(certificate_case(notion, Blocks(cover, ((1, k), (0, 2)), (inner,))))
    assert len(families) > 4
    assert any("stage" not in case for case in cases)
    assert [fault for fault in run({"certificate": cases})["certificate"] if fault] == []


def test_draws_are_those_of_python() -> None:
    """For each channel of the vectors, 30 draws from seeded bytes equal Python's; the bytes of every third draw
    begin with zeros or with 255s."""
    chance = random.Random(1)
    cases = []
    for vector in CASES["channel"]:
        if "stage" in vector:
            continue
        channel = channels.decode(codec.decode(bytes.fromhex(vector["wire"]), limit=2**22))
        draws = []
        for number in range(30):
            x, rand = chance.randrange(channel.input_count), chance.randbytes(channel.rand_bytes)
            if number % 3 == 0:
                at = chance.randrange(len(rand) + 1)
                rand = chance.choice((b"\0", b"\xff")) * at + rand[at:]
            draws.append({"input": x, "rand": rand.hex(), "output": str(channel.sample(x, rand))})
        cases.append({"wire": vector["wire"], "draws": draws})
    assert len(cases) > 50
    assert [fault for fault in run({"draw": cases})["draw"] if fault] == []


def test_choices_are_those_of_python() -> None:
    """500 choices of a class by its prior, and 500 of a declared prior, equal Python's for seeded histories and random
    bytes.

    Many of the choices are ties.
    """
    chance = random.Random(4)
    cases = []
    for number in range(1000):
        k, level = chance.randrange(2, 7), chance.randrange(10**6, 4 * 10**9)
        priors = [[chance.randrange(1, 5) for _ in range(k)] for _ in range(chance.randrange(2, 6))]
        listed = priors if number % 2 else personal.candidate_priors(k)
        counts = [chance.choice((0, 0, 1, 2, 10**15)) for _ in range(k)]
        rand = chance.randbytes(8)
        place = personal.choice_channel(len(listed), level).sample(personal.nearest_prior(counts, listed), rand)
        case = {"counts": counts, "level": level, "rand": rand.hex(), "place": place}
        cases.append(case | ({"priors": priors} if number % 2 else {}))
    assert len({case["place"] for case in cases}) > 5
    assert [fault for fault in run({"choice": cases})["choice"] if fault] == []


def test_answers_become_the_inputs_of_python() -> None:
    """Seeded random answers (numbers in every spelling, days, places and sets) become the same inputs as in Python, or
    are refused by both."""
    chance = random.Random(2)

    def numeral() -> str:
        digits = "".join(chance.choices("0123456789", k=chance.randrange(1, 5)))
        point = chance.choice(("", ".", "." + str(chance.randrange(1000)), "e1", "E-2", "e+01", "e1000", "x"))
        return chance.choice(("", "", "-", "+", "--")) + digits + point + chance.choice(("", " ", "\n", "\u3000"))

    def day() -> str:
        return f"{chance.randrange(2023, 2026)}-{chance.randrange(14):02}-{chance.randrange(33):02}"

    def place() -> str:
        return f"{chance.randrange(-110, 111) / 100}, {chance.randrange(-5, 1000)}e-2"

    asked: list[tuple[domain.Domain, Any]] = [
        (domain.NumberRange.of(0, 10, clamps=True), lambda: "9" * chance.randrange(395, 406)),
        (domain.Buckets.of(["-3.5", 0, "0.25", 100, 9999]), numeral),
        (domain.NumberRange.of("-5", "995.5", "0.5"), numeral),
        (domain.NumberRange.of(0, 10_000, 8, rounds_randomly=True, clamps=True), numeral),
        (domain.Dates.of("2024-01-31", "2024-12-31", 5), day),
        (domain.Dates.of("2024-02-29", "2024-12-31", 306, clamps=True), day),
        (domain.Grid(-(10**6), 10**6, 0, 9 * 10**6, 250_000), place),
        (domain.Items(3, 7), lambda: ";".join(chance.choices("1234567890", k=chance.randrange(6)))),
    ]
    cases = []
    for one, spelled in asked:
        answers = []
        for _ in range(300):
            text, dither = spelled(), chance.randbytes(8)
            try:
                x = one.index(one.parse(text), dither)
            except NotInDomain:
                x = None
            answers.append({"answer": text, "dither": dither.hex(), "input": x})
        assert sum(answer["input"] is not None for answer in answers) > 30
        cases.append({"wire": codec.encode(one.encode()).hex(), "answers": answers})
    assert [fault for fault in run({"input": cases})["input"] if fault] == []


def test_sort_keys_are_compared_with_all_their_bits() -> None:
    """Sort keys of 64 bits are compared with all their bits: in order 126 of 4,000 arcs two keys differ only in their
    lower halves, and the key of the later input is smaller."""
    keys = hashlib.shake_128(b"halftruth windows order" + (126).to_bytes(4, "big")).digest(8 * 4000)
    early, late = (int.from_bytes(keys[8 * x : 8 * x + 8], "big") for x in (934, 3083))
    assert late < early
    assert late >> 32 == early >> 32
    weight = 2**48
    channel = Windows((1,) * 4000, 8000, 128, (), (), (WindowType(1, weight, weight // 2, 0, ()),))
    rand = bytes(16) + bytes([126])
    draws = [{"input": x, "rand": rand.hex(), "output": str(channel.sample(x, rand))} for x in (934, 3083)]
    assert run({"draw": [{"wire": codec.encode(channel.encode()).hex(), "draws": draws}]})["draw"] == [None]


def nearly_alike(total: int) -> tuple[int, int, int]:
    """Return weights with a + 2 b + 2 c = ``total`` for which a / b is within 1 nat and (b + c) / c, slightly
    larger, is above."""
    bound, one, low, high = exact.exp_lower(exact.NANONATS), 1 << exact.EXP_BITS, 1, total // 2

    def weights(least: int) -> tuple[int, int, int]:
        middle = least * (bound - one) // one + 1
        return total - 2 * middle - 2 * least, middle, least

    while high - low > 1:
        half = (low + high) // 2
        kept = exact.satisfies(*weights(half)[:2], exact.NANONATS)
        low, high = (low, half) if kept else (half, high)
    a, b, c = weights(high)
    assert exact.level_of(a, b) == exact.NANONATS
    assert exact.level_of(b + c, c) == exact.NANONATS + 1
    return a, b, c


def test_ratios_that_are_equal_as_floats_are_compared_exactly() -> None:
    """Two ratios that are equal as floats are compared exactly, both for steps on a line and for cells of a table."""
    a, b, c = nearly_alike(2**60)
    table = Table(((a, b + c, 2**62 - a - b - c), (b, c, 2**62 - b - c)))
    cases = []
    for channel, points in ((Noise(1, 3, nearly_alike(2**62)), 3), (table, 2)):
        notion = notions.Geo.between(2 * exact.NANONATS, 1, [0], range(points))
        found = notions.certify(channel, notion)
        assert found.audited_level == exact.NANONATS + 1
        case = {"notion": codec.encode(notion.encode()).hex(), "channel": codec.encode(channel.encode()).hex()}
        cases.append(case | levels_of(found))
    assert run({"certificate": cases})["certificate"] == [None, None]


def test_no_report_discloses_more_than_the_page_shows(tmp_path: Path) -> None:
    """For every channel of few outputs, the highest probability of an answer after a report is never below that of
    brute force, and equals it for tables of weights and independent bits. Among the channels are bits that only one
    answer sets (b = 0), and bits of more input classes than a ball of priors allows."""
    script = tmp_path / "reveals.mjs"
    script.write_text(
        f"""import {{ text }} from "node:stream/consumers";
        import {{ channelFrom }} from "{(WEB / "channels" / "index.js").as_uri()}";
        import {{ decode }} from "{(WEB / "codec.js").as_uri()}";
        import {{ revealed }} from "{(WEB / "disclosure.js").as_uri()}";
        const found = JSON.parse(await text(process.stdin)).map(({{ wire, level, counts }}) => {{
          const channel = channelFrom(decode(new Uint8Array(Buffer.from(wire, "hex"))));
          const all = new Map(counts.map((count, x) => [x, count]));
          const of = (x) => revealed(channel, level === null ? null : BigInt(level), all, x).after;
          return counts.map((_, x) => of(x)).map(({{ n, d }}) => [String(n), String(d)]);
        }});
        console.log(JSON.stringify(found));
        """,
        encoding="utf-8",
    )
    chance, half = random.Random(3), 2**31
    many = Bits((half,) * 80, tuple(range(1, 81)), tuple((x, 1) for x in range(80)))
    made = {**CHANNELS, "bits that one answer sets": Bits((half, half), (half // 3, 0), ((0, 3), (1, 3))), "many": many}
    made = {name: channel for name, channel in made.items() if channel.input_count < 100}
    cases = []
    for channel in made.values():
        everything = range(channel.input_count)
        counts, level = [chance.randrange(4) for _ in everything], channel.loss(everything, everything).level
        cases.append({"wire": codec.encode(channel.encode()).hex(), "level": level, "counts": counts})
    found = run(cases, script)
    checked = 0
    for channel, case, shown in zip(made.values(), cases, found, strict=True):
        after = [Fraction(int(n), int(d)) for n, d in shown]
        if channel.input_count * channel.output_count > 2**14:
            continue
        exact_ones = [high for _, high in posterior_ranges(channel, [1 + count for count in case["counts"]])]
        assert all(map(ge, after, exact_ones))
        if isinstance(channel, Bits):
            assert max(map(sub, after, exact_ones)) < Fraction(1, 2**60)
        elif not isinstance(channel, SubsetSelection):
            assert after == exact_ones
        checked += 1
    assert checked > 20
    assert len(found[-1]) == 80


def test_maps_of_few_runs_need_little_memory(tmp_path: Path) -> None:
    """Twenty maps of districts over 2^20 inputs need less than 64 MiB, so no map lists the district of each input."""
    script = tmp_path / "views.mjs"
    script.write_text(
        f"""import {{ viewsFrom }} from "{(WEB / "views.js").as_uri()}";
        const maps = Array.from({{ length: 20 }}, (_, i) => [1, ["districts", [0, 2 ** 20 - 1 - i, 1, 1 + i], []], 0]);
        const views = viewsFrom(["views", maps, [["response", 2, [2n ** 60n]]]]);
        const inputs = [0, 2 ** 20 - 3, 2 ** 20 - 2].map((x) => views[1].map.input(null, x));
        console.log(JSON.stringify([inputs, process.memoryUsage().heapUsed < 2 ** 26]));
        """,
        encoding="utf-8",
    )
    assert run(None, script) == [[0, 0, 1], True]


def test_a_refusal_by_only_one_address_is_not_called_permanent(tmp_path: Path) -> None:
    """If one address refuses the bytes and another one fails, the browser sends them again, and the reason does not say
    that they are kept unsent. Only a refusal by every address is permanent."""
    script = tmp_path / "send.mjs"
    script.write_text(
        f"""import {{ send }} from "{(WEB / "upload.js").as_uri()}";
        const said = [];
        for (const stage of ["codec", ""]) {{
          const upload = {{ envelopes: 0, failures: 0, nextAttempt: 0, trouble: "" }};
          const kept = {{ id: new Uint8Array(16), outbox: [new Uint8Array(9)], code: "", upload }};
          const store = {{ change: (id, work) => work(kept) }};
          let stages = ["codec", stage];
          globalThis.fetch = async () => new Response(JSON.stringify({{ stage: stages.shift() }}), {{ status: 400 }});
          const addresses = ["https://first.example", "https://second.example"];
          const {{ outcome, reason }} = await send(store, kept, addresses, 0, new Uint8Array(8));
          said.push([outcome, reason.split("envelopes are kept").length - 1, kept.upload.trouble]);
        }}
        console.log(JSON.stringify(said));
        """,
        encoding="utf-8",
    )
    assert run(None, script) == [["refused", 1, "refused"], ["failed", 0, ""]]


def test_the_types_are_checked(tmp_path: Path) -> None:
    """TypeScript's compiler in strict mode reports no error in the types of the comments."""
    compiler = shutil.which("tsc")
    if compiler is None:
        pytest.skip("needs tsc, the compiler of typescript")
    options = {
        "allowJs": True, "checkJs": True, "noEmit": True, "strict": True, "target": "es2023", "module": "nodenext",
        "lib": ["es2023", "dom", "dom.iterable"],
    }  # fmt: skip
    project = {"compilerOptions": options, "include": [f"{WEB}/**/*.js"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(project), encoding="utf-8")
    done = subprocess.run([compiler, "-p", tmp_path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_modules_are_small() -> None:
    """The device's modules, without their comments, are at most 60 kB compressed."""
    paths = [path for path in sorted(WEB.rglob("*.js")) if path.parent.name != "page"]
    whole = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    bare = re.sub(r"/\*\*.*?\*/|(?<!:)//[^\n]*", "", whole, flags=re.DOTALL)
    assert len(gzip.compress(re.sub(r"\n\s*", "\n", bare).encode(), 9)) <= 60_000
