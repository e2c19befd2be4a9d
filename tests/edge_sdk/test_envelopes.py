"""The display before sending: it shows all bytes that are sent, and the meaning of a report."""

from __future__ import annotations

import json
import time
from fractions import Fraction

import pytest

from edge_sdk.__main__ import main
from edge_sdk.disclosure.envelopes import MAX_NAMED, output_meanings, parts, waiting_envelopes
from protocol import exact
from protocol.channels import Bits, Hadamard
from protocol.domain import Values
from protocol.envelope import decode
from protocol.keys import KEY_ID_BYTES, PUBLIC_BYTES, SIGNATURE_BYTES, public_line
from protocol.notions import Ldp, TranscriptPrior
from protocol.report import Report
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, agreed, campaign
from tests.edge_sdk.test_roles import NAMES, made, of_classes, of_declared

NAT = exact.NANONATS
EVEN = {label: 1 + place for place, label in enumerate(LABELS)}


def of_transcripts() -> bytes:
    notion = TranscriptPrior(NAT, (6, 5, 4, 3, 2, 1))
    return made(notion=notion, channel=notion.channel_of(notion.prior))


def channels(channel) -> bytes:
    labels = tuple(f"v{x}" for x in range(channel.input_count))
    return made(domain=Values(labels), notion=Ldp(20 * NAT), channel=channel, mechanism="by hand")


@pytest.mark.parametrize(
    ("data", "role"),
    [
        (campaign(), {}),
        (campaign(enrolment="enrolled"), {}),
        (of_classes(), {"as_class": NAMES[1]}),
        (of_declared(), {"prior": EVEN}),
        (of_transcripts(), {}),
    ],
    ids=["open", "enrolled", "classes", "declared prior", "transcript"],
)
def test_the_bytes_shown_are_the_bytes_that_leave(open_device, clock, tmp_path, data, role):
    """The shown bytes of a campaign, including the enrolment, equal the exported file, and so do their parts. A preview
    before the answer states an upper bound on the length; a preview after the answer states it exactly."""
    device = open_device()
    joined = device.join(data).campaign_id
    unseen = device.preview(joined, "none")
    device.consent(joined, **role)
    for period in (0, 9):
        clock.now = OPENS + period * WEEK
        before = device.preview(joined, "none")
        receipt = device.answer(joined, "none")
        shown = waiting_envelopes(device, joined)
        again = device.preview(joined, "none")
        file = tmp_path / f"{period}.htr"
        device.outbox.export(file)
        left = file.read_bytes()
        assert b"".join(one.data for one in shown) == left
        assert all(b"".join(part.data for part in one.parts) == one.data for one in shown)
        assert shown[-1].data == receipt.envelope
        assert again.upload_bytes == len(left)
        assert 0 <= before.upload_bytes - len(left) <= before.report_bytes - len(receipt.envelope)
        if period == 0:
            kinds = ["enrolment", "report"] if device.terms(joined).enrolment == "open" else ["report"]
            assert [one.kind for one in shown] == kinds
            assert unseen.upload_bytes >= before.upload_bytes
            assert unseen.upload_bytes == before.upload_bytes or "prior" in role
            assert before.waiting_bytes == sum(len(one.data) for one in shown[:-1])
    assert waiting_envelopes(device) == ()


def test_the_first_report_of_an_open_study_is_not_all_that_leaves(open_device):
    """240 bytes are sent for a report of 106: the study cannot verify it without the key in the other 134 bytes."""
    device = open_device()
    joined = device.join(campaign()).campaign_id
    before = device.preview(joined, "none")
    assert (before.report_bytes, before.waiting_bytes, before.upload_bytes) == (106, 134, 240)
    device.consent(joined)
    device.answer(joined, "none")
    enrolment, report = waiting_envelopes(device)
    assert (len(enrolment.data), len(report.data)) == (134, 106)
    named = {part.name: part.data for part in enrolment.parts}
    assert (named["campaign"], len(named["public"]), len(named["key"])) == (joined, PUBLIC_BYTES, KEY_ID_BYTES)


