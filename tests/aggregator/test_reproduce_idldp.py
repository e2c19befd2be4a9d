"""The errors of the ID-LDP experiments are exactly those of devices, and the figures match their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from aggregator.estimate.estimator import estimate
from aggregator.families.bits import idue
from aggregator.families.registry import decoder_of
from aggregator.planner.padding import choose_padding
from aggregator.reproduce import simulated_people
from aggregator.reproduce.data import Baskets, DataFolder
from aggregator.reproduce.experiment import Setting
from aggregator.reproduce.idldp import EXPERIMENTS, mechanisms, points, surveys, synthetic, table
from aggregator.reproduce.idldp.lengths import planned
from aggregator.reproduce.idldp.surveys import ItemHolders
from protocol import exact
from protocol.channels.bits.channel import S
from protocol.domain.items import DITHERS
from protocol.notions import certify
from protocol.notions.graded import Graded

NAT = exact.NANONATS


def baskets(lists):
    return Baskets(
        np.cumsum([0, *map(len, lists)]), np.array([x for each in lists for x in each]), "a toy, whole", True
    )


def random_lists(generator, people, size, largest):
    """Return lists of 1 to ``largest`` different items, with popular items first in the domain."""
    distribution = 1 / np.arange(1, size + 1)
    distribution /= distribution.sum()
    return [
        generator.choice(size, size=int(generator.integers(1, largest + 1)), replace=False, p=distribution).tolist()
        for _ in range(people)
    ]


def setting(data=None, repeats=2):
    return Setting(DataFolder(data), np.random.default_rng(1), repeats, True, lambda _: None)


# People and their sets


def test_a_repeated_item_counts_once_in_a_set():
    """A repeated item in a basket counts once in the set; items that no person has are omitted."""
    people = ItemHolders.of(baskets([[5, 2, 5], [2], [9, 2, 9, 9]]))
    assert people.size == 3
    assert people.sets() == [(0, 1), (0,), (0, 2)]
    assert people.counts.tolist() == [3, 1, 1]
    assert people.sizes.tolist() == [2, 1, 2]


def test_the_first_item_is_counted_in_a_domain_of_all_items():
    """The first item of a basket is counted, in a domain of all items."""
    people = ItemHolders.first(baskets([[5, 2], [2], [9, 2]]))
    assert people.size == 3
    assert people.counts.tolist() == [1, 1, 1]
    assert ItemHolders.first(baskets([[7, 2], [7]])).counts.tolist() == [0, 2]


@pytest.mark.parametrize("length", [1, 2, 4])
def test_reported_inputs_are_distributed_as_those_of_devices(length):
    """The reported inputs of 210,000 people have the distribution of ``Items.dither_counts`` within 5 standard errors,
    for items and dummies.

    The three cases have 19 shares, so one seed in 90,000 would fail by chance. A failure means that sets are padded or
    drawn wrongly.
    """
    kinds, each = [(0, 1, 2), (1,), (3, 0)], 70_000
    people = ItemHolders.of(baskets([list(kind) for kind in kinds] * each))
    campaign = surveys.campaign(people.size, length, 1.0, "oue")
    expected = np.zeros(people.size + length)
    for kind in kinds:
        for x, count in campaign.domain.dither_counts(tuple(sorted(kind))).items():
            expected[x] += count / DITHERS / len(kinds)
    reported = people.reported(length, np.random.default_rng(1))
    assert reported.sum() == len(people)
    error = np.sqrt(expected * (1 - expected) / len(people))
    assert (np.abs(reported / len(people) - expected) <= 5 * error + 1e-12).all()


def test_budgets_are_assigned_by_class_sizes():
    """Each class of budgets has its number of items, the smallest budget first; a class too small for an item has
    none."""
    found = surveys.budgets(40, 1.5, surveys.USUAL)
    assert [found.count(level) for level in (1_500_000_000, 1_800_000_000, 3_000_000_000)] == [2, 2, 36]
    assert found == sorted(found)
    assert surveys.budgets(10, 1.0, ((0.01, 1.0), (0.99, 2.0))) == [2 * NAT] * 10


# Exact errors


def by_person(people, length, channel, domain, x):
    """Return bias and variance of the count of the item at input ``x``, summed person by person, as a device draws."""
    own, other = (weights[channel.class_of[x]] / S for weights in (channel.own_weights, channel.other_weights))
    bias = variance = 0.0
    for held in people.sets():
        chance = domain.dither_counts(held).get(x, 0) / DITHERS
        bit = other + (own - other) * chance
        variance += length**2 * bit * (1 - bit) / (own - other) ** 2
        bias += length * chance - (x in held)
    return bias, variance


@pytest.mark.parametrize("length", [1, 2, 5])
@pytest.mark.parametrize("name", ["RAPPOR", "OUE", "IDUE"])
def test_errors_of_sets_are_those_of_every_device(name, length):
    """Bias and variance of each item, in the class of budgets of its input, are the sums over all people."""
    people = ItemHolders.of(baskets(random_lists(np.random.default_rng(length), 60, 40, 4)))
    campaign = surveys.campaign(people.size, length, 1.0, mechanisms.RECIPES[name])
    found = surveys.exact_survey_errors(people, length, campaign.channel)
    assert found.parts.sum() == pytest.approx(1)
    # Input x has the budget of its class, so the budgets do not depend on the items.
    for x in range(people.size):
        bias, variance = by_person(people, length, campaign.channel, campaign.domain, x)
        of = campaign.channel.class_of[x]
        assert found.bias[x] == pytest.approx(bias, abs=1e-9)
        assert found.deviation[of, x] ** 2 == pytest.approx(variance, rel=1e-9)


def test_errors_of_single_items_equal_eq_7():
    """The variance of a single item is n b (1-b) / (a-b)^2 + c (1-a-b) / (a-b), without bias."""
    people = ItemHolders.first(baskets([[x % 7] for x in range(50)]))
    channel = surveys.campaign(7, 0, 2.0, "oue").channel
    own, other = channel.own_weights[0] / S, channel.other_weights[0] / S
    fixed, held = table.variances(np.array([own]), np.array([other]))
    found = surveys.exact_survey_errors(people, 0, channel)
    assert found.bias == pytest.approx(0, abs=1e-12)
    assert found.deviation[0] ** 2 == pytest.approx(50 * fixed + people.counts * held)
    assert found.mse == pytest.approx((50 * fixed * 7 + 50 * held).item() / 50)


def test_oue_and_rappor_do_not_depend_on_dummies():
    """OUE and RAPPOR have the same error with and without dummies, which ``exact_errors`` relies on."""
    people = ItemHolders.of(baskets(random_lists(np.random.default_rng(1), 50, 30, 4)))
    for name in ("OUE", "RAPPOR"):
        channel = surveys.campaign(people.size, 3, 1.0, mechanisms.RECIPES[name]).channel
        assert mechanisms.exact_errors(people, 3, 1.0, name).mse == pytest.approx(
            surveys.exact_survey_errors(people, 3, channel).mse
        )


@pytest.mark.parametrize(("length", "name"), [(0, "IDUE"), (0, "OUE"), (2, "IDUE")])
def test_simulated_surveys_have_the_exact_error(length, name):
    """The mean squared error of 400 surveys is within 4 standard errors of the exact one: one seed in 15,000 would fail
    by chance.

    The mean relative error of the five most frequent items, RE(5), is within 5% of the exact one. For people with one
    item each, the standard deviation of the squared error is within 30%. A failure means that an exact figure is wrong.
    """
    lists = random_lists(np.random.default_rng(1), 2000, 40, 3)
    people = ItemHolders.of(baskets(lists)) if length else ItemHolders.first(baskets(lists))
    truth = mechanisms.exact_errors(people, length, 1.0, name)
    found = mechanisms.repeated_surveys(people, length, 1.0, name, setting(repeats=400))
    squares = np.array([surveys.total_error(each.raw, people) for each in found])
    assert abs(squares.mean() - truth.mse) < 4 * squares.std() / math.sqrt(len(squares))
    assert np.mean([surveys.mean_relative_error(each.raw, people, 5) for each in found]) == pytest.approx(
        truth.relative(5), rel=0.05
    )
    if not length:
        assert truth.spread == pytest.approx(squares.std(), rel=0.3)


@pytest.mark.parametrize("length", [0, 4])
def test_a_survey_at_a_large_level_is_near_the_true_counts(length):
    """With budgets of 9 to 18 nats every estimated count is within 10% or 60 people of the true one, so it belongs to
    its item.

    With sets padded to 4 the choice of an item adds noise, and 40% are allowed. The three most frequent items are
    found.
    """
    people = ItemHolders.of(baskets([[x] for x in range(9) for _ in range(100 * (x + 1))]))
    campaign = surveys.campaign(people.size, length, 9.0, "idue")
    each = surveys.simulated_survey(people, length, campaign, np.random.default_rng(1))
    slack = 0.1 if length == 0 else 0.4
    for counts in (each.raw, each.shrunk, each.projected):
        assert counts == pytest.approx(people.counts, rel=slack, abs=60)
        assert surveys.precision(counts, people, 3) == 1


def test_counts_equal_the_estimates_of_the_product():
    """Raw, projected and empirical Bayes counts equal those of ``estimate`` from the same tally."""
    people = ItemHolders.of(baskets(random_lists(np.random.default_rng(3), 3000, 30, 3)))
    campaign = surveys.campaign(people.size, 2, 2.0, "idue")
    each = surveys.simulated_survey(people, 2, campaign, np.random.default_rng(1))
    for method, counts in (("linear", each.raw), ("projection", each.projected), ("empirical-bayes", each.shrunk)):
        share = estimate(campaign, each.linear.tally, method=method).share
        assert counts[each.order] == pytest.approx(share * len(people))


def test_the_relative_error_is_that_of_normal_errors():
    """RE(k) of biased normal estimates equals that of 400,000 draws within 1%."""
    truth = np.array([50, 400, 9])
    bias, deviation = np.array([-20.0, -100.0, 0.0]), np.array([[30.0, 10.0, 1.0], [60.0, 90.0, 1.0]])
    parts = np.array([0.25, 0.75])
    found = surveys.ExactErrors(truth, bias, deviation, parts, 1000).relative(2)
    draws = np.random.default_rng(1).normal(size=400_000)
    by_draws = np.mean(
        [parts @ [np.abs(bias[x] + deviation[c, x] * draws).mean() for c in range(2)] / truth[x] for x in (0, 1)]
    )
    assert found == pytest.approx(by_draws, rel=0.01)


def test_measures_equal_values_computed_by_hand():
    """Squared error over n, relative error and precision of the top items equal values computed by hand."""
    people = ItemHolders.of(baskets([[0, 1], [0, 1], [0, 2], [0]]))
    found = np.array([2.0, 2.0, 3.0])
    assert surveys.total_error(found, people) == (4 + 0 + 4) / 4
    assert surveys.mean_relative_error(found, people, 2) == (2 / 4 + 0) / 2
    assert surveys.count_variation(found, people) == (2 + 0 + 2) / 2 / 4
    assert surveys.precision(found, people, 1) == 0
    assert surveys.precision(found, people, 2) == 0.5


# Lower bounds


@pytest.mark.parametrize("kind", idue.VARIANTS)
@pytest.mark.parametrize("eps", [0.2, 1.0, 4.0])
def test_no_unary_encoding_is_below_the_floor(eps, kind):
    """For budgets of many kinds every item's variance is at least e^eps / (e^eps - 1)^2, whether people have the
    item or not."""
    generator = np.random.default_rng(1)
    for _ in range(5):
        times = np.append(1.0, 1 + 3 * generator.random(4))
        asked = Graded.over([exact.level_from(eps * each) for each in np.repeat(times, 3)])
        channel = idue.idue(asked, kind)
        certify(channel, asked)
        own, other = np.array(channel.own_weights) / S, np.array(channel.other_weights) / S
        fixed, held = table.variances(own, other)
        least = surveys.total_error_bound(1, eps) * (1 - 1e-6)
        assert (fixed >= least).all()
        assert (fixed + held >= least).all()


def test_the_floor_is_nearly_reached():
    """If one item in a million is sensitive, IDUE's variance is within 5% of the floor, which is a quarter of OUE's
    variance."""
    own, other = idue.optimum([1, 10**6], np.array([[np.inf, 1.0], [1.0, 2.0]]))
    assert idue.worst_error([1, 10**6], own, other) < 1.05 * surveys.total_error_bound(10**6 + 1, 1.0)
    odds = math.e
    assert surveys.total_error_bound(1, 1.0) == pytest.approx(4 * odds / (odds - 1) ** 2 / 4)


# The planner


def test_the_planners_padding_for_the_unbiased_estimate_is_the_exact_optimum():
    """Of the tried paddings the planner's has the least exact error, for IDUE-PS and for OUE-PS."""
    people = ItemHolders.of(baskets(random_lists(np.random.default_rng(5), 1500, 25, 6)))
    lengths = (1, 2, 4)
    chosen = set()
    for name in ("OUE", "IDUE"):
        for eps in (0.5, 5.0):
            errors = [mechanisms.exact_errors(people, length, eps, name).mse for length in lengths]
            length = planned(people, people.sets(), eps, name, lengths, unbiased=True).length
            assert errors[lengths.index(length)] == pytest.approx(min(errors), rel=1e-3)
            chosen.add(length)
    assert len(chosen) > 1
    direct = choose_padding(
        people.sets(),
        people.size,
        lambda length: decoder_of(surveys.campaign(people.size, length, 5.0, "oue").channel).uncorrected,
        len(people),
        lengths,
        unbiased=True,
    )
    assert planned(people, people.sets(), 5.0, "OUE", lengths, unbiased=True) == direct


