"""The local prior and the posterior that it allows an observer."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from edge_sdk import BudgetPolicy, Device
from edge_sdk.disclosure import posterior
from edge_sdk.disclosure.posterior import fit_probabilities, posterior_of
from protocol.campaign import Campaign, seal_campaign
from protocol.channels import Bits, Blocks, Channel, Hadamard, SubsetSelection, Triples
from protocol.domain import Values
from protocol.exact import NANONATS
from protocol.notions import HighLow, Ldp
from protocol.views import plain_views
from tests.edge_sdk.conftest import AUTHOR, OPENS, agreed, response
from tests.families.blocks import high_low
from tests.families.hadamard import truth_of
from tests.families.subset import subset


def test_posterior_is_bayes_rule():
    """After a report of randomised response, the posterior is P e^eps / (P e^eps + 1 - P)."""
    found = posterior_of(response(4, 10**9), 10**9, {2: 1}, 2)
    assert found.before == Fraction(2, 5)
    assert found.after == pytest.approx(0.4 * math.e / (0.4 * math.e + 0.6))


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_is_never_below_the_exact_posterior(seed, monkeypatch):
    """If a channel has too many outputs to enumerate, the bound shown instead is at least the exact posterior."""
    dice = random.Random(seed)
    counts = {dice.randrange(6): dice.randrange(9) for _ in range(3)}
    for channel in (response(6), Hadamard(truth_of(NANONATS), 6)):
        for x in (None, 0, 5):
            walked = posterior_of(channel, 10**9, counts, x)
            with monkeypatch.context() as patch:
                patch.setattr(posterior, "MAX_STEPS", 0)
                bounded = posterior_of(channel, 10**9, counts, x)
            assert bounded.before == walked.before
            assert bounded.after >= walked.after
            assert walked.after >= walked.before


@pytest.mark.parametrize("counts", [{}, {1: 9, 3: 1}])
def test_a_preview_without_an_answer_equals_that_of_the_answer_with_the_highest_posterior(counts, open_device):
    """A preview without an answer has the probabilities of the preview of the answer with the highest posterior.

    Here this answer is not sensitive, so it is not the audit's witness.
    """
    domain, channel = Values(tuple("abcd")), high_low(NANONATS, [0, 1, 1, 1])
    campaign = Campaign(
        "t", "q", "p", "o", domain, HighLow(NANONATS, 4, (1, 2, 3)), "by hand", plain_views(channel), OPENS, OPENS + 9,
        9, 20, 1, "open",
    )  # fmt: skip
    device = open_device()
    joined = agreed(device, seal_campaign(campaign, AUTHOR))
    for x, times in counts.items():
        for _ in range(times):
            device.answer(joined, domain.label(x))
    found = device.preview(joined)
    assert found.posterior.after == 1
    each = [device.preview(joined, domain.label(x)) for x in range(domain.size)]
    assert found.posterior == max((one.posterior for one in each), key=lambda one: one.after)
    chosen = each[found.posterior.x]
    assert (found.fits_true, found.fits_other) == (chosen.fits_true, chosen.fits_other)
    assert device.campaign(joined).certificate.witness.x != found.posterior.x


def test_an_infinite_level_bounds_the_posterior_by_certainty():
    channel = Blocks(1 << 125, ((1, 2), (0, 1)), (Hadamard(3 << 62, 2),))
    assert posterior_of(channel, None, {}, 2).after == 1.0


HALF, QUARTER = 1 << 31, 1 << 30
LARGE: dict[str, Channel] = {
    "bits": Bits.over([(HALF, QUARTER)] * 40),
    "bits of two classes": Bits.over([(3 * QUARTER, HALF), *[(HALF, QUARTER)] * 30]),
    "subset": SubsetSelection(62, 20, (1 << 128) // 10**16 // 2),
    "triples": Triples(100, (1 << 128) // 3000),
}
SENSITIVE = Blocks.over(1 << 120, [0, *[1] * 90], lambda k: Hadamard(3 << 62, k))


@pytest.mark.parametrize("name", LARGE)
def test_a_preview_enumerates_no_outputs(name):
    """A channel with too many outputs to enumerate is previewed: the rates are those of ``fit_probabilities``, and the
    posterior after a report is between the prior and 1."""
    channel = LARGE[name]
    domain = Values(tuple(f"v{x}" for x in range(channel.input_count)))
    notion = Ldp(20 * NANONATS)
    campaign = Campaign(
        "t", "q", "p", "o", domain, notion, "by hand", plain_views(channel), OPENS, OPENS + 9, 9, 1, 1, "open"
    )
    with Device.open(":memory:", [AUTHOR.public], BudgetPolicy(lifetime=1000), clock=lambda: OPENS) as device:
        joined = agreed(device, seal_campaign(campaign, AUTHOR))
        device.answer(joined, "v0")
        preview = device.preview(joined, "v0")
    assert (preview.fits_true, preview.fits_other) == fit_probabilities(channel, 0)
    assert preview.posterior.before == pytest.approx(2 / (channel.input_count + 1))
    assert preview.posterior.before < preview.posterior.after < 1


@pytest.mark.parametrize("name", ["bits", "bits of two classes"])
def test_the_posterior_after_bits_is_that_after_a_single_bit(name):
    """The previewed posterior of a value is its posterior after the word in which only its bit is set, computed by
    Bayes' rule in floats."""
    channel = LARGE[name]
    a, b = channel.own_weights[0] / 2**32, channel.other_weights[0] / 2**32
    others = (
        (1 - channel.own_weights[number] / 2**32) / (1 - channel.other_weights[number] / 2**32)
        for number in channel.class_of[1:]
    )
    # The history has one report of this value, so its weight is doubled.
    mine = 2 * a / b
    assert posterior_of(channel, None, {0: 1}, 0).after == pytest.approx(mine / (mine + sum(others)))


