"""The joint exposure of reports: no outputs of all draws exceed the bound, and if it is computed exactly, some reach
it up to a nanonat for each draw."""

from __future__ import annotations

import json
import math
import time
from fractions import Fraction
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_sdk.__main__ import main
from edge_sdk.disclosure import exposure
from edge_sdk.disclosure.exposure import CampaignExposure, Exposure, ViewChannel
from protocol import exact, personal
from protocol.campaign import Campaign, open_campaign, seal_campaign
from protocol.channels import Blocks, Hadamard, Table
from protocol.domain import DITHER_BYTES, Buckets, Form, FormQuestion, Grid, Items, Values
from protocol.errors import NotInDomain
from protocol.keys import public_line
from protocol.notions import Graded, Ldp, Lip, MinId
from protocol.notions.classes import Classes
from protocol.notions.transcript import TranscriptPrior
from protocol.views import Coarse, Identity, QuestionsMap, plain_views
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, agreed, campaign, response
from tests.families.hadamard import truth_of

NAT = exact.NANONATS
K = len(LABELS)
PRIOR = (50, 20, 10, 10, 5, 5)


@st.composite
def tables(draw: st.DrawFn, inputs: int = 3) -> Table:
    outputs = draw(st.integers(2, 3))
    row = st.lists(st.integers(0, 50), min_size=outputs, max_size=outputs).filter(any)
    weights = [draw(row) for _ in range(inputs)]
    return Table.rounded([[Fraction(weight, sum(row)) for weight in row] for row in weights])


def together(*draws: tuple[object, int]) -> Exposure:
    """Return the exposure after the given number of draws from each channel."""
    domain = Values(("v0", "v1", "v2"))
    parts = tuple(
        CampaignExposure(bytes([n]), f"{n}", domain, {ViewChannel(Identity(), channel): times}, 0, None)
        for n, (channel, times) in enumerate(draws)
    )
    return Exposure(domain, bytes(DITHER_BYTES), parts, 0)


def odds(channels: list[Table], x: int, other: int) -> Fraction | None:
    """Return the largest factor by which any sequence of outputs changes the odds of x against x', by enumeration; None
    if it is unbounded."""
    worst = Fraction(0)
    for outputs in product(*(range(channel.output_count) for channel in channels)):
        mine = math.prod(channel.weight(x, y) for channel, y in zip(channels, outputs, strict=True))
        theirs = math.prod(channel.weight(other, y) for channel, y in zip(channels, outputs, strict=True))
        if mine and not theirs:
            return None
        if mine:
            worst = max(worst, Fraction(mine, theirs))
    return worst


@settings(max_examples=60)
@given(st.lists(st.tuples(tables(), st.integers(0, 2)), min_size=1, max_size=3))
def test_the_bound_on_the_odds_is_never_exceeded_and_is_reached(drawn) -> None:
    """For every pair, every value and the worst pair, the enumerated outputs of all draws never exceed the bound, and
    reach it up to a nanonat for each draw."""
    found = together(*drawn)
    channels = [table for table, times in drawn for _ in range(times)]
    levels = {}
    for x, other in permutations(range(3), 2):
        moved = odds(channels, x, other)
        levels[x, other] = found.pair(x, other).nanonats
        if moved is None:
            assert levels[x, other] is None
            continue
        assert exact.satisfies(moved.numerator, moved.denominator, levels[x, other])
        assert levels[x, other] - exact.level_of(moved.numerator, moved.denominator) <= len(channels)
    infinite = [pair for pair, level in levels.items() if level is None]
    assert found.together.nanonats == (None if infinite else max(levels.values()))
    for x in range(3):
        mine = [levels[x, other] for other in range(3) if other != x]
        assert found.value(x).nanonats == (None if None in mine else max(mine))


SETS = {"": {2: 4}, "a": {0: 4}, "b": {1: 4}, "a;b": {0: 2, 1: 2}}
"""For two items and one dummy: four times the probability with which the dither chooses each input, for each set."""
NUMBERS = {"0": {0: 4}, "0.5": {0: 2, 1: 2}, "1": {1: 4}, "1.5": {1: 2, 2: 2}, "2": {2: 4}}
"""The same for numbers that are rounded at random to 0, 1 or 2."""
HALVES = {"0": {0: 2}, "0.5": {0: 1, 1: 1}, "1": {1: 2}}
PAIRS = {
    f"n={n}; m={m}": {2 * x + z: part * share for x, part in HALVES[n].items() for z, share in HALVES[m].items()}
    for n, m in product(HALVES, repeat=2)
}
"""The same for a form of two numbers, each rounded at random to 0 or 1 by its own dither."""


