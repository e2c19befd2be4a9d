"""The test vectors are current, and the code gives the result that each vector states."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from types import CodeType
from typing import Any

import nacl.bindings
import nacl.exceptions
import pytest

from edge_sdk import BudgetPolicy, Device
from protocol import channels, codec, domain, envelope, exact, keys, notions
from protocol.campaign import open_campaign
from protocol.closing import open_closing, unverified_closing
from protocol.domain import Form
from protocol.errors import BadData, KeyRefused, NotInDomain, SignatureRefused
from protocol.keys import SigningKey
from protocol.link import Link
from protocol.report import Enrolment, Report, pack, unpack
from tests.altered import flipped
from tests.families import SHAPES
from tests.vectors import generate

VECTORS = Path(generate.__file__).parent
Case = dict[str, Any]


def read(topic: str) -> list[Case]:
    cases: list[Case] = json.loads((VECTORS / f"{topic}.json").read_text(encoding="utf-8"))["cases"]
    return cases


def value_of(written: Any) -> codec.Value:
    if isinstance(written, list):
        return [value_of(item) for item in written]
    if isinstance(written, dict):
        return bytes.fromhex(written["bytes"]) if "bytes" in written else int(written["integer"])
    return written


def wire(text: str) -> codec.Value:
    return codec.decode(bytes.fromhex(text), limit=2**22)


# Each topic has one function, which runs the steps of a case. In a negative case one of these steps raises.


def check_codec(case: Case) -> None:
    data = bytes.fromhex(case["bytes"])
    value = codec.decode(data, limit=case.get("limit", 2**16))
    assert value == value_of(case["value"])
    assert codec.encode(value) == data


def check_keys(case: Case) -> None:
    if "device_secret" in case:
        key = SigningKey.for_campaign(bytes.fromhex(case["device_secret"]), bytes.fromhex(case["campaign_id"]))
        assert (key.secret.hex(), key.public.hex()) == (case["secret"], case["public"])
        return
    if "public_file" in case:
        author = keys.AuthorKey.from_line(case["public_file"])
        assert (author.public.hex(), author.fingerprint_text) == (case["public"], case["fingerprint"])
        assert author.line() == case["public_file"]
    if "secret_file" in case:
        key = SigningKey.from_line(case["secret_file"])
        assert (key.public.hex(), key.id.hex()) == (case["public"], case["id"])
        assert key.sign(bytes.fromhex(case["message"])).hex() == case["signature"]
    keys.verify(bytes.fromhex(case["public"]), bytes.fromhex(case["signature"]), bytes.fromhex(case["message"]))


def check_envelope(case: Case) -> None:
    sealed = envelope.decode(bytes.fromhex(case["envelope"]))
    payload = sealed.open(bytes.fromhex(case["public"]))
    assert (int(sealed.kind), sealed.key_id.hex(), payload.hex()) == (case["kind"], case["key_id"], case["payload"])
    assert envelope.signed_message(sealed.kind, sealed.key_id, payload).hex() == case["signed_message"]


def check_batch(case: Case) -> None:
    data = bytes.fromhex(case["batch"])
    assert data.hex() == "".join(item.get("envelope") or item["bytes"] for item in case["items"])
    found = [
        {"stage": item.stage} if isinstance(item, BadData) else {"envelope": item.encode().hex()}
        for item in envelope.read_batch(data)
    ]
    assert found == [{name: item[name] for name in item if name != "bytes"} for item in case["items"]]


def check_domain(case: Case) -> None:
    asked = domain.decode(wire(case["wire"]))
    assert asked.size == case["size"]
    assert [asked.label(x) for x in range(asked.size)] == case["labels"]
    for inside in case["inside"]:
        assert asked.index(asked.parse(inside["answer"]), bytes.fromhex(inside["dither"])) == inside["input"], inside
    for answer in case["outside"]:
        with pytest.raises(NotInDomain):
            asked.index(asked.parse(answer), bytes(8))


def check_channel(case: Case) -> None:
    channel = channels.decode(wire(case["wire"]))
    for name in ("input_count", "output_count", "output_bits", "features", "scale", "rand_bytes"):
        assert getattr(channel, name) == int(case[name]), name
    for x, row in enumerate(case.get("weights", [])):
        assert [str(channel.weight(x, y)) for y in range(channel.output_count)] == row
    for cell in case.get("some_weights", []):
        assert str(channel.weight(cell["input"], int(cell["output"]))) == cell["weight"]
    for draw in case["draws"]:
        assert channel.sample(draw["input"], bytes.fromhex(draw["rand"])) == int(draw["output"]), draw


def check_level(case: Case) -> None:
    if "exp_lower" in case:
        assert str(exact.exp_lower(case["level"])) == case["exp_lower"]
    else:
        assert exact.level_of(int(case["numerator"]), int(case["denominator"])) == case["level"]


def check_certificate(case: Case) -> None:
    notion = notions.decode(wire(case["notion"]))
    certificate = notions.certify(channels.decode(wire(case["channel"])), notion)
    for name in ("declared_level", "audited_level", "ldp_level", "ball_level", "cost"):
        assert getattr(certificate, name) == case[name.removesuffix("_level")], name


def check_campaign(case: Case) -> None:
    data = bytes.fromhex(case["campaign"])
    signed = open_campaign(data, [bytes.fromhex(public) for public in case["trusted"]])
    assert (signed.id.hex(), signed.data, signed.campaign.title) == (case["id"], data, case["title"])
    assert signed.campaign.periods == case["periods"]
    assert [view.channel.input_count for view in signed.campaign.views] == case["input_counts"]
    assert signed.campaign.certificate.audited_level == case["audited"]
    assert list(signed.campaign.classes) == case["classes"]
    assert list(signed.campaign.addresses) == case["addresses"]
    for language, shown in case["shown"].items():
        assert signed.campaign.texts(language).encode() == shown, language
    for language, asked in case["asked"].items():
        said = signed.campaign.domain_in(language)
        found = [[one.text, list(one.domain.named)] for one in said.questions] if isinstance(said, Form) else said.named
        assert list(found) == asked, language
    assert [signed.campaign.cost_of(place) for place in range(len(case["costs"]))] == case["costs"]
    assert signed.campaign.worst_case == int(case["worst_case"])


def check_view(case: Case) -> None:
    signed = open_campaign(bytes.fromhex(case["campaign"]), [generate.ANALYST.public])
    campaign, certificate = signed.campaign, signed.campaign.certificate
    assert (campaign.output_bits, campaign.worst_case) == (case["output_bits"], int(case["worst_case"]))
    assert (certificate.audited_level, certificate.ldp_level) == (case["audited"], case["ldp"])
    found = zip(campaign.views, campaign.view_certificates, case["views"], strict=True)
    for place, (view, proved, said) in enumerate(found):
        assert [view.map.input(campaign.domain, x) for x in range(campaign.domain.size)] == said["inputs"]
        assert (view.weight, campaign.max_draws_of(place)) == (said["weight"], said["draws"])
        for name in ("declared_level", "audited_level", "ldp_level", "cost"):
            key = name.removesuffix("_level")
            assert getattr(proved, name) == said[key], name
            assert [getattr(one, name) for one in proved.class_certificates] == [one[key] for one in said["classes"]], (
                name
            )
    for key in case["keys"]:
        assert signed.view_of(bytes.fromhex(key["public"])) == key["view"]


def check_closing(case: Case) -> None:
    signed = open_campaign(bytes.fromhex(case["campaign"]), [generate.ANALYST.public])
    data = bytes.fromhex(case["closing"])
    closing = open_closing(data, signed)
    assert closing == unverified_closing(data)
    assert (closing.campaign_id, closing.closes) == (signed.id, case["closes"])
    assert signed.campaign.periods_until(closing.closes) == case["periods"]


def check_link(case: Case) -> None:
    link = Link.parse(case["link"])
    assert (link.address, link.code, link.for_app) == (case["address"], case["code"], case["for_app"])
    assert (link.campaign_id.hex(), link.fingerprint.hex()) == (case["campaign_id"], case["fingerprint"])
    assert str(link) == case["link"]


def check_report(case: Case) -> None:
    if "packed" in case:
        assert pack(case["outputs"], case["bits"]).hex() == case["packed"]
        assert list(unpack(bytes.fromhex(case["packed"]), len(case["outputs"]), case["bits"])) == case["outputs"]
        return
    signed = open_campaign(bytes.fromhex(case["campaign"]), [generate.ANALYST.public])
    report = Report.decode(envelope.decode(bytes.fromhex(case["report"])).open(bytes.fromhex(case["public"])))
    view = signed.view_of(bytes.fromhex(case["public"]))
    outputs = report.outputs(signed.campaign, view)
    # From the decoded outputs, the constructor makes the same report again.
    assert Report.of(report.campaign_id, signed.campaign, report.period, report.slot, outputs, view) == report
    assert report.campaign_id == signed.id
    assert (report.period, report.slot, list(outputs)) == (case["period"], case["slot"], case["outputs"])


def check_enrolment(case: Case) -> None:
    enrolment = Enrolment.open(envelope.decode(bytes.fromhex(case["enrolment"])))
    if "campaign" in case:
        signed = open_campaign(bytes.fromhex(case["campaign"]), [generate.ANALYST.public])
        assert signed.id == enrolment.campaign_id
        enrolment.require_fit(signed.campaign)
        if enrolment.prior is not None:
            own = signed.campaign.notion.channel_of(enrolment.prior, signed.campaign.channel, enrolment.personal_level)
            assert codec.encode(own.encode()).hex() == case["channel"]
    assert (enrolment.campaign_id.hex(), enrolment.public.hex()) == (case["campaign_id"], case["public"])
    assert enrolment.prior == (tuple(case["prior"]) if case["prior"] is not None else None)
    assert enrolment.personal_level == case["level"]


def check_answer(case: Case) -> None:
    """Check that a device with the vector's secret and random bytes sends the vector's bytes."""
    answers = case["answers"]
    drawn = [case["device_secret"], case["dither"], *(one["rand"] for one in answers)]
    now = [generate.OPENS]

    def urandom(count: int) -> bytes:
        given = bytes.fromhex(drawn.pop(0))
        assert len(given) == count
        return given

    with Device.open(
        ":memory:", [generate.ANALYST.public], BudgetPolicy(lifetime=1000.0), clock=lambda: now[0], urandom=urandom
    ) as device:
        device.join(bytes.fromhex(case["campaign"]))
        (joined,) = device.campaigns
        campaign = device.campaign(joined)
        labels = [campaign.domain.label(x) for x in range(len(case["prior"] or ()))]
        device.consent(
            joined,
            as_class=None if case["class"] is None else campaign.classes[case["class"]],
            prior=dict(zip(labels, case["prior"], strict=True)) if case["prior"] else None,
            level=case["level"] / exact.NANONATS if case["level"] else None,
        )
        assert device.enrolment(joined).hex() == case["enrolment"]
        for one in answers:
            now[0] = generate.OPENS + one["period"] * generate.WEEK
            receipt = device.answer(joined, device.parse(joined, one["answer"]))
            assert (receipt.period, receipt.slot) == (one["period"], one["slot"])
            assert receipt.envelope.hex() == one["report"]
    assert drawn == []


CHECKS: dict[str, Callable[[Case], None]] = {
    "codec": check_codec,
    "keys": check_keys,
    "envelope": check_envelope,
    "batch": check_batch,
    "domain": check_domain,
    "channel": check_channel,
    "level": check_level,
    "certificate": check_certificate,
    "campaign": check_campaign,
    "closing": check_closing,
    "view": check_view,
    "link": check_link,
    "report": check_report,
    "enrolment": check_enrolment,
    "answer": check_answer,
}


def check(topic: str, case: Case) -> None:
    """Check that a vector gives its stated result, or is refused at the stage it names."""
    if "stage" not in case:
        CHECKS[topic](case)
        return
    with pytest.raises(BadData) as refused:
        CHECKS[topic](case)
    assert refused.value.stage == case["stage"], str(refused.value)


@pytest.mark.parametrize("topic", CHECKS)
def test_every_vector_gives_its_stated_result(topic: str) -> None:
    """Every vector of a topic gives its stated result, or is refused at the stage it names; a failure names the
    vector."""
    for case in read(topic):
        try:
            check(topic, case)
        # The error of pytest for a missing refusal is a BaseException, not an Exception.
        except BaseException as error:
            error.add_note(f"vector {case['name']!r} in tests/vectors/{topic}.json")
            raise


CHANNELS = {case["name"]: case for case in read("channel") if "stage" not in case}


@pytest.mark.parametrize("name", CHANNELS)
def test_a_second_decoder_agrees(name: str) -> None:
    """Sizes, weights and draws of a channel equal those of a decoder that is written from SPEC 5 alone."""
    case = CHANNELS[name]
    family, *fields = wire(case["wire"])
    decoded = SHAPES[family].second_decoder(*fields)
    for size in ("input_count", "output_count", "scale", "rand_bytes"):
        assert getattr(decoded, size) == int(case[size]), size
    for x, row in enumerate(case.get("weights", [])):
        assert [str(decoded.weight(x, y)) for y in range(decoded.output_count)] == row
    for cell in case.get("some_weights", []):
        assert str(decoded.weight(cell["input"], int(cell["output"]))) == cell["weight"]
    for draw in case["draws"]:
        assert decoded.sample(draw["input"], bytes.fromhex(draw["rand"])) == int(draw["output"]), draw


def names(code: CodeType) -> set[str]:
    """Return the names that a function and its inner functions use."""
    return {*code.co_names, *chain(*(names(inner) for inner in code.co_consts if isinstance(inner, CodeType)))}


@pytest.mark.parametrize("family", SHAPES)
def test_the_second_decoder_uses_nothing_from_protocol(family: str) -> None:
    """The second decoder, in the files of the families' test channels, uses nothing from ``protocol``."""
    decoder = SHAPES[family].second_decoder
    used = {name: decoder.__globals__[name] for name in names(decoder.__code__) & decoder.__globals__.keys()}
    assert "DecodedChannel" in used
    origins = {name: getattr(it, "__module__", getattr(it, "__name__", "")) for name, it in used.items()}
    assert not [name for name, origin in origins.items() if origin.startswith("protocol")]


