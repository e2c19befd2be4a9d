"""Mechanisms and plans: `auto` chooses the smallest expected error; impossible requests are refused."""

import io
import json
import math
import re

import pytest
from rich.console import Console

from aggregator.author.draft import read_draft, read_question
from aggregator.estimate.error import decoder_mse, expected_mse, lip_mse, prior_mse
from aggregator.estimate.shown_inputs import ShownInputs
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.projective.recipe import NO_WORSE, projective, projective_high_low_error
from aggregator.families.sets.recipe import subset_selection
from aggregator.planner.catalogue import CATALOGUE
from aggregator.planner.choice import (
    EQUAL_GAIN,
    Unsuited,
    best_candidate,
    candidates,
    chosen_candidate,
    chosen_channel,
    max_bits_of,
)
from aggregator.planner.plan import at_level, curve, plan
from aggregator.present.plan_tables import plan_table
from aggregator.reproduce.simulated_people import values
from protocol import exact
from protocol.domain import Buckets, NumberRange
from protocol.notions import UNBOUNDED, Block, DeclaredPrior, Graded, HighLow, Ldp, Lip, Matrix, certify
from tests.aggregator.command import run

NAT = exact.NANONATS


QUESTIONS = {
    "two values": PlannedQuestion(values(2), Ldp(NAT)),
    "three values, high level": PlannedQuestion(values(3), Ldp(6 * NAT)),
    "sixteen values": PlannedQuestion(values(16), Ldp(NAT)),
    "a hundred values": PlannedQuestion(values(100), Ldp(2 * NAT)),
    "lowest level": PlannedQuestion(values(5), Ldp(exact.MIN_LEVEL)),
    "highest level": PlannedQuestion(values(5), Ldp(exact.MAX_LEVEL)),
    "one sensitive": PlannedQuestion(values(4), HighLow(NAT, 4, (2,))),
    "some sensitive": PlannedQuestion(values(12), HighLow(2 * NAT, 12, (0, 3, 4, 5, 6, 11))),
    "blocks": PlannedQuestion(values(9), Block.over(NAT, [0, 0, 0, 1, 1, 1, 1, 1, 2])),
    "matrix": PlannedQuestion(values(3), Matrix(2 * NAT, ((0, NAT, 2 * NAT), (NAT, 0, UNBOUNDED), (2 * NAT, NAT, 0)))),
    "skewed prior": PlannedQuestion(values(6), Lip(NAT, (50, 25, 12, 8, 4, 1))),
    "two values with a prior": PlannedQuestion(values(2), Lip(NAT, (9, 1))),
    "numbers": PlannedQuestion(Buckets.of([0, 1, 2, 4, 8]), Ldp(NAT)),
}
each = pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)


@each
def test_every_candidate_is_certified_and_has_its_exact_error(question):
    """Every candidate is certified for the notion, and its finite errors are those of its integer channel."""
    found = {mechanism.name: one for mechanism, one in candidates(question)}
    assert set(found) == {mechanism.name for mechanism in CATALOGUE}
    serving = [one for one in found.values() if not isinstance(one, str)]
    assert serving
    for one in serving:
        assert certify(one.channel, question.notion) == one.certificate
        assert one.certificate.audited_level <= question.notion.level
        if isinstance(question.notion, Lip):
            prior = question.notion.prior
            distribution = [weight / sum(prior) for weight in prior]
            assert math.isnan(one.person_mse) if one.channel.unary else one.person_mse == lip_mse(one.channel, prior)
        else:
            distribution = None
        if not math.isnan(one.raw_mse):
            shown_inputs = ShownInputs.of(question.domain)
            assert one.raw_mse == decoder_mse(
                shown_inputs.decoder(one.channel, distribution), distribution, shown_inputs
            )
            assert one.people_per_report > 0


@each
def test_auto_is_the_plans_choice_and_the_least_error(question):
    """``auto`` takes the first row of the plan: no other channel within the bit limit has a smaller exact error, to
    1e-9.

    With a prior, its gain over no report is at least ``EQUAL_GAIN`` times the largest gain. Every row has a reason.
    """
    rows = plan(question, 1000)
    name, channel = chosen_channel("auto", question)
    assert rows[0].chosen
    assert rows[0].mechanism == name
    assert rows[0].candidate.channel == channel
    limit = max_bits_of(question, None)
    rivals = [row.candidate for row in rows if row.candidate and row.candidate.within(limit)]
    least = min(one.error for one in rivals if not math.isnan(one.error))
    if isinstance(question.notion, Lip):
        alone = prior_mse(question.notion.prior)
        assert alone - rows[0].candidate.error >= EQUAL_GAIN * (alone - least)
    else:
        assert rows[0].candidate.error == pytest.approx(least, rel=1e-9)
    assert all(row.reason for row in rows)


