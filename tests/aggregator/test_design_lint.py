"""Properties of the author's warnings: each appears beyond its threshold, and a sound campaign causes no warning."""

from dataclasses import replace

import numpy as np
import pytest

from aggregator.author.lint import lint
from aggregator.families.blocks.recipe import high_low
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from protocol.campaign import Campaign
from protocol.domain import Items, NumberRange, Values
from protocol.exact import NANONATS
from protocol.notions import HighLow, Ldp, Lip
from protocol.texts import Texts
from protocol.views import plain_views
from tests.aggregator.test_estimate_result import ALIKE
from tests.vectors.generate import in_german, of_classes, of_hours


def unsigned_campaign(channel, notion, minimum=10_000, periods=1):
    domain = Values(tuple(f"v{x}" for x in range(channel.input_count)))
    return Campaign("T", "Q?", "", "O", domain, notion, "any", plain_views(channel), 0, 86_400 * periods, 86_400, 1,
                    minimum, "open", addresses=("https://study.example",), contact="o@example")  # fmt: skip


def test_a_sound_campaign_causes_no_warning():
    """A campaign with few values, many reports and a small influence of a report causes no warning."""
    assert lint(unsigned_campaign(hadamard(10, NANONATS), Ldp(NANONATS))) == ()


@pytest.mark.parametrize(("size", "warned"), [(16, False), (64, True)])
def test_a_report_of_large_influence_is_a_warning(size, warned):
    """The influence of a report is stated in a warning at 37.7 people (randomised response, k = 64), not at 9.7
    (k = 16)."""
    found = lint(unsigned_campaign(randomized_response(size, NANONATS), Ldp(NANONATS), 10**7))
    assert any("counts for at most 38 people" in line for line in found) == warned


def test_too_few_reports_are_a_warning_with_a_sufficient_number():
    """If the standard error of a share is above 1 / k, a warning states a sufficient number of reports."""
    channel = hadamard(100, NANONATS)
    (found,) = lint(unsigned_campaign(channel, Ldp(NANONATS), 1000))
    needed = int(found.split("Set minimum_reports, which counts devices, to ")[1].split(", or")[0].replace(",", ""))
    share = np.full(100, 0.01)
    variance = decoder_of(channel).variances(decoder_of(channel).forward(share)).mean()
    assert np.sqrt(variance / 1000) > 0.01
    assert 0.95 * 0.01 < np.sqrt(variance / needed) <= 0.01
    assert lint(unsigned_campaign(channel, Ldp(NANONATS), needed)) == ()


def test_a_share_of_less_than_a_hundredth_of_a_percent_is_not_printed_as_zero():
    """With 2^16 values, of which each has 0.002% of the people, the warning names the share without a number."""
    size = 2**16
    (found,) = lint(
        replace(unsigned_campaign(hadamard(size, 4 * NANONATS), Ldp(4 * NANONATS)), domain=NumberRange.of(1, size, 1))
    )
    assert "is too small for 65,536 values" in found
    assert "each share would be smaller, so" in found


def test_a_lip_channel_without_an_unbiased_estimate_is_a_warning():
    """If two values have the same distribution of outputs, the author is warned that the estimate has no intervals."""
    (found,) = lint(unsigned_campaign(ALIKE, Lip(2 * NANONATS, (1, 1, 1))))
    assert "no unbiased estimate" in found


@pytest.mark.parametrize(("weight", "warned"), [(5, False), (6, True)])
def test_a_prior_that_no_sets_have_is_a_warning(weight, warned):
    """With padding 2, an item is reported with probability 1/2 at most, so a prior that gives it 5 of 10 is possible,
    and one that gives it 6 of 11 is not."""
    prior = (weight, 2, 1, 1, 1)
    campaign = unsigned_campaign(hadamard(5, NANONATS), Lip(NANONATS, prior))
    found = lint(replace(campaign, domain=Items(2, ("tea", "milk", "soap"))))
    assert any("the prior gives 'tea' a share of 54.5%" in line for line in found) == warned


def test_an_infinite_level_is_a_warning():
    """If a notion leaves pairs of values unbounded, a warning says that there is no LDP level and names the charge used
    instead."""
    found = lint(unsigned_campaign(high_low(6, [0, 1], NANONATS, hadamard), HighLow(NANONATS, 6, (0, 1))))
    assert any("no LDP level" in line and "1 nat" in line for line in found)


def test_missing_entries_are_a_warning():
    """A campaign without an address and without a contact causes one warning for each, with the entry to add."""
    sound = unsigned_campaign(hadamard(10, NANONATS), Ldp(NANONATS))
    (address,) = lint(replace(sound, addresses=()))
    (contact,) = lint(replace(sound, contact=""))
    assert "[study] address" in address
    assert "[study] contact" in contact


def test_labels_that_a_translation_leaves_out_are_named():
    """If a translation omits labels, units or classes, a warning names them for each question."""
    german = of_hours().translations[0]
    sound = {"addresses": ("https://study.example",), "contact": "o@example", "minimum_devices": 10_000}
    assert lint(replace(of_hours(), **sound)) == ()
    (found,) = lint(replace(of_hours(), translations=(replace(german, labels=()),), **sound))
    assert found.startswith("[text.de] leaves the unit in the campaign's own language")
    german, french = in_german().translations
    part = replace(german, labels=("no", "yes", "nein", "ja", "hours"))
    (found, other) = lint(in_german(translations=(part, french), **sound))
    assert "leaves the labels of 'vote', the unit of 'hours' in" in found
    assert other.startswith("[text.fr] leaves the labels of 'vote', the labels of 'paid', the unit of 'hours' in")
    classes = Texts("de", "T", "F?", labels=("a", "b", "c"))
    asked = replace(of_classes(), language="en", translations=(classes,), **sound)
    assert any("[text.de] leaves the names of the classes in" in line for line in lint(asked))
