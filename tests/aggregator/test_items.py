"""Sets of items from a draft to an estimate, reported as bit vectors and as single outputs."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from aggregator.author.draft import DraftError, read_question
from aggregator.author.value_table import ValueTableError
from aggregator.estimate import query
from aggregator.estimate.advice import UNKNOWN
from aggregator.estimate.estimator import estimate
from aggregator.estimate.tally import Tally
from aggregator.families.registry import decoder_of
from aggregator.intake.ingest import ingest
from aggregator.planner.padding import read_sets
from aggregator.study import Study
from aggregator.truth_file import Truth, read_truth
from protocol.campaign import Campaign, open_campaign, seal_campaign
from protocol.domain import Items
from protocol.errors import BadData, NotInDomain
from tests.aggregator.campaigns import campaign_of_draft
from tests.aggregator.fleet import AUTHOR
from tests.aggregator.simulated import population

ITEMS = ("bread", "cheese", "wine", "fish", "figs")
PEOPLE = 1500

DRAFT = """
title = "Basket"
question = "What is in your basket?"
organisation = "Town market"
[domain]
kind = "items"
values = ["bread", "cheese", "wine", "fish", "figs"]
padding = {padding}
[privacy]
notion = "minid"
budgets = {{wine = 2.0, figs = 2.0}}
default = 4.0
[mechanism]
name = "{mechanism}"
[schedule]
opens = 2026-12-01
closes = 2027-01-01
[limits]
minimum_reports = 1000
"""


def drafted(padding: str, mechanism: str = "idue", folder: Path = Path()) -> Campaign:
    return campaign_of_draft(DRAFT.format(padding=padding, mechanism=mechanism), folder)


def baskets(seed: int) -> Truth:
    """Return the sets of people who have each item with a different probability, three items at most."""
    draw = random.Random(seed)
    chances = (0.7, 0.4, 0.3, 0.15, 0.05)
    sets = []
    for _ in range(PEOPLE):
        held = [item for item, chance in zip(ITEMS, chances, strict=True) if draw.random() < chance]
        sets.append(tuple(held[:3]))
    return Truth(tuple(sets), (1,) * PEOPLE)


BUDGETS = 'notion = "minid"\nbudgets = {wine = 2.0, figs = 2.0}\ndefault = 4.0'
SCENARIOS = '{"secrets": ["a", "b"], "scenarios": [{"name": "s", "joint": {"a": {"bread": 1}, "b": {"figs": 1}}}]}'


@pytest.mark.parametrize(
    ("name", "privacy"),
    [
        ("high-low", 'sensitive = ["wine"]\nepsilon = 1.0'),
        ("block", 'blocks = [["bread", "cheese", "wine", "fish", "figs", "(none 1)", "(none 2)"]]\nepsilon = 1.0'),
        ("geo", "epsilon = 1.0"),
        ("pufferfish", 'scenarios = "scenarios.json"\nepsilon = 1.0'),
        ("pairwise", 'matrix = "matrix.csv"'),
        ("minid", f"{BUDGETS.partition(chr(10))[2]}\npairs = [[2.0, 4.0], [2.0, 2.0]]"),
        ("lip", 'epsilon = 1.0\n[prior]\nkind = "transcript"\nweights = [1, 1, 1, 1, 1, 1, 1]\ndrift = 0.1'),
    ],
)
def test_notions_that_do_not_cover_sets_are_refused(tmp_path: Path, name: str, privacy: str) -> None:
    """A draft about items names its own notion in the refusal, although Pufferfish is signed as geo."""
    (tmp_path / "scenarios.json").write_text(SCENARIOS, encoding="utf-8")
    (tmp_path / "matrix.csv").write_text("\n".join(["1,1,1,1,1,1,1"] * 7), encoding="utf-8")
    draft = DRAFT.format(padding=2, mechanism="auto").replace(BUDGETS, f'notion = "{name}"\n{privacy}')
    with pytest.raises(DraftError, match=rf"^\[privacy\] notion: the promise of {name} does not cover sets of items"):
        campaign_of_draft(draft, tmp_path)


@pytest.mark.parametrize(
    ("privacy", "error"),
    [
        (
            BUDGETS.replace("wine", '"wine;bread"'),
            r"\[privacy\] budgets: 'wine;bread' is not .* each entry must be one item",
        ),
        (BUDGETS.replace("wine", '""'), r"\[privacy\] budgets: '' is not .* each entry must be one item"),
        (BUDGETS.replace("wine", '"(none 2)"'), r"^\[privacy\] budgets: .\(none 2\). is a dummy"),
        (
            'notion = "lip"\nepsilon = 1.0\n[prior]\ncounts = "sets.csv"',
            "^sets.csv, line 3: each entry must be one item",
        ),
    ],
)
def test_settings_of_items_do_not_name_sets(tmp_path: Path, privacy: str, error: str) -> None:
    """A budget, and a count of a prior, is that of one item or dummy. A set of several items, or of none, would set
    only one of the inputs, so it is refused; so is the budget of a dummy, which follows from those of the items."""
    (tmp_path / "sets.csv").write_text("value,count\nbread,5\ncheese;wine,3\n", encoding="utf-8")
    with pytest.raises(BadData, match=error):
        campaign_of_draft(DRAFT.format(padding=2, mechanism="auto").replace(BUDGETS, privacy), tmp_path)


@pytest.mark.parametrize(
    "mechanism",
    ["idue", "auto", *(pytest.param(one, marks=pytest.mark.long) for one in ("oue", "randomized-response"))],
)
def test_estimates_of_simulated_item_sets_contain_their_shares(tmp_path, mechanism: str) -> None:
    """Simulated baskets are ingested, and the simultaneous interval of each item contains the share of people who have
    it.

    The seed is fixed; intervals are at 99.9%, so about one seed in a thousand would fail. The short test has one
    mechanism of bits, and the chosen mechanism, which reports single outputs.
    """
    campaign = drafted("3", mechanism)
    signed = open_campaign(seal_campaign(campaign, AUTHOR), [AUTHOR.public])
    study = Study.create(tmp_path / "study")
    study.import_campaign(signed.data, [AUTHOR.public], "basket")
    truth = baskets(1)
    batch = tmp_path / "batch.htr"
    batch.write_bytes(b"".join(sent.reports for sent in population(campaign, signed.id, truth, 0, 1, 1)))
    assert ingest(study, [batch], now=campaign.opens).accepted == PEOPLE
    assert ingest(study, [batch], now=campaign.opens).refused == {"replayed": PEOPLE}

    tally = study.tally(signed)
    assert tally.reports == PEOPLE
    assert len(tally.counts) == campaign.channel.features
    found = estimate(signed, tally, confidence=0.999)
    holders = truth.shares(campaign.domain)
    assert found.size == len(holders) == len(ITEMS)
    assert ((found.simultaneous_low <= holders) & (holders <= found.simultaneous_high)).all()
    assert [row["value"] for row in found.as_json()["values"]] == list(ITEMS)

    worth = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    answer = query.weighted_mean(campaign, tally, worth, confidence=0.999)
    assert answer.low <= worth @ holders <= answer.high
    assert answer.estimate == pytest.approx(worth @ found.raw, abs=4 * answer.se)


def test_the_warning_about_noise_is_about_the_printed_errors() -> None:
    """The warning about large standard errors counts the items, and not the dummies. Its percentages are those of the
    printed errors, which are ``padding`` times the errors of the channel's inputs."""
    campaign = replace(drafted("3"), minimum_devices=20)
    decoder = decoder_of(campaign.channel)
    even = np.full(decoder.input_count, 1 / decoder.input_count)
    tally = Tally(np.round(20 * decoder.forward(even)).astype(np.int64), 20)
    found = estimate(campaign, tally, method="projection")
    noisy = int(np.count_nonzero(found.se > UNKNOWN))
    assert found.se.max() / 3 < UNKNOWN < found.se.max()
    (warning,) = [warning for warning in found.warnings if "standard error" in warning]
    assert f"at {noisy} of 5 values the standard error is above 50% (up to {found.se.max():.0%})" in warning