def form_of(*numbers: tuple[str, Buckets]) -> Form:
    return Form((*(FormQuestion(name, "?", one) for name, one in numbers), FormQuestion("v", "?", Values(("a", "b")))))


@settings(max_examples=30)
@given(data=st.data())
@pytest.mark.parametrize(
    ("domain", "asked", "answers"),
    [
        (Items(1, ("a", "b")), Identity(), SETS),
        (Buckets.of([0, 1, 2]), Identity(), NUMBERS),
        (form_of(("n", Buckets.of([0, 1, 2]))), QuestionsMap((0,)), {f"n={n}": NUMBERS[n] for n in NUMBERS}),
        (form_of(("n", Buckets.of([0, 1])), ("m", Buckets.of([0, 1]))), QuestionsMap((0, 1)), PAIRS),
    ],
    ids=["items", "number", "form with a number", "form with two numbers"],
)
def test_the_bounds_hold_for_an_observer_who_does_not_know_the_dither(domain, asked, answers, data) -> None:
    """A campaign's dither chooses an item, or rounds a number, also in a form. For every two answers, each campaign
    with its own dither, no outputs change the odds by more than the bound of the first answer, under any dither of the
    device."""
    drawn = data.draw(st.lists(tables(asked.input_count(domain)), min_size=1, max_size=2))
    parts = tuple(
        CampaignExposure(bytes([n]), f"{n}", domain, {ViewChannel(asked, table): 1}) for n, table in enumerate(drawn)
    )
    for dither, (answer, other) in product((bytes(8), b"\xff" * 8), permutations(answers, 2)):
        found = Exposure(domain, dither, parts, 0, asked)
        odds_of_all: Fraction | None = Fraction(1)
        for table in drawn:
            mine, theirs = (
                [sum(part * table.weight(x, y) for x, part in answers[one].items()) for y in range(table.output_count)]
                for one in (answer, other)
            )
            infinite = any(n and not d for n, d in zip(mine, theirs, strict=True))
            largest = max(Fraction(n, d) for n, d in zip(mine, theirs, strict=True) if d)
            odds_of_all = None if infinite or odds_of_all is None else odds_of_all * largest
        about, together = found.about(domain.parse(answer)).nanonats, found.together.nanonats
        assert together is None or (about is not None and about <= together)
        if odds_of_all is None:
            assert about is None
        elif about is not None:
            assert exact.satisfies(odds_of_all.numerator, odds_of_all.denominator, about)


@settings(max_examples=40)
@given(st.lists(tables(), min_size=1, max_size=2))
def test_two_courses_of_answers_differ_by_the_sum_of_the_worst_pairs(drawn) -> None:
    """For two sequences of answers, with an answer for each report, no outputs change the odds by more than the sum
    that is compared with the caps. The largest change is at most one nanonat for each report below that sum. So a bound
    for pairs of constant answers cannot replace a cap; it is at most that sum."""
    found = together(*((table, 1) for table in drawn))
    worst, infinite = Fraction(0), False
    for course, other in product(product(range(3), repeat=len(drawn)), repeat=2):
        for outputs in product(*(range(table.output_count) for table in drawn)):
            mine = math.prod(table.weight(x, y) for table, x, y in zip(drawn, course, outputs, strict=True))
            theirs = math.prod(table.weight(x, y) for table, x, y in zip(drawn, other, outputs, strict=True))
            infinite |= mine > 0 == theirs
            if mine and theirs:
                worst = max(worst, Fraction(mine, theirs))
    level = found.changing.nanonats
    assert (level is None) == infinite
    if level is not None:
        assert exact.satisfies(worst.numerator, worst.denominator, level)
        assert level - exact.level_of(worst.numerator, worst.denominator) <= len(drawn)
        assert found.together.nanonats <= level


