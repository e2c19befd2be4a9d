"""The audit on the device: the levels of a campaign, and its levels under a person's history."""

from __future__ import annotations

import json
import math
import time

import pytest

from edge_sdk import __main__ as command_line
from edge_sdk.campaigns.audit import audit
from edge_sdk.disclosure.posterior import posterior_of
from protocol import levels
from protocol.campaign import campaign_id, unverified_campaign
from protocol.channels import Hadamard
from protocol.domain import Buckets, Grid
from protocol.keys import public_line
from tests.edge_sdk.conftest import AUTHOR, LABELS, campaign
from tests.families.hadamard import truth_of


def test_without_a_history_the_prior_is_uniform():
    """Before the first answer, levels are computed under a uniform prior and equal the closed forms of randomised
    response."""
    found = audit(unverified_campaign(campaign()))
    odds, k = math.e, len(LABELS)
    truth = odds / (odds + k - 1)
    assert not found.uses_history
    assert found.table.levels["ldp"].nanonats == 10**9
    assert found.table.levels["lip"].nats == pytest.approx(max(math.log(truth * k), math.log((odds + k - 1) / k)))
    assert found.table.levels["maximal-leakage"].nats == pytest.approx(math.log(truth * k), abs=1e-8)
    assert "geo" in found.table.missing
    assert [row.epsilon for row in found.table.curve] == [0, 5 * 10**8, 10**9]


def test_a_history_is_the_prior():
    """With a history, the LIP level is computed under the history's counts plus one, and the posterior is that of
    ``posterior_of`` for the same history."""
    opened = unverified_campaign(campaign())
    found = audit(opened, {"bachelor": 7, "none": 1})
    assert found.uses_history
    prior = [2, 1, 1, 8, 1, 1]
    expected = levels.lip(levels.structure_of(opened.channel), prior)
    assert found.table.levels["lip"] == expected
    posterior = posterior_of(opened.channel, 10**9, {3: 7, 0: 1})
    assert found.table.posterior is not None
    assert tuple(map(float, found.table.posterior)) == pytest.approx((posterior.before, posterior.after))


def test_domains_with_distances_have_a_geo_level():
    """For buckets and grids, the audit has a level of geo-indistinguishability per unit of distance."""
    for domain, per_unit in ((Buckets.of([0, 2, 10]), 0.5), (Grid(0, 2 * 10**5, 0, 10**5, 10**5), 1.0)):
        found = audit(unverified_campaign(campaign(domain=domain)))
        assert found.table.levels["geo"].nats == pytest.approx(per_unit, abs=1e-8)


def test_the_posterior_of_a_large_channel_is_below_the_bound_of_its_level():
    """For 43,750 values, the posterior after a Hadamard report is less than the level alone allows, and at least
    the posterior after each of eight outputs."""
    channel = Hadamard(truth_of(10**9), 43_750)
    counts = {5: 40_000, 77: 100}
    found = posterior_of(channel, 10**9, counts)
    before = 40_001 / (43_750 + 40_100)
    assert found.before == pytest.approx(before)
    assert found.before < found.after < before * math.e / (before * math.e + 1 - before) - 0.05
    for y in (0, 1, 2, 4, 8, 3, 48, 65_535):
        column = [channel.weight(x, y) * (1 + counts.get(x, 0)) for x in range(channel.input_count)]
        assert max(column) / sum(column) <= found.after


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with a campaign that is open now and its author's key."""
    (tmp_path / "c.campaign").write_bytes(campaign(opens=int(time.time()) - 60))
    (tmp_path / "analyst.pub").write_text(public_line(AUTHOR.public))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *words, code=0):
    assert command_line.main(["--store", "store", *words]) == code
    return capsys.readouterr().out


def test_a_campaign_file_can_be_audited_before_joining(folder, capsys):
    """A campaign file can be audited without a store and without trust; the numbers are the same as after joining."""
    before = json.loads(run(capsys, "audit", "c.campaign", "--json"))
    assert not (folder / "store").exists()
    assert (before["prior"], before["levels"]["ldp"], before["declared"]) == ("uniform", 1.0, 1.0)
    run(capsys, "join", "c.campaign", "--trust", "analyst.pub")
    ident = campaign_id((folder / "c.campaign").read_bytes()).hex()
    assert json.loads(run(capsys, "audit", ident, "--json")) == before
    run(capsys, "consent", ident)
    run(capsys, "answer", ident, "bachelor")
    after = json.loads(run(capsys, "audit", ident[:6], "--json"))
    assert after["prior"] == "your earlier answers"
    assert after["posterior"]["before"] == pytest.approx(2 / 7)
    assert after["levels"]["ldp"] == 1.0


def test_the_audit_is_printed_for_people(folder, capsys):
    """Without --json each level is printed on a line in nats; for a level that is not computed, the line gives the
    reason."""
    shown = run(capsys, "audit", "c.campaign")
    assert "  ldp: 1 nat\n" in shown
    assert "  geo: the domain defines no distance between values" in shown
    assert "largest probability of an answer after one report, at most: " in shown
    (folder / "fifths.campaign").write_bytes(campaign(domain=Buckets.of([0, 1, 2, 3, 4])))
    # One fifth as a float is above one fifth, and would be rounded up to 20.1%.
    assert "to an observer with this prior: 20%\n" in run(capsys, "audit", "fifths.campaign")
    assert run(capsys, "audit", "ffff", code=1) == ""
    (folder / "bent.campaign").write_bytes(b"no campaign")
    assert run(capsys, "audit", "bent.campaign", code=65) == ""
