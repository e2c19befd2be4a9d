"""Validation of a chunk: reports read in bulk, in one part or several, equal those that the protocol reads one by
one."""

from __future__ import annotations

import shutil
import threading
import weakref
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.families.bits import recipe as unary
from aggregator.intake import signatures, validate
from aggregator.intake.chunk import Chunk, ChunkBuilder
from aggregator.intake.framing import frames
from aggregator.intake.ingest import ingest
from aggregator.intake.refusals import RefusalReason
from aggregator.intake.signatures import verifier
from aggregator.study import Study
from protocol.campaign import open_campaign, seal_campaign
from protocol.errors import BadData
from protocol.exact import NANONATS
from protocol.report import Report, pack
from protocol.views import plain_views
from tests.aggregator import fleet
from tests.aggregator.fleet import AUTHOR, NOW, campaign, device, enrolment, report

PLAIN = campaign(5)
BUNDLES = campaign(300, answers=64, title="Bundles")
WORDS = open_campaign(
    seal_campaign(
        replace(
            campaign(11, answers=3, title="Words").campaign, views=plain_views(unary.oue(11, NANONATS)), mechanism="oue"
        ),
        AUTHOR,
    ),
    [AUTHOR.public],
)
PADDING = 16 - WORDS.campaign.channel.output_bits
CAMPAIGNS = {"education": PLAIN, "bundles": BUNDLES, "words": WORDS}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """The folder of a study of three campaigns whose reports have different formats, with three devices each."""
    made = fleet.study(tmp_path_factory.mktemp("prepared") / "study", PLAIN)
    for name, signed in CAMPAIGNS.items():
        if name != "education":
            made.import_campaign(signed.data, [AUTHOR.public], name)
        made.enrol(b"".join(enrolment(number, signed) for number in range(3)))
    return made.path


@st.composite
def reports(draw: st.DrawFn) -> tuple[bytes, Report]:
    """A report of any campaign, with valid outputs or with arbitrary bits and length."""
    signed = draw(st.sampled_from(list(CAMPAIGNS.values())))
    campaign = signed.campaign
    count = draw(st.integers(1, min(campaign.answers_per_period, 9)) | st.just(campaign.answers_per_period))
    slot = draw(st.integers(0, campaign.answers_per_period - count))
    bits = campaign.channel.output_bits
    most = 2**bits if campaign.channel.unary else campaign.channel.output_count
    packed = pack(draw(st.lists(st.integers(0, most - 1), min_size=count, max_size=count)), bits)
    if draw(st.integers(0, 5)) == 0:
        packed = draw(st.binary(min_size=len(packed), max_size=len(packed) + 1))
    decoded = Report(signed.id, draw(st.integers(0, 1)), slot, count, packed)
    return decoded.seal(device(draw(st.integers(0, 2)), signed)), decoded


@settings(max_examples=40)
@given(st.lists(reports(), max_size=12), st.sampled_from([1, 3, 70, 10**6]))
def test_candidates_equal_the_unpacked_reports(prepared, sealed, max_outputs):
    """The rows are the outputs of Report.outputs, in order; a report that Report.outputs refuses has no row."""
    study = Study.open(prepared)
    data = b"".join(envelope for envelope, _ in sealed)
    builder = ChunkBuilder()
    builder.add(data, frames(data, final=True))
    with verifier(2) as threads:
        judged, offers = validate.validate_chunk(study, builder.chunk(), threads, NOW, max_outputs)
    expected, refused = [], 0
    for envelope, decoded in sealed:
        signed = next(signed for signed in CAMPAIGNS.values() if signed.id == decoded.campaign_id)
        try:
            outputs = decoded.outputs(signed.campaign, None)
        except BadData:
            refused += 1
            continue
        key = int.from_bytes(envelope[5:13], "big", signed=True)
        expected.append([(signed.id.hex(), decoded.period, key, decoded.slot + n, y) for n, y in enumerate(outputs)])
    found = []
    for offer in offers:
        unpacked: dict[int, list[tuple[object, ...]]] = {}
        for row in range(len(offer.report)):
            word = None if offer.word is None else offer.word[row]
            y = int(offer.output[row]) if word is None else int.from_bytes(word, "big") >> PADDING
            place = [int(column[row]) for column in (offer.period, offer.key, offer.slot)]
            unpacked.setdefault(int(offer.report[row]), []).append((offer.campaigns[offer.campaign[row]], *place, y))
        assert list(unpacked) == list(range(offer.reports))
        found += unpacked.values()
    assert found == expected
    assert sum(judged.refused[signed.id.hex(), RefusalReason.BAD_OUTPUT] for signed in CAMPAIGNS.values()) == refused
    assert judged.refused.total() == refused


def test_a_part_is_committed_while_the_next_is_verified(prepared, tmp_path, monkeypatch):
    """A commit waits only for the signatures of its own reports, not for those of later parts."""
    study = Study.open(shutil.copytree(prepared, tmp_path / "study"))
    parts = [report(n, BUNDLES, *range(60), period=period) for period in range(2) for n in range(3)]
    file = tmp_path / "batch.htr"
    file.write_bytes(b"".join(parts))
    committed, verified = threading.Event(), list[bytes]()
    at_commits = []
    real_append, real_open = validate.append, signatures.crypto_sign_open

    def append(path, rows_for):
        at_commits.append(set(verified))
        real_append(path, rows_for)
        committed.set()

    def crypto_sign_open(signed, public):
        if signed[:64] == parts[-1][-64:]:
            assert committed.wait(300)
        verified.append(signed[:64])
        return real_open(signed, public)

    monkeypatch.setattr(signatures, "BLOCK_BYTES", 2 * len(parts[0]))
    monkeypatch.setattr(signatures, "crypto_sign_open", crypto_sign_open)
    monkeypatch.setattr(validate, "append", append)
    assert ingest(study, [file], now=NOW, threads=2, chunk_outputs=120).accepted == 6
    signatures_of = [part[-64:] for part in parts]
    assert signatures_of[-1] not in at_commits[0]
    for commit, reports_in in zip(at_commits, [1, 3, 5, 6], strict=True):
        assert commit >= set(signatures_of[:reports_in])


def test_no_more_than_two_chunks_are_in_memory(prepared, tmp_path, monkeypatch):
    """When the validation of a chunk begins, only the previous chunk is still in memory."""
    study = Study.open(shutil.copytree(prepared, tmp_path / "study"))
    file = tmp_path / "batch.htr"
    file.write_bytes(b"".join(report(n, PLAIN, period=period) for period in range(2) for n in range(3)))
    begun: list[weakref.ref[Chunk]] = []
    there = []
    real = validate.begin

    def begin(study, chunk, *arguments):
        there.append(sum(one() is not None for one in begun))
        begun.append(weakref.ref(chunk))
        return real(study, chunk, *arguments)

    monkeypatch.setattr(validate, "begin", begin)
    assert ingest(study, [file], now=NOW, buffer_bytes=150, chunk_reports=1).accepted == 6
    assert len(there) >= 4
    assert max(there) == 1