def test_the_planners_padding_for_the_default_estimate_is_the_best_in_surveys():
    """The padding for empirical Bayes has at most 1.05 times the least mean error of the tried paddings in 30 simulated
    surveys.

    The planned error is within a fifth of that mean, whose standard error is about 3%. The seed is fixed.
    """
    people = ItemHolders.of(baskets(random_lists(np.random.default_rng(5), 1500, 25, 6)))
    lengths, eps = (1, 2, 4, 6), 1.0
    setting = Setting(DataFolder(None), np.random.default_rng(3), 30, False, lambda _: None)
    for name in ("OUE", "IDUE"):
        found = {
            length: np.mean(
                [
                    surveys.total_error(one.shrunk, people)
                    for one in mechanisms.repeated_surveys(people, length, eps, name, setting)
                ]
            )
            for length in lengths
        }
        plan = planned(people, people.sets(), eps, name, lengths, unbiased=False)
        assert plan.method == "empirical-bayes"
        assert found[plan.length] <= 1.05 * min(found.values())
        assert plan.error * len(people) == pytest.approx(found[plan.length], rel=0.2)


# Table I and Theorem 4


def test_table_1_has_the_exact_and_the_printed_variances():
    """Exact probabilities give 8.387 n to 8.567 n, and the printed two-digit ones 8.70 n to 8.88 n (MATH 3.2)."""
    best = idue.idue(table.notion(table.TOY))
    assert table.total_variance(best) == pytest.approx((8.387, 8.567), abs=5e-4)
    own, other = np.array(best.own_weights) / S, np.array(best.other_weights) / S
    assert np.array(table.PRINTED) == pytest.approx(np.array([own, other]), abs=0.006)
    fixed, held = table.variances(*map(np.array, table.PRINTED))
    assert [float(number) for number in np.round([*fixed, *held], 2)] == [3.27, 1.33, 0.31, 0.13]
    total = fixed @ [1, 4]
    assert (total + held.min(), total + held.max()) == pytest.approx((8.70, 8.88), abs=5e-3)
    result = table.toy_survey(setting())
    assert "none ends below ours" in result.findings[3].ours
    assert "8.387 n to 8.567 n" in result.findings[1].ours


