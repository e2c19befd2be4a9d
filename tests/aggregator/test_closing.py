"""Properties of closing a campaign early: only its author can shorten it, and every study and service applies the
notice."""

from __future__ import annotations

import datetime
import json
import re
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.intake.ingest import ingest
from aggregator.present.page_reports import time_text
from aggregator.rebuild import Sources, rebuild
from aggregator.storage.tables import StudyError
from aggregator.study import Study
from protocol import envelope
from protocol.closing import Closing, open_closing, seal_closing
from protocol.envelope import Kind
from protocol.errors import BadData, CampaignError
from protocol.keys import SigningKey, public_line
from tests.aggregator import fleet
from tests.aggregator.fleet import AUTHOR, NOW, OPENS, WEEK, campaign, report
from tests.aggregator.test_cli import run
from tests.aggregator.test_receive import ask, served
from tests.altered import flipped

PLAIN = campaign(5)
OTHER = SigningKey(bytes([8]) * 32)


def notice(closes, signed=PLAIN, key=AUTHOR):
    """Return a closing notice signed with ``key``."""
    return envelope.seal(Kind.CLOSING, key, Closing(signed.id, closes).encode())


def fetched(address, path):
    """Return status and body of the answer to a GET request."""
    status, _, body = ask(address, "GET", path)
    return status, body


@pytest.fixture
def study(tmp_path):
    """A study of one campaign of four weeks, with the keys of ten devices."""
    return fleet.study(tmp_path / "study", PLAIN, range(10))


def counted(study, *reports, now=NOW):
    """Ingest a batch; return the number of accepted reports and the refusals."""
    batch = study.path.parent / f"{len(list(study.path.parent.iterdir()))}.htr"
    batch.write_bytes(b"".join(reports))
    found = ingest(study, [batch], now=now)
    return found.accepted, dict(found.refused)