def test_a_padding_is_chosen_from_a_sample(tmp_path) -> None:
    """padding = "auto" takes a padding from 1 to 5 for five items and a sample file with one set a line, for the
    campaign and for the plan.

    A line with an unknown item is named.
    """
    draw = random.Random(2)
    lines = [";".join(item for item in ITEMS if draw.random() < 0.4) for _ in range(200)]
    (tmp_path / "sets.txt").write_text("\n".join(lines), encoding="utf-8")
    campaign = drafted('"auto"\nsample = "sets.txt"', folder=tmp_path)
    assert isinstance(campaign.domain, Items)
    assert 1 <= campaign.domain.padding <= 5
    text = DRAFT.format(padding='"auto"\nsample = "sets.txt"', mechanism="idue")
    (tmp_path / "draft.toml").write_text(text, encoding="utf-8")
    assert read_question(tmp_path / "draft.toml").domain == campaign.domain
    (tmp_path / "sets.txt").write_text("bread;stone", encoding="utf-8")
    with pytest.raises(BadData, match=r"line 1: the line is not a set of items of the question, .*: expected 'bread'"):
        drafted('"auto"\nsample = "sets.txt"', folder=tmp_path)


def test_dummies_are_protected_like_the_best_protected_item() -> None:
    """Dummies that pad a set have the smallest of all budgets (Gu et al. 2020, sec. VI-B)."""
    campaign = drafted("2")
    notion = campaign.notion
    least = min(notion.budgets)
    assert notion.bound(5, 6) == notion.bound(2, 6) == least
    assert notion.bound(0, 1) == 2 * least


