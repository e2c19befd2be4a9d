"""Properties of domains (SPEC 4)."""

from __future__ import annotations

import datetime
import math
import traceback
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import codec, domain
from protocol.domain import (
    DITHER_BYTES,
    Answer,
    Buckets,
    Dates,
    Domain,
    Grid,
    Line,
    NumberRange,
    OrderedValues,
    Values,
    calendar,
)
from protocol.errors import DomainError, NotInDomain

ZERO, MOST = bytes(DITHER_BYTES), b"\xff" * DITHER_BYTES
STEPS = 2 ** (8 * DITHER_BYTES)

labels = st.lists(
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=12).filter(
        lambda label: codec.readable(label) and label == label.strip()
    ),
    min_size=2,
    max_size=12,
    unique=True,
).map(lambda found: Values(tuple(found)))
grids = st.builds(
    lambda south, west, step, rows, columns: Grid(south, south + rows * step, west, west + columns * step, step),
    st.integers(-90_000_000, 80_000_000),
    st.integers(-180_000_000, 170_000_000),
    st.integers(1, 1_000_000),
    st.integers(1, 9),
    st.integers(2, 9),
)
edges = st.lists(st.decimals(-(10**6), 10**6, places=4), min_size=2, max_size=9, unique=True)
buckets = edges.map(lambda found: Buckets.of(sorted(found)))
ordered = labels.map(lambda found: OrderedValues(found.labels))
ranges = st.builds(
    lambda low, step, count, places, random, clamp, unit: NumberRange.of(
        Fraction(low, 10**places), Fraction(low + step * count, 10**places), Fraction(step, 10**places),
        rounds_randomly=random, clamps=clamp, unit=unit,
    ),
    st.integers(-(10**9), 10**9), st.integers(1, 10**4), st.integers(1, 40), st.integers(0, 6),
    st.booleans(), st.booleans(), st.sampled_from(["", "h", "km/h", "years"]),
)  # fmt: skip
dates = st.builds(
    lambda low, step, count, clamp: Dates(low, low + step * count, step, clamp),
    st.integers(-700_000, 2_900_000), st.integers(1, 31), st.integers(1, 40), st.booleans(),
)  # fmt: skip
lines: st.SearchStrategy[Line] = buckets | ranges
domains: st.SearchStrategy[Domain] = labels | grids | buckets | ordered | ranges | dates


@given(domains, st.sampled_from([ZERO, MOST]))
def test_labels_are_read_back(asked: Domain, dither: bytes) -> None:
    """index(parse(label(x))) = x for every input of every domain, under every dither; labels are all different."""
    names = [asked.label(x) for x in range(asked.size)]
    assert [asked.index(asked.parse(name), dither) for name in names] == list(range(asked.size))
    assert len(set(names)) == asked.size


@given(domains)
def test_the_wire_form_of_a_domain_decodes_to_it(asked: Domain) -> None:
    assert domain.decode(codec.decode(codec.encode(asked.encode()), limit=2**20)) == asked


@given(domains)
def test_a_domain_under_other_names_has_the_same_inputs(asked: Domain) -> None:
    """Translated names replace the domain's own, and its own names can be restored; a domain without names does not
    change."""
    names = tuple(f"n{place}" for place in range(len(asked.named)))
    said = asked.renamed(names)
    assert (said.named, said.size, said.kind) == (names, asked.size, asked.kind)
    assert said.renamed(asked.named) == asked
    assert [said.label(x) for x in range(asked.size)] == list(
        names if isinstance(asked, Values) else map(asked.label, range(asked.size))
    )