@given(st.integers(-(2**41), 2**41) | st.integers(OPENS - WEEK, PLAIN.campaign.closes + WEEK))
def test_a_notice_never_extends(closes):
    """A notice with any signed time either cannot be opened, or closes the campaign earlier and adds no period."""
    campaign = PLAIN.campaign
    try:
        found = open_closing(notice(closes), PLAIN)
    except (BadData, ValueError):
        assert not 0 <= closes < campaign.closes
        return
    assert 0 <= found.closes == closes < campaign.closes
    last = campaign.periods_until(closes)
    assert 0 <= last <= campaign.periods
    # The remaining periods are those that begin at least a second before the closing.
    assert last == len(
        {(now - campaign.opens) // WEEK for now in range(campaign.opens, min(closes, campaign.closes), WEEK)}
    )


def test_only_the_author_can_seal_a_closing_notice():
    """A notice cannot be sealed with another key than the author's, nor for a time that is not earlier than the
    campaign's end."""
    with pytest.raises(CampaignError, match="author's key"):
        seal_closing(PLAIN, OPENS, OTHER)
    with pytest.raises(CampaignError, match="must take effect before"):
        seal_closing(PLAIN, PLAIN.campaign.closes, AUTHOR)


def test_reports_after_the_closing_are_late_and_those_before_are_taken(study):
    """A campaign closed in period 1 accepts reports of periods 0 and 1 three weeks later, and refuses those of later
    periods."""
    later = NOW + 3 * WEEK
    closed = study.close_early(notice(OPENS + WEEK + 1))
    assert closed.closed_early == OPENS + WEEK + 1
    sent = [report(number, PLAIN, period=number) for number in range(4)]
    assert counted(study, *sent, now=later) == (2, {"late": 2})
    (status,) = study.status(later)
    assert (status.closed_early, status.open, status.refused) == (OPENS + WEEK + 1, False, {"late": 2})
    assert status.as_json()["closed_early"] == OPENS + WEEK + 1


def test_a_notice_keeps_reports_that_were_counted_before(study):
    """A notice does not remove reports that were counted before it arrived, even if it would now refuse them."""
    assert counted(study, report(0, PLAIN, period=1))[0] == 1
    study.close_early(notice(OPENS + WEEK))
    assert study.periods(PLAIN) == {1: 1}
    assert counted(study, report(1, PLAIN, period=1)) == (0, {"late": 1})


@pytest.mark.parametrize(
    ("data", "stage"),
    [
        (notice(OPENS + WEEK, key=OTHER), "envelope"),
        (notice(PLAIN.campaign.closes), "campaign"),
        (notice(PLAIN.campaign.closes + WEEK), "campaign"),
        (envelope.seal(Kind.REPORT, AUTHOR, Closing(PLAIN.id, OPENS).encode()), "campaign"),
        (flipped(notice(OPENS)), "signature"),
        (PLAIN.data, "campaign"),
        (b"", "codec"),
    ],
)
def test_a_forged_foreign_or_extending_notice_is_refused(study, data, stage):
    """A foreign signature, a flipped bit, another kind of envelope, a time that is not earlier and an empty file are
    refused, and no campaign is closed."""
    with pytest.raises(BadData) as refused:
        study.close_early(data)
    assert refused.value.stage == stage
    assert study.listed()[0].closed_early is None


def test_a_notice_for_an_unknown_campaign_is_refused(study):
    """A study accepts notices for its own campaigns only."""
    with pytest.raises(StudyError, match="names no campaign of the study"):
        study.close_early(notice(OPENS, campaign(6)))


def test_a_notice_cannot_be_rolled_back(study):
    """After a notice, a later closing time is refused, the same one changes nothing and an earlier one replaces it, for
    all readers."""
    other = Study.open(str(study.path))
    study.close_early(notice(OPENS + 2 * WEEK))
    assert study.close_early(notice(OPENS + 2 * WEEK)).closed_early == OPENS + 2 * WEEK
    with pytest.raises(CampaignError, match="cannot open it again"):
        other.close_early(notice(OPENS + 3 * WEEK))
    assert other.close_early(notice(OPENS + WEEK)).closed_early == OPENS + WEEK
    assert counted(study, report(0, PLAIN, period=1), now=NOW + WEEK) == (0, {"late": 1})
    assert [one.closed_early for one in study.listed()] == [OPENS + WEEK]


def test_a_notice_in_a_batch_is_malformed(study):
    """A notice in a batch of reports is counted as one malformed item and closes nothing: the analyst imports notices
    separately."""
    assert counted(study, notice(OPENS), report(0, PLAIN)) == (1, {"malformed": 1})
    assert study.listed()[0].closed_early is None


def test_a_rebuild_keeps_closing_notices(study, tmp_path):
    """rebuild copies closing notices to the new study; if they are lost, --campaign restores them."""
    study.close_early(notice(OPENS + 2 * WEEK))
    study.close_early(notice(OPENS + WEEK))
    rebuild(study.path, tmp_path / "new", Sources(batches=[]), now=NOW)
    assert Study.open(str(tmp_path / "new")).listed()[0].closed_early == OPENS + WEEK
    shutil.rmtree(study.path / "campaigns")
    author = tmp_path / "author.pub"
    author.write_text(public_line(AUTHOR.public))
    files = [tmp_path / "a.notice", tmp_path / "plain"]
    for file, data in zip(files, (notice(OPENS + WEEK), PLAIN.data), strict=True):
        file.write_bytes(data)
    sources = [word for file in files for word in ("--campaign", file)]
    done = run("--study", study.path, "rebuild", "--out", tmp_path / "newer", "--trust", author, *sources)
    assert "give missing campaigns and closing notices with --campaign" in done.stderr
    assert Study.open(str(tmp_path / "newer")).listed()[0].closed_early == OPENS + WEEK


def test_the_service_serves_closing_notices(study):
    """The service's list has the closing time, and the notice is served beside the unchanged bytes of the campaign."""
    where = f"/v1/campaigns/{PLAIN.id.hex()}"
    with served(study) as address:
        assert fetched(address, f"{where}/closing")[0] == 404
        assert json.loads(fetched(address, "/v1/campaigns")[1])["campaigns"][0]["closed_early"] is None
    study.close_early(notice(OPENS + WEEK))
    with served(study) as address:
        assert fetched(address, f"{where}/closing") == (200, notice(OPENS + WEEK))
        assert json.loads(fetched(address, "/v1/campaigns")[1])["campaigns"][0]["closed_early"] == OPENS + WEEK
        assert fetched(address, where) == (200, PLAIN.data)


def test_commands_close_a_campaign_early(study, tmp_path):
    """close signs a notice, inspect shows its contents, import accepts it without --trust, and status shows the
    closing time. Another key and a later time are refused."""
    (tmp_path / "c.campaign").write_bytes(PLAIN.data)
    (tmp_path / "a.key").write_text(AUTHOR.line())
    (tmp_path / "b.key").write_text(OTHER.line())
    on = datetime.datetime.fromtimestamp(OPENS + WEEK, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S")
    command = ("close", tmp_path / "c.campaign", "--at", on, "--out", tmp_path / "c.closing", "--key")
    assert "was signed with another key" in run(*command, tmp_path / "b.key", code=65).stderr
    made = json.loads(run(*command, tmp_path / "a.key", "--json").stdout)
    assert (made["id"], made["closes"]) == (PLAIN.id.hex(), OPENS + WEEK)
    assert json.loads(run("inspect", tmp_path / "c.closing", "--json").stdout)["campaign"] == PLAIN.id.hex()
    assert run("inspect", tmp_path / "c.closing").stdout.strip()
    (tmp_path / "a.pub").write_text(public_line(AUTHOR.public))
    refused = run("inspect", tmp_path / "c.closing", "--trust", tmp_path / "a.pub", code=2)
    assert "c.closing is a closing notice: leave out --trust" in " ".join(refused.stderr.split())
    of = ("--study", study.path)
    named = run(*of, "import", tmp_path / "c.closing", "--name", "library", code=2)
    assert "c.closing is a closing notice: leave out --name" in " ".join(named.stderr.split())
    assert "early closing" in run(*of, "import", tmp_path / "c.closing").stdout
    assert json.loads(run(*of, "status", "--json").stdout)[0]["closed_early"] == OPENS + WEEK
    assert "early closing" in run(*of, "status").stdout
    run(*of, "import", tmp_path / "c.campaign", code=2)
    late = (*command[:3], "2100-01-01", "--out", tmp_path / "d.closing", "--key", tmp_path / "a.key")
    ends = datetime.datetime.fromtimestamp(PLAIN.campaign.closes, datetime.UTC).isoformat()
    assert f"--at must be before {ends}, when " in run(*late, code=65).stderr


def test_the_page_of_an_estimate_states_an_early_closing(study, tmp_path):
    """The page of an estimate has the time of an early closing beside the planned end, and the number of periods until
    the closing."""
    assert counted(study, *(report(number, PLAIN) for number in range(10)))[0] == 10
    command = ("--study", study.path, "estimate", study.listed()[0].name, "--report")

    def rows(name):
        run(*command, tmp_path / name)
        words = re.sub(r"<[^>]*>", " ", (tmp_path / name).read_text(encoding="utf-8"))
        return " ".join(words.split())

    planned = time_text(PLAIN.campaign.closes)
    assert f"closes {planned} periods 4 of 7 days each" in rows("before.html")
    study.close_early(notice(OPENS + WEEK + 1))
    early = f"{time_text(OPENS + WEEK + 1)}, closed early by its author (planned: {planned})"
    assert f"closes {early} periods 2 of 7 days each" in rows("after.html")
