"""Sums in which the people of each class have different coefficients: S = sum of a_i X_i + b_i."""

from __future__ import annotations

import math

import numpy as np
import pytest

from aggregator.author.toml_section import DraftError
from aggregator.coefficients_file import read_coefficients
from aggregator.estimate.coefficients import Coefficients, sum_by_class
from aggregator.estimate.minimum import NotEnough
from aggregator.estimate.query import weighted_sum
from aggregator.estimate.tally import Tally
from aggregator.families.response.recipe import randomized_response
from protocol import personal
from protocol.campaign import Campaign
from protocol.channels import Blocks
from protocol.domain import Buckets
from protocol.notions import Classes, Ldp, Lip
from protocol.views import plain_views
from tests.aggregator.matrix import dense

NAT = 10**9
SEED = 20261122
NUMBERS = np.array([0.0, 10.0, 20.0, 50.0])
K = len(NUMBERS)
NAMES = ("employers", "employees", "others")
PRIOR = (5, 3, 1, 1)
LAWS = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.3, 0.1, 0.1], [0.25, 0.25, 0.25, 0.25]])
EACH = (Coefficients(3.0, 1.5), Coefficients(-1.0, 0.0), Coefficients(0.5, -2.0, people=5000))


def unsigned_campaign(minimum: int = 1, prior: bool = False) -> Campaign:
    """A campaign of three classes, either with different levels or with a prior for each class."""
    levels = (NAT, 2 * NAT, 3 * NAT // 2)
    if prior:
        notion = Classes.of(tuple(Lip(level, PRIOR) for level in levels))
        channels = tuple(personal.lip_response(PRIOR, level) for level in levels)
    else:
        notion = Classes.of(tuple(map(Ldp, levels)))
        channels = tuple(randomized_response(K, level) for level in levels)
    blocks = Blocks(0, tuple((block, K) for block in (1, 2, 3)), channels)
    return Campaign(
        "Income", "What do you earn?", "", "Council", Buckets.of([0, 10, 20, 50]), notion, "auto", plain_views(blocks),
        1_800_000_000, 1_800_000_000 + 604_800, 604_800, 1, minimum, "open", classes=NAMES,
    )  # fmt: skip


def laws_of(campaign: Campaign) -> list[np.ndarray]:
    """Return the output distribution of each class, from the integer weights."""
    return [shares @ dense(channel) for channel, shares in zip(campaign.channel.channels, LAWS, strict=True)]


@pytest.mark.parametrize("prior", [False, True])
def test_sums_are_unbiased_and_their_intervals_have_nominal_coverage(prior):
    """Sums over 2,000 surveys of 900 people with fixed shares in each class are unbiased, and the coverage of their
    95% intervals is 93 to 97%.

    The mean estimate is within 5 standard errors of the sum (alpha 6e-7), the mean standard error is within 10% of the
    standard deviation, and intervals miss in 3 to 7% (alpha below 1e-4). A failure means a biased sum or a wrong
    standard error.
    """
    campaign, draw = unsigned_campaign(prior=prior), np.random.default_rng(SEED)
    sizes = (200, 400, 300)
    people = (200, 400, 5000)
    outputs = [
        draw.multinomial(n, distribution, size=2000) for n, distribution in zip(sizes, laws_of(campaign), strict=True)
    ]
    means = LAWS @ NUMBERS
    expected = sum(n * (each.weight * mean + each.offset) for n, each, mean in zip(people, EACH, means, strict=True))
    found = [
        sum_by_class(campaign, Tally.of(np.concatenate(rows)), NUMBERS, EACH) for rows in zip(*outputs, strict=True)
    ]
    raws, ses = np.array([one.raw for one in found]), np.array([one.se for one in found])
    assert abs(raws.mean() - expected) < 5 * raws.std() / math.sqrt(len(raws))
    assert ses.mean() == pytest.approx(raws.std(), rel=0.1)
    missed = np.mean([not one.low <= expected <= one.high for one in found])
    assert 0.03 < missed < 0.07
    assert all((one.mmse is not None) == prior for one in found)


def test_equal_coefficients_give_the_sum_of_all_people():
    """With equal coefficients for all classes the sum is that of all people; the standard errors differ by at most 10%.

    With weights of zero only the offsets remain.
    """
    campaign = unsigned_campaign()
    tally = Tally.of(np.random.default_rng(SEED).integers(50, 90, 3 * K))
    alike = sum_by_class(campaign, tally, NUMBERS, [Coefficients(2.0, 1.0)] * 3)
    all_people = weighted_sum(campaign, tally, 2 * NUMBERS, offset=1.0)
    assert alike.raw == pytest.approx(all_people.raw)
    assert alike.se == pytest.approx(all_people.se, rel=0.1)
    none = sum_by_class(campaign, tally, NUMBERS, [Coefficients(0.0, 1.0), Coefficients(0.0), Coefficients(0.0)])
    assert (none.raw, none.se) == (tally.counts[:K].sum(), 0.0)


def test_a_class_with_too_few_reports_is_refused():
    """Each class with a coefficient must have the campaign's minimum of reports; otherwise coefficients would show a
    small class alone."""
    campaign = unsigned_campaign(minimum=100)
    tally = Tally.of(np.array([30] * K + [10] * K + [30] * K))
    with pytest.raises(NotEnough, match="employees"):
        sum_by_class(campaign, tally, NUMBERS, EACH)
    sum_by_class(campaign, tally, NUMBERS, [EACH[0], Coefficients(0.0), EACH[2]])


GOOD = """[employers]
weight = 3
offset = 1.5
[employees]
weight = -1
[others]
weight = 0.5
offset = -2
people = 5000
"""


def test_a_file_of_coefficients_is_read(tmp_path):
    """A file of coefficients gives weights, offsets and numbers of people by the names of the classes."""
    file = tmp_path / "people.toml"
    file.write_text(GOOD)
    assert read_coefficients(file, unsigned_campaign()) == EACH


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace("[others]", "[other]"), "did you mean 'others'"),
        (GOOD.partition("[others]")[0], "\\[others\\] is missing"),
        (GOOD.replace("weight = -1", ""), "weight is missing"),
        (GOOD.replace("weight = -1", "wieght = -1"), "did you mean 'weight'"),
        (GOOD.replace("weight = -1", "weight = nan"), "finite"),
        (GOOD.replace("weight = -1", "weight = 1e99"), "between"),
        (GOOD.replace("weight = -1", 'weight = "much"'), "a number"),
        (GOOD.replace("people = 5000", "people = -5000"), "people"),
        (GOOD.replace("people = 5000", "people = 5.5"), "people"),
        (GOOD + "rate = 1\n", "unknown entry"),
        ("employers = 3\nemployees = 2\nothers = 1\n", "table"),
        ("[[", "not TOML"),
    ],
)
def test_a_file_of_coefficients_is_read_strictly(tmp_path, text, message):
    """An invalid file of coefficients is refused with an error that names the fault."""
    file = tmp_path / "people.toml"
    file.write_text(text)
    with pytest.raises(DraftError, match=message):
        read_coefficients(file, unsigned_campaign())