def test_no_pair_of_sets_exceeds_the_bounds_of_theorem_4():
    """The probabilities of the words sum to one for every set, and no pair of sets exceeds the bounds of the theorem
    and the certificate."""
    result = table.theorem_4(setting())
    assert result.findings[0].ours.startswith("56 of 56 pairs")
    assert result.findings[0].why == "no difference"
    assert "never below the true level" in result.findings[1].ours
    domain, budgets = table.Items(2, 3), [NAT, NAT, 2 * NAT]
    asked = Graded.over(idue.item_budgets(domain, budgets))
    channel = idue.idue(asked, shown_count=domain.item_count)
    for held in ((), (1,), (0, 1, 2)):
        assert sum(table._outputs(channel, domain.dither_counts(held))) == pytest.approx(1)
    mean = (math.e + math.e**2) / 2
    assert table._budget(domain.dither_counts((0, 2)), asked.budgets, asked) == pytest.approx(math.log(mean))


def test_pairs_above_a_false_bound_are_counted(monkeypatch):
    """With a tenth of the theorem's budget the verdict and the finding have the number of pairs that satisfy it."""
    budget = table._budget
    monkeypatch.setattr(table, "_budget", lambda *arguments: budget(*arguments) / 10)
    result = table.theorem_4(setting())
    finding = result.findings[0]
    satisfied = int(finding.ours.split()[0])
    assert satisfied < 56
    assert "the largest excess is" in finding.ours
    assert finding.why == "it does not hold"
    assert f"for {satisfied} of 56 pairs" in result.verdict