@given(grids, st.data())
def test_every_point_of_the_box_has_the_cell_around_it(asked: Grid, data: st.DataObject) -> None:
    """A cell contains its southern and western border; the northern and eastern borders of the box belong to the last
    cells."""
    latitude, longitude = (
        Fraction(data.draw(st.integers(10 * low, 10 * high)), 10)
        for low, high in ((asked.south, asked.north), (asked.west, asked.east))
    )
    row, column = divmod(asked.index((latitude / 10**6, longitude / 10**6), ZERO), asked.columns)
    for place, count, start, value in (
        (row, asked.rows, asked.south, latitude),
        (column, asked.columns, asked.west, longitude),
    ):
        low = start + place * asked.step
        assert low <= value < low + asked.step or (place == count - 1 and value == low + asked.step)


@given(grids)
def test_the_corners_of_the_box_are_in_the_corner_cells(asked: Grid) -> None:
    south, north, west, east = (Fraction(side, 10**6) for side in (asked.south, asked.north, asked.west, asked.east))
    last_row, last = asked.size - asked.columns, asked.size - 1
    corners = [(south, west), (south, east), (north, west), (north, east)]
    assert [asked.index(corner, ZERO) for corner in corners] == [0, asked.columns - 1, last_row, last]


@given(grids)
def test_a_point_outside_the_box_is_refused(asked: Grid) -> None:
    """A point outside any border is refused, even if the distance is too small for a float."""
    hair = Fraction(1, 10**25)
    south, north, west, east = (Fraction(side, 10**6) for side in (asked.south, asked.north, asked.west, asked.east))
    for answer in ((south - hair, west), (north + hair, west), (south, west - hair), (south, east + hair)):
        with pytest.raises(NotInDomain):
            asked.index(answer, ZERO)


def test_floats_are_their_shortest_decimals() -> None:
    """Floats are read as their shortest decimals: 0.1 and 0.3 lie exactly on borders, although the binary fraction of
    0.3 is below 3/10."""
    asked = Grid(0, 1_000_000, 0, 1_000_000, 100_000)
    for tenths in range(10):
        degrees = tenths / 10
        assert asked.index((degrees, degrees), ZERO) == tenths * 11
        assert asked.index((Decimal(str(degrees)), str(degrees)), ZERO) == tenths * 11
    assert Buckets.of([0.1, 0.2, 0.3]).scaled == (1, 2, 3)
    assert Buckets.of(["0.10", 0.2, Fraction(3, 10)]) == Buckets((1, 2, 3), 1)


def ups(asked: Buckets, answer: Fraction) -> int:
    """Return the number of the 2^64 dithers that round ``answer`` up. These are the dithers below a threshold, which
    bisection finds; the threshold is the number."""
    lower = asked.index(answer, MOST)
    low, high = 0, STEPS
    while low < high:
        middle = (low + high) // 2
        if asked.index(answer, middle.to_bytes(DITHER_BYTES, "big")) > lower:
            low = middle + 1
        else:
            high = middle
    return low


@given(buckets, st.fractions(0, 1, max_denominator=10**9).filter(lambda share: share < 1))
def test_buckets_are_unbiased(asked: Buckets, share: Fraction) -> None:
    """Over a uniform dither the expected edge equals the number, up to 2^-64 of the bucket (exactly for multiples of
    2^-64)."""
    x = asked.size // 2 - 1 if asked.size > 2 else 0
    low, high = asked.points[x], asked.points[x + 1]
    answer = low + share * (high - low)
    assert ups(asked, answer) == math.ceil(share * STEPS)
    whole = Fraction(math.floor(share * STEPS), STEPS)
    assert ups(asked, low + whole * (high - low)) == whole * STEPS