def test_the_command_lists_each_envelope(tmp_path, capsys):
    """`preview` states the total number of bytes; `outbox` lists each envelope with its parts, whose lengths sum to the
    envelope's."""
    (tmp_path / "author.pub").write_text(public_line(AUTHOR.public))
    (tmp_path / "c.campaign").write_bytes(campaign(opens=int(time.time()) - 9))

    def run(*arguments):
        assert main(["--store", str(tmp_path / "store"), *arguments]) == 0
        return capsys.readouterr().out

    joined = run("join", str(tmp_path / "c.campaign"), "--trust", str(tmp_path / "author.pub"), "--json")
    ident = json.loads(joined)["campaign"]
    assert json.loads(run("preview", ident, "none", "--json"))["upload_bytes"] == 240
    run("consent", ident)
    run("answer", ident, "none")
    found = json.loads(run("outbox", "--json"))
    assert [(row["kind"], row["bytes"]) for row in found["envelopes"]] == [("enrolment", 134), ("report", 106)]
    for row in found["envelopes"]:
        assert sum(size for name, size in row.items() if name.endswith("_bytes")) == row["bytes"]
    assert found["envelopes"][1]["fits"] in [f'"{label}"' for label in LABELS]
    assert "kind enrolment  bytes 134" in run("outbox")
    run("outbox", "export", str(tmp_path / "upload.htr"))
    assert (tmp_path / "upload.htr").stat().st_size == 240


def test_waiting_envelopes_are_shown_for_each_campaign(open_device):
    """The envelopes of all campaigns are shown, and the display of one campaign shows the same envelopes."""
    device = open_device()
    first, second = (device.join(campaign(title)).campaign_id for title in ("First", "Second"))
    for joined in (second, first):
        device.consent(joined)
        device.answer(joined, "none")
    found = waiting_envelopes(device)
    assert [one.campaign_id for one in found] == [second, second, first, first]
    assert sum(len(one.data) for one in found) == device.outbox.bytes
    assert waiting_envelopes(device, first) == found[2:]


def test_the_parts_of_a_report_are_shown_in_order(open_device, clock):
    """The display shows the key, the campaign, the output and the signature of a report at the offsets of the
    format."""
    device = open_device()
    joined = agreed(device, campaign(periods=1000))
    for period in (0, 1, 700):
        clock.now = OPENS + period * WEEK
        report = device.answer(joined, "none").envelope
        found = parts(report)
        assert b"".join(part.data for part in found) == report
        named = {part.name: part.data for part in found}
        assert [part.name for part in found] == [
            "format", "key", "format", "campaign", "slot", "output", "format", "signature",
        ]  # fmt: skip
        assert (len(named["key"]), len(named["signature"])) == (KEY_ID_BYTES, SIGNATURE_BYTES)
        assert (named["campaign"], len(named["output"])) == (joined, 1)


@pytest.mark.parametrize(
    ("data", "role"),
    [
        (campaign(), {}),
        (of_classes(), {"as_class": NAMES[2]}),
        (of_declared(), {"prior": EVEN}),
        (of_transcripts(), {}),
        (channels(Hadamard(3 << 62, 11)), {}),
        (channels(Bits.over([(1 << 31, 1 << 30)] * 9)), {}),
    ],
    ids=["response", "classes", "declared prior", "transcript", "hadamard", "bits"],
)
def test_a_report_names_the_answers_that_fit(open_device, clock, data, role):
    """The answers that fit a report are those with the largest weight at its output (for bit vectors, those whose bit
    is set); they are named if they are few."""
    device = open_device()
    joined = agreed(device, data, **role)
    labels = device.terms(joined).values
    for period, label in enumerate([*labels, *labels][:10]):
        clock.now = OPENS + period * WEEK
        # In a campaign with transcripts, the channel is that of the posterior before the report.
        records = device.records
        state = records.joined_in_role(joined)
        state = state.for_report(records.transcripts.of(records.campaigns.number(joined)), period)
        report = Report.decode(decode(device.answer(joined, label).envelope).unverified)
        [meaning] = output_meanings(device, waiting_envelopes(device, joined)[-1])
        whole, channel = state.campaign.channel, state.channel
        [y] = report.outputs(state.campaign, None)
        y -= whole.offsets[state.role.class_index + 1] if state.role.class_index is not None else 0
        if isinstance(channel, Bits):
            fits = [x for x in range(channel.input_count) if y & channel.single_bit(x)]
        else:
            rows = [
                [channel.weight(x, output) for output in range(channel.output_count)]
                for x in range(channel.input_count)
            ]
            fits = [x for x, row in enumerate(rows) if row[y] == max(row)]
        assert (meaning.fits, meaning.size) == (len(fits), len(labels))
        assert meaning.labels == (tuple(labels[x] for x in fits) if len(fits) <= MAX_NAMED else ())


def test_shares_are_exact_fractions(open_device):
    """The probabilities and the posteriors of a preview are exact fractions of the channel's integers."""
    device = open_device()
    joined = device.join(campaign()).campaign_id
    preview = device.preview(joined, "master")
    channel = device.campaign(joined).channel
    whole = 1 << channel.scale
    assert preview.fits_true == Fraction(channel.weight(4, 4), whole)
    assert preview.fits_other == Fraction(channel.weight(0, 4), whole)
    assert preview.posterior.before == Fraction(1, 6)
    # This is Bayes' rule, because all values were equally likely before.
    assert preview.posterior.after == preview.fits_true