# Whole experiments


def test_every_mechanism_of_the_figures_is_certified():
    """Every mechanism of the figures is that of a certified campaign, so its channel satisfies its stated budgets."""
    for recipe in mechanisms.RECIPES.values():
        campaign = surveys.campaign(40, 2, 1.0, recipe)
        certify(campaign.channel, campaign.notion)
    with pytest.raises(ValueError, match="bit vectors"):
        mechanisms.unary_channel(
            simulated_people.campaign(simulated_people.values(4), Graded.over([NAT] * 4), "hadamard").channel
        )


DATA = {"clothing", "retail", "kosarak"}


@pytest.mark.parametrize(
    "name", ["fig6b", *(pytest.param(each, marks=pytest.mark.long) for each in ("fig7", "padding"))]
)
def test_an_experiment_runs_on_any_data_of_its_form(tmp_path, name):
    """An experiment runs on a small file in each original format, and its result is labelled as a part of the data."""
    lists = random_lists(np.random.default_rng(1), 800, 150, 5)
    lines = "\n".join(" ".join(map(str, each)) for each in lists)
    for form in ("retail.dat", "kosarak.dat"):
        (tmp_path / form).write_text(lines, encoding="utf-8")
    rentals = [
        f'{{"user_id": "{user}", "item_id": "{item}", "rating": "8"}}'
        for user, each in enumerate(lists)
        for item in each
    ]
    (tmp_path / "renttherunway_final_data.json").write_text("\n".join(rentals), encoding="utf-8")
    (experiment,) = (each for each in EXPERIMENTS if each.name == name)
    result = experiment.result(DataFolder(tmp_path), 1, quick=True)
    assert set(experiment.needs) <= DATA
    assert "a part of it, 800" in result.data or f"by {len(lists)} people" in result.data
    assert result.findings
    assert result.plots