def test_vectors_are_current() -> None:
    """The committed files equal the generator's output byte for byte; the only other file is Wycheproof's."""
    written = generate.written()
    assert {path.name for path in VECTORS.glob("*.json")} == {*written, "wycheproof_ed25519.json"}
    for name, text in written.items():
        assert (VECTORS / name).read_text(encoding="utf-8") == text, f"{name} is stale: run make vectors"


def test_half_of_the_vectors_are_negative() -> None:
    """At least half of all vectors must be refused, every stage occurs among these, and names are unique within a
    file."""
    cases = [case for topic in CHECKS for case in read(topic)]
    negative = [case for case in cases if "stage" in case]
    assert 2 * len(negative) >= len(cases)
    stages = {error.stage for error in _all_errors(BadData)} - {"data"}
    assert {case["stage"] for case in negative} == stages
    for topic in CHECKS:
        names = [case["name"] for case in read(topic)]
        assert len(set(names)) == len(names), topic


def _all_errors(error: type[BadData]) -> set[type[BadData]]:
    """Return ``error`` and all its subclasses that the protocol defines; the aggregator has stages of its own."""
    below = (narrower for narrower in error.__subclasses__() if narrower.__module__ == error.__module__)
    return {error}.union(*map(_all_errors, below))


WYCHEPROOF = [
    (bytes.fromhex(group["publicKey"]["pk"]), test)
    for group in json.loads((VECTORS / "wycheproof_ed25519.json").read_text(encoding="utf-8"))["testGroups"]
    for test in group["tests"]
]