@pytest.mark.parametrize("name", [*LARGE, "sensitive"])
def test_draws_fit_with_the_probability_in_the_preview(name):
    """Of n = 4,000 draws for one value, the fraction that are its most likely outputs, or words with its bit set, is
    the stated probability within six standard errors, alpha = 2 * 10^-9. A failure would mean that the preview
    describes another channel."""
    channel = LARGE.get(name, SENSITIVE)
    dice = random.Random(5)
    x, draws = channel.input_count - 1, 4000
    outputs = [channel.sample(x, dice.randbytes(channel.rand_bytes)) for _ in range(draws)]
    if isinstance(channel, Bits):
        hits = sum(1 for y in outputs if y & channel.single_bit(x))
    else:
        most_likely = max(channel.weight(x, y) for y in set(outputs))
        hits = sum(channel.weight(x, y) == most_likely for y in outputs)
    said = float(fit_probabilities(channel, x)[0])
    assert 0.1 < said < 0.9
    assert abs(hits / draws - said) < 6 * math.sqrt(said * (1 - said) / draws)


def test_the_preview_allows_certainty_only_for_open_values():
    """The preview of a value that is not sensitive allows certainty; that of a sensitive value never does."""
    assert posterior_of(SENSITIVE, None, {}, 0).after == 1.0
    assert 1 / 91 < posterior_of(SENSITIVE, None, {}, 3).after < 0.1


@pytest.mark.parametrize(
    ("channel", "percent"),
    [
        (response(6), (36, 12)),
        (subset(6, 2, NANONATS), (58, 28)),
        (Hadamard(truth_of(NANONATS), 6), (74, 50)),
    ],
    ids=["response", "subset", "hadamard"],
)
def test_channels_of_one_level_fit_wrong_answers_with_the_stated_rates(channel, percent):
    """The reports of three channels of 1 nat fit the true answer in 36, 58 and 74 of 100 cases, rounded up, and a wrong
    answer in 12, 28 and 50, rounded down."""
    truth, wrong = fit_probabilities(channel, 3)
    assert (math.ceil(100 * truth), math.floor(100 * wrong)) == percent
    assert truth > wrong
