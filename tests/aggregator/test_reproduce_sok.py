"""The tables of the SoK agree with brute force over the cells, and a false relation is detected."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from aggregator.author.audit import audit, levels_request
from aggregator.reproduce import simulated_people
from aggregator.reproduce.data import DataFolder
from aggregator.reproduce.experiment import Setting
from aggregator.reproduce.sok import implications
from aggregator.reproduce.sok.audits import ROWS, example_levels
from aggregator.reproduce.sok.examples import DOMAIN, PRIOR, examples, pufferfish_of_halves
from aggregator.reproduce.sok.implications import RELATIONS, relations
from aggregator.reproduce.sok.tradeoffs import joint, utility
from protocol import levels
from protocol.channels import Table
from tests.aggregator.matrix import dense

LAW = np.array(PRIOR) / sum(PRIOR)


def setting(repeats=20):
    return Setting(DataFolder(None), np.random.default_rng(1), repeats, True, lambda _: None)


def audited(campaign):
    return audit(
        campaign,
        levels_request(
            campaign, prior=PRIOR, epsilons=(simulated_people.level_of_nats(0.5),), pufferfish=pufferfish_of_halves()
        ),
    )


@pytest.mark.parametrize("name", ["randomised response", "Hadamard", "geometric noise", "LIP", "mutual information"])
def test_a_row_of_the_table_equals_brute_force(name):
    """Every level of a campaign equals the one computed from its cells by the notion's definition."""
    campaign = examples()[name]
    rows = dense(campaign.channel)
    marginal = LAW @ rows
    ratio = np.log(rows.max(axis=0) / rows.min(axis=0))
    lift, even = np.log(rows / marginal), np.full(6, 1 / 6)
    posterior = LAW[:, None] * rows / marginal
    low, high = slice(0, 3), slice(3, 6)
    secrets = [
        np.abs(
            np.log(
                (distribution[low] @ rows[low] / distribution[low].sum())
                / (distribution[high] @ rows[high] / distribution[high].sum())
            )
        ).max()
        for distribution in (LAW, even)
    ]
    odds = math.exp(0.5)
    expected = {
        "eps-LDP (Def. 1)": ratio.max(),
        "(eps, delta)-LDP": max(np.maximum(a - odds * b, 0).sum() for a in rows for b in rows),
        "(eps, delta)-LIP, delta = 0 (Def. 6)": np.abs(lift).max(),
        "L-MIP, nats (Def. 5)": (LAW[:, None] * rows * lift).sum(),
        "L-MIP, bits": (LAW[:, None] * rows * lift).sum() / math.log(2),
        "differential identifiability (Def. 7)": np.log(posterior.max(axis=0) / posterior.min(axis=0)).max(),
        "Pufferfish (Def. 8)": max(secrets),
        "maximal leakage (Def. 9)": math.log(rows.max(axis=0).sum()),
        "geo-indistinguishability (eq. 8)": max(
            np.abs(np.log(rows[x] / rows[y])).max() / abs(x - y) for x in range(6) for y in range(x)
        ),
    }
    found = audited(campaign)
    by_name = {row.name: row for row in ROWS}
    for row, number in expected.items():
        assert float(by_name[row].level_of(found)) == pytest.approx(number, abs=6e-4), row


def test_every_kind_of_promise_has_a_certified_campaign():
    """There are twelve certified campaigns of one domain; high-low, blocks and the truth once in 100 have an infinite
    LDP level."""
    campaigns = examples()
    assert len(campaigns) == 12
    assert {campaign.domain for campaign in campaigns.values()} == {DOMAIN}
    rows = {row.name: row for row in ROWS}
    unbounded = {name for name, campaign in campaigns.items()
                 if rows["eps-LDP (Def. 1)"].level_of(audited(campaign)) == "infinite"}  # fmt: skip
    assert unbounded == {"high-low", "blocks", "truth once in 100"}


def test_the_truth_once_in_a_hundred_has_the_computed_levels():
    """A channel that tells the truth once in a hundred has I = H/100, leakage ln 1.05, delta 1/100 and no bound in
    the worst case."""
    found = audited(examples()["truth once in 100"]).as_json()
    entropy = -float((LAW * np.log(LAW)).sum())
    assert found["levels"]["mutual-information"] == pytest.approx(entropy / 100, abs=1e-8)
    assert found["levels"]["maximal-leakage"] == pytest.approx(math.log(1.05), abs=1e-8)
    assert found["delta"][0]["ldp"] == pytest.approx(0.01, abs=1e-8)
    assert found["levels"]["lip"] is found["levels"]["ldp"] is None