def openssl_accepts(public: bytes, signature: bytes, message: bytes) -> bool:
    try:
        keys.verify(public, signature, message)
    except (KeyRefused, SignatureRefused):
        return False
    return True


def libsodium_accepts(public: bytes, signature: bytes, message: bytes) -> bool:
    """Return the verdict of libsodium after the byte checks of SPEC 2.1."""
    if len(signature) != keys.SIGNATURE_BYTES or int.from_bytes(signature[32:], "little") >= keys.ORDER:
        return False
    try:
        keys.require_public(public)
        keys.require_point(signature[:32], "R", SignatureRefused)
        nacl.bindings.crypto_sign_open(signature + message, public)
    except (KeyRefused, SignatureRefused, nacl.exceptions.BadSignatureError):
        return False
    return True


def test_openssl_and_libsodium_give_the_verdict_of_every_wycheproof_case() -> None:
    """OpenSSL and libsodium, after the byte checks, give Wycheproof's verdict on all its 151 Ed25519 cases."""
    assert len(WYCHEPROOF) == 151
    for public, test in WYCHEPROOF:
        signature, message = bytes.fromhex(test["sig"]), bytes.fromhex(test["msg"])
        expected = test["result"] == "valid"
        assert openssl_accepts(public, signature, message) is expected, test
        assert libsodium_accepts(public, signature, message) is expected, test


def test_openssl_and_libsodium_agree_on_the_key_vectors() -> None:
    """OpenSSL and libsodium give the stated verdict on every signature of the key vectors, and both refuse a signature
    with one bit flipped, for every third bit and the last one."""
    for case in read("keys"):
        if "signature" not in case:
            continue
        public, signature, message = (bytes.fromhex(case[name]) for name in ("public", "signature", "message"))
        expected = "stage" not in case
        assert openssl_accepts(public, signature, message) is expected, case["name"]
        assert libsodium_accepts(public, signature, message) is expected, case["name"]
    key = generate.ANALYST
    signature = key.sign(b"message")
    for bit in (*range(0, 512, 3), 511):
        assert not openssl_accepts(key.public, flipped(signature, bit), b"message")
        assert not libsodium_accepts(key.public, flipped(signature, bit), b"message")
