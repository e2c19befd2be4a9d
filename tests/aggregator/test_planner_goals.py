"""The choice of auto depends on the goal: few numbers for a mean, and the wave for a distribution if it has less
error."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from aggregator.author.draft import DraftError, read_draft, read_question
from aggregator.estimate.query import expected_variance
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.registry import decoder_of
from aggregator.planner.choice import AUTO, WAVE, chosen_channel
from aggregator.planner.mean_edges import EDGES, rounded_for_mean
from aggregator.planner.ordered_error import NO_ESTIMATE, reference_shapes, simulated_error
from aggregator.planner.plan import plan
from protocol import exact
from protocol.channels import Table
from protocol.domain import Buckets, NumberRange, OrderedValues, Values
from protocol.notions import Geo, Ldp

AGE = 'kind = "number"\nlow = 17\nhigh = 90\nunit = "years"'


@pytest.fixture
def draft(tmp_path):
    def write(domain=AGE, analysis="", mechanism="auto", epsilon=1.0):
        path = tmp_path / "draft.toml"
        path.write_text(f"""title = "T"
question = "Q?"
organisation = "O"
[domain]
{domain}
[privacy]
notion = "ldp"
epsilon = {epsilon}
[schedule]
opens = 2030-01-01
closes = 2030-02-01
[mechanism]
name = "{mechanism}"
[analysis]
{analysis}
""")
        return path

    return write


def rival_variance(epsilon, t, distribution):
    """Return the least exact variance of the published mechanisms for a mean, for one report of people at t in -1 .. 1.

    Duchi, Jordan, Wainwright 2018; piecewise and hybrid: Wang et al. 2019, eq. 6, 8 and Theorem 3.
    """
    e, h = math.exp(epsilon), math.exp(epsilon / 2)
    duchi = ((e + 1) / (e - 1)) ** 2 - t**2
    piecewise = t**2 / (h - 1) + (h + 3) / (3 * (h - 1) ** 2)
    part = 1 - 1 / h if epsilon > 0.61 else 0.0
    return min(float(distribution @ one) for one in (duchi, piecewise, part * piecewise + (1 - part) * duchi))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("shape", ["even", "hill", "spike"])
def test_the_mean_has_nearly_the_error_of_the_best_published_mechanism(epsilon, shape):
    """The exact root mean squared error of the mean, rounding included, is at most 1.10 times that of the best
    published mechanism.

    The planner expects uniform shares; the people in the other cases have other shares.
    """
    hill, _, spike = reference_shapes(1001)
    t, distribution = np.linspace(-1, 1, 1001), {"even": np.full(1001, 1 / 1001), "hill": hill, "spike": spike}[shape]
    asked = rounded_for_mean(
        PlannedQuestion(NumberRange.of(-1, 1, "0.002"), Ldp(exact.level_from(epsilon)), goal="mean")
    )
    _, channel = chosen_channel(AUTO, asked)
    points = np.array([float(point) for point in asked.domain.points])
    place = (t + 1) / 2 * (len(points) - 1)
    lower = np.minimum(np.floor(place).astype(int), len(points) - 2)
    part = place - lower
    rounded = np.bincount(lower, distribution * (1 - part), len(points)) + np.bincount(
        lower + 1, distribution * part, len(points)
    )
    people = float(distribution @ t**2 - (distribution @ t) ** 2)
    noise = expected_variance(decoder_of(channel), points, None, rounded) - people
    assert math.sqrt(noise / rival_variance(epsilon, t, distribution)) <= 1.10


def test_for_a_mean_numbers_are_rounded_at_random_to_few_values(draft):
    """For a mean the range keeps its ends, unit and clamp and has few numbers, more at higher levels; a plan has the
    same choice."""
    sizes = []
    for epsilon in (0.5, 1.0, 4.0, 8.0):
        path = draft(AGE + "\nclamp = true", 'goal = "mean"', epsilon=epsilon)
        campaign = read_draft(path)
        domain = campaign.domain
        assert (domain.label(0), domain.label(domain.size - 1)) == ("17", "90")
        assert (domain.unit, domain.clamps) == ("years", True)
        assert domain.rounds_randomly
        assert domain.size in EDGES
        sizes.append(domain.size)
        assert read_question(path).domain == domain
        rows = plan(read_question(path), 1000)
        assert rows.chosen.mechanism == campaign.mechanism
        errors = [row.mean_se for row in rows if row.mean_se is not None and row.mean_se == row.mean_se]
        assert rows.chosen.mean_se == pytest.approx(min(errors))
    assert sizes == sorted(sizes)
    assert sizes[0] == 2 < sizes[-1]


def test_numbers_are_not_rounded_if_the_draft_or_the_notion_needs_all(draft):
    """For a mean, numbers are not rounded if the mechanism is named or the notion is not LDP; dates, the author's edges
    and two numbers are not rounded either."""
    assert read_draft(draft(AGE, 'goal = "mean"', "wave")).domain.size == 74
    assert read_draft(draft('kind = "date"\nfirst = 2026-01-01\nlast = 2026-01-30', 'goal = "mean"')).domain.size == 30
    assert read_draft(draft('kind = "buckets"\nedges = [0, 1, 5, 9]', 'goal = "mean"')).domain.size == 4
    line = NumberRange.of(0, 9)
    near = PlannedQuestion(line, Geo.between(exact.NANONATS, 1, [0], range(10)), goal="mean")
    assert rounded_for_mean(near) is near
    two = rounded_for_mean(PlannedQuestion(NumberRange.of(0, 1), Ldp(exact.NANONATS), goal="mean"))
    assert [two.domain.label(x) for x in range(two.size)] == ["0", "1"]
    ends = NumberRange.of("0.000000000000000001", "0.000000000000000002", "0.000000000000000001")
    assert rounded_for_mean(PlannedQuestion(ends, Ldp(exact.NANONATS), goal="mean")).size == 2


def test_expected_shares_for_a_mean_are_those_of_rounded_even_numbers():
    """Expected shares of edges are those of 9,001 evenly spaced numbers rounded at random, within 1e-3.

    Labels have no expected shares.
    """
    buckets = Buckets.of([0, 1, 5, 9])
    shares = PlannedQuestion(buckets, Ldp(exact.NANONATS), goal="mean").shares
    slow = np.zeros(4)
    for number in np.linspace(0, 9, 9001):
        x, part = buckets.lower_input(str(number))
        slow[x] += 1 - float(part)
        slow[x + 1] += float(part)
    assert np.allclose(shares, slow / slow.sum(), atol=1e-3)
    assert PlannedQuestion(Values(("a", "b")), Ldp(exact.NANONATS)).shares is None


def test_auto_takes_the_wave_if_it_has_less_error(draft):
    """auto takes the wave for 74 numbers at 1 nat with the goal ranges, and for 31 dates without a goal.

    It takes randomised response for five ordered values at 4 nats, and another channel than the wave for the goal top.
    """
    few = 'kind = "values"\nvalues = ["a", "b", "c", "d", "e"]\nordered = true'
    assert read_draft(draft(AGE, 'goal = "ranges"\nreports = 5000')).mechanism == WAVE
    path = draft('kind = "date"\nfirst = 2026-01-01\nlast = 2026-01-31')
    row = plan(read_question(path), 10_000).chosen
    assert read_draft(path).mechanism == row.mechanism == WAVE
    assert "smallest simulated error" in row.reason
    reasons = {row.mechanism: row.reason for row in plan(read_question(path), 10_000)}
    assert "; subset has " in reasons[WAVE]
    assert reasons["subset"] == "best for single values, with a larger simulated error than wave"
    assert reasons["hadamard"] == "not compared with wave: another mechanism is better for single values"
    for analysis in ("", 'goal = "distribution"'):
        row = plan(read_question(draft(few, analysis, epsilon=4.0)), 10_000).chosen
        assert row.mechanism == "randomized-response"
        assert ("wave has" in row.reason) == bool(analysis)
    assert read_draft(draft(AGE, 'goal = "top"')).mechanism != WAVE


def test_a_goal_changes_no_channel_of_unordered_values(draft):
    """For labels without an order the campaign with a goal differs only by the goal. Ordered labels and buckets get no
    wave without a goal; for the goal "distribution" buckets get one."""
    labels = ", ".join(f'"{x}"' for x in range(40))
    unordered = read_draft(draft(f'kind = "values"\nvalues = [{labels}]'))
    with_goal = read_draft(draft(f'kind = "values"\nvalues = [{labels}]', 'goal = "distribution"'))
    assert with_goal == replace(unordered, goal="distribution")
    plain = unordered.mechanism
    assert read_draft(draft(f'kind = "values"\nvalues = [{labels}]\nordered = true')).mechanism == plain
    edges = f'kind = "buckets"\nedges = {list(range(40))}'
    assert read_draft(draft(edges)).mechanism == plain
    assert plain != WAVE
    assert read_draft(draft(edges, 'goal = "distribution"')).mechanism == WAVE


def test_simulated_errors_fall_with_the_reports_and_are_deterministic():
    """Simulated errors decrease with more reports, are deterministic, and are infinite if no estimate exists."""
    level = Ldp(exact.NANONATS)
    domain = OrderedValues(tuple("abcdefgh"))
    for name in ("wave", "subset", "randomized-response"):
        _, channel = chosen_channel(name, PlannedQuestion(domain, level))
        few, many = simulated_error(channel, 500), simulated_error(channel, 50_000)
        assert simulated_error(channel, 500) == few
        assert 0 < many.distance < few.distance < 1
        assert 0 < many.in_range < few.in_range < 1
    alike = Table.rounded([[Fraction(1, 2), Fraction(1, 2)]] * 3)
    assert simulated_error(alike, 1000) == NO_ESTIMATE


@pytest.mark.parametrize(
    ("analysis", "named"),
    [
        ("reports = 0", "reports must be a whole number of at least 1"),
        ("reports = 1000000000001", "at most"),
        ('reports = "many"', "reports must be a whole number"),
        ('gaol = "mean"', "did you mean"),
        ('goal = "average"', "must be one of distribution"),
    ],
)
def test_wrong_entries_of_the_analysis_are_named(draft, analysis, named):
    """A draft and a plan refuse the same entries with the same text."""
    for read in (read_draft, read_question):
        with pytest.raises(DraftError, match=named):
            read(draft(AGE, analysis))