@given(ranges, st.fractions(-1, 2, max_denominator=10**6))
def test_a_number_becomes_the_nearest_step(asked: NumberRange, share: Fraction) -> None:
    """The input's number is within half a step of the answer (within a step if rounded at random), and the higher one
    of two equally near. An answer outside the range is refused, or becomes the nearest end if the campaign clamps."""
    low, high, step = asked.points[0], asked.points[-1], asked.points[1] - asked.points[0]
    answer = low + share * (high - low)
    if not 0 <= share <= 1:
        if asked.clamps:
            assert asked.index(answer, ZERO) == (0 if share < 0 else asked.size - 1)
        else:
            with pytest.raises(NotInDomain):
                asked.index(answer, ZERO)
        return
    if asked.rounds_randomly:
        assert {abs(asked.points[asked.index(answer, dither)] - answer) < step for dither in (ZERO, MOST)} == {True}
    else:
        assert asked.index(answer, ZERO) == asked.index(answer, MOST)
        assert -step / 2 < asked.points[asked.index(answer, ZERO)] - answer <= step / 2


@given(ranges)
def test_evenly_spaced_numbers_are_buckets(asked: NumberRange) -> None:
    """A range that rounds at random gives the inputs of buckets with the same numbers as edges, under every dither."""
    twin = Buckets.of(asked.points)
    alike = NumberRange(asked.low, asked.high, asked.step, asked.decimal_places, rounds_randomly=True)
    assert twin.points == alike.points
    assert twin.evenly_spaced == alike.evenly_spaced is True
    for share in (Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)):
        answer = twin.points[0] + share * (twin.points[-1] - twin.points[0])
        for dither in (ZERO, MOST, b"\x55" * DITHER_BYTES):
            assert twin.index(answer, dither) == alike.index(answer, dither)


@given(dates, st.integers(-(10**4), 10**4))
def test_a_day_becomes_the_last_listed_day_before_it(asked: Dates, away: int) -> None:
    """A day between the ends is the last listed day up to it. A day outside is refused, or becomes the nearest end if
    the campaign clamps."""
    day = datetime.date(1970, 1, 1) + datetime.timedelta(min(max(asked.low + away, -719_162), 2_932_896))
    since = (day - datetime.date(1970, 1, 1)).days
    if asked.low <= since <= asked.high:
        x = asked.index(day.isoformat(), ZERO)
        assert asked.label(x) <= day.isoformat()
        assert x == asked.size - 1 or day.isoformat() < asked.label(x + 1)
    elif asked.clamps:
        assert asked.index(day.isoformat(), ZERO) == (0 if since < asked.low else asked.size - 1)
    else:
        with pytest.raises(NotInDomain):
            asked.index(day.isoformat(), ZERO)


@given(lines, st.data())
def test_a_larger_number_never_gives_a_smaller_input(asked: Line, data: st.DataObject) -> None:
    """Under one dither a larger number never gives a smaller input, and the input is one of the two around the
    number."""
    points = asked.points
    numbers = st.fractions(points[0], points[-1], max_denominator=10**6)
    first, second = sorted((data.draw(numbers), data.draw(numbers)))
    dither = data.draw(st.binary(min_size=DITHER_BYTES, max_size=DITHER_BYTES))
    low, high = asked.index(first, dither), asked.index(second, dither)
    assert low <= high
    neighbours = [x for x in range(asked.size - 1) if points[x] <= first <= points[x + 1]]
    assert any(low in (x, x + 1) for x in neighbours)


@given(st.dates())
def test_the_calendar_agrees_with_the_standard_library(day: datetime.date) -> None:
    """Days and their numbers are those of the standard library, in both directions."""
    number = (day - datetime.date(1970, 1, 1)).days
    assert (calendar.day_of(day.isoformat()), calendar.text_of(number)) == (number, day.isoformat())


@given(st.builds("{:04}-{:02}-{:02}".format, st.integers(0, 9999), st.integers(0, 13), st.integers(0, 32)))
def test_a_text_is_a_day_if_the_standard_library_reads_it(text: str) -> None:
    """A text is a day if and only if the standard library reads it as one; other texts raise a ValueError."""
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        with pytest.raises(ValueError, match="day"):
            calendar.day_of(text)
    else:
        assert calendar.text_of(calendar.day_of(text)) == day.isoformat()


