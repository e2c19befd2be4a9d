"""Numbers, numbers with their nouns, and lists of names."""

from __future__ import annotations

import pytest

from aggregator.quantity import names_text, quantity, rounded, upper_bound


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 reports"), (1, "1 report"), (2, "2 reports"), (2000, "2,000 reports")]
)
def test_a_noun_is_in_the_singular_after_one_only(number, text):
    """The number 1 has a noun in the singular; 0 and all numbers above 1 have one in the plural."""
    assert quantity(number, "report") == text


def test_a_plural_without_s_is_given():
    """A noun whose plural is another word has this word after every number except 1."""
    assert [quantity(number, "person", "people") for number in (0, 1, 2)] == ["0 people", "1 person", "2 people"]


def test_a_rounded_number_has_no_exponent():
    """A rounded number has the requested significant digits, separators of thousands, and never an exponent."""
    assert [rounded(number, 2) for number in (0.0123456, 1.25e7, 3, 0.5)] == ["0.012", "12,000,000", "3", "0.5"]
    assert [rounded(number, 2) for number in (1.23e-6, 1.2e15)] == ["0.0000012", "1,200,000,000,000,000"]
    assert rounded(123_456.7, 4) == "123,500"


def test_an_upper_bound_is_rounded_up():
    """An upper bound is never printed below the number, except by the rounding error of a float."""
    assert [upper_bound(number, 1) for number in (2.7459, 2.71, 2.7, 0.1 + 0.2, 0)] == [
        "2.8",
        "2.8",
        "2.7",
        "0.3",
        "0.0",
    ]
    assert upper_bound(37.2, 0) == "38"
    assert upper_bound(1234.5601, 2) == "1,234.57"


def test_a_long_list_has_five_names_and_the_number_of_the_others():
    """A list of up to five names has all of them; a longer list has five, and the number of the others."""
    assert names_text("abcde") == "a, b, c, d, e"
    assert names_text(range(1006)) == "0, 1, 2, 3, 4 and 1,001 more"
