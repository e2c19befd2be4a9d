"""Properties of trends over periods: the printed shares add up, and the most significant changes come first."""

import io
import re

import numpy as np
import pytest
from rich.console import Console

from aggregator.estimate.change import Side, difference
from aggregator.estimate.resolutions import FINEST, ValueOrDistrict
from aggregator.estimate.span import Span
from aggregator.estimate.tally import Tally
from aggregator.estimate.trend import trend
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from aggregator.present.shown_changes import foremost_values
from aggregator.present.shown_shares import MIN_SELECTED
from aggregator.present.trends import change_table
from protocol.campaign import SignedCampaign
from protocol.exact import NANONATS
from tests.aggregator.test_estimate_groups import P, counted, memo, unsigned_campaign

RESPONSE = randomized_response(4, NANONATS)


def many():
    """Return the difference of two surveys of 60 values, of which one gained and one lost ten points; most values are
    rare."""
    channel, rng = hadamard(60, 2 * NANONATS), np.random.default_rng(5)
    before = np.full(60, 0.2 / 58)
    before[[5, 17]] = 0.3, 0.5
    after = before.copy()
    after[5] += 0.1
    after[17] -= 0.1
    sides = []
    for name, distribution in (("a", before), ("b", after)):
        chance = decoder_of(channel).forward(distribution)
        sides.append(Side(name, unsigned_campaign(channel), Tally.of(rng.multinomial(20_000, chance / chance.sum()))))
    return difference(*sides)


def test_significant_changes_come_first():
    """The two of 60 values with a significant change come first, with a star; a few others follow.

    The caption says that the others may have no change. In each row the printed shares differ by the printed change, up
    to rounding.
    """
    found = many()
    assert set(found.significant) == {5, 17} == set(foremost_values(found, 25)[:2])
    assert ((found.evidence > 1) == np.isin(np.arange(60), found.significant)).all()
    console = Console(width=140, file=io.StringIO())
    console.print(change_table(found))
    text = console.file.getvalue()
    rows = [line for line in text.splitlines() if re.match(r"\s*v\d+ ", line)]
    assert len(rows) == MIN_SELECTED
    assert [row.rstrip().endswith("*") for row in rows] == [True] * 2 + [False] * (MIN_SELECTED - 2)
    assert (
        f"the {MIN_SELECTED} most significant differences of 60 values; {MIN_SELECTED - 2} of these differences may "
        "be zero" in " ".join(text.split())
    )
    for row in rows:
        numbers = re.findall(r"[+-]?\d+\.\d+", row.replace("\N{MINUS SIGN}", "-"))
        before, after, change = map(float, numbers[:3])
        assert after - before == pytest.approx(change, abs=0.11)


def panel(rng, devices, periods, moves):
    """Return tallies of a panel's periods; the fraction ``moves`` of all people changes from the first value to the
    last in each step."""
    table, key = memo(RESPONSE, devices, rng), rng.integers(-(2**63), 2**63 - 1, devices)
    x, device, found = rng.choice(len(P), devices, p=P), np.arange(devices), []
    for _ in range(periods):
        found.append(counted(table[device, x], device, key))
        x = np.where((x == 0) & (rng.random(devices) < moves / P[0]), len(P) - 1, x)
    return found


SPANS = [Span(at, at) for at in range(4)]
SIGNED = SignedCampaign(unsigned_campaign(RESPONSE), b"", b"", b"")


def test_simultaneous_intervals_of_all_steps_have_nominal_coverage():
    """Simultaneous 95% intervals of three steps and four values all contain the truth in 25 or more of 30 panels of 400
    devices.

    With correct intervals, one in 300 such tests fails. A failure means that alpha is not divided among steps and
    values.
    """
    rng, held = np.random.default_rng(31), 0
    change = np.array([-0.03, 0, 0, 0.03])
    for _ in range(30):
        found = trend(SIGNED, SPANS, panel(rng, 400, 4, 0.03), steps=True)
        held += all(
            ((step.simultaneous_low <= change) & (change <= step.simultaneous_high)).all() for step in found.steps
        )
    assert held >= 25


def test_steps_and_ends_are_differences():
    """A step is the difference of its two periods; its simultaneous intervals use a twelfth of alpha, for four
    values and three steps.

    The change is between the named periods, and for one value its simultaneous interval is its single one. Unknown
    ends, and a wrong number of truths, are ValueErrors.
    """
    tallies = panel(np.random.default_rng(32), 400, 4, 0.1)
    found = trend(SIGNED, SPANS, iter(tallies), steps=True, ends=(SPANS[3], SPANS[1]))
    sides = [Side(span.name_in_text, SIGNED, tally) for span, tally in zip(SPANS, tallies, strict=True)]
    for step, *pair in zip(found.steps, sides[:-1], sides[1:], strict=True):
        alone = difference(*pair, paired=True, confidence=1 - 0.05 / 12)
        np.testing.assert_allclose((step.simultaneous_low, step.simultaneous_high), (alone.low, alone.high))
    back = difference(sides[3], sides[1], paired=True)
    np.testing.assert_array_equal(found.change.raw, back.raw)
    np.testing.assert_array_equal(found.change.simultaneous_low, back.simultaneous_low)
    one = trend(SIGNED, SPANS, tallies, only=ValueOrDistrict(FINEST, 2))
    np.testing.assert_array_equal(one.change.simultaneous_low, one.change.low)
    assert len(one.as_json()["change"]["values"]) == 1
    with pytest.raises(ValueError, match="a change needs two different spans"):
        trend(SIGNED, SPANS, tallies, ends=(SPANS[0], Span(7, 7)))
    with pytest.raises(ValueError, match="truth"):
        trend(SIGNED, SPANS, tallies, truths=[P, P])
