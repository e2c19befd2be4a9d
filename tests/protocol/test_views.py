"""Properties of views (SPEC 6.12, 7.3)."""

from __future__ import annotations

import hashlib
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import codec, domain, exact, notions, views
from protocol.campaign import Campaign, SignedCampaign, decode_campaign, encode_campaign, open_campaign, seal_campaign
from protocol.channels import Channel, Hadamard, RandomizedResponse, Table
from protocol.effort import MAX_STEPS
from protocol.errors import CampaignError, NotionError, Uncertified, ViewError
from protocol.keys import SigningKey
from protocol.views import MAX_VIEWS, MAX_WEIGHT, Coarse, Districts, Identity, Map, View
from tests.families.hadamard import truth_of
from tests.families.response import cover_of
from tests.fuzz.targets import campaign_target
from tests.vectors.generate import (
    at_resolutions,
    in_classes,
    of_budgets,
    of_classes,
    of_pairs,
    of_questions,
    unsigned_campaign,
)

KEY = SigningKey(bytes(range(32)))
NAT = exact.NANONATS
FIVE = domain.Values(tuple("abcde"))
GRID = domain.Grid(0, 5, 0, 7, 1)


def response(k: int, level: int = NAT) -> RandomizedResponse:
    return RandomizedResponse(k, (cover_of(level, k),))


def campaign_of(*made: tuple[int, Map], over: domain.Domain = FIVE, **changes: Any) -> Campaign:
    """Return a campaign with the given weights and maps, each with randomised response at 1 nat."""
    found = tuple(View(weight, one, response(one.input_count(over))) for weight, one in made)
    return unsigned_campaign(domain=over, views=found, **changes)


# Maps


def squares(grid: domain.Grid, factor: int) -> list[int]:
    """Return the square of each cell by looping over the map; the slow reference for ``Coarse``."""
    corners = sorted(
        {(row - row % factor, column - column % factor) for row in range(grid.rows) for column in range(grid.columns)}
    )
    return [
        corners.index((row - row % factor, column - column % factor))
        for row in range(grid.rows) for column in range(grid.columns)
    ]  # fmt: skip


@given(st.integers(1, 12), st.integers(1, 12), st.integers(2, 9))
def test_coarse_divides_a_grid_into_squares(rows: int, columns: int, factor: int) -> None:
    """For any F, coarse is the partition into F x F squares from the south-west corner, numbered row by row; a
    partition into one square is refused."""
    grid = domain.Grid(0, max(rows, 1), 0, max(columns, 2), 1)
    expected = squares(grid, factor)
    made = Coarse(factor)
    if max(expected) == 0:
        with pytest.raises(CampaignError):
            made.input_count(grid)
        return
    assert [made.input(grid, x) for x in range(grid.size)] == expected
    assert made.input_count(grid) == 1 + max(expected)


