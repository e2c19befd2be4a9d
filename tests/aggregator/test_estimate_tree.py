"""The tree of resolutions: its estimates equal those of dense linear algebra, and its intervals have nominal
coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.estimate import tree as trees
from aggregator.estimate.distribution import project
from aggregator.estimate.interval import critical_value
from aggregator.estimate.tree import (
    NotNested,
    Tree,
    TreePasses,
    ViewEstimate,
    combine,
    consistent,
    independent,
    project_inside,
)
from aggregator.families.projective.recipe import projective
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from protocol.exact import NANONATS


def coarse(rows, columns, factor):
    """Return, for each cell of a grid, its square of ``factor`` by ``factor`` cells; squares at the border may be
    smaller."""
    row, column = np.divmod(np.arange(rows * columns), columns)
    return row // factor * -(-columns // factor) + column // factor


def random_tree(rng, levels):
    """Return a tree of several resolutions, and their districts; the finest has at most a few dozen."""
    finest = np.arange(int(rng.integers(levels, 30)))
    made = [finest]
    for _ in range(levels - 1):
        above = np.sort(rng.integers(0, max(1, made[0].max()), made[0].max() + 1))
        _, above = np.unique(above, return_inverse=True)
        made.insert(0, above[made[0]])
    return Tree.of(made), made


def random_surveys(rng, tree, missing=False):
    """Return surveys with different errors; if ``missing``, each but the finest is None with probability 1/2."""
    made = []
    for level, size in enumerate(tree.sizes):
        if missing and level + 1 < len(tree.sizes) and rng.random() < 0.5:
            made.append(None)
        else:
            made.append(
                ViewEstimate(rng.normal(1 / size, 0.3, size), rng.uniform(0.1, 2, size), rng.uniform(0.1, 2, size))
            )
    return made


def slow_combine(districts, surveys):
    """Return, for each resolution, the weighted least squares estimates and their variances: the slow reference.

    It minimises sum (raw - A x)^2 / v over the finest districts x with 1'x = 1, as one linear system.
    """
    finest = districts[-1].max() + 1
    maps = []
    for each in districts:
        a = np.zeros((each.max() + 1, finest))
        a[each, districts[-1]] = 1
        maps.append(a)
    a = np.vstack([m for m, s in zip(maps, surveys, strict=True) if s])
    raw = np.concatenate([s.raw for s in surveys if s])
    v = np.concatenate([s.reference_variances for s in surveys if s])
    actual = np.concatenate([s.variances for s in surveys if s])
    normal = a.T @ (a / v[:, None])
    system = np.block([[normal, np.ones((finest, 1))], [np.ones((1, finest)), np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.vstack([np.hstack([a.T / v, np.zeros((finest, 1))]), [*np.zeros(len(v)), 1]]))
    linear, constant = solved[:finest, :-1], solved[:finest, -1]
    x = linear @ raw + constant
    covariance = linear @ np.diag(actual) @ linear.T
    return [(m @ x, np.diag(m @ covariance @ m.T)) for m in maps]


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.booleans())
def test_two_passes_are_weighted_least_squares(seed, levels, missing):
    """Estimates and variances are those of weighted least squares over all surveys at once, for any set of surveys."""
    rng = np.random.default_rng(seed)
    tree, districts = random_tree(rng, levels)
    surveys = random_surveys(rng, tree, missing)
    for found, (raw, variances) in zip(combine(tree, surveys), slow_combine(districts, surveys), strict=True):
        assert np.allclose(found.raw, raw, atol=1e-9)
        assert np.allclose(found.variances, variances, rtol=1e-7, atol=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.booleans())
def test_a_weighted_sum_of_estimates_is_linear_in_the_surveys(seed, levels, missing):
    """Any weighted sum of estimates, at any resolution, is a constant plus a weighted sum of the surveys."""
    rng = np.random.default_rng(seed)
    tree, _ = random_tree(rng, levels)
    surveys = random_surveys(rng, tree, missing)
    level = int(rng.integers(levels))
    v = rng.normal(size=tree.sizes[level])
    constant, factors = TreePasses.of(tree, surveys).adjoint(level, v)
    found = constant + sum(float(f @ s.raw) for f, s in zip(factors, surveys, strict=True) if s)
    assert found == pytest.approx(v @ combine(tree, surveys)[level].raw, abs=1e-8)
    for x in range(tree.sizes[level]):
        corner = np.zeros(tree.sizes[level])
        corner[x] = 1
        _, factors = TreePasses.of(tree, surveys).adjoint(level, corner)
        variance = sum(float(f**2 @ s.variances) for f, s in zip(factors, surveys, strict=True) if s)
        assert variance == pytest.approx(combine(tree, surveys)[level].variances[x], rel=1e-7, abs=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_consistent_shares_add_up(seed, levels):
    """Shares are not negative and sum to one, and those of a district's parts sum to its own.

    The coarsest shares are a projection. The finer ones are mixtures, with the same weight everywhere, of a projection
    and of uniform shares.
    """
    rng = np.random.default_rng(seed)
    tree, districts = random_tree(rng, levels)
    combined = combine(tree, random_surveys(rng, tree))
    above = np.ones(1)
    for level, shares in enumerate(consistent(tree, combined)):
        assert (shares >= 0).all()
        assert np.allclose(tree.sums(level, shares), above, atol=1e-12)
        projected, even = np.zeros_like(shares), np.zeros_like(shares)
        for parent in np.flatnonzero(above > 1e-9):
            inside = tree.parents[level] == parent
            each = combined[level]
            wanted = project(each.raw[inside] / above[parent], weights=each.reference_variances[inside])
            projected[inside] = wanted * above[parent]
            answers = np.bincount(districts[level])[inside]
            even[inside] = answers / answers.sum() * above[parent]
        u = projected - even
        part = u @ (shares - even) / (u @ u) if level and u @ u > 1e-12 else 1.0
        assert -1e-6 <= part <= 1 + 1e-6
        assert np.allclose(shares, part * projected + (1 - part) * even, atol=1e-6)
        above = shares


def test_districts_of_a_parent_without_people_have_no_share():
    """If a parent has share 0, all its districts have share 0, and variances of 0 cause no error."""
    raw, parent = np.array([0.3, -0.1, 0.9, 0.2]), np.array([0, 0, 1, 1])
    assert project_inside(raw, np.zeros(4), parent, np.array([0.0, 1.0])).tolist() == pytest.approx([0, 0, 0.85, 0.15])


def test_resolutions_that_cross_do_not_form_a_tree():
    """Rows and columns of a grid are not nested; squares are nested if one side divides the other, also at borders."""
    row, column = np.divmod(np.arange(12), 4)
    with pytest.raises(NotNested):
        Tree.of([row, column])
    with pytest.raises(NotNested):
        Tree.of([coarse(7, 11, 3), coarse(7, 11, 2)])
    tree = Tree.of([coarse(7, 11, 4), coarse(7, 11, 2), np.arange(77)])
    assert tree.sizes == [6, 24, 77]
    assert np.bincount(tree.parents[1]).tolist() == [4, 4, 4, 4, 4, 4]


def surveys_of(districts, decoders, people, counts, rng):
    """Return a simulated survey of each resolution by its channel, of ``counts`` people each."""
    made = []
    for each, decoder, n in zip(districts, decoders, counts, strict=True):
        size = each.max() + 1
        distribution = decoder.forward(np.bincount(each, people, size))
        share = rng.multinomial(n, distribution / distribution.sum()) / n
        even = decoder.forward(np.bincount(each, minlength=size) / len(each))
        made.append(
            ViewEstimate(
                decoder.invert(share),
                independent(decoder, even, decoder.variances(even) / n),
                independent(decoder, share, decoder.variances(share) / n),
            )
        )
    return made


def coverage(samples, seed, rows=12, columns=10, factors=(6, 2, 1), n=6000, weights=(0.2, 0.3, 0.5)):
    """Return the coverage of the 95% intervals, and the ratio of the mean squared error to the stated variance, at each
    resolution."""
    rng = np.random.default_rng(seed)
    districts = [coarse(rows, columns, factor) for factor in factors]
    tree = Tree.of(districts)
    decoders = [decoder_of(projective(size, NANONATS)) for size in tree.sizes]
    people = np.random.default_rng(5).dirichlet(np.full(rows * columns, 0.2))
    truths = [np.bincount(each, people) for each in districts]
    held, ratio = np.zeros(len(factors)), np.zeros(len(factors))
    for _ in range(samples):
        counts = rng.multinomial(n, weights)
        for level, found in enumerate(combine(tree, surveys_of(districts, decoders, people, counts, rng))):
            off = np.abs(found.raw - truths[level])
            held[level] += (off <= critical_value(0.05) * found.se).mean() / samples
            ratio[level] += (off**2).sum() / found.variances.sum() / samples
    return held, ratio


def test_errors_are_as_large_as_stated():
    """Over 120 surveys of 6,000 people the coverage of 95% intervals is 92% to 98% at every resolution.

    Squared errors are 0.8 to 1.25 of the stated variance. The seed is fixed. A failure means that the stated errors are
    wrong.
    """
    held, ratio = coverage(120, 1)
    assert (held > 0.92).all(), held
    assert (held < 0.98).all(), held
    assert (ratio > 0.8).all(), ratio
    assert (ratio < 1.25).all(), ratio


@pytest.mark.long
@pytest.mark.parametrize("n", [2_000, 100_000])
@pytest.mark.parametrize("factors", [(6, 2, 1), (6, 3, 1), (4, 1)])
def test_intervals_have_nominal_coverage_at_every_resolution(n, factors):
    """Over 200 surveys with fixed seeds, the coverage of 95% intervals of districts and cells is 93.5% to 97%.

    A failure means that the stated errors are wrong.
    """
    weights = np.full(len(factors), 1 / len(factors))
    held, _ = coverage(200, n, rows=23, columns=31, factors=factors, n=n, weights=weights)
    assert (held > 0.935).all(), held
    assert (held < 0.97).all(), held


def test_the_known_sum_enters_the_estimate_once():
    """The known sum of all shares enters the estimate once: errors that sum to zero are neither omitted nor counted
    twice.

    With two resolutions of the same four districts, the estimate is the mean of both surveys, and its variance is half
    of one survey's.
    """
    decoder = decoder_of(randomized_response(4, NANONATS))
    even = decoder.forward(np.full(4, 0.25))
    one = decoder.variances(even)
    v = independent(decoder, even, one)
    assert v == pytest.approx(one * 4 / 3)
    each = np.arange(4)
    survey = ViewEstimate(np.array([0.4, 0.3, 0.2, 0.1]), v, v)
    other = ViewEstimate(np.array([0.2, 0.3, 0.2, 0.3]), v, v)
    for found in combine(Tree.of([each, each]), [survey, other]):
        assert found.raw == pytest.approx([0.3, 0.3, 0.2, 0.2])
        assert found.variances == pytest.approx(one / 2)


@pytest.mark.parametrize("size", [12, 16, 60])
def test_errors_of_fewer_districts_than_outputs_are_as_large_as_stated(size):
    """If the channel has more outputs than there are districts, the stated errors are those of the channel.

    People are uniform, over two districts and over ``size`` districts. Projective response has 13, 21 and 85 outputs
    for 12, 16 and 60 districts. With twelve districts, variances would be 8% too small if the estimates were treated as
    independent. The exact variance is that of one report's contribution in each survey.
    """
    maps = [np.arange(size) % 2, np.arange(size)]
    tree = Tree.of(maps)
    decoders = [decoder_of(projective(each, NANONATS)) for each in tree.sizes]
    distributions = [decoder.forward(np.full(decoder.input_count, 1 / decoder.input_count)) for decoder in decoders]
    surveys = []
    for decoder, distribution in zip(decoders, distributions, strict=True):
        v = independent(decoder, distribution, decoder.variances(distribution))
        surveys.append(ViewEstimate(decoder.invert(distribution), v, v))
    passes = TreePasses.of(tree, surveys)
    for level, found in enumerate(combine(tree, surveys)):
        exact = [
            sum(
                decoder.variance(part, distribution)
                for decoder, part, distribution in zip(decoders, parts, distributions, strict=True)
            )
            for _, parts in (passes.adjoint(level, unit) for unit in np.eye(tree.sizes[level]))
        ]
        assert found.variances.sum() == pytest.approx(sum(exact), rel=0.01)
        assert found.variances == pytest.approx(exact, rel=0.03)


def test_weights_do_not_depend_on_variances_of_the_reports():
    """Other variances of the surveys do not change the raw estimates: the weights of a district are not computed from
    the reports."""
    rng = np.random.default_rng(8)
    tree, _ = random_tree(rng, 3)
    surveys = random_surveys(rng, tree)
    again = [ViewEstimate(each.raw, each.reference_variances, each.variances * rng.uniform(1, 9)) for each in surveys]
    for one, other in zip(combine(tree, surveys), combine(tree, again), strict=True):
        assert one.raw.tolist() == other.raw.tolist()


def test_the_finest_resolution_needs_a_survey():
    """Without a survey of the finest resolution its districts have no estimate."""
    tree = Tree.of([np.array([0, 0, 1]), np.arange(3)])
    with pytest.raises(ValueError, match="finest"):
        trees.combine(tree, [ViewEstimate(np.ones(2) / 2, np.ones(2), np.ones(2)), None])
