"""Decoding projective geometry response: how many reports are orthogonal to each input.

The points of PG(t-1, q) lie on one cycle. Powers of a suitable t x t matrix M carry a vector through all K points, and
a functional likewise, so that

    point j = M^j e,   functional i = e' M^i,   <functional i, point j> = e' M^(i+j) e

depends on i + j alone (Singer 1938). Sums over orthogonal points, which everything here is made of, are thus one
cyclic correlation with the set {m : e' M^m e = 0}: K log K steps by Fourier transform, in place of k K.

    p[x] = (t[S_x] - q*) / (p* - q*),   p* = cs inside,   q* = ci inside + (cs - ci) outside           (MATH 4.1)

Counts are summed exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from itertools import count

import numpy as np
from scipy import fft

from aggregator.families.decoder import BinomialSteps, Decoder, Floats, Integers
from protocol.channels.projective.channel import ProjectiveGeometry

BLOCK = 2**14
"""Vectors of the cycle that are made at a time."""

LIMB = 2**16
"""Counts too large to be summed exactly at once are summed in digits of this base."""


class ProjectiveDecoder(Decoder):
    """L[y, x] = ([<x, y> = 0] - q*) / (p* - q*)."""

    def __init__(self, channel: ProjectiveGeometry) -> None:
        self.inputs, self.features = channel.inputs, channel.outputs
        self._channel = channel
        one = 1 << channel.scale
        far = channel.support - channel.shared  # points of S_x that are not of S_x'
        self._likely, self._unlikely = channel.inside / one, channel.outside / one
        self._outside = (channel.shared * channel.inside + far * channel.outside) / one  # q*
        self._gap = far * (channel.inside - channel.outside) / one  # p* - q*

    @cached_property
    def _cycle(self) -> _Cycle:
        return _Cycle(self._channel)

    def forward(self, p: Floats) -> Floats:
        law: Floats = self._unlikely * p.sum() + (self._likely - self._unlikely) * self._cycle.over_inputs(p)
        return law

    def forward_squares(self, p: Floats) -> Floats:
        few, many = self._unlikely**2, self._likely**2
        law: Floats = few * p.sum() + (many - few) * self._cycle.over_inputs(p)
        return law

    def backward(self, w: Floats) -> Floats:
        mean: Floats = self._unlikely * w.sum() + (self._likely - self._unlikely) * self._cycle.over_outputs(w)
        return mean

    def invert(self, share: Floats) -> Floats:
        raw: Floats = (self._cycle.over_outputs(share) - self._outside * share.sum()) / self._gap
        return raw

    def adjoint(self, v: Floats) -> Floats:
        adds: Floats = (self._cycle.over_inputs(v) - self._outside * v.sum()) / self._gap
        return adds

    def variances(self, share: Floats) -> Floats:
        reached, total = self._cycle.over_outputs(share), share.sum()
        moment = reached * (1 - self._outside) ** 2 + (total - reached) * self._outside**2
        raw = reached - self._outside * total
        variances: Floats = (moment - raw**2) / self._gap**2
        return variances

    def staircase(self, counts: Integers, reports: int) -> BinomialSteps:
        base = np.full(self.inputs, -self._outside / self._gap)
        height = np.full((1, self.inputs), 1 / self._gap)
        return BinomialSteps(base, height, self._cycle.count(counts)[np.newaxis], reports)

    @property
    def ceiling(self) -> Floats:
        return np.full(self.features, self._likely)

    @property
    def weight(self) -> float:
        return max(1 - self._outside, self._outside) / self._gap


class _Cycle:
    """Sums over orthogonal points, as a correlation along Singer's cycle."""

    def __init__(self, channel: ProjectiveGeometry) -> None:
        self._points, self._inputs = channel.outputs, channel.inputs
        step = _singer_step(channel)
        # e is the first unit vector, as a point and as a functional.
        self._point_at = _orbit(channel, step.T)
        functional_at = _orbit(channel, step)
        self._place_of = np.empty(self._points, dtype=np.int64)
        self._place_of[functional_at] = np.arange(self._points)
        self._place_of = self._place_of[: self._inputs].copy()
        # Points whose first coordinate is 0 have the lowest numbers. Once more around saves wrapping.
        orthogonal = np.tile(self._point_at < channel.support, 2)
        self._length = fft.next_fast_len(2 * self._points, real=True)
        self._spectrum = fft.rfft(orthogonal.astype(np.float64), self._length)
        # The most that the sizes of counts may be (as a Euclidean norm) for their sums to round to the exact ones. A
        # transform of length N errs by at most 7 log2 N units of 2^-53, relative to the norm of what is transformed
        # (Higham 2002, theorem 24.2); three of them in a row, one constant, by 21 log2 N. 64 leaves room for lengths
        # that are no powers of two. The set, twice around, has the norm sqrt(2 cs).
        self._norm = 2**51 / (64 * math.log2(self._length) * math.sqrt(2 * channel.support))

    def over_outputs(self, w: Floats) -> Floats:
        """(K,) -> (k,): sum of w[y] over the outputs y orthogonal to each input."""
        sums: Floats = self._correlate(w[self._point_at])[self._place_of]
        return sums

    def over_inputs(self, v: Floats) -> Floats:
        """(k,) -> (K,): sum of v[x] over the inputs x orthogonal to each output."""
        along = np.zeros(self._points)
        along[self._place_of] = v
        sums: Floats = np.empty(self._points)
        sums[self._point_at] = self._correlate(along)
        return sums

    def count(self, counts: Integers) -> Integers:
        """(K,) -> (k,): ``over_outputs`` of integers, exactly."""
        weights = counts.astype(np.float64)
        if np.linalg.norm(weights) > self._norm:
            high, low = np.divmod(counts, LIMB)
            return LIMB * self.count(high) + self.count(low)
        return np.rint(self.over_outputs(weights)).astype(np.int64)

    def _correlate(self, along: Floats) -> Floats:
        """out[i] = sum of along[j] over j with i + j in the set."""
        spectrum = fft.rfft(along, self._length)
        np.conjugate(spectrum, out=spectrum)
        spectrum *= self._spectrum
        correlation: Floats = fft.irfft(spectrum, self._length)[: self._points]
        return correlation


