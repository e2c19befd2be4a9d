"""Plans by goal: the mechanism for each goal of a number, and the necessary number of people."""

import json
import math
from dataclasses import replace

import pytest

from aggregator.families.mechanism import PlannedQuestion
from aggregator.planner.choice import AUTO, chosen_channel
from aggregator.planner.goals import MAX_PLANNED_PEOPLE, default_target_error, goal_plans, goals_of, people_for
from aggregator.planner.mean_edges import rounded_for_mean
from aggregator.planner.ordered_error import simulated_error
from aggregator.planner.plan import plan
from protocol.domain import Buckets, Dates, NumberRange, OrderedValues, Values
from protocol.exact import NANONATS
from protocol.notions import Ldp, Lip
from tests.aggregator.command import run

LEVEL = Ldp(NANONATS)
SCORE = NumberRange.of(0, 15, unit="points")


@pytest.fixture(scope="module")
def plans():
    return {
        one.goal: one
        for one in goal_plans(PlannedQuestion(SCORE, LEVEL), 2_000, target_errors=(1.0,), share_target_errors=(0.05,))
    }


def test_each_goal_has_the_choice_of_auto(plans):
    """The mechanism of each goal, and the few numbers of a mean, are those that ``auto`` takes for a draft with that
    goal."""
    assert list(plans) == ["distribution", "mean", "ranges"]
    for goal, one in plans.items():
        asked = rounded_for_mean(PlannedQuestion(SCORE, LEVEL, goal=goal, reports=2_000))
        name, channel = chosen_channel(AUTO, asked)
        assert (one.choice.mechanism.name, one.choice.channel, one.question.domain) == (name, channel, asked.domain)
    assert plans["mean"].question.size < SCORE.size
    assert plans["mean"].errors.decile is plans["mean"].errors.in_range is None


def test_the_error_of_the_mean_is_that_of_the_plan():
    """For each goal the planned error of the mean is that of the plan, even if numbers are rounded at random or the
    expected shares are those of a mean."""
    question = PlannedQuestion(Buckets.of(range(5)), LEVEL)
    for one in goal_plans(question, 300, target_errors=(1.0,), share_target_errors=(0.2,)):
        rows = plan(rounded_for_mean(replace(question, goal=one.goal)), 300)
        assert one.choice.mechanism.name == rows.chosen.mechanism
        assert one.errors.mean == pytest.approx(rows.chosen.mean_se)


def test_the_planned_people_have_the_wanted_error(plans):
    """For a mean the planned number of people is exactly the smallest; for deciles and ranges new simulations have
    the wanted error within a quarter."""
    mean = plans["mean"]
    for wanted, people in mean.people_for.items():
        assert math.sqrt(mean.choice.mean_variance / people) <= wanted
        assert math.sqrt(mean.choice.mean_variance / (people - 1)) > wanted
    [(wanted, people)] = plans["ranges"].people_for.items()
    found = simulated_error(plans["ranges"].choice.channel, people, surveys=6)
    assert found.in_range == pytest.approx(wanted, rel=0.25)
    for wanted, people in plans["distribution"].people_for.items():
        found = simulated_error(plans["distribution"].choice.channel, people, surveys=6)
        assert found.decile * 15 == pytest.approx(wanted, rel=0.25)


@pytest.mark.parametrize("power", [-0.5, -0.4])
@pytest.mark.parametrize("start", [1, 3_000, 10**9])
def test_the_search_finds_nearly_the_least_number(power, start):
    """If the error is a power of the number of people, the search finds the smallest sufficient number or up to 10%
    more.

    It returns None if the error never becomes small enough.
    """
    for least in (37, 5_200, 81_000_000):
        found = people_for(lambda people: people**power, (least - 0.5) ** power, start)
        assert least <= found <= 1.1 * least
    assert people_for(lambda _: 0.3, 0.2, start) is None
    assert people_for(lambda people: people**-0.5, (3 * MAX_PLANNED_PEOPLE) ** -0.5, start) is None
    assert people_for(lambda _: math.inf, 0.2, start) is None


def test_goals_are_of_ordered_values_without_a_prior():
    """Ordered labels have no mean. For labels without an order, for uneven edges and under a prior, the goal does not
    affect the choice.

    The default target error is a hundredth of the range, and at least a quarter of a step.
    """
    assert goals_of(PlannedQuestion(Dates.of("2026-01-01", "2026-02-01"), LEVEL)) == ("distribution", "mean", "ranges")
    assert goals_of(PlannedQuestion(OrderedValues(("a", "b", "c")), LEVEL)) == ("distribution", "ranges")
    for other in (
        PlannedQuestion(Values(("a", "b", "c")), LEVEL),
        PlannedQuestion(Buckets.of([0, 1, 5]), LEVEL),
        PlannedQuestion(NumberRange.of(0, 2), Lip(NANONATS, (1, 2, 3))),
    ):
        assert goals_of(other) == ()
    assert default_target_error(PlannedQuestion(NumberRange.of(0, 1000), LEVEL)) == 10
    assert default_target_error(PlannedQuestion(NumberRange.of(0, 5, "0.5"), LEVEL)) == 0.125


def test_the_goals_are_printed_before_the_mechanisms():
    """The table of goals is printed before the mechanisms; in the JSON the goals are in the first row, with the same
    figures."""
    words = ("--number", "0,7", "--epsilon", 2, "--reports", 700, "--within", "0.5", "--error", "0.05")
    shown = run("plan", *words).stdout
    assert shown.index("People needed") < shown.index("mechanism")
    goals = json.loads(run("plan", *words, "--json").stdout)[0]["goals"]
    assert [one["goal"] for one in goals] == ["distribution", "mean", "ranges"]
    for one in goals:
        assert {"mechanism", "values", "output_bits", "reports", "unit", "errors", "people_for"} < set(one)
        assert one["reports"] == 700
        [(wanted, people)] = one["people_for"].items()
        assert wanted == ("0.05" if one["goal"] == "ranges" else "0.5")
        assert f"{people:,}" in shown


def test_a_plan_uses_the_number_of_reports_of_the_draft(tmp_path):
    """The plan of a draft is for the draft's number of reports, unless --reports is given."""
    draft = tmp_path / "draft.toml"
    draft.write_text(
        'title = "T"\nquestion = "Q?"\norganisation = "O"\n[domain]\nkind = "number"\nlow = 0\nhigh = 7\n'
        '[privacy]\nnotion = "ldp"\nepsilon = 1.0\n[analysis]\ngoal = "mean"\nreports = 1234\n'
    )
    goals = json.loads(run("plan", draft, "--json").stdout)[0]["goals"]
    assert {one["reports"] for one in goals} == {1234}
    assert json.loads(run("plan", draft, "--reports", 9, "--json").stdout)[0]["goals"][0]["reports"] == 9


def test_a_target_error_of_deciles_is_refused_for_buckets(tmp_path):
    """--within is refused for edges, and the error says why."""
    draft = tmp_path / "draft.toml"
    draft.write_text(
        'title = "T"\nquestion = "Q?"\norganisation = "O"\n[domain]\nkind = "buckets"\nedges = [0, 5, 20]\n'
        '[privacy]\nnotion = "ldp"\nepsilon = 1.0\n'
    )
    assert "the values are not evenly spaced" in run("plan", draft, "--within", 2, code=2).output
