"""Sums over orthogonal points of a projective geometry, along one cycle through all points.

The points of PG(t-1, q) lie on one cycle: the powers of a suitable t x t matrix M map one vector to all K points, and
one functional to all K functionals,

    point j = M^j e,   functional i = e' M^i,   <functional i, point j> = e' M^(i+j) e

So <functional i, point j> depends on i + j alone (Singer 1938), and sums over orthogonal points are a cyclic
correlation with the set {m : e' M^m e = 0}. A Fourier transform computes the correlation in about K log K steps instead
of k K. Counts are summed exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count

import numpy as np
from scipy import fft

from aggregator.families.decoder import Floats, Integers
from protocol.channels.projective.field import FiniteField, is_prime
from protocol.channels.projective.geometry import ProjectiveGeometry

BLOCK = 2**14
"""The number of vectors of the cycle that are computed at once."""

LIMB = 2**16
"""Counts too large for one exact sum are split into digits of this base."""


class Cycle:
    """Sums over the orthogonal points of a geometry whose first points are inputs."""

    def __init__(self, geometry: ProjectiveGeometry, input_count: int) -> None:
        self._points = geometry.point_count
        vectors = _Vectors(geometry)
        step = vectors.singer_step()
        # Both orbits begin at the first unit vector: once as a point, and once as a functional.
        self._point_at = vectors.orbit(step.T)
        functional_at = vectors.orbit(step)
        self._place_of = np.empty(self._points, dtype=np.int64)
        self._place_of[functional_at] = np.arange(self._points)
        self._place_of = self._place_of[:input_count].copy()
        # Points whose first coordinate is 0 have the lowest numbers. With two rounds of the cycle, no index wraps
        # around.
        orthogonal = np.tile(self._point_at < geometry.support, 2)
        self._length = fft.next_fast_len(2 * self._points, real=True)
        self._spectrum = fft.rfft(orthogonal.astype(np.float64), self._length)
        # This is the largest Euclidean norm of the counts for which the float sums round to the exact sums. A transform
        # of length N errs by at most 7 log2 N units of 2^-53, relative to the norm of its input (Higham 2002, theorem
        # 24.2). There are three transforms, one of them of a constant, so the error is at most 21 log2 N units. The
        # factor 64 also covers lengths that are not powers of two. The indicator of the set has the norm sqrt(2 cs)
        # over two rounds.
        self._norm = 2**51 / (64 * math.log2(self._length) * math.sqrt(2 * geometry.support))

    def over_outputs(self, w: Floats) -> Floats:
        """Return the sum of w[y] over the outputs y orthogonal to each input: from (K,) to (k,)."""
        return self._correlate(w[self._point_at])[self._place_of]

    def over_inputs(self, v: Floats) -> Floats:
        """Return the sum of v[x] over the inputs x orthogonal to each output: from (k,) to (K,)."""
        along = np.zeros(self._points)
        along[self._place_of] = v
        sums: Floats = np.empty(self._points)
        sums[self._point_at] = self._correlate(along)
        return sums

    def count(self, counts: Integers) -> Integers:
        """Return the exact sums of ``over_outputs`` for integers: (K,) to (k,)."""
        weights = counts.astype(np.float64)
        if np.linalg.norm(weights) > self._norm:
            high, low = np.divmod(counts, LIMB)
            return LIMB * self.count(high) + self.count(low)
        return np.rint(self.over_outputs(weights)).astype(np.int64)

    def _correlate(self, along: Floats) -> Floats:
        """Return for each i the sum of along[j] over all j for which i + j is in the set, shape (K,)."""
        spectrum = fft.rfft(along, self._length)
        np.conjugate(spectrum, out=spectrum)
        spectrum *= self._spectrum
        correlation: Floats = fft.irfft(spectrum, self._length)[: self._points]
        return correlation


class _Vectors:
    """Arithmetic on vectors of t field elements, as rows of numpy arrays that contain the numbers of the elements."""

    def __init__(self, geometry: ProjectiveGeometry) -> None:
        self._geometry = geometry
        self._order, self._dimension = geometry.order, geometry.dimension
        self._tables = None if is_prime(self._order) else _tables(geometry.arithmetic)
        self._inverses = _inverses(geometry.arithmetic) if self._tables else _prime_inverses(self._order)

    def product(self, rows: Integers, matrix: Integers) -> Integers:
        """Return rows @ matrix over the field."""
        if self._tables is None:
            return rows @ matrix % self._order
        sums, products = self._tables
        total = np.zeros_like(rows)
        for place in range(self._dimension):
            total = sums[total, products[rows[:, place, np.newaxis], matrix[place]]]
        return total

    def singer_step(self) -> Integers:
        """Return the first companion matrix M whose powers carry the first unit vector through all K points.

        M is such a matrix if and only if M^K is a multiple of the identity and M^(K/r) is not, for each prime r that
        divides K. The reason is that the first unit vector is cyclic for a companion matrix, so a power of M fixes the
        point of this vector only if the power is a multiple of the identity. M then acts as multiplication by an
        element that generates the field of q^t elements up to factors from the field of q elements, so the powers of M
        carry every vector through all points.
        """
        q, t, K = self._order, self._dimension, self._geometry.point_count
        divisors = list(_prime_divisors(K))
        # For a number below q, M^t is a multiple of the identity.
        for number in count(q + 1):
            if number % q == 0:
                continue  # M is not invertible
            step = np.eye(t, k=-1, dtype=np.int64)
            step[:, -1] = [number // q**place % q for place in range(t)]
            if _is_scalar(self._power(step, K)) and not any(_is_scalar(self._power(step, K // r)) for r in divisors):
                return step
        raise AssertionError("no generator was found, although every finite field has one")

    def _power(self, matrix: Integers, exponent: int) -> Integers:
        power = np.eye(len(matrix), dtype=np.int64)
        while exponent:
            if exponent & 1:
                power = self.product(power, matrix)
            matrix = self.product(matrix, matrix)
            exponent >>= 1
        return power

    def orbit(self, step: Integers) -> Integers:
        """Return the numbers of the points that the first unit vector visits under repeated multiplication by ``step``,
        shape (K,)."""
        K = self._geometry.point_count
        rows = np.eye(1, self._dimension, dtype=np.int64)
        while len(rows) < min(BLOCK, K):
            rows = np.concatenate([rows, self.product(rows, step)])
            step = self.product(step, step)
        numbers = np.empty(K, dtype=np.int64)
        for start in range(0, K, len(rows)):
            numbers[start : start + len(rows)] = self._numbers(rows)[: K - start]
            rows = self.product(rows, step)
        return numbers

    def _numbers(self, rows: Integers) -> Integers:
        """Return the point number of each row, in the numbering of the geometry."""
        t, powers, firsts = self._dimension, np.array(self._geometry.powers), np.array(self._geometry.firsts)
        place = (rows != 0).argmax(axis=1)
        factor = self._inverses[np.take_along_axis(rows, place[:, np.newaxis], axis=1)]
        rows = rows * factor % self._order if self._tables is None else self._tables[1][rows, factor]
        free = t - 1 - place
        numbers: Integers = rows @ powers[t - 1 :: -1] - powers[free] + firsts[free]
        return numbers


def _tables(field: FiniteField) -> tuple[Integers, Integers]:
    """Return the addition table and the multiplication table of a small field, both of shape (q, q)."""
    elements = range(field.order)
    negatives = [field.minus(0, element) for element in elements]
    sums = [[field.minus(element, negatives[other]) for other in elements] for element in elements]
    return np.array(sums), np.array([[field.times(element, other) for other in elements] for element in elements])


def _inverses(field: FiniteField) -> Integers:
    """Return 1/a for every a of a small field, except for a = 0, shape (q,)."""
    return np.array([0, *map(field.inverse, range(1, field.order))])


def _prime_inverses(q: int) -> Integers:
    """Return 1/a modulo q for every a except 0, computed as a^(q-2) (Fermat), shape (q,)."""
    numbers = np.arange(q)
    power, exponent = np.ones_like(numbers), q - 2
    while exponent:
        if exponent & 1:
            power = power * numbers % q
        numbers = numbers * numbers % q
        exponent >>= 1
    return power


def _is_scalar(matrix: Integers) -> bool:
    return bool((matrix == matrix[0, 0] * np.eye(len(matrix), dtype=np.int64)).all())


def _prime_divisors(number: int) -> Iterator[int]:
    divisor = 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            yield divisor
            while number % divisor == 0:
                number //= divisor
        divisor += 1
    if number > 1:
        yield number
