"""Drafts of campaigns with classes, with people's own priors, and of a second round."""

from __future__ import annotations

import json
import tomllib
from decimal import Decimal

import numpy as np
import pytest

from aggregator.author.classes import class_channel, classes_of
from aggregator.author.draft import campaign_of, read_draft
from aggregator.author.lint import lint
from aggregator.author.toml_section import DraftError
from aggregator.estimate.result import estimate
from aggregator.estimate.tally import Tally
from protocol import exact
from protocol.campaign import Campaign
from protocol.domain import Values
from protocol.errors import BadData
from protocol.notions import Information, Ldp, certify
from protocol.notions.own import OwnPrior

NAT = exact.NANONATS
DOMAIN = Values(("wheat", "rye", "oats", "hay"))

DRAFT = """
title = "Crops"
question = "What do you grow?"
organisation = "Council"
{classes}

[domain]
kind = "values"
values = ["wheat", "rye", "oats", "hay"]

[privacy]
notion = "{notion}"
epsilon = 1.0
{more}

[schedule]
opens = 2026-12-01
closes = 2027-03-01
"""


def tables(text: str) -> dict:
    return tomllib.loads(text, parse_float=Decimal)


def drafted(notion: str = "lip", more: str = "", folder=None) -> Campaign:
    return campaign_of(tables(DRAFT.format(notion=notion, more=more, classes="")), folder)


