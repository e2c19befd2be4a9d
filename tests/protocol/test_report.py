"""Properties of reports and enrolments (SPEC 8, 11)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import envelope, exact, notions
from protocol.campaign import campaign_id, seal_campaign
from protocol.channels import Hadamard
from protocol.domain import Grid
from protocol.envelope import Kind
from protocol.errors import BadData, ReportError
from protocol.keys import SigningKey
from protocol.report import Enrolment, Report, pack, packed_bytes, unpack
from tests.altered import altered, flipped
from tests.families.hadamard import truth_of
from tests.fuzz.targets import report_target
from tests.vectors.generate import ANALYST, OPENS, unsigned_campaign

CAMPAIGN = unsigned_campaign()
ID = campaign_id(seal_campaign(CAMPAIGN, ANALYST))
KEY = SigningKey.for_campaign(bytes(32), ID)


def test_a_sealed_report_opens_and_unpacks_to_its_outputs() -> None:
    """A sealed report opens, decodes to itself and unpacks to its outputs."""
    report = Report.of(ID, CAMPAIGN, 3, 0, [7, 2])
    sealed = envelope.decode(report.seal(KEY))
    assert sealed.kind is Kind.REPORT
    again = Report.decode(sealed.open(KEY.public))
    assert again == report
    assert again.outputs(CAMPAIGN, None) == (7, 2)


@given(st.integers(1, 22), st.data())
def test_packing_is_reversed_by_unpacking(bits: int, data: st.DataObject) -> None:
    """unpack(pack(outputs)) = outputs; the packed bytes are the bits of the outputs one after another, in the fewest
    bytes."""
    outputs = data.draw(st.lists(st.integers(0, 2**bits - 1), max_size=40))
    packed = pack(outputs, bits)
    assert unpack(packed, len(outputs), bits) == tuple(outputs)
    assert len(packed) == packed_bytes(len(outputs), bits)
    written = "".join(f"{output:0{bits}b}" for output in outputs)
    assert "".join(f"{byte:08b}" for byte in packed) == written.ljust(8 * len(packed), "0")


@given(st.integers(1, 22), st.integers(1, 40), st.binary(max_size=20))
def test_packing_has_one_form(bits: int, count: int, packed: bytes) -> None:
    """Bytes unpack only if packing the result gives the same bytes."""
    try:
        outputs = unpack(packed, count, bits)
    except ReportError:
        return
    assert pack(outputs, bits) == packed


@pytest.mark.parametrize(
    ("period", "slot", "outputs"),
    [(5, 0, [1]), (-1, 0, [1]), (0, 2, [1]), (0, 1, [1, 1]), (0, -1, [1]), (0, 0, []), (0, 0, [8]), (0, 0, [-1])],
)
def test_a_report_outside_the_campaign_is_refused(period: int, slot: int, outputs: list[int]) -> None:
    """A device cannot make a report outside the campaign's periods, quota or outputs."""
    with pytest.raises(ReportError):
        Report.of(ID, CAMPAIGN, period, slot, outputs)


@pytest.mark.parametrize(
    "fields",
    [
        (b"", 0, 0, 1),
        (ID, -1, 0, 1),
        (ID, 2**32, 0, 1),
        (ID, 0, 2**16, 1),
        (ID, 0, -1, 1),
        (ID, 0, 0, 0),
        (ID, 0, 0, 4097),
    ],
)
def test_the_constructor_refuses_an_invalid_report(fields: tuple[bytes, int, int, int]) -> None:
    """The constructor of a report refuses fields outside their limits."""
    with pytest.raises(ReportError):
        Report(*fields, packed=b"")


def test_no_bit_can_be_flipped() -> None:
    """A sealed report or enrolment with any bit flipped does not open, and only BadData is raised."""
    report = Report.of(ID, CAMPAIGN, 0, 0, [3]).seal(KEY)
    enrolment = Enrolment(ID, KEY.public).seal(KEY)
    for data, opened in (
        (report, lambda changed: Report.decode(envelope.decode(changed).open(KEY.public))),
        (enrolment, lambda changed: Enrolment.open(envelope.decode(changed))),
    ):
        for bit in range(8 * len(data)):
            with pytest.raises(BadData):
                opened(flipped(data, bit))


REPORTS = st.builds(
    Report, st.just(ID), st.integers(0, 2**20), st.integers(0, 63), st.integers(1, 9), st.binary(max_size=9)
)


@given(st.binary(max_size=60) | altered(REPORTS.map(Report.encode), most=2))
def test_any_payload_is_a_report_or_bad_data(payload: bytes) -> None:
    """Any payload decodes to a report that encodes to the same payload, or raises BadData."""
    report_target(payload)


def test_an_enrolment_proves_the_key_it_introduces() -> None:
    """An enrolment opens only if it is signed with the key that it contains."""
    assert Enrolment.open(envelope.decode(Enrolment(ID, KEY.public).seal(KEY))) == Enrolment(ID, KEY.public)
    for stolen in (Enrolment(ID, ANALYST.public).seal(KEY), Enrolment(ID, KEY.public).seal(ANALYST)):
        with pytest.raises(BadData):
            Enrolment.open(envelope.decode(stolen))


def test_reports_have_the_published_sizes() -> None:
    """Reports of 43,750 values have the sizes that SPEC 11 publishes."""
    k = 43_750
    large = unsigned_campaign(
        domain=Grid(0, 175, 0, 250, 1),
        notion=notions.Ldp(exact.NANONATS),
        channel=Hadamard(truth_of(exact.NANONATS), k),
        answers_per_period=64,
        period_seconds=1,
        closes=OPENS + 2**20,
    )
    sizes = {period: len(Report.of(ID, large, period, 0, [k]).seal(KEY)) for period in (0, 127, 128, 255, 256, 2**16)}
    assert sizes == {0: 107, 127: 107, 128: 108, 255: 108, 256: 109, 2**16: 111}
    bundle = len(Report.of(ID, large, 0, 0, [k] * 64).seal(KEY))
    assert bundle == 233
    assert bundle < 4 * 64
    assert len(Enrolment(ID, KEY.public).seal(KEY)) == 134