def _singer_step(channel: ProjectiveGeometry) -> Integers:
    """A matrix whose powers carry the first unit vector through all points: the first companion matrix that does.

    They do exactly if M^K is a multiple of 1, and M^(K/r) for no prime r that divides K: a companion matrix has a
    vector that only such a power leaves in its point. So M multiplies the field of q^t elements by one that generates
    it up to factors of the field of q, and every vector goes through all points.
    """
    q, t, K = channel.order, channel.dimension, channel.outputs
    divisors = list(_prime_divisors(K))
    for number in count(q + 1):  # below q, M^t is a multiple of 1
        if number % q == 0:
            continue  # not invertible
        step = np.eye(t, k=-1, dtype=np.int64)
        step[:, -1] = [number // q**place % q for place in range(t)]
        if _is_scalar(_power(step, K, q)) and not any(_is_scalar(_power(step, K // r, q)) for r in divisors):
            return step
    raise AssertionError("every finite field has a generator")


def _orbit(channel: ProjectiveGeometry, step: Integers) -> Integers:
    """(K,) the numbers of the points that the first unit vector, a row, goes through under ``step``."""
    q, K = channel.order, channel.outputs
    inverses = _inverses(q)
    rows = np.eye(1, channel.dimension, dtype=np.int64)
    while len(rows) < min(BLOCK, K):
        rows = np.concatenate([rows, rows @ step % q])
        step = step @ step % q
    numbers = np.empty(K, dtype=np.int64)
    for start in range(0, K, len(rows)):
        numbers[start : start + len(rows)] = _points(channel, rows, inverses)[: K - start]
        rows = rows @ step % q
    return numbers


def _points(channel: ProjectiveGeometry, rows: Integers, inverses: Integers) -> Integers:
    """The number of the point of each row, as the channel numbers them."""
    q, t = channel.order, channel.dimension
    place = (rows != 0).argmax(axis=1)
    lead = np.take_along_axis(rows, place[:, np.newaxis], axis=1)
    rows = rows * inverses[lead] % q
    free = t - 1 - place
    powers, firsts = np.array(channel.powers), np.array(channel.firsts)
    numbers: Integers = rows @ powers[t - 1 :: -1] - powers[free] + firsts[free]
    return numbers


def _inverses(q: int) -> Integers:
    """(q,) 1/a modulo q for every a, 0 aside: a^(q-2), by Fermat."""
    numbers = np.arange(q)
    power, exponent = np.ones_like(numbers), q - 2
    while exponent:
        if exponent & 1:
            power = power * numbers % q
        numbers = numbers * numbers % q
        exponent >>= 1
    return power


def _power(matrix: Integers, exponent: int, q: int) -> Integers:
    power = np.eye(len(matrix), dtype=np.int64)
    while exponent:
        if exponent & 1:
            power = power @ matrix % q
        matrix = matrix @ matrix % q
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