def test_a_catalogue_may_be_given_by_its_size() -> None:
    """A domain of tens of thousands of items is given by their number, and its campaign is small."""
    text = DRAFT.format(padding="4", mechanism="randomized-response")
    text = text.replace('["bread", "cheese", "wine", "fish", "figs"]', "41270").replace("wine =", "7 =")
    campaign = campaign_of_draft(text.replace("figs =", "9 ="))
    assert campaign.domain.size == 41274
    assert len(seal_campaign(campaign, AUTHOR)) < 1000


def test_a_padding_without_a_sample_is_refused() -> None:
    """An automatic padding without a sample of sets is refused."""
    with pytest.raises(DraftError, match="sample"):
        drafted('"auto"')


def test_each_unreadable_sample_is_refused_with_its_reason(tmp_path) -> None:
    """A sample that is missing, is a folder, is not text, has no sets, or has an unknown item is refused; no error has
    an item of a person."""
    file, domain = tmp_path / "sets.txt", Items(2, ("bread", "wine"))
    with pytest.raises(DraftError, match=r"\[domain\] sample: there is no file sets\.txt"):
        drafted('"auto"\nsample = "sets.txt"', folder=tmp_path)
    with pytest.raises(ValueTableError, match=r"^cannot read "):
        read_sets(tmp_path, domain)
    for content, message in (
        (b"\xff", r"^sets\.txt is not UTF-8 text: save it as UTF-8, with one set per line$"),
        (b"", r"^sets\.txt has no sets: write one set per line$"),
        (b"wine\nsecret;wine\n", r"^sets\.txt, line 2: the line is not a set .*: expected 'bread', 'wine'$"),
    ):
        file.write_bytes(content)
        with pytest.raises(ValueTableError, match=message) as refused:
            read_sets(file, domain)
        assert "secret" not in str(refused.value)


def test_an_invalid_item_number_is_refused_with_the_range(tmp_path) -> None:
    """Items without names have the numbers from 1 to m, and an invalid number is refused.

    The error of a table of counts has the number; those of a device and of a file of people's sets have only the valid
    range.
    """
    domain = Items(2, 30)
    file = tmp_path / "sets.csv"
    for wrong in ("0", "31"):
        with pytest.raises(NotInDomain, match="numbers 1 to 30") as error:
            domain.members((wrong, "3"))
        assert wrong not in str(error.value).replace("30", "")
        file.write_text(f"value,count\n1;2,5\n3;{wrong};4,5\n", encoding="utf-8")
        with pytest.raises(ValueTableError, match=f"line 3: '{wrong}' is not an answer .* numbers 1 to 30"):
            read_truth(file, domain)
        file.write_text(f"1;2\n3;{wrong};4\n", encoding="utf-8")
        with pytest.raises(ValueTableError, match=r"line 2: the line is not an answer .* numbers 1 to 30: choose"):
            read_sets(file, domain)