@given(st.integers(2, 60), st.integers(2, 70))
def test_coarse_divides_a_list_into_stretches(size: int, factor: int) -> None:
    """For values and buckets, coarse is the partition into stretches of F, of which the last may be shorter."""
    for one in (
        domain.Values(tuple(map(str, range(size)))),
        domain.Buckets.of(range(size)),
        domain.NumberRange.of(0, size - 1),
        domain.Dates(0, size - 1),
    ):
        if factor >= size:
            with pytest.raises(CampaignError):
                Coarse(factor).input_count(one)
            continue
        found = [Coarse(factor).input(one, x) for x in range(size)]
        assert found == [x // factor for x in range(size)]
        assert Coarse(factor).input_count(one) == 1 + max(found)


partitions = st.lists(st.integers(0, 5), min_size=3, max_size=20).filter(lambda cells: 1 < len(set(cells)) < len(cells))


def districts_of(cells: list[int], names: tuple[str, ...] = ()) -> Districts:
    return Districts(notions.Block.over(NAT, cells).runs, names)


@given(partitions)
def test_districts_are_their_partition(cells: list[int]) -> None:
    """Two inputs have the same district if and only if the partition says so, and every number below k_j is used."""
    made, one = districts_of(cells), domain.Values(tuple(map(str, range(len(cells)))))
    found = [made.input(one, x) for x in range(len(cells))]
    assert set(found) == set(range(made.input_count(one)))
    assert all((found[x] == found[y]) is (cells[x] == cells[y]) for x, y in product(range(len(cells)), repeat=2))
    with pytest.raises(CampaignError, match="districts must have all"):
        made.input_count(domain.Values(tuple(map(str, range(len(cells) + 1)))))


def test_labels_of_a_view_name_its_inputs() -> None:
    """Labels are different, and those of squares and stretches name the first and last value inside."""
    cases = ((GRID, Coarse(3)), (FIVE, Coarse(2)), (FIVE, districts_of([0, 0, 1, 1, 0])), (FIVE, Identity()))
    for one, made in cases:
        labels = [made.label(one, z) for z in range(made.input_count(one))]
        assert len(set(labels)) == len(labels)
    assert [Coarse(2).label(FIVE, z) for z in range(3)] == ["a .. b", "c .. d", "e"]
    assert Coarse(3).label(domain.Grid(0, 4_000_000, 0, 3_000_000, 1_000_000), 0) == "0.5,0.5 .. 2.5,2.5"
    assert districts_of([0, 0, 1], ("West", "East")).label(FIVE, 1) == "East"


# Wire form


maps = st.one_of(
    st.just(Identity()),
    st.sampled_from([Coarse(2), Coarse(3)]),
    st.lists(st.integers(0, 3), min_size=5, max_size=5).filter(lambda cells: 1 < len(set(cells)) < 5).map(districts_of),
)


@st.composite
def campaigns(draw: st.DrawFn) -> Campaign:
    drawn = draw(
        st.lists(st.tuples(st.integers(1, 1000), maps, st.integers(1, 3)), min_size=1, max_size=8, unique_by=str)
    )
    found: dict[tuple[Map, int], View] = {}
    for weight, one, level in drawn:
        found.setdefault((one, level), View(weight, one, response(one.input_count(FIVE), NAT // level)))
    first, *rest = found.values()
    # Weights that differ by one have no common factor; a single view has the weight 1.
    first = View(rest[0].weight + 1 if rest else 1, first.map, first.channel)
    return unsigned_campaign(views=(first, *rest))


@settings(max_examples=40)
@given(campaigns())
def test_a_campaign_with_views_decodes_to_itself(made: Campaign) -> None:
    """decode(encode(c)) = c for each view and its certificate; a channel that several views share is encoded once, and
    a single view of the answer itself is encoded as its channel."""
    again = decode_campaign(encode_campaign(made))
    assert again == made
    assert (again.view_certificates, again.certificate) == (made.view_certificates, made.certificate)
    field = codec.decode(encode_campaign(made), limit=2**16)[7]
    if views.is_plain(made.views):
        assert field == made.channel.encode()
    else:
        assert len(field[2]) == len({view.channel for view in made.views})
        assert open_campaign(seal_campaign(made, KEY), [KEY.public]).campaign == made


def assert_mutants_are_bad(payload: bytes, part: bytes, length: int, data: st.DataObject) -> None:
    """Check that a payload with bytes from ``part`` on changed, lost and inserted is a campaign or raises BadData."""
    begin = payload.index(part)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(begin, begin + length))
        payload = payload[:at] + data.draw(st.binary(max_size=2)) + payload[at + data.draw(st.integers(0, 2)) :]
    campaign_target(payload)


@given(st.data())
def test_mutated_views_raise_bad_data(data: st.DataObject) -> None:
    """A payload with bytes of its views changed, lost and inserted is a campaign or raises BadData, and no other
    exception."""
    assert_mutants_are_bad(encode_campaign(at_resolutions()), b"views", 150, data)


@pytest.mark.parametrize(
    "made",
    [
        lambda: unsigned_campaign(views=()),
        lambda: campaign_of((0, Identity()), (1, Coarse(2))),
        lambda: campaign_of((2, Identity()), (4, Coarse(2))),
        lambda: campaign_of((2, Identity())),
        lambda: campaign_of((MAX_WEIGHT, Identity()), (1, Coarse(2))),
        lambda: campaign_of((1, Coarse(2)), (2, Coarse(2))),
        lambda: Coarse(1),
        lambda: Districts(((0, 5),)),
        lambda: Districts(((0, 1), (1, 1))),
        lambda: districts_of([0, 0, 1], ("a", "a")),
    ],
)
def test_invalid_views_are_refused(made: Any) -> None:
    """The constructors refuse views with invalid or unreduced weights, invalid maps, equal labels, or no view at
    all."""
    with pytest.raises(ViewError):
        made()


def test_the_number_of_views_is_bounded() -> None:
    """A campaign with 4,096 views is accepted; 4,097 views are refused before their maps are decoded."""
    big = domain.Values(tuple(f"{x}" for x in range(MAX_VIEWS // 4 + 2)))

    def at(cut: int, level: int) -> View:
        return View(1, Districts(((0, cut), (1, big.size - cut))), response(2, level))

    found = tuple(at(cut, level) for cut in range(1, big.size - 1) for level in (NAT, NAT // 2, NAT // 4, NAT // 8))
    assert len(found) == MAX_VIEWS
    made = unsigned_campaign(domain=big, views=found)
    assert decode_campaign(encode_campaign(made)) == made
    fields = codec.decode(encode_campaign(made), limit=2**20)
    fields[7][1].append([1, "no map", 0])
    with pytest.raises(ViewError, match="4096"):
        decode_campaign(codec.encode(fields))
    with pytest.raises(ViewError, match="4096"):
        unsigned_campaign(domain=big, views=(*found, View(1, Identity(), response(big.size))))


def test_a_campaign_with_views_has_no_channel_for_all_devices() -> None:
    """campaign.channel exists only for campaigns without views; with views, also with a single coarse one, it raises an
    error."""
    assert unsigned_campaign().channel == unsigned_campaign().views[0].channel
    for made in (at_resolutions(), campaign_of((1, Coarse(2)))):
        with pytest.raises(CampaignError, match="do not share one channel for the answer itself"):
            _ = made.channel


@pytest.mark.parametrize(
    "notion",
    [
        notions.Lip(NAT, (1,) * 5),
        notions.HighLow(NAT, 5, (0,)),
        notions.Block(NAT, ((0, 3), (1, 2))),
        notions.DeclaredPrior(NAT, 5),
        notions.MutualInformation(NAT, (1,) * 5),
        notions.Geo.between(NAT, 1, [0], range(5)),
        notions.Graded.over([NAT, NAT, 2 * NAT, 2 * NAT, 2 * NAT], pairs=[(NAT, NAT)]),
    ],
)
def test_notions_that_cannot_be_used_with_views_are_refused(notion: notions.Notion) -> None:
    """Under LIP, high-low, block, declared-prior, mutual-information and geo notions, and under graded notions with
    unbounded pairs, a campaign with a map or several views is refused."""
    for maps_ in ([(1, Coarse(2))], [(1, Identity()), (2, Coarse(2))]):
        with pytest.raises(CampaignError, match="views"):
            campaign_of(*maps_, notion=notion)
    with pytest.raises(CampaignError):
        unsigned_campaign(
            views=(View(1, Identity(), response(5)), View(2, Identity(), Hadamard(truth_of(NAT), 5))), notion=notion
        )


def test_a_class_with_a_prior_has_no_views() -> None:
    """A campaign with classes of people and views is refused if the notion of a class cannot be used with views."""
    whole = of_classes()
    with pytest.raises(CampaignError, match="in each class"):
        unsigned_campaign(
            domain=whole.domain, notion=whole.notion, classes=whole.classes,
            views=(View(1, Identity(), whole.channel), View(2, Identity(), response(6))),
        )  # fmt: skip


@pytest.mark.parametrize(
    "made",
    [
        (of_questions(2 * NAT), of_questions(NAT // 2)),
        (at_resolutions(), at_resolutions(2 * NAT), at_resolutions(NAT // 2)),
        (of_budgets(), of_budgets()),
        (of_pairs(), of_pairs(2)),
    ],
    ids=["form", "map", "budgets", "pairs"],
)
def test_a_class_in_a_view_equals_a_campaign_of_that_class(made: tuple[Campaign, ...]) -> None:
    """Class c of view j has the channel, certificate and cost of view j in the campaign of class c alone, at the inputs
    c k_j + f_j(x); the outputs of two classes are disjoint; the level and the worst case of the campaign are the
    largest."""
    together = decode_campaign(encode_campaign(in_classes(*made)))
    for view, asked_ in enumerate(together.views):
        inputs = asked_.map.input_count(together.domain)
        seen: set[int] = set()
        for place, alone in enumerate(made):
            assert together.channel_of(place, view) == alone.views[view].channel
            assert together.certificate_of(place, view) == alone.view_certificates[view]
            first = sum(one.views[view].channel.output_count for one in made[:place])
            for x in (0, 1, together.domain.size - 1):
                z = together.input_of(x, place, view)
                assert z == place * inputs + alone.input_of(x, 0, view)
                row = [asked_.channel.weight(z, y) for y in range(asked_.channel.output_count)]
                mine = alone.views[view].channel
                weights = [mine.weight(alone.input_of(x, 0, view), y) for y in range(mine.output_count)]
                scale = asked_.channel.scale - mine.scale
                assert row[first : first + mine.output_count] == [weight << scale for weight in weights]
                assert not any(row[:first])
                assert not any(row[first + mine.output_count :])
            outputs = set(range(first, first + alone.views[view].channel.output_count))
            assert not seen & outputs
            seen |= outputs
    for place, alone in enumerate(made):
        of_class = together.certificate.class_certificates[place]
        assert (of_class.audited_level, of_class.ldp_level) == (
            alone.certificate.audited_level,
            alone.certificate.ldp_level,
        )
        assert (together.cost_of(place), together.worst_case_of(place)) == (alone.cost_of(0), alone.worst_case)
    assert together.worst_case == max(alone.worst_case for alone in made)
    assert together.certificate.audited_level == max(alone.certificate.audited_level for alone in made)
    assert together.output_bits >= max(alone.output_bits for alone in made)


# The disclosure by a view


def test_the_view_is_a_function_of_the_key_and_the_campaign() -> None:
    """view_of is the first view whose range contains floor(H W / 2^64), implemented here a second time from SPEC 7.3;
    it depends only on the key and the campaign id."""
    made = campaign_of((3, Identity()), (1, Coarse(2)), (4, Coarse(3)))
    signed = open_campaign(seal_campaign(made, KEY), [KEY.public])
    for number in range(200):
        public = SigningKey(number.to_bytes(32, "big")).public
        head = hashlib.sha256(b"halftruth view" + b"\x00" + signed.id + public).digest()[:8]
        point, view = int.from_bytes(head, "big") * 8 // 2**64, 0
        while point >= sum((3, 1, 4)[: view + 1]):
            view += 1
        assert signed.view_of(public) == view
    assert open_campaign(seal_campaign(unsigned_campaign(), KEY), [KEY.public]).view_of(KEY.public) == 0


def test_each_view_has_keys_in_proportion_to_its_weight() -> None:
    """Among n = 4,096 keys each of the 3 views has its weight's share within 6 standard errors, alpha = 2 * 10^-9 each;
    a failure would mean that views are not drawn by their weights."""
    weights = (5, 1, 2)
    made = campaign_of((5, Identity()), (1, Coarse(2)), (2, Coarse(3)))
    signed = SignedCampaign(made, bytes(16), KEY.public, b"")
    found = Counter(signed.view_of(number.to_bytes(32, "big")) for number in range(4096))
    for view, weight in enumerate(weights):
        share = weight / 8
        assert abs(found[view] - 4096 * share) <= 6 * (4096 * share * (1 - share)) ** 0.5


def pulled_back(view: View, over: domain.Domain) -> list[list[Fraction]]:
    """Return Q_j(y | f_j(x)) for all x and y."""
    channel = view.channel
    return [
        [Fraction(channel.weight(view.map.input(over, x), y), 2**channel.scale) for y in range(channel.output_count)]
        for x in range(over.size)
    ]


small = [
    campaign_of((1, Identity()), (1, Coarse(2))),
    campaign_of((1, Coarse(2)), (2, Coarse(3)), (1, districts_of([0, 1, 0, 1, 2]))),
    campaign_of((2, Coarse(2)), (1, Coarse(3)), (1, Identity()), over=domain.Grid(0, 3, 0, 4, 1)),
    unsigned_campaign(
        notion=notions.Graded.over([NAT, 2 * NAT, 2 * NAT, 3 * NAT, 3 * NAT]),
        views=(View(1, Identity(), response(5)), View(1, districts_of([0, 1, 1, 2, 2]), response(3))),
    ),
    unsigned_campaign(
        notion=notions.Graded.over([NAT, 2 * NAT, 2 * NAT, 3 * NAT, 3 * NAT], "avgid"),
        views=(View(1, Coarse(2), response(3, 3 * NAT // 2)), View(1, districts_of([0, 1, 1, 2, 2]), response(3))),
    ),
]


@pytest.mark.parametrize("made", small)
def test_every_view_keeps_the_declared_bound_of_each_pair(made: Campaign) -> None:
    """For all x, x', y and j, Q_j(y|f_j(x)) / Q_j(y|f_j(x')) satisfies the bound that the notion sets for x and x', by
    exact rationals; two answers that a view does not distinguish have the same distribution."""
    size = made.domain.size
    bounds = {}
    groups = made.notion.inputs_by_class or [range(size)]
    for first, second, level in made.notion.bounds():
        bounds.update({(x, other): level for x in groups[first] for other in groups[second] if x != other})
    worst = Fraction(1)
    for view in made.views:
        rows = pulled_back(view, made.domain)
        assert all(sum(row) == 1 for row in rows)
        for (x, other), level in bounds.items():
            for here, there in zip(rows[x], rows[other], strict=True):
                assert exact.satisfies(here.numerator * there.denominator, here.denominator * there.numerator, level)
                worst = max(worst, here / there)
            if view.map.input(made.domain, x) == view.map.input(made.domain, other):
                assert rows[x] == rows[other]
    assert made.certificate.ldp_level == exact.level_of(worst.numerator, worst.denominator)


# Certificates


def test_the_bound_of_two_cells_is_the_least_of_their_pairs() -> None:
    """The notion mapped to a view's inputs bounds z and z' by the smallest bound of any x in z and x' in z', for random
    matrices and budgets, compared with a loop over all pairs."""

    def least(notion: Any, cells: list[int], z: int, other: int) -> int | None:
        groups = notion.inputs_by_class
        found = [
            level
            for first, second, level in notion.bounds()
            for x, y in product(groups[first], groups[second])
            if x != y and (cells[x], cells[y]) == (z, other)
        ]
        return min(found, default=None)

    cells = [0, 1, 0, 2, 1, 2]
    matrix = [
        [0 if x == y else -1 if (x + y) % 4 == 3 else NAT + (7 * x + 3 * y) % 11 for y in range(6)] for x in range(6)
    ]
    largest = max(max(row) for row in matrix)
    cases: list[notions.Notion] = [notions.Matrix(largest, tuple(map(tuple, matrix)))]
    cases += [
        notions.Graded.over([3 * NAT, NAT, 2 * NAT, 2 * NAT, 5 * NAT, 4 * NAT], kind) for kind in ("minid", "avgid")
    ]
    for notion in cases:
        said = notion.coarsened(cells.__getitem__, 3)
        assert said.input_count == 3
        for z, other in product(range(3), repeat=2):
            if z != other:
                expected = least(notion, cells, z, other)
                assert least(said, [0, 1, 2], z, other) == expected


def test_one_view_above_its_level_refuses_the_campaign() -> None:
    """A campaign is refused if one view is above the declared level, even if the others satisfy it, and if a view's
    district does not satisfy the smallest budget of a value inside it."""
    with pytest.raises(Uncertified):
        unsigned_campaign(views=(View(1, Identity(), response(5)), View(1, Coarse(2), response(3, NAT + 10))))
    budgets = notions.Graded.over([NAT, 2 * NAT, 2 * NAT, 2 * NAT, 2 * NAT])
    loud = View(1, districts_of([0, 0, 1, 1, 2]), response(3, 2 * NAT))
    with pytest.raises(Uncertified):
        unsigned_campaign(notion=budgets, views=(loud,))
    assert unsigned_campaign(notion=budgets, views=(View(1, loud.map, response(3, NAT)),))


def test_one_channel_is_audited_for_each_view_that_has_it() -> None:
    """A channel that two views share must satisfy the notion for the inputs of each. If it satisfies the bound for one
    view's districts but not for the other's, the campaign is refused, in either order."""
    rows = ((0, NAT, 3 * NAT), (NAT, 0, 3 * NAT), (3 * NAT, 3 * NAT, 0))
    three, notion = domain.Values(tuple("abc")), notions.Matrix(3 * NAT, rows)
    apart, together = (View(1, districts_of(cells), response(2, 3 * NAT)) for cells in ([0, 0, 1], [0, 1, 1]))
    assert unsigned_campaign(domain=three, notion=notion, views=(apart,)).certificate.audited_level == 3 * NAT
    for pair in ((apart, together), (together, apart)):
        with pytest.raises(Uncertified):
            unsigned_campaign(domain=three, notion=notion, views=pair)


def test_the_levels_of_a_campaign_are_the_largest_of_its_views() -> None:
    """Levels are the largest of any view; the worst case is that of the view whose draws cost most in total."""
    made = campaign_of((1, Identity()), (1, Coarse(2)))
    quiet = unsigned_campaign(views=(View(1, Identity(), response(5, NAT // 2)), View(1, Coarse(3), response(2, NAT))))
    assert made.certificate.audited_level == max(one.audited_level for one in made.view_certificates)
    assert quiet.certificate.view_index == 1
    assert [one.cost for one in quiet.view_certificates] == [NAT // 2, NAT]
    assert [quiet.max_draws_of(view) for view in range(2)] == [5, 2]
    assert (quiet.max_draws, quiet.worst_case) == (5, 5 * NAT // 2)
    assert quiet.output_bits == 3


def test_equal_views_are_audited_once_within_one_limit_of_steps() -> None:
    """A channel that any number of views share is audited once for each notion. The steps of different channels add up,
    and a campaign that takes too many is refused before any channel is audited."""
    audited: list[Channel] = []

    class CountedTable(Table):
        def loss(self, first: Any, second: Any) -> Any:
            audited.append(self)
            return super().loss(first, second)

    table = CountedTable(tuple(tuple(2**62 // 4 * (3 if x == y else 1) for y in range(2)) for x in range(2)))
    cuts = [Districts(((0, cut), (1, 5 - cut))) for cut in (1, 2, 3, 4)]
    unsigned_campaign(notion=notions.Ldp(2 * NAT), views=tuple(View(1, cut, table) for cut in cuts))
    assert len(audited) == 1
    many = domain.Values(tuple(str(x) for x in range(1000)))
    budgets = notions.Graded.over([NAT + x // 100 for x in range(1000)])
    views_ = tuple(View(1, Coarse(factor), response(-(-1000 // factor), NAT // 2)) for factor in range(2, 999))
    assert len(views_) * budgets.coarsening_steps < MAX_STEPS
    with pytest.raises(Uncertified, match="would take"):
        unsigned_campaign(
            domain=many,
            notion=budgets,
            views=(
                View(1, Districts(((0, 1), (1, 999))), table),
                *views_,
                *(View(1, view.map, response(view.channel.input_count, NAT // 3)) for view in views_),
            ),
        )
    assert len(audited) == 1


@pytest.mark.parametrize(("bound", "why"), [(notions.UNBOUNDED, "bounds no two inputs"), (0, "by 0 nats only")])
def test_a_matrix_that_bounds_no_groups_or_bounds_them_by_zero_is_refused_for_this_reason(bound: int, why: str) -> None:
    """The refusal of a coarsened matrix states whether its groups have no bound, or only bounds of 0 nats."""
    level = exact.NANONATS
    matrix = notions.Matrix(level, ((0, bound, level), (bound, 0, bound), (level, bound, 0)))
    with pytest.raises(NotionError, match=why):
        matrix.coarsened((0, 1, 0).__getitem__, 2)