def test_errors_of_points_are_those_of_surveys():
    """The mean squared error of graded projective response in 150 surveys is within 4 standard errors of the exact one.

    The surveys have the same people; one seed in 15,000 would fail by chance. The mean relative error of the five most
    frequent items, RE(5), is within 5% of the exact one. A failure means that the exact error is wrong.
    """
    people = ItemHolders.first(baskets(random_lists(np.random.default_rng(1), 2000, 40, 3)))
    truth = points.point_errors(people, 1.0, np.random.default_rng(2))
    found = mechanisms.repeated_surveys(people, 0, 1.0, points.LABEL, setting(repeats=150))
    squares = np.array([surveys.total_error(each.raw, people) for each in found])
    assert abs(squares.mean() - truth.mse) < 4 * squares.std() / math.sqrt(len(squares))
    relative = np.mean([surveys.mean_relative_error(each.raw, people, 5) for each in found])
    assert relative == pytest.approx(truth.relative(5), rel=0.05)


def test_claims_on_synthetic_data_that_do_not_hold_are_reported():
    """If a simulated error is 6 standard errors from eq. 7, or OUE has less error than IDUE at one level, the finding
    says that the claim does not hold."""
    names = (*mechanisms.ROLES, mechanisms.BAYES, mechanisms.PLAIN_BAYES, points.LABEL, "bits")
    errors = {
        label: {name: [1.0 if name == "IDUE" else 2.0] * 2 for name in names} for label in ("power law", "uniform")
    }

    def reasons(off):
        close, outperforms, *_ = synthetic._findings((1.0, 2.0), errors, off, 4)
        return [finding.why.partition(";")[0].partition(".")[0] for finding in (close, outperforms)]

    assert reasons([0.5, 3.0]) == ["no difference"] * 2
    errors["uniform"]["OUE"][1] = 0.9
    assert reasons([0.5, 6.0]) == ["it does not hold"] * 2