def test_bit_vectors_under_a_prior_are_compared_with_each_other_only():
    """The error of a posterior is not computed for bit vectors, so they are never compared with other outputs by it; if
    only bit vectors are usable, the least error of the unbiased estimate decides."""
    question = QUESTIONS["skewed prior"]
    found = [one for _, one in candidates(question) if not isinstance(one, str)]
    vectors = [one for one in found if one.channel.unary]
    assert len(vectors) > 1
    choice, reason = best_candidate(question, found, 62)
    assert not choice.channel.unary
    assert f"among {len(found) - len(vectors)} usable mechanisms with a known error" in reason
    for one in vectors:
        assert one.reason_not_chosen(choice, 62) == "bit vectors: the error of the posterior is not computed"
    alone, reason = best_candidate(question, vectors, 62)
    assert alone.raw_mse == pytest.approx(min(one.raw_mse for one in vectors), rel=1e-9)
    assert reason == f"smallest error, computed exactly, among {len(vectors)} usable mechanisms, all with bit vectors"


def test_an_error_slightly_above_the_least_is_not_called_the_least():
    """A mechanism with an unbiased estimate is chosen at nearly the least error, and the reason says nearly."""
    question = PlannedQuestion(values(5), Lip(2 * NAT, (48, 23, 51, 45, 54)))
    found = [one for _, one in candidates(question) if not isinstance(one, str)]
    choice, reason = best_candidate(question, found, 62)
    assert choice.error > 1.002 * min(one.error for one in found if not math.isnan(one.error))
    assert reason.startswith("nearly the least error of one person's posterior")


def test_people_for_an_error_is_the_least_sufficient_number():
    """people_for reports give the wanted standard error of a share (root mean square); one report fewer does not."""
    question = PlannedQuestion(values(16), Ldp(NAT))
    for row in plan(question, 500, target_errors=(0.01, 0.1)):
        for error, people in row.people_for.items():
            per_value = row.candidate.raw_mse / 16
            assert math.sqrt(per_value / people) <= error * (1 + 1e-12)
            assert people == 1 or math.sqrt(per_value / (people - 1)) > error * (1 - 1e-12)
        if row.people_for:
            assert row.mse == pytest.approx(row.candidate.raw_mse / 500)


def test_a_reason_gives_the_ratio_of_the_error_that_it_names():
    """A row's reason names the ratio of squared errors; for the goal mean, that of the printed errors of the mean."""
    for goal, error in (("", "squared error"), ("mean", "error of the mean")):
        question = PlannedQuestion(NumberRange.of(0, 5), Ldp(NAT), goal=goal)
        rows = plan(question, 500)
        ratios, words = {}, rf"{error} ([\d.]+) times that of {rows.chosen.mechanism}"
        for row in rows:
            if match := re.fullmatch(words, row.reason):
                ratio = row.mean_se / rows.chosen.mean_se if goal else row.mse / rows.chosen.mse
                ratios[float(match[1])] = ratio
        assert ratios
        assert list(ratios) == pytest.approx(list(ratios.values()), rel=1e-3)


def test_a_bit_limit_is_kept_or_refused_with_the_smallest_number():
    """No choice has more bits than allowed; a limit below log2 k is refused with the smallest possible number."""
    question = PlannedQuestion(values(100), Ldp(4 * NAT))
    for bits in (7, 8, 12):
        assert plan(question, 1, max_bits=bits)[0].candidate.channel.output_bits <= bits
    with pytest.raises(Unsuited, match="at least 7 bits, not 6: use --bits 7"):
        plan(question, 1, max_bits=6)


def test_an_unsuited_mechanism_is_refused_with_a_reason():
    """A question without a suited mechanism, an unknown mechanism, an unsuited one and priors that are known later are
    refused with a reason."""
    with pytest.raises(Unsuited, match=r'not compare mechanisms for \[prior\] kind "own"'):
        plan(PlannedQuestion(values(3), DeclaredPrior(NAT, 3)), 1)
    with pytest.raises(Unsuited, match="no mechanism can be used"):
        best_candidate(PlannedQuestion(values(3), Ldp(NAT)), [], 9)
    with pytest.raises(Unsuited, match="auto, table, gaussian or one of"):
        chosen_channel("oracle", PlannedQuestion(values(3), Ldp(NAT)))
    with pytest.raises(Unsuited, match='"lip" needs notion "lip" with a prior, and the notion is "ldp": use "auto"'):
        chosen_channel("lip", PlannedQuestion(values(3), Ldp(NAT)))
    with pytest.raises(Unsuited, match=r"to 4,096 values\. Use one of: auto, rand"):
        chosen_channel("geometric", PlannedQuestion(NumberRange(0, 5000, 1, 0), Ldp(NAT)))


