"""Properties of simulations with a file of declared priors: people's priors, and their values."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from aggregator.author.value_table import ValueTableError
from aggregator.families.response.recipe import randomized_response
from aggregator.priors_file import Declarers, read_priors, truth_of
from aggregator.simulation import histories, shuffled
from aggregator.truth_file import read_truth
from protocol import exact, keys, personal
from protocol.campaign import Campaign, seal_campaign
from protocol.domain import Values
from protocol.keys import SigningKey
from protocol.notions import DeclaredPrior, Ldp
from protocol.views import plain_views
from tests.aggregator.command import run

LABELS = ("wheat", "hay", "flax")
CROPS = Values(LABELS)
NOTION = DeclaredPrior(exact.NANONATS, 3)
CAMPAIGN = Campaign("Crops", "Which?", "", "Council", CROPS, NOTION, "lip-response", plain_views(NOTION.response),
                 1_700_000_000, 1_701_000_000, 10**6, 1, 1, "open")  # fmt: skip


def file_of(tmp_path, text: str):
    path = tmp_path / "people.csv"
    path.write_text(text)
    return path


def test_weights_are_declared_as_a_device_declares_them(tmp_path) -> None:
    """Fractions and whole numbers in any order of columns give one declaration; a row without a count is one person."""
    found = read_priors(file_of(tmp_path, "hay,wheat,flax\n0.2,0.7,0.1\n4,14,2\n"), CAMPAIGN)
    assert found == [Declarers((7, 2, 1), 1, None)] * 2
    found = read_priors(file_of(tmp_path, "value,wheat,hay,flax,count\nhay,1,2,3,40\nflax,1,1,1,5\n"), CAMPAIGN)
    assert found == [Declarers((1, 2, 3), 40, "hay"), Declarers((1, 1, 1), 5, "flax")]
    assert all(personal.canonical_prior(one.prior) == one.prior for one in found)


def test_personal_levels_have_a_column_before_the_count(tmp_path) -> None:
    """The column of personal levels is in nats and precedes the count; blank, or the campaign's level, means no
    personal level."""
    found = read_priors(file_of(tmp_path, "wheat,hay,flax,epsilon,count\n1,2,3,0.5,4\n1,2,3,,5\n1,2,3,1,6\n"), CAMPAIGN)
    assert [(one.level, one.count) for one in found] == [(exact.NANONATS // 2, 4), (0, 5), (0, 6)]
    assert (
        read_priors(file_of(tmp_path, "wheat,hay,flax,epsilon\n1,2,3,0.25\n"), CAMPAIGN)[0].level == exact.NANONATS // 4
    )
    assert set(truth_of(found, CROPS, seed=1).levels) == {0, exact.NANONATS // 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wheat,hay\n1,2\n", "all 3 values"),
        ("wheat,hay,hay\n1,2,3\n", "all 3 values"),
        ("wheat,hay,oats\n1,2,3\n", "all 3 values .*: value 3 is not one of .* expected 'wheat', 'hay', 'flax'"),
        ('wheat,"hay\n",flax\n1,2\n', "line 3: the row must have 3 cells"),
        ("wheat,hay,flax\n1,2\n", "line 2: the row must have 3 cells, as the header has, not 2"),
        ("wheat,hay,flax\n1,2,0\n", "line 2: a weight must be above zero"),
        ("wheat,hay,flax\n1,2,many\n", "line 2: a weight must be a number"),
        ("wheat,hay,flax\n0.33333333,0.33333333,0.33333334\n", "fewer digits"),
        ("wheat,hay,flax,count\n1,2,3,some\n", "line 2: a count must be a whole number of at most 15 digits$"),
        ("wheat,hay,flax,count\n1,2,3,0\n", "has no people"),
        ("wheat,hay,flax,count\n1,2,3,11\n", "more than 10 people"),
        ("wheat,hay,flax,epsilon\n1,2,3,2\n", "line 2: epsilon must be from"),
        ("wheat,hay,flax,epsilon\n1,2,3,low\n", "line 2: epsilon must be a number"),
        (
            "value,wheat,hay,flax\noats,1,2,3\n",
            "line 2: the first cell is not one of the question's 3 values: expected 'wheat', 'hay', 'flax'",
        ),
    ],
)
def test_a_file_is_read_strictly(tmp_path, text: str, message: str) -> None:
    """An invalid header, weight, count, level or value is refused; the error of a row names its line."""
    with pytest.raises(ValueTableError, match=message):
        read_priors(file_of(tmp_path, text), CAMPAIGN, max_people=10)


def test_a_file_of_priors_is_refused_for_other_campaigns(tmp_path) -> None:
    """A file of priors is refused for a campaign in which devices declare none."""
    ldp = Ldp(exact.NANONATS)
    plain = replace(CAMPAIGN, notion=ldp, views=plain_views(randomized_response(3, exact.NANONATS)))
    with pytest.raises(ValueTableError, match="asks for no declared priors"):
        read_priors(file_of(tmp_path, "wheat,hay,flax\n1,2,3\n"), plain)


def test_answers_of_people_follow_their_declared_priors() -> None:
    """The answers of 30,000 people with two priors follow these priors, and so do new answers in a later period."""
    people = [Declarers((8, 1, 1), 20_000, None), Declarers((1, 1, 2), 10_000, None)]
    truth = truth_of(people, CROPS, seed=2)
    drawn = np.array(truth.counts).reshape(2, 3)
    assert drawn.sum(axis=1).tolist() == [20_000, 10_000]
    expected = np.array([[16_000, 2000, 2000], [2500, 2500, 5000]])
    # A chi-square statistic with 4 degrees of freedom is above 23.5 with probability 1e-4. The seed is fixed.
    assert ((drawn - expected) ** 2 / expected).sum() < 23.5
    later = histories(truth, truth.priors, shuffled(truth, 2), 2, 1.0, 2)[:, 1]
    again = np.bincount(later, minlength=6).reshape(2, 3)
    assert again.sum(axis=1).tolist() == [20_000, 10_000]
    assert ((again - expected) ** 2 / expected).sum() < 23.5
    assert truth_of(people, CROPS, seed=2) == truth != truth_of(people, CROPS, seed=3)


def test_a_single_person_with_a_prior_may_change_their_value() -> None:
    """A person may change even if no other person has the same prior: later values do not depend on the first one."""
    truth = truth_of([Declarers((1, 1, 2), 1, None)], CROPS, seed=1)
    held_in = histories(truth, truth.priors, shuffled(truth, 1), 40, 1.0, 1)
    assert len(set(held_in[0].tolist())) == 3  # a missing value has a probability of 2e-5


def test_a_file_of_priors_is_simulated_ingested_and_estimated(tmp_path, monkeypatch) -> None:
    """simulate, ingest and estimate work with a file of priors, and the intervals contain the true shares that
    simulate writes. Options that exclude each other are usage errors and write no file."""
    monkeypatch.chdir(tmp_path)
    key = SigningKey(bytes(range(32)))
    (tmp_path / "crops.campaign").write_bytes(seal_campaign(CAMPAIGN, key))
    (tmp_path / "me.pub").write_text(keys.public_line(key.public))
    file_of(tmp_path, "wheat,hay,flax,count\n8,1,1,300\n1,1,2,200\n")
    run(
        "simulate",
        "crops.campaign",
        "--priors",
        "people.csv",
        "--answers",
        "answers.csv",
        "--out",
        "batch",
        "--seed",
        5,
    )
    truth = read_truth(tmp_path / "answers.csv", CROPS)
    assert truth.people == 500
    run("--study", "lib", "import", "crops.campaign", "--trust", "me.pub")
    run("--study", "lib", "ingest", "batch")
    rows = json.loads(run("--study", "lib", "estimate", "crops", "--truth", "answers.csv", "--json").output)["values"]
    shares = truth.shares(CROPS).tolist()
    assert all(row["low"] <= share <= row["high"] for row, share in zip(rows, shares, strict=True))  # the seed is fixed
    run("simulate", "crops.campaign", "--out", "more", code=2)
    run("simulate", "crops.campaign", "--priors", "people.csv", "--truth", "answers.csv", "--out", "more", code=2)
    run("simulate", "crops.campaign", "--truth", "answers.csv", "--answers", "again.csv", "--out", "more", code=2)
    assert not (tmp_path / "more").exists()
    assert not (tmp_path / "again.csv").exists()
