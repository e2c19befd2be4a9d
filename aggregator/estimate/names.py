"""The names of estimation methods and of ways to pool classes."""

from __future__ import annotations

METHODS = ("projection", "empirical-bayes", "em", "smooth", "mmse", "map", "linear")
"""The names of the estimation methods: see ``distribution``, ``bayes``, ``likelihood`` and ``smoothed``. "linear"
leaves the raw estimate unchanged."""

VIEW_METHODS = ("projection", "linear")
"""The methods for campaigns with views. Estimates that are weighted to known margins have these methods too, unless
the mechanism is the wave. The first is the default."""

POOLS = ("equal", "precision")
"""The ways to combine classes. With "equal" every report has the same weight, which estimates the shares of all
people who report. With "precision" each class is weighted by its precision, which assumes that all classes have the
same shares."""