def test_classes_take_their_levels_and_priors(tmp_path) -> None:
    """Each class has its own prior, and its own level where it names one; a file is looked for beside the draft."""
    (tmp_path / "gardeners.csv").write_text("value,count\nwheat,1\nrye,1\noats,4\nhay,4\n")
    written = tables('[farmers]\ncounts = [50, 20, 10, 1]\n[gardeners]\nepsilon = 0.5\ncounts = "gardeners.csv"\n')
    notion, names = classes_of(written, {"notion": "lip", "epsilon": Decimal(1)}, DOMAIN, tmp_path)
    assert names == ("farmers", "gardeners")
    assert notion.notions == (Information(NAT, (50, 20, 10, 1)), Information(NAT // 2, (1, 1, 4, 4)))
    assert notion.level == NAT


def test_several_levels_are_classes_without_priors(tmp_path) -> None:
    """Classes of a notion without a prior differ by their levels alone."""
    written = tables("[careful]\nepsilon = 0.5\n[open]\n")
    notion, _ = classes_of(written, {"notion": "ldp", "epsilon": Decimal(2)}, DOMAIN, tmp_path)
    assert notion.notions == (Ldp(NAT // 2), Ldp(2 * NAT))


@pytest.mark.parametrize(
    "written",
    [
        "[farmers]\ncounts = [1, 2, 3, 4]",
        "farmers = 1\ngardeners = 2",
        "[farmers]\ncounts = [1, 2, 3, 4]\n[gardeners]",
        "[farmers]\ncounts = [1, 2, 3]\n[gardeners]\ncounts = [1, 2, 3, 4]",
        "[farmers]\ncounts = [1, 2, 3, 4]\n[gardeners]\ncounts = [1, 2, 3, 4]\ncolour = 7",
        "[farmers]\ncounts = [1, 2, 3, 4]\n[gardeners]\ncounts = [1, 2, 3, 4]\nepsilon = 0",
    ],
)
def test_tables_that_are_no_classes_are_refused(written: str, tmp_path) -> None:
    """One class, no tables, a class without its prior or with a wrong one, and unknown entries."""
    with pytest.raises(DraftError):
        classes_of(tables(written), {"notion": "lip", "epsilon": Decimal(1)}, DOMAIN, tmp_path)


@pytest.mark.parametrize("name", ["auto", "lip-response", "randomized-response"])
def test_every_class_has_a_channel_that_keeps_its_notion(name: str, tmp_path) -> None:
    """The channel is a block for each class, certified class by class."""
    written = tables("[farmers]\ncounts = [50, 20, 10, 1]\n[gardeners]\nepsilon = 0.5\ncounts = [1, 1, 4, 4]\n")
    notion, _ = classes_of(written, {"notion": "lip", "epsilon": Decimal(1)}, DOMAIN, tmp_path)
    made, channel = class_channel(name, DOMAIN, notion)
    for certificate, inner in zip(certify(channel, notion).classes, notion.notions, strict=True):
        assert inner.level * 0.5 < certificate.audited <= inner.level
    assert name in ("auto", made)


@pytest.mark.parametrize("name", ["nothing", "hadamard-of-nobody", "rappor"])
def test_a_mechanism_that_cannot_serve_a_class_is_refused(name: str, tmp_path) -> None:
    """Unknown mechanisms, and those whose channels cannot stand beside others."""
    notion, _ = classes_of(tables("[a]\n[b]\n"), {"notion": "ldp", "epsilon": Decimal(1)}, DOMAIN, tmp_path)
    with pytest.raises(DraftError, match="mechanism"):
        class_channel(name, DOMAIN, notion)


def test_a_draft_with_classes_is_a_campaign(tmp_path) -> None:
    """[classes.NAME] makes a campaign that encodes, decodes and is certified."""
    more = "[classes.farmers]\ncounts = [50, 20, 10, 1]\n[classes.gardeners]\nepsilon = 0.5\ncounts = [1, 1, 4, 4]"
    made = drafted(more=more, folder=tmp_path)
    assert made.classes == ("farmers", "gardeners")
    assert Campaign.decode(made.encode()) == made
    with pytest.raises(BadData):
        drafted(more=more + '\n[prior]\nkind = "campaign"', folder=tmp_path)


def test_a_draft_for_own_priors_is_a_campaign(tmp_path) -> None:
    """[prior] kind = "own" makes a campaign whose channels the devices' declarations make."""
    made = drafted(more='[prior]\nkind = "own"', folder=tmp_path)
    assert made.notion == OwnPrior(NAT, 4)
    assert Campaign.decode(made.encode()) == made
    with pytest.raises(DraftError):
        drafted(more='[prior]\nkind = "own"\n[mechanism]\nname = "randomized-response"', folder=tmp_path)
    with pytest.raises(DraftError):
        drafted(more='[prior]\nkind = "diary"', folder=tmp_path)


def test_the_second_round_asks_with_what_the_first_one_learnt(tmp_path) -> None:
    """A campaign whose prior is an earlier estimate: its people cost less error than under an even prior."""
    first = drafted("ldp", folder=tmp_path)
    truth = np.array([0.7, 0.2, 0.08, 0.02])
    law = [
        sum(truth[x] * first.channel.weight(x, y) for x in range(4)) / 2**first.channel.scale
        for y in range(first.channel.outputs)
    ]
    tally = Tally.of(np.random.default_rng(2).multinomial(20_000, law))
    (tmp_path / "first.json").write_text(json.dumps(estimate(first, tally).as_json()))
    text = DRAFT.format(notion="lip", more='[prior]\nestimate = "first.json"', classes="")
    (tmp_path / "second.toml").write_text(text)
    second = read_draft(tmp_path / "second.toml")
    prior = np.array(second.notion.prior) / sum(second.notion.prior)
    assert np.abs(prior - truth).max() < 0.05  # the first round's error is below 0.01 in each value: 5 sigma
    assert second.certificate.audited <= NAT
    even = drafted(more="[prior]\ncounts = [1, 1, 1, 1]", folder=tmp_path)

    def person(campaign: Campaign) -> float:
        """Expected squared error of one person's posterior mean where people are as ``truth`` says."""
        weights = np.array([[campaign.channel.weight(x, y) for y in range(campaign.channel.outputs)] for x in range(4)])
        joint = truth[:, np.newaxis] * (weights / 2**campaign.channel.scale)
        seen = joint.sum(axis=0) > 0
        return float(1 - (joint[:, seen] ** 2).sum(axis=0) @ (1 / joint[:, seen].sum(axis=0)))

    assert person(second) < 1 - (truth**2).sum()
    assert person(even) < 1 - (truth**2).sum()


def test_numbers_in_classes_have_no_wave_and_the_author_is_told(tmp_path) -> None:
    """By name it is refused with what would do; where ``auto`` reads many numbers one by one, a warning says so."""
    path = tmp_path / "draft.toml"
    for high, mechanism in ((30, "wave"), (30, "auto"), (9, "auto")):
        path.write_text(f"""title = "T"
question = "Q?"
organisation = "O"
[domain]
kind = "number"
low = 0
high = {high}
[privacy]
notion = "ldp"
[schedule]
opens = 2030-01-01
closes = 2030-02-01
[mechanism]
name = "{mechanism}"
[classes.town]
epsilon = 1.0
[classes.village]
epsilon = 2.0
""")
        if mechanism == "wave":
            with pytest.raises(DraftError, match="make a campaign for each class"):
                read_draft(path)
        else:
            assert any("halftruth compare" in line for line in lint(read_draft(path))) == (high == 30)
