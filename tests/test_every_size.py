"""A designed channel satisfies its declared level, for every mechanism and number of values.

A recipe of the catalogue and the protocol's audit are independent of each other, so their agreement to the nanonat at
every size is evidence for both. The audit against brute force: tests/protocol.
"""

from __future__ import annotations

import random
from functools import cache

import pytest

from aggregator.families.mechanism import PlannedQuestion
from aggregator.planner.catalogue import CATALOGUE
from protocol import exact
from protocol.domain import Buckets, Domain, Values
from protocol.errors import Uncertified
from protocol.notions import Ldp, certify

MOST = 1024
SOME = (2, 3, 4, 5, 7, 8, 9, 16, 17, 61, 62, 63, 100, 255, 256, 257, 1000, 1023, MOST)


@cache
def domain(k: int, numbers: bool) -> Domain:
    return Buckets.of(range(k)) if numbers else Values(tuple(f"v{x}" for x in range(k)))


def question(k: int, level: int, numbers: bool) -> PlannedQuestion:
    return PlannedQuestion(domain(k, numbers), Ldp(level))


def serves(mechanism, numbers: bool) -> bool:
    """Return whether a mechanism has a channel for values, or for numbers, of some size."""
    return any(callable(mechanism.recipe_for(question(k, exact.NANONATS, numbers))) for k in SOME)


SERVING = [
    (mechanism, numbers)
    for mechanism in CATALOGUE
    for numbers in (False, True)
    if serves(mechanism, numbers) and not (numbers and serves(mechanism, False))
]
each = pytest.mark.parametrize(("mechanism", "numbers"), SERVING, ids=[mechanism.name for mechanism, _ in SERVING])


def certified_count(mechanism, numbers: bool, sizes) -> int:
    """Check the audited level for each size that a mechanism serves, at a random level; return the number of sizes."""
    found = 0
    for k in sizes:
        level = random.Random(k).randrange(10**7, 8 * exact.NANONATS)
        recipe = mechanism.recipe_for(question(k, level, numbers))
        if isinstance(recipe, str):
            continue
        found += 1
        certificate = certify(recipe(), Ldp(level))
        assert certificate.audited_level == certificate.ldp_level == certificate.cost
        # Numbers take k - 1 steps of whole nanonats, and probabilities of bits are multiples of 2^-32, so some level is
        # lost.
        assert level - max(k, 1000) <= certificate.audited_level <= level, (k, level)
        more = mechanism.recipe_for(question(k, level + level // 1000, numbers))
        with pytest.raises(Uncertified):
            certify(more(), Ldp(level))
    return found


def test_every_mechanism_for_plain_ldp_is_tested() -> None:
    """Every mechanism that has a channel for plain LDP at some size is audited once, for values or for numbers. There
    are at least ten such mechanisms."""
    assert len(SERVING) >= 10
    names = [mechanism.name for mechanism, _ in SERVING]
    assert len(set(names)) == len(names)
    assert set(names) == {one.name for one in CATALOGUE if serves(one, True) or serves(one, False)}


@each
def test_the_declared_level_is_the_audited_one(mechanism, numbers) -> None:
    """At sizes next to every limit of a mechanism, and at random levels, the audited level is at most the declared one
    and at most 1,024 nanonats below it. The channel for a level 0.1% higher is refused."""
    assert certified_count(mechanism, numbers, SOME)


@pytest.mark.long
@each
def test_the_declared_level_is_the_audited_one_at_every_size(mechanism, numbers) -> None:
    """The same holds for every size up to 1,024."""
    assert certified_count(mechanism, numbers, range(2, MOST + 1))