def test_the_error_falls_with_the_level():
    """The least error of all mechanisms never increases with the level, at six levels from 0.1 to 8 nats."""
    errors = [
        min(found.values()) for _, found in curve(PlannedQuestion(values(16), Ldp(NAT)), levels=(0.1, 0.5, 1, 2, 4, 8))
    ]
    assert errors == sorted(errors, reverse=True)


# The order of projective geometry among sensitive values


def high_low(size, sensitive, eps):
    return HighLow(exact.level_from(eps), size, tuple(range(sensitive)))


def even_within(size, sensitive, share):
    """Return shares that are uniform among the sensitive values, which are the first, and uniform among the others."""
    return [share / sensitive] * sensitive + [(1 - share) / (size - sensitive)] * (size - sensitive)


def orders(sensitive):
    """Return (order, dimension) for each order below 4 * ``sensitive`` that is a prime or 4, 8 or 9, with the smallest
    dimension that has a point for each sensitive value. Of the orders with dimension 2, return only the smallest."""
    found = [q for q in range(2, 4 * sensitive) if q in {4, 8, 9} or all(q % d for d in range(2, q))]
    fitting = [(q, next(t for t in range(2, 20) if (q**t - 1) // (q - 1) >= sensitive)) for q in found]
    line = next(q for q, t in fitting if t == 2)
    return [(q, t) for q, t in fitting if t > 2 or q == line]


def inner(channel):
    """Return the projective channel of the sensitive values."""
    (found,) = (each for each in channel.channels if each.family == "projective")
    return found


@pytest.mark.parametrize(("size", "sensitive", "share"), [(30, 10, 0.1), (30, 12, 0.7), (200, 40, 0.5)])
@pytest.mark.parametrize("eps", [0.5, 1.0, 3.0])
def test_the_error_of_a_projective_high_low_channel_is_exact(size, sensitive, share, eps):
    """The closed form and the error of the integer channel differ only by rounding."""
    _, channel = chosen_channel("projective", PlannedQuestion(values(size), high_low(size, sensitive, eps)))
    made = inner(channel)
    found = projective_high_low_error(size, sensitive, share, made.order, made.dimension, exact.level_from(eps))
    assert found == pytest.approx(expected_mse(channel, even_within(size, sensitive, share)), rel=1e-6)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("eps", [0.5, 2.0, 4.0])
@pytest.mark.parametrize(("size", "sensitive"), [(100, 10), (200, 40)])
def test_no_other_order_is_better_for_a_given_share(size, sensitive, eps, share):
    """The order for a given share of sensitive values has at most ``NO_WORSE`` times the error of the best of
    ``orders``, by brute force."""
    question = PlannedQuestion(values(size), high_low(size, sensitive, eps), share)
    name, channel = chosen_channel("projective", question)
    assert name == "projective"
    least = min(
        projective_high_low_error(size, sensitive, share, *each, question.notion.level) for each in orders(sensitive)
    )
    assert expected_mse(channel, question.shares) <= NO_WORSE * least * (1 + 1e-6)


@pytest.mark.parametrize("eps", [0.5, 2.0, 4.0])
@pytest.mark.parametrize(("size", "sensitive"), [(100, 10), (200, 40), (50, 30)])
def test_the_worst_loss_is_least_without_a_given_share(size, sensitive, eps):
    """Without a given share, the order has the least worst loss over a uniform share, a tenth and a half, up to
    ``NO_WORSE``.

    The other orders are tried by brute force.
    """
    level = exact.level_from(eps)
    worst = dict.fromkeys(orders(sensitive), 0.0)
    for share in (sensitive / size, 0.1, 0.5):
        errors = {each: projective_high_low_error(size, sensitive, share, *each, level) for each in worst}
        worst = {each: max(loss, errors[each] / min(errors.values())) for each, loss in worst.items()}
    made = inner(chosen_channel("projective", PlannedQuestion(values(size), high_low(size, sensitive, eps)))[1])
    assert worst[made.order, made.dimension] <= NO_WORSE * min(worst.values())


def test_the_order_depends_on_the_share_of_sensitive_values():
    """With 10 of 100 values sensitive at 2 nats, the order grows with the share of people who have a sensitive value.

    For a tenth of the people the order chosen for that share has less error than the one chosen for nine tenths.
    """
    questions = {share: PlannedQuestion(values(100), high_low(100, 10, 2), share) for share in (0.1, 0.9)}
    made = {share: chosen_channel("projective", question)[1] for share, question in questions.items()}
    assert inner(made[0.1]).order < inner(made[0.9]).order
    shares = questions[0.1].shares
    assert expected_mse(made[0.1], shares) < 0.9 * expected_mse(made[0.9], shares)


def test_the_plan_uses_and_states_the_given_share():
    """With a given share, every error is for shares uniform within both sets, and the reason states the share.

    Without a share, errors are for uniform shares and the reason says so.
    """
    for share, distribution, reason in (
        (0.3, even_within(20, 5, 0.3), "if 0.3 of the people have a sensitive value"),
        (None, [1 / 20] * 20, "if all values are equally common"),
    ):
        rows = plan(PlannedQuestion(values(20), high_low(20, 5, 1), share), 1000)
        assert reason in rows[0].reason
        for row in rows:
            if row.candidate is not None:
                assert row.candidate.raw_mse == pytest.approx(expected_mse(row.candidate.channel, distribution))


def test_a_share_of_sensitive_values_needs_a_high_low_notion():
    """A share of sensitive values needs a high-low notion, and must be above 0 and below 1."""
    for notion, share, message in (
        (Ldp(NAT), 0.1, "needs the notion high-low, not ldp"),
        (HighLow(NAT, 4, (2,)), 0.0, "above 0 and below 1, not 0.0"),
        (HighLow(NAT, 4, (2,)), 1.0, "above 0 and below 1, not 1.0"),
    ):
        with pytest.raises(ValueError, match=message):
            PlannedQuestion(values(4), notion, share)


def test_a_notion_moves_to_another_level():
    """at_level changes only the level; a matrix and graded budgets keep their proportions, rounded down, and their
    unbounded pairs."""
    assert at_level(HighLow(NAT, 4, (2,)), 2 * NAT) == HighLow(2 * NAT, 4, (2,))
    matrix = QUESTIONS["matrix"].notion
    assert at_level(matrix, NAT).levels == ((0, NAT // 2, NAT), (NAT // 2, 0, UNBOUNDED), (NAT, NAT // 2, 0))
    budgets = [NAT, 2 * NAT, 2 * NAT, 4 * NAT]
    for pairs in (None, [(NAT, 2 * NAT), (NAT, 4 * NAT)]):
        for name in ("minid", "avgid"):
            at_half = at_level(graded := Graded.over(budgets, name, pairs), graded.level // 2)
            assert at_half.budgets == (NAT // 2, NAT, 2 * NAT)
            assert (at_half.runs, at_half.unbounded_pairs) == (graded.runs, graded.unbounded_pairs)
    assert max(at_level(Graded.over(budgets), 18 * NAT).budgets) == exact.MAX_LEVEL


def test_the_json_of_the_plan_has_the_documented_keys():
    """Each row of `plan --json` has mechanism, output_bits, mse, se, people_for, reason and serves; the choice is
    first."""
    rows = json.loads(run("plan", "--values", 16, "--epsilon", 1, "--reports", 1000, "--error", 0.02, "--json").output)
    assert rows[0]["chosen"]
    for row in rows:
        assert {"mechanism", "output_bits", "mse", "se", "people_for", "reason", "serves"} <= set(row)
    assert rows[0]["people_for"]["0.02"] > 100


def test_mechanisms_that_do_not_serve_are_listed_on_request():
    """The text has the number of unsuited mechanisms, and --all lists each by name; the JSON always lists them."""
    words = ("plan", "--values", 16, "--epsilon", 1)
    others = [row["mechanism"] for row in json.loads(run(*words, "--json").output) if not row["serves"]]
    short, long = run(*words).stdout, run(*words, "--all").stdout
    assert f"{len(others)} other mechanisms cannot be used" in short
    assert "it needs" not in short
    assert others
    assert all(name in long for name in others)


def test_the_command_draws_its_curve(tmp_path):
    """`plan --plot` writes a picture, and the output still names the notion."""
    shown = run("plan", "--values", 8, "--epsilon", 1, "--sensitive-values", 3, "--plot", tmp_path / "plan.png")
    assert (tmp_path / "plan.png").stat().st_size > 10_000
    assert "high-low" in shown.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "none of DRAFT, --values and --number are given"),
        (("--values", 5), "--values needs --epsilon"),
        (("--values", 5, "--epsilon", 1, "--sensitive-values", 5), "below the number of values, 5, not 5; if all"),
        (("--values", 5, "--epsilon", 1, "--block-size", 5), "below the number of values, 5, not 5; for one"),
        (("--values", 5, "--epsilon", 1, "--block-size", 2, "--sensitive-values", 2), "cannot be combined"),
        (("--values", 5, "--epsilon", 0), "0.001"),
        (("--number", "17", "--epsilon", 1), "is not two or three numbers"),
        (("--number", "90,17", "--epsilon", 1), "below the highest"),
        (("--number", "0,1,nan", "--epsilon", 1), "a finite decimal number"),
        (("--number", "0,9"), "--number needs --epsilon"),
        (("--number", "0,9", "--values", 3, "--epsilon", 1), "several of DRAFT, --values and --number are given"),
        (("--values", 3, "--epsilon", 1, "--within", 1), "--within cannot be used, because the values have no order"),
        (("--number", "0,9", "--epsilon", 1, "--within", 0), "at least 0.000000001"),
    ],
)
def test_contradictory_options_are_usage_errors(arguments, message):
    """Missing, contradictory and invalid options are a usage error with the reason, or with the expected value."""
    assert message in run("plan", *arguments, code=2).output


def test_too_few_bits_are_refused_with_a_sufficient_number():
    """A bit limit below log2 k is refused with a sufficient number."""
    assert "use --bits 4 or more" in run("plan", "--values", 16, "--epsilon", 1, "--bits", 3, code=65).output


def test_a_draft_with_classes_and_without_a_notion_is_refused(tmp_path):
    """If a draft has classes and no [privacy], plan says that the notion is missing."""
    draft = tmp_path / "draft.toml"
    draft.write_text('[domain]\nkind = "values"\nvalues = ["a", "b"]\n[classes.x]\n[classes.y]\n')
    assert "[privacy] notion is missing" in run("plan", draft, code=65).output


@pytest.mark.parametrize(("answers", "mechanism", "bits"), [(1, "subset", 16), (2, "projective", 5)])
def test_auto_takes_few_bits_if_reports_have_several_outputs(tmp_path, answers, mechanism, bits):
    """For a draft with one answer a period, auto takes the least error; with several answers it takes few bits.

    For 16 values at 1 nat the least error is below 1 / 1.046 of the error with few bits.
    """
    draft = tmp_path / "draft.toml"
    draft.write_text(f"""title = "T"
question = "Q?"
organisation = "O"
[domain]
kind = "values"
values = {[str(x) for x in range(16)]}
[privacy]
notion = "ldp"
epsilon = 1.0
[schedule]
opens = 2030-01-01
closes = 2030-02-01
answers_per_period = {answers}
""")
    campaign = read_draft(draft)
    assert (campaign.mechanism, campaign.channel.output_bits) == (mechanism, bits)
    [row] = [row for row in plan(read_question(draft), 1000) if row.chosen]
    assert row.mechanism == mechanism
    few = expected_mse(projective(16, NAT))
    assert expected_mse(subset_selection(16, NAT)) < few / 1.046


@pytest.mark.parametrize("share", [0.05, 0.9])
def test_a_named_mechanism_has_the_error_that_the_plan_shows(share):
    """The errors of a mechanism are at the question's shares, whether the draft names it or the planner compares it."""
    question = PlannedQuestion(values(12), HighLow(NAT, 12, (0, 3, 4)), sensitive_share=share)
    shown = {row.mechanism: row.candidate for row in plan(question, 1000) if row.candidate is not None}
    assert {name: chosen_candidate(name, question) for name in shown} == shown


@pytest.mark.parametrize("width", [80, 100, 120, 200])
@pytest.mark.parametrize("name", ["sixteen values", "skewed prior", "numbers"])
def test_a_narrow_terminal_breaks_no_number_and_no_mechanism(name, width):
    """Each mechanism has one line with its name and all its numbers, and no line is wider than the terminal. Without a
    column of reasons, the reasons follow the table."""
    question = QUESTIONS[name]
    rows = plan(question, 10_000)
    console = Console(file=io.StringIO(), width=width)
    console.print(plan_table(rows, question, 10_000, width=width))
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    text = "".join("".join(lines).split())
    below = not any(line.split()[-1:] == ["why"] for line in lines)
    for row in rows:
        if row.candidate is not None:
            numbers = [f"{people:,}" for people in row.people_for.values()]
            assert any(line.startswith(f"{row.mechanism} ") and set(numbers) <= set(line.split()) for line in lines)
            assert not below or f"{row.mechanism}:{row.reason}".replace(" ", "") in text