def test_changing_answers_can_reveal_more_than_any_pair_of_constant_ones() -> None:
    """One campaign hides c, and distinguishes a from b by 2 nats; another hides a, and distinguishes b from c by 2
    nats. Constant answers differ by less than 3.5 nats; first a then b, against first b then c, differs by the 4 nats
    that both campaigns charged."""
    lie = Fraction(1, 1 + exact.factor_above(2 * NAT))
    yes, no, hidden = [1 - lie, lie], [lie, 1 - lie], [Fraction(1, 2)] * 2
    first, second = Table.rounded([yes, no, hidden]), Table.rounded([hidden, yes, no])
    found = together((first, 1), (second, 1))
    pairs = [found.pair(x, other).nanonats for x, other in permutations(range(3), 2)]
    assert found.together.nanonats == max(pairs) < 3.5 * NAT
    assert found.changing.nanonats == sum(one.nanonats for one in found.campaigns) > 4 * NAT
    course = odds([first], 0, 1) * odds([second], 1, 2)
    assert exact.level_of(course.numerator, course.denominator) > 4 * NAT


@settings(max_examples=30)
@given(drawn=st.lists(st.tuples(tables(), st.integers(1, 2)), min_size=2, max_size=3))
def test_a_bound_from_above_is_not_below_the_exact_one(drawn) -> None:
    """If inputs are too many to compare, the sum of the channels' own worst cases is at least the exact bound."""
    found = together(*drawn)
    exact_ones = [found.together, *map(found.value, range(3))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exposure, "MAX_STEPS", 0)
        found = together(*drawn)
        rough_ones = [found.together, *map(found.value, range(3))]
    for rough, true in zip(rough_ones, exact_ones, strict=True):
        assert rough.nanonats is None or (true.nanonats is not None and true.nanonats <= rough.nanonats)
        assert rough.other is None or len({table for table, _ in drawn}) == 1


