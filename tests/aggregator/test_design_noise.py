"""Properties of the noise recipes: each is certified at its level and has the distribution of its name."""

import math
from fractions import Fraction

import numpy as np
import pytest

from aggregator.families.noise.recipe import discrete_gaussian, discrete_laplace, geo_over, planar
from protocol import exact
from protocol.domain import Buckets, Grid, Values
from protocol.errors import NotionError, Uncertified
from protocol.notions import Ldp, certify
from protocol.notions.geo import Geo

NAT = exact.NANONATS
ONE = 2.0**62


def line(size, level):
    return Geo.between(level, 1, [0], range(size))


@pytest.mark.parametrize("size", [2, 3, 4, 17, 200])
@pytest.mark.parametrize("level", [10**6, NAT // 10, NAT, 5 * NAT, 20 * NAT])
def test_discrete_laplace_satisfies_its_level_per_step(size, level):
    """Two points at distance d have a level of at most d times the step's level, to the nanonat.

    The channel is certified as geo, and refused one nanonat lower. The LDP level is that of the two ends, up to the
    precision of the integers.
    """
    channel = discrete_laplace(size, level)
    certificate = certify(channel, line(size, level))
    assert certificate.audited_level == level
    assert certificate.ldp_level <= (size - 1) * level
    if (size - 1) * level <= 10 * NAT:
        assert certificate.ldp_level >= (size - 1) * level - size
    if level > exact.MIN_LEVEL:
        with pytest.raises(Uncertified):
            certify(channel, line(size, level - 1))


def test_discrete_laplace_of_a_thousand_points_keeps_ldp():
    """A level divided among the steps of a line is satisfied over the whole line, even with steps of a few hundred
    nanonats."""
    for size, level in ((300, NAT), (1500, exact.MIN_LEVEL)):
        assert certify(discrete_laplace(size, level // (size - 1)), Ldp(level)).audited_level <= level


def test_discrete_laplace_is_the_truncated_geometric_distribution():
    """Each row is the truncated geometric distribution (Ghosh, Roughgarden, Sundararajan 2009, Def. 2.1)."""
    size, level = 6, NAT // 2
    channel, a = discrete_laplace(size, level), math.exp(-0.5)
    for x in range(size):
        for y in range(size):
            expected = a ** abs(x - y) / (1 + a) * (1 if y in (0, size - 1) else 1 - a)
            assert channel.weight(x, y) / ONE == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("size", "sigma", "level"), [(50, 3.0, 10 * NAT), (200, 5.0, 5 * NAT), (2, 1.0, NAT), (10, 0.1, NAT), (5, 1e3, NAT)]
)
def test_discrete_gaussian_keeps_its_pure_level(size, sigma, level):
    """The level is satisfied for all pairs of points, and reached to a thousandth where the tail is cut off."""
    audited = certify(discrete_gaussian(size, sigma, level), Ldp(level)).audited_level
    assert audited <= level
    if size > 10 * sigma:
        assert audited > 0.999 * level


def test_discrete_gaussian_is_gaussian_within_its_floor():
    """The weights of steps above the floor have the ratios of the Gaussian distribution; a sigma of 0 is refused."""
    channel = discrete_gaussian(60, 4.0, 18 * NAT)
    for step in range(1, 20):
        ratio = channel.weight(30, 30 + step) / channel.weight(30, 30)
        assert ratio == pytest.approx(math.exp(-(step**2) / 32), rel=1e-9)
    with pytest.raises(ValueError, match="sigma"):
        discrete_gaussian(5, 0.0, NAT)


DEGREES = Grid(0, 4 * 10**6, 0, 5 * 10**6, 10**6)
TOWN = Grid(47_000_000, 47_120_000, 11_000_000, 11_100_000, 10_000)


@pytest.mark.parametrize(
    "notion",
    [
        geo_over(DEGREES, NAT),
        geo_over(DEGREES, 20 * NAT),
        geo_over(DEGREES, NAT // 20),
        geo_over(TOWN, NAT, "kilometres"),
        geo_over(Grid(0, 2, 0, 2, 1), 2 * NAT),
    ],
)
def test_planar_noise_satisfies_and_nearly_reaches_its_level(notion):
    """Planar noise satisfies the level for all pairs of cells, and is less than a ten-thousandth below it."""
    audited = certify(planar(notion), notion).audited_level
    assert (1 - 1e-4) * notion.level < audited <= notion.level


def test_planar_noise_falls_off_with_the_distance():
    """Inside the grid, weights have the ratio e^(-level distance) of the Euclidean distance."""
    channel = planar(geo_over(Grid(0, 11, 0, 11, 1), NAT))
    middle = 5 * 11 + 5
    for down, across in ((0, 1), (1, 1), (2, 1), (3, 4)):
        y = middle + 11 * down + across
        ratio = channel.weight(middle, y) / channel.weight(middle, middle)
        assert ratio == pytest.approx(math.exp(-math.hypot(down, across)), rel=1e-5)


def test_planar_noise_on_a_line_is_discrete_laplace():
    """With one row or one column, planar noise is discrete Laplace noise on a line, and the nearest neighbours set
    the level of a step."""
    notion = geo_over(Buckets.of([0, 1, "2.5", 10]), NAT, "numbers")
    assert planar(notion) == discrete_laplace(4, NAT)
    assert certify(planar(notion), notion).audited_level == NAT
    column = Geo.between(NAT, 2, [0, 3, 6], [0])
    assert planar(column) == discrete_laplace(3, 3 * NAT // 2)


def test_cells_too_close_are_refused():
    """A level too small for neighbouring cells is refused with the reason and never rounded to 0."""
    with pytest.raises(NotionError, match="too low for any noise"):
        planar(geo_over(Grid(0, 10, 0, 10, 1), exact.MIN_LEVEL))
    with pytest.raises(NotionError, match="too low for any noise"):
        planar(Geo.between(exact.MIN_LEVEL, 10**9, [0], [0, 1, 2]))


def test_metrics_are_those_of_the_domain():
    """The metrics of a domain compute distances in steps, numbers, degrees and kilometres, divided by the scale."""
    edges = Buckets.of([0, 1, "2.5", 10])
    assert geo_over(edges, NAT).bound(0, 3) == 3 * NAT
    assert geo_over(edges, NAT, "numbers").bound(1, 2) == 3 * NAT // 2
    assert geo_over(edges, NAT, "numbers", Fraction(5, 2)).bound(0, 3) == 4 * NAT
    assert geo_over(Values(("a", "b", "c")), NAT).bound(0, 2) == 2 * NAT
    half = Grid(0, 10**6, 0, 2 * 10**6, 5 * 10**5)
    assert geo_over(half, NAT).bound(0, 5) == math.isqrt(2 * NAT**2)
    assert geo_over(half, NAT, "degrees").bound(0, 3) == 3 * NAT // 2
    # A degree of latitude is 111.195 km. At 60 degrees north, a degree of longitude is half of that.
    north = Grid(59 * 10**6, 60 * 10**6, 0, 10**6, 5 * 10**5)
    kilometres = geo_over(north, NAT, "kilometres", Fraction(100))
    assert kilometres.bound(0, 2) / NAT == pytest.approx(0.555975, rel=1e-5)
    assert kilometres.bound(0, 1) / NAT == pytest.approx(0.555975 / 2, rel=1e-5)


def test_kilometres_are_not_overstated():
    """The distance between neighbouring centres is at most that on the sphere."""
    notion = geo_over(TOWN, NAT, "kilometres")
    for x, other in ((0, 1), (0, TOWN.columns), (5 * TOWN.columns, 5 * TOWN.columns + 1)):
        (south, west), (north, east) = (
            np.radians([float(part) for part in TOWN.label(z).split(",")]) for z in (x, other)
        )
        half = math.sin((north - south) / 2) ** 2 + math.cos(south) * math.cos(north) * math.sin((east - west) / 2) ** 2
        assert notion.bound(x, other) <= 2 * 6371.009 * math.asin(math.sqrt(half)) * NAT


@pytest.mark.parametrize(
    ("domain", "metric", "scale"),
    [
        (Values(("a", "b")), "kilometres", 1),
        (Values(("a", "b")), "numbers", 1),
        (DEGREES, "numbers", 1),
        (Buckets.of([0, 1]), "degrees", 1),
        (DEGREES, "miles", 1),
        (DEGREES, "steps", 0),
        (Grid(89 * 10**6, 90 * 10**6, 0, 2 * 10**6, 10**6), "kilometres", 1),
    ],
)
def test_an_invalid_distance_is_refused(domain, metric, scale):
    """A metric that the domain does not have, a scale of zero, and cells at a pole are refused."""
    with pytest.raises(NotionError):
        geo_over(domain, NAT, metric, Fraction(scale))