def test_the_table_has_every_notion_and_every_campaign():
    """The table has a row for each notion of the paper, each with all twelve campaigns, and ends with the release."""
    result = example_levels(setting())
    assert len(result.findings) == len(ROWS) + 1
    names = list(examples())
    for finding in result.findings:
        assert all(name in finding.ours for name in names)
    release = result.findings[-1]
    assert "k-anonymity" in release.paper
    assert "OUE -" in release.ours  # no k-anonymity, because bits are counted one by one
    assert "truth once in 100" in release.ours
    assert release.ours.endswith("l = 1")  # a report of the truth reveals the answer


def test_a_false_relation_is_found(monkeypatch):
    """All of 20 random channels break a false relation and none breaks a true one, so the check of relations can
    fail."""
    monkeypatch.setattr(implications, "RELATIONS", {"false": "ldp <= mutual-information", "true": "lip <= ldp"})
    result = relations(setting(20))
    false, true = result.findings[:2]
    assert "broken by 20 of 20" in false.ours
    assert false.why == "it does not hold"
    assert "broken by 0 of 20" in true.ours
    assert result.verdict == "In 20 random channels not every implication held. false: broken by 20."


def test_random_channels_satisfy_the_relations_of_the_notions():
    """LDP implies LIP, LIP implies LDP at twice the level, and both bound every average, for 20 random channels.

    The page tests more channels.
    """
    result = relations(setting(20))
    assert all("broken by 0 of 20" in finding.ours for finding in result.findings[: len(RELATIONS)])
    assert "LIP never above LDP" in result.verdict


def test_a_constant_report_has_the_identifiability_of_the_prior():
    """The differential identifiability of a constant report is the prior's log odds; LDP, LIP and maximal leakage are
    zero."""
    silent = Table.rounded([[Fraction(1, 4), Fraction(3, 4)]] * 6)
    found = levels.table(levels.structure_of(silent), levels.LevelsRequest(PRIOR)).levels
    assert found["differential-identifiability"].nats == pytest.approx(math.log(10), abs=1e-8)
    assert found["ldp"].nats == found["lip"].nats == 0
    assert found["maximal-leakage"].nats < 1e-8


def test_the_channel_for_mutual_information_has_the_least_error():
    """At one level of mutual information the channel designed for it has the least error, then LIP, LDP, and no
    report."""
    result = utility(setting())
    first = result.findings[0]
    made, lip, ldp, alone = (float(word.rstrip(",;.")) for word in first.ours.split() if word[:2] == "0."
                             and len(word.rstrip(",;.")) == 5)  # fmt: skip
    assert made < lip < ldp < alone
    own, against = result.plots
    assert {curve.name for curve in own.curves} == {curve.name for curve in against.curves}


def test_a_channel_of_bits_is_expanded_to_words():
    """A channel of bits is expanded to the cells of its words, and any other channel is left unchanged."""
    campaigns = examples()
    campaign = campaigns["OUE"]
    table = joint(campaign.channel)
    assert isinstance(table, Table)
    assert dense(table) == pytest.approx(dense(campaign.channel), abs=1e-12)
    plain = campaigns["LIP"].channel
    assert joint(plain) is plain


def test_a_false_equality_of_levels_is_found(monkeypatch):
    """If a level differs from that of LDP, or a probability from the paper's formula, the finding says by how much, and
    that the claim does not hold."""
    table = levels.table

    def shifted(structure, request):
        found = table(structure, request)
        moved = dict.fromkeys(("pufferfish", "lip-ball"), levels.Level(nanonats=10**10))
        return replace(found, levels=found.levels | moved)

    before = {finding.paper: finding for finding in relations(setting(2)).findings}
    monkeypatch.setattr(levels, "table", shifted)
    monkeypatch.setattr(implications, "_largest_difference", lambda prior: 0.1)
    after = {finding.paper: finding for finding in relations(setting(2)).findings}
    changed = {paper for paper, finding in after.items() if finding.why != before[paper].why}
    assert {paper.split()[0] for paper in changed} == {"Pufferfish", "LIP", "random"}
    assert sum(after[paper].why == "it does not hold" for paper in changed) == 2
    assert all("differ" in after[paper].ours for paper in changed)
