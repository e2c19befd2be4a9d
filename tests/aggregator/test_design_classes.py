"""Drafts of campaigns with classes, with declared priors, and with a prior from an earlier estimate."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from aggregator.author.classes import DraftClasses, classes_of
from aggregator.author.draft import campaign_of, read_draft
from aggregator.author.lint import lint
from aggregator.author.toml_section import DraftError
from aggregator.estimate.estimator import estimate
from aggregator.estimate.query import expected_variance, mean
from aggregator.estimate.tally import Tally
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.registry import decoder_of
from aggregator.families.wave.recipe import wave
from aggregator.planner.choice import AUTO, chosen_candidate, chosen_channel
from aggregator.planner.mean_edges import EQUAL_ERROR
from aggregator.present.listing import certificate_table
from protocol import exact
from protocol.campaign import Campaign, decode_campaign, encode_campaign
from protocol.channels import Wave
from protocol.domain import NumberRange, Values
from protocol.errors import DomainError
from protocol.notions import Ldp, Lip, certify
from protocol.notions.declared_prior import DeclaredPrior
from tests.aggregator.command import printed
from tests.aggregator.test_present_estimate import printed as printed_table

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
    """Each class has its prior, and the draft's level if it names no other; the file of a prior is beside the draft."""
    (tmp_path / "gardeners.csv").write_text("value,count\nwheat,1\nrye,1\noats,4\nhay,4\n")
    written = tables('[farmers]\ncounts = [50, 20, 10, 1]\n[gardeners]\nepsilon = 0.5\ncounts = "gardeners.csv"\n')
    notion, names = classes_of(written, {"notion": "lip", "epsilon": Decimal(1)}, DOMAIN, tmp_path)
    assert names == ("farmers", "gardeners")
    assert notion.notions == (Lip(NAT, (50, 20, 10, 1)), Lip(NAT // 2, (1, 1, 4, 4)))
    assert notion.level == NAT


def test_several_levels_are_classes_without_priors(tmp_path) -> None:
    """Classes of a notion without a prior differ only in their levels."""
    written = tables("[careful]\nepsilon = 0.5\n[open]\n")
    notion, _ = classes_of(written, {"notion": "ldp", "epsilon": Decimal(2)}, DOMAIN, tmp_path)
    assert notion.notions == (Ldp(NAT // 2), Ldp(2 * NAT))


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("[farmers]\ncounts = [1, 2, 3, 4]", "[classes] needs at least two classes, not 1"),
        ("farmers = 1\ngardeners = 2", "[classes] farmers must be a table"),
        ("[farmers]\ncounts = [1, 2, 3, 4]\n[gardeners]", "[classes.gardeners] weights is missing"),
        (
            "[farmers]\ncounts = [1, 2, 3]\n[gardeners]\ncounts = [1, 2, 3, 4]",
            "[classes.farmers] counts must have 4 entries",
        ),
        (
            "[farmers]\ncounts = [1, 2, 3, 4]\n[gardeners]\ncounts = [1, 2, 3, 4]\ncolour = 7",
            "[classes.gardeners] has an unknown entry 'colour'",
        ),
        (
            "[farmers]\ncounts = [1, 2, 3, 4]\n[gardeners]\ncounts = [1, 2, 3, 4]\nepsilon = 0",
            "[classes.gardeners] epsilon must be from",
        ),
        (
            "[farmers]\ncounts = [1, 2, 3, 4]\n[gardeners]\ncounts = [1, 2, 3, 4]\nradius = 2",
            "[classes.gardeners] radius must be a total variation distance",
        ),
        ("[farmers]\nepsilon = nan\n[gardeners]", "[classes.farmers] epsilon: a finite number"),
    ],
)
def test_tables_that_do_not_describe_classes_are_refused(written: str, fault: str, tmp_path) -> None:
    """One class, classes without tables, a missing or invalid prior, an unknown entry and a level of 0 are refused.

    The error names the table of the class that has the fault.
    """
    with pytest.raises(DraftError, match=re.escape(fault)):
        classes_of(tables(written), {"notion": "lip", "epsilon": Decimal(1)}, DOMAIN, tmp_path)


@pytest.mark.parametrize("name", ["auto", "lip-response", "randomized-response"])
def test_every_class_has_a_channel_that_keeps_its_notion(name: str, tmp_path) -> None:
    """The channel has a block for each class, and each block is certified for its class's notion."""
    written = tables("[farmers]\ncounts = [50, 20, 10, 1]\n[gardeners]\nepsilon = 0.5\ncounts = [1, 1, 4, 4]\n")
    notion, names = classes_of(written, {"notion": "lip", "epsilon": Decimal(1)}, DOMAIN, tmp_path)
    made = DraftClasses.of(names, PlannedQuestion(DOMAIN, notion), name)
    for certificate, inner in zip(certify(made.channel, notion).class_certificates, notion.notions, strict=True):
        assert inner.level * 0.5 < certificate.audited_level <= inner.level
    assert name in ("auto", made.mechanism)


@pytest.mark.parametrize("name", ["nothing", "rappor"])
def test_a_mechanism_that_cannot_serve_a_class_is_refused(name: str, tmp_path) -> None:
    """Unknown mechanisms, and mechanisms whose channels cannot be blocks of a larger channel, are refused."""
    notion, names = classes_of(tables("[a]\n[b]\n"), {"notion": "ldp", "epsilon": Decimal(1)}, DOMAIN, tmp_path)
    with pytest.raises(DraftError, match="mechanism"):
        DraftClasses.of(names, PlannedQuestion(DOMAIN, notion), name)


def test_a_draft_with_classes_becomes_a_campaign(tmp_path) -> None:
    """A draft with [classes.NAME] becomes a certified campaign that is equal after encoding and decoding.

    A [prior] besides the classes is refused.
    """
    more = "[classes.farmers]\ncounts = [50, 20, 10, 1]\n[classes.gardeners]\nepsilon = 0.5\ncounts = [1, 1, 4, 4]"
    made = drafted(more=more, folder=tmp_path)
    assert made.classes == ("farmers", "gardeners")
    assert decode_campaign(encode_campaign(made)) == made
    with pytest.raises(DraftError, match=r"this draft does not use \[prior\]"):
        drafted(more=more + '\n[prior]\nkind = "campaign"', folder=tmp_path)


def test_a_draft_for_declared_priors_becomes_a_campaign(tmp_path) -> None:
    """A draft with [prior] kind = "own" becomes a campaign whose channels are made from the priors that devices
    declare. An unsuited mechanism and an unknown kind are refused."""
    made = drafted(more='[prior]\nkind = "own"', folder=tmp_path)
    assert made.notion == DeclaredPrior(NAT, 4)
    assert decode_campaign(encode_campaign(made)) == made
    with pytest.raises(DraftError, match='name must be "lip-response" or be left out'):
        drafted(more='[prior]\nkind = "own"\n[mechanism]\nname = "randomized-response"', folder=tmp_path)
    with pytest.raises(DraftError, match=r"kind must be .* not 'diary'"):
        drafted(more='[prior]\nkind = "diary"', folder=tmp_path)


def test_the_estimate_of_a_campaign_is_the_prior_of_the_next(tmp_path) -> None:
    """The estimate of a first campaign is the prior of a second one, and is within 0.05 of the truth.

    A report of the second campaign has less error than a guess from the true shares, and so has a report of a campaign
    with a uniform prior.
    """
    first = drafted("ldp", folder=tmp_path)
    truth = np.array([0.7, 0.2, 0.08, 0.02])
    distribution = [
        sum(truth[x] * first.channel.weight(x, y) for x in range(4)) / 2**first.channel.scale
        for y in range(first.channel.output_count)
    ]
    tally = Tally.of(np.random.default_rng(2).multinomial(20_000, distribution))
    (tmp_path / "first.json").write_text(json.dumps(estimate(first, tally).as_json()))
    text = DRAFT.format(notion="lip", more='[prior]\nestimate = "first.json"', classes="")
    (tmp_path / "second.toml").write_text(text)
    second = read_draft(tmp_path / "second.toml")
    prior = np.array(second.notion.prior) / sum(second.notion.prior)
    # The first estimate has a standard error below 0.01 in each value, so 0.05 is 5 of them.
    assert np.abs(prior - truth).max() < 0.05
    assert second.certificate.audited_level <= NAT
    even = drafted(more="[prior]\ncounts = [1, 1, 1, 1]", folder=tmp_path)

    def person(campaign: Campaign) -> float:
        """Return the expected squared error of one person's posterior mean if people are distributed as ``truth``."""
        weights = np.array(
            [[campaign.channel.weight(x, y) for y in range(campaign.channel.output_count)] for x in range(4)]
        )
        joint = truth[:, np.newaxis] * (weights / 2**campaign.channel.scale)
        seen = joint.sum(axis=0) > 0
        return float(1 - (joint[:, seen] ** 2).sum(axis=0) @ (1 / joint[:, seen].sum(axis=0)))

    assert person(second) < 1 - (truth**2).sum()
    assert person(even) < 1 - (truth**2).sum()


NUMBERS = """title = "T"
question = "Q?"
organisation = "O"
[domain]
kind = "number"
low = 0
high = {high}
[privacy]
notion = "ldp"
[analysis]
goal = "{goal}"
reports = 4000
[schedule]
opens = 2030-01-01
closes = 2030-02-01
[classes.town]
epsilon = 1.0
[classes.village]
epsilon = 2.0
[mechanism]
name = "{name}"
"""


def numbers(folder, high=30, goal="distribution", name="auto"):
    path = folder / "draft.toml"
    path.write_text(NUMBERS.format(high=high, goal=goal, name=name))
    return path


def test_each_class_of_numbers_has_its_best_channel(tmp_path) -> None:
    """For a distribution each class has the channel that ``auto`` takes for this class alone, at its level.

    A wave that is named in the draft is used for both classes. For a mean both classes round to the same few numbers:
    the fewest whose error of the mean over all people is at most ``EQUAL_ERROR`` times the least.
    """
    made = read_draft(numbers(tmp_path))
    for level, channel in zip((NAT, 2 * NAT), made.channel.channels, strict=True):
        alone = chosen_channel(AUTO, PlannedQuestion(made.domain, Ldp(level), goal="distribution", reports=2000))
        assert (channel, isinstance(channel, Wave)) == (alone[1], True)
    assert [one.audited_level <= level for one, level in zip(made.certificates, (NAT, 2 * NAT), strict=True)] == [
        True,
        True,
    ]
    by_name = read_draft(numbers(tmp_path, high=9, name="wave"))
    assert by_name.mechanism == "wave"
    assert "wave, 10 values in each of 2 classes, " in printed_table(certificate_table(by_name))
    assert by_name.channel.channels == (wave(10, NAT), wave(10, 2 * NAT))
    mean = read_draft(numbers(tmp_path, goal="mean"))
    assert (mean.domain.rounds_randomly, mean.goal) == (True, "mean")
    errors = {}
    for size in (2, 3, 5, 9):
        edged = NumberRange.of(0, 30, Fraction(30, size - 1), rounds_randomly=True)
        try:
            asked = [PlannedQuestion(edged, Ldp(level), goal="mean", reports=2000) for level in (NAT, 2 * NAT)]
        except DomainError:
            continue
        errors[size] = sum(chosen_candidate(AUTO, one).mean_variance for one in asked) / 2 - 30**2 / 12
    assert errors[mean.domain.size] <= EQUAL_ERROR**2 * min(errors.values())
    assert all(one > EQUAL_ERROR**2 * min(errors.values()) for size, one in errors.items() if size < mean.domain.size)


def test_lint_names_each_mean_with_a_large_error(tmp_path) -> None:
    """A warning names each mean, over all people or of a class, whose standard error at the campaign's minimum is more
    than 5% of the range.

    The number of reports in the warning is sufficient, and a tenth fewer are not. A sufficient minimum has no warning.
    """
    made = read_draft(numbers(tmp_path))
    warnings = [line for line in lint(made) if "error of the mean" in line]
    assert [line.split("with the")[0] for line in warnings] == ["", "class town: ", "class village: "]
    needed = int(re.search(r"set minimum_reports, which counts devices, to ([\d,]+)", warnings[1])[1].replace(",", ""))
    line = np.linspace(0, 1, 31)
    variance = expected_variance(decoder_of(made.channel.channels[0]), line, None)
    assert variance / needed <= 0.05**2 < variance / (0.9 * needed)
    assert not any("error of the mean" in one for one in lint(replace(made, minimum_devices=1000)))


def test_the_plan_has_a_row_for_each_class_and_for_all_people(tmp_path) -> None:
    """The plan's row of a class is that of its channel alone with its part of the reports, and the mean over all people
    has the error of ``estimate``.

    The planned numbers of people are sufficient for the wanted error.
    """
    path = numbers(tmp_path)
    rows = json.loads(printed("plan", path, "--json"))
    assert [(one["class"], one["reports"]) for one in rows] == [("town", 2000), ("village", 2000), (None, 4000)]
    made = read_draft(path)
    even = np.full(31, 1 / 31)
    variances = [expected_variance(decoder_of(one), np.arange(31.0), None) for one in made.channel.channels]
    for one, variance, n in zip(rows, [*variances, sum(variances) / 2], (2000, 2000, 4000), strict=True):
        assert one["errors"]["mean"] == pytest.approx(np.sqrt(variance / n))
    counts = [np.rint(10**7 * decoder_of(one).forward(even)).astype(np.int64) for one in made.channel.channels]
    all_people = mean(made, Tally.of(np.concatenate(counts))).se * np.sqrt(2 * 10**7 / 4000)
    assert rows[2]["errors"]["mean"] == pytest.approx(all_people, rel=1e-3)
    assert rows[0]["errors"]["decile"] > rows[2]["errors"]["decile"] > rows[1]["errors"]["decile"]
    shown = " ".join(printed("plan", path).split())
    assert all(word in shown for word in ("town", "village", "everybody", "people for a decile"))
    assert "The errors: decile is the mean absolute error of nine deciles, simulated; mean is the standard" in shown
    of_mean = json.loads(printed("plan", numbers(tmp_path, goal="mean"), "--json"))
    for one in of_mean:
        ((wanted, people),) = one["people_for"].items()
        assert people == pytest.approx(one["reports"] * (one["errors"]["mean"] / float(wanted)) ** 2, abs=1)
    assert "each class" in printed("plan", path, "--bits", 9, code=2)