SECRETS: list[tuple[Domain, Answer]] = [
    (Values(("yes", "no")), "perhaps-s3cret"),
    (Grid(0, 10, 0, 10, 1), ("s3cret", "1")),
    (Grid(0, 10, 0, 10, 1), (Fraction(83_117, 1), Fraction(1))),
    (Grid(0, 10, 0, 10, 1), "83117.25"),
    (Buckets((0, 1), 0), "s3cret"),
    (Buckets((0, 1), 0), 83_117),
    (Buckets((0, 1), 0), Decimal("83117")),
    (Buckets((0, 1), 0), (83_117, 83_117)),
    (Buckets((0, 1), 0), float("nan")),
    (Buckets((0, 1), 0), "83117" * 2000),
    (NumberRange(0, 10, 1, 0), 83_117),
    (NumberRange(0, 10, 1, 0), "s3cret"),
    (NumberRange(0, 10, 1, 0, clamps=True), float("nan")),
    (Dates(0, 10), "8311-07-01"),
    (Dates(0, 10), "s3cret"),
    (Dates(0, 10, clamps=True), "83117"),
    (OrderedValues(("no", "yes")), "perhaps-s3cret"),
]


def assert_silent(error: BaseException) -> None:
    """Assert that neither the text of the error nor the texts of its causes contain an answer of ``SECRETS``."""
    chain = [error]
    for one in chain:
        chain.extend(cause for cause in (one.__cause__, one.__context__) if cause is not None)
    printed = "".join(traceback.format_exception_only(one)[0] for one in chain)
    assert "s3cret" not in printed
    assert "83117" not in printed


@pytest.mark.parametrize(("asked", "answer"), SECRETS)
def test_errors_do_not_repeat_the_answer(asked: Domain, answer: Answer) -> None:
    """Neither the text of NotInDomain nor its causes contain the answer."""
    with pytest.raises(NotInDomain) as refused:
        asked.index(answer, ZERO)
    assert_silent(refused.value)


@pytest.mark.parametrize("text", ["s3cret", "83117,s3cret", "1,2,83117"])
def test_parsing_does_not_repeat_the_answer(text: str) -> None:
    """The error for an invalid text, or for a place outside the domain, does not repeat the text."""
    for asked in (Grid(0, 10, 0, 10, 1), Buckets((0, 1), 0)):
        with pytest.raises(NotInDomain) as refused:
            asked.index(asked.parse(text), ZERO)
        assert_silent(refused.value)


def test_the_dither_has_exactly_eight_bytes() -> None:
    """Buckets refuse a dither of another length than eight bytes, because fewer bytes would bias the edges."""
    for length in (0, DITHER_BYTES - 1, DITHER_BYTES + 1):
        with pytest.raises(ValueError, match="8 bytes"):
            Buckets((0, 1), 0).index(0, bytes(length))


def test_a_repeated_label_among_many_is_found() -> None:
    """65,536 labels, the last of which is a repetition, are refused, and the error names the repeated label."""
    many = (*map(str, range(2**16 - 1)), "5")
    with pytest.raises(DomainError, match="'5' is listed"):
        Values(many)


def test_edges_of_other_kinds_are_refused() -> None:
    """Edges that are not finite increasing numbers of at most 18 decimal places are refused."""
    for wrong in ([Fraction(1, 3), 1], ["0", "1e-19"], [0, math.inf], [0, "x"], [0], [1, 0], [0, 2**62]):
        with pytest.raises(DomainError):
            Buckets.of(wrong)  # type: ignore[arg-type]  # a person may write mixed lists


def test_a_step_of_2_to_the_62_is_refused() -> None:
    """The step of a range is below 2^62 in size, as its ends are (SPEC 4), even if the ends are smaller."""
    with pytest.raises(DomainError, match="its step"):
        domain.decode(["number", 0, -(2**61), 2**61, 2**62, 0, 0, ""])
    assert domain.decode(["number", 0, -(2**61), 2**61 - 2, 2**62 - 2, 0, 0, ""]).size == 2