def test_draws_of_randomised_response_add_up_exactly() -> None:
    """n answers of randomised response at eps expose n times eps for every pair, and two campaigns expose their sum."""
    one, other = response(3, NAT), response(3, NAT // 2)
    found = together((one, 3), (other, 2))
    assert {found.pair(x, y).nanonats for x, y in permutations(range(3), 2)} == {4 * NAT}
    assert found.together.nanonats == found.value(1).nanonats == 4 * NAT
    assert found.pair(1, 1).nanonats == 0
    assert found.budgets is None


def test_a_view_does_not_distinguish_values_with_one_image() -> None:
    """Draws of a view change the odds of two values by the loss of their images, and not at all if the images are
    equal; this loss adds to the loss of draws of the answer itself."""
    domain = Values(tuple(f"v{x}" for x in range(5)))
    halves, plain = ViewChannel(Coarse(2), response(3, NAT)), ViewChannel(Identity(), response(5, NAT // 2))

    def exposed(*channels: ViewChannel) -> Exposure:
        return Exposure(
            domain, bytes(DITHER_BYTES), tuple(CampaignExposure(b"t", "t", domain, {one: 2}) for one in channels), 0
        )

    alone, both = exposed(halves), exposed(halves, plain)
    for x, other in permutations(range(5), 2):
        level = 0 if x // 2 == other // 2 else 2 * NAT
        assert (alone.pair(x, other).nanonats, both.pair(x, other).nanonats) == (level, level + NAT)
    worst = alone.together
    assert worst.nanonats == alone.value(4).nanonats == 2 * NAT
    assert worst.x // 2 != worst.other // 2
    assert both.together.nanonats == 3 * NAT


def test_budgets_of_values_add_up() -> None:
    """The budget vectors of MinID-LDP add up, a campaign without budgets adds its level to each, and the smaller of two
    budgets bounds their pair (Gu et al. 2020, Theorem 2)."""
    budgets = [NAT, NAT, 2 * NAT]
    notion = Graded.over(budgets)
    assert isinstance(notion, MinId)
    table = Table.rounded([
        [Fraction(5, 10), Fraction(3, 10), Fraction(2, 10)],
        [Fraction(3, 10), Fraction(5, 10), Fraction(2, 10)],
        [Fraction(3, 10), Fraction(3, 10), Fraction(4, 10)],
    ])  # fmt: skip
    domain = Values(("a", "b", "c"))
    graded = CampaignExposure(b"g", "graded", domain, {ViewChannel(Identity(), table): 2}, 0, notion)
    plain = CampaignExposure(b"p", "plain", domain, {ViewChannel(Identity(), response(3, NAT // 2)): 3}, NAT // 4)
    found = Exposure(domain, bytes(DITHER_BYTES), (graded, plain), 0)
    assert found.budgets == tuple(2 * budget + 3 * (NAT // 2) + NAT // 4 for budget in budgets)
    for x, other in permutations(range(3), 2):
        assert found.pair(x, other).nanonats <= min(found.budgets[x], found.budgets[other])
    unbounded = CampaignExposure(b"u", "unbounded", domain, {}, None)
    assert Exposure(found.domain, found.dither, (graded, unbounded), 0).budgets is None


@pytest.mark.slow
def test_43750_values_are_bounded_without_comparing_all_pairs() -> None:
    """For 43,750 values, the bound of the worst case is the charged level up to 100 nanonats, and names no pair; it is
    at least the bound of a value, which is at least that of a pair with this value."""
    domain = Grid(25 * 10**6, 50 * 10**6, -130 * 10**6, -60 * 10**6, 200_000)
    hadamard = Hadamard(truth_of(NAT), domain.size)
    drawn = ({ViewChannel(Identity(), hadamard): 2}, {ViewChannel(Identity(), response(domain.size, NAT)): 1})
    campaigns = tuple(CampaignExposure(bytes([n]), "t", domain, draws) for n, draws in enumerate(drawn))
    found = Exposure(domain, bytes(DITHER_BYTES), campaigns, 0)
    assert 3 * NAT - 100 <= found.together.nanonats <= 3 * NAT
    assert found.together.x is None
    for x, other in ((0, 1), (3, 40_000), (43_749, 7)):
        assert found.pair(x, other).nanonats <= found.value(x).nanonats <= found.together.nanonats


# On a device


def signed(title, notion, channel, answers=1, **changes):
    campaign = Campaign(
        title, "Which?", "", "Town", Values(LABELS), notion, "any", plain_views(channel), OPENS, OPENS + 10 * WEEK,
        WEEK, answers, 1, "enrolled", **changes,
    )  # fmt: skip
    return seal_campaign(campaign, AUTHOR)


def test_draws_count_and_repetitions_do_not(open_device):
    """The draws of all campaigns about the same values add up; repeated outputs, campaigns about other values and
    unanswered campaigns do not count."""
    device = open_device()
    plain = agreed(device, signed("Plain", Ldp(NAT), response(K, NAT), 3))
    lip = agreed(device, signed("LIP", Lip(NAT // 2, PRIOR), personal.lip_response(PRIOR, NAT // 2)))
    other = agreed(device, campaign("Hours", Buckets.of([0, 10]), enrolment="enrolled"))
    assert device.exposure(plain).together.nanonats == 0
    assert device.exposure(plain).about("none").nanonats == 0
    for value in ("none", "none", "master"):
        device.answer(plain, value)
    device.answer(lip, "none")
    device.answer(other, 5)
    found = device.exposure(plain)
    assert [(one.campaign_id, one.title, one.drawn) for one in found.campaigns] == [
        (plain, "Plain", 2),
        (lip, "LIP", 1),
    ]
    channel = open_campaign(device.records.campaigns.find(lip).signed.data, [AUTHOR.public]).campaign.channel
    for x, label in enumerate(LABELS):
        levels = [2 * NAT + channel.loss([x], [y]).level for y in range(K) if y != x]
        assert found.about(label).nanonats == max(levels)
    assert NAT // 2 < channel.loss(range(K), range(K)).level == found.together.nanonats - 2 * NAT
    assert device.exposure(other).campaigns[0].title == "Hours"
    with pytest.raises(NotInDomain):
        found.about("SECRET")
    assert device.exposure(lip).campaigns == found.campaigns


def test_a_transcript_is_bounded_by_the_channels_that_were_used(open_device, clock):
    """The bound of a transcript is at most the sum of the LDP levels of the channels that were used. After forgetting,
    it is twice the declared level for each report."""
    notion = TranscriptPrior(NAT // 2, PRIOR)
    device = open_device()
    data = signed("Mood", notion, notion.channel_of(PRIOR))
    along = agreed(device, data)
    for week in range(3):
        clock.now = OPENS + week * WEEK
        device.answer(along, "none")
    found = device.exposure(along)
    assert found.campaigns[0].drawn == 3
    assert 3 * (NAT // 2) < found.campaigns[0].nanonats <= 2 * 3 * (NAT // 2)
    assert 0 < found.together.nanonats <= found.campaigns[0].nanonats
    device.forget(along)
    device.join(data)
    assert device.exposure(along).together.nanonats == 2 * 3 * (NAT // 2) >= found.together.nanonats


def test_exposure_of_forgotten_campaigns_still_counts(open_device):
    """The exposure from before a campaign was forgotten still counts, before and after joining again."""
    device = open_device()
    data = signed("Plain", Ldp(NAT), response(K, NAT), 3)
    again, other = agreed(device, data), agreed(device, signed("Other", Ldp(NAT), response(K, NAT)))
    for value in ("none", "master"):
        device.answer(again, value)
    device.forget(again)
    found = device.exposure(other)
    assert (found.together.nanonats, found.forgotten_nanonats) == (0, 2 * NAT)
    agreed(device, data)
    device.answer(again, "none")
    found = device.exposure(other)
    assert (found.together.nanonats, found.forgotten_nanonats) == (3 * NAT, 0)


def test_the_choice_of_a_class_adds_its_charge_to_the_exposure(open_device):
    """A class chosen at random adds the charge of the choice, and the class's own channel adds its loss."""
    levels = (NAT // 2, NAT)
    channels = tuple(
        personal.lip_response(prior, level) for prior, level in zip((PRIOR, PRIOR[::-1]), levels, strict=True)
    )
    notion = Classes.of(tuple(map(Lip, levels, (PRIOR, PRIOR[::-1]))))
    device = open_device()
    campaign_id = device.join(
        signed("Classes", notion, Blocks(0, ((1, K), (2, K)), channels), classes=("workers", "students"))
    ).campaign_id
    chosen = device.choose_class(campaign_id, 0.25)
    device.answer(campaign_id, "none")
    channel = channels[("workers", "students").index(chosen)]
    everything = range(K)
    found = device.exposure(campaign_id)
    assert found.together.nanonats == NAT // 4 + channel.loss(everything, everything).level
    assert found.pair(0, 0).nanonats == 0


def test_an_exposure_shows_no_dither(open_device):
    """The repr of an exposure, which may end in a log, leaves out the secret dither; the attribute has it."""
    device = open_device()
    campaign_id = agreed(device, campaign("Hours", Buckets.of([0, 10]), enrolment="enrolled"))
    [[dither]] = device._store.rows("SELECT dither FROM consent")
    assert repr(bytes(dither)) not in repr(device.exposure(campaign_id))
    assert device.exposure(campaign_id).dither == dither


def test_the_command_prints_the_exposure_without_repeating_the_value(tmp_path, capsys):
    """The command prints, for scripts and for people, the exposure of the worst value or of a given one, which it never
    repeats."""
    (tmp_path / "author.pub").write_text(public_line(AUTHOR.public))
    (tmp_path / "c.campaign").write_bytes(campaign(opens=int(time.time()) - 9, enrolment="enrolled"))

    def run(*arguments, code=0):
        assert main(["--store", str(tmp_path / "store"), *arguments]) == code
        return capsys.readouterr()

    ident = json.loads(
        run("join", str(tmp_path / "c.campaign"), "--trust", str(tmp_path / "author.pub"), "--json").out
    )["campaign"]
    run("consent", ident)
    run("answer", ident, "bachelor")
    campaigns = [{"campaign": ident, "title": "Highest education", "draws": 1, "level": 1.0}]
    found = json.loads(run("exposure", ident, "--json").out)
    assert found == {
        "campaign": ident, "about": "the value with the highest bound", "together": 1.0,
        "likelihood_factor": 2.8, "changing": 1.0, "forgotten_nats": 0.0, "campaigns": campaigns,
    }  # fmt: skip
    assert (
        "bound if the answer never changes: 1 nat\n"
        "largest ratio of the reports' probabilities under two answers, if the answer never changes: 2.8\n"
    ) in run("exposure", ident, "master").out
    refused = run("exposure", ident, "SECRETVALUE", code=65)
    assert "SECRETVALUE" not in refused.out + refused.err
