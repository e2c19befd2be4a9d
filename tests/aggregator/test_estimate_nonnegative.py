"""Non-negative least squares with a guess, and the work of the likelihood-ratio tests that use it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.optimize import nnls

from aggregator.estimate import nonnegative
from aggregator.estimate.estimator import estimate
from aggregator.estimate.merged import MergedReports
from aggregator.estimate.nonnegative import nonnegative_solution
from aggregator.estimate.ordered import summary_statistics
from aggregator.estimate.profile import Profile
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from aggregator.families.wave.recipe import wave
from protocol.exact import NANONATS
from protocol.notions import Classes, Ldp
from tests.aggregator.test_wave_classes import drawn, signed_campaign


def counted(monkeypatch, owner, name):
    """Return a list that gets one entry at each call of a function."""
    calls, function = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *words: calls.append(name) or function(*words))
    return calls


@pytest.mark.parametrize("dependent", [False, True])
def test_the_solution_equals_that_of_lawson_and_hanson(dependent, monkeypatch):
    """For any guess the sum of squares is as small as after Lawson and Hanson's method on the whole matrix.

    If the columns are independent, the entries are equal too. Dependent columns are left to that method.
    """
    generator, slow = np.random.default_rng(1), counted(monkeypatch, nonnegative, "_lawson_hanson")
    for _ in range(15):
        sizes = generator.integers(32, 45, generator.integers(1, 4))
        groups = [(generator.random((2 * m, m)), generator.standard_normal(2 * m)) for m in sizes]
        if dependent:
            groups[0] = (np.repeat(groups[0][0], 2, axis=1), groups[0][1])
        m = sum(rows.shape[1] for rows, _ in groups)
        equations = 1e3 * generator.integers(0, 2, (2, m)), 1e3 * generator.random(2)
        matrix = np.vstack([block_diag(*(rows for rows, _ in groups)), equations[0]])
        targets = np.concatenate([*(targets for _, targets in groups), equations[1]])
        exact, distance = nnls(matrix, targets, maxiter=100 * m)
        for guess in (np.ones(m, bool), exact > 0, generator.random(m) < 0.5):
            found = nonnegative_solution(groups, equations, guess)
            assert found.min() >= 0
            assert np.linalg.norm(matrix @ found - targets) == pytest.approx(distance, rel=1e-7)
            if not dependent:
                np.testing.assert_allclose(found, exact, atol=1e-7)
    assert bool(slow) == dependent


def test_a_test_against_a_critical_value_is_on_the_side_of_the_root(monkeypatch):
    """A root that is only compared with z and -z is on the same side of both as the exact root.

    The comparison never needs more quadratic models than the root, and needs fewer than 60% on average.
    """
    size, generator = 40, np.random.default_rng(2)
    channels = wave(size, 3 * NANONATS), randomized_response(size, 5 * NANONATS)
    decoders = [decoder_of(channel) for channel in channels]
    p = generator.dirichlet(np.ones(size))
    counts = [generator.multinomial(500, decoder.forward(p)) for decoder in decoders]
    parts = [MergedReports.of(decoder, count) for decoder, count in zip(decoders, counts, strict=True)]
    models, needed = counted(monkeypatch, Profile, "_newton"), []
    for weights in (None, np.array([0.3, 0.7])):
        profile = Profile(MergedReports.joined(parts, weights), 2.0)
        for cut in (4, 20, 33):
            chosen = np.arange(size) < cut
            for t in (0.0, 0.1, *np.linspace(0.2, 0.8, 9), 1.0):
                # The share is computed here, so that the models of the unconstrained maximum are not counted.
                assert len(profile.share) == 2 * size
                models.clear()
                exact = profile.root(chosen, float(t))
                for_root = len(models)
                for z in (0.2, 1.5, 2.5, 20.0):
                    models.clear()
                    compared = profile.root(chosen, float(t), z)
                    needed.append((len(models), for_root))
                    assert (compared <= z, compared < -z) == (exact <= z, exact < -z)
    assert all(few <= many for few, many in needed)
    few, many = np.sum(needed, axis=0)
    assert few < 0.6 * many


def test_the_summary_of_wave_beside_randomised_response_needs_few_factorisations(monkeypatch):
    """The summary of 256 values, one class with wave and one with randomised response at 12 nats, solves each quadratic
    model with at most two factorisations on average, and needs at most 3 models for each test.

    About 300 shares are positive here, so that Lawson and Hanson's method needs 300 steps for each model.
    """
    size, level = 256, Ldp(12 * NANONATS)
    channels = wave(size, 12 * NANONATS), randomized_response(size, 12 * NANONATS)
    signed = signed_campaign(channels, Classes.of((level, level)), ("a", "b"))
    equal = np.full(size, 1 / size)
    tally = drawn(signed, (900, 400), (equal, equal), np.random.default_rng(12))
    tests, models = counted(monkeypatch, Profile, "root"), counted(monkeypatch, Profile, "_newton")
    factorisations = counted(monkeypatch, nonnegative, "_solved")
    slow = counted(monkeypatch, nonnegative, "_lawson_hanson")
    found = summary_statistics(tally, estimate(signed, tally))
    assert all(one.low <= one.value <= one.high for one in found.quantiles)
    assert len(found.quantiles) == 9
    assert len(factorisations) <= 2 * len(models) <= 6 * len(tests) <= 6 * 300
    # The even start has more values than different reports, and few values are possible near a share of 0 or 1.
    assert len(slow) <= 10
