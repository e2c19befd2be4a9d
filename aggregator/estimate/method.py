"""The estimation methods: the default for a campaign, and the checks that a method can be used.

Method "linear" returns the unbiased estimate. Every other method computes a distribution from the same unbiased
estimate or the same counts. The default is the method with the smallest measured error for this kind of campaign.

The modules ``distribution``, ``bayes``, ``likelihood`` and ``smoothed`` contain the methods.
"""

from __future__ import annotations

import math

import numpy as np

from aggregator.estimate import distribution, likelihood
from aggregator.estimate.bayes import empirical_bayes
from aggregator.estimate.classes import ClassesDecoder
from aggregator.estimate.merged import MergedReports
from aggregator.estimate.names import METHODS
from aggregator.estimate.pooled import Pooled
from aggregator.estimate.shown_inputs import ShownInputs
from aggregator.estimate.smoothed import smoothed_shares
from aggregator.estimate.transcript import TranscriptDecoder
from aggregator.families.decoder import Decoder, Floats
from protocol.errors import HalftruthError

WITHOUT_INVERSE = ("em", "smooth", "mmse", "map")
"""The methods that need counts of whole outputs, and do not need an unbiased estimate."""

MANY_VALUES = 16
NOISY = 0.25
"""Empirical Bayes is the default for at least ``MANY_VALUES`` values if their noise is at least this fraction of 1/k,
for k values: see ``default_method``."""


class MethodRefused(HalftruthError, ValueError):
    """The chosen method cannot be used for the campaign."""


def require_method(method: str, prior: Floats | None, decoder: Decoder) -> None:
    """Refuse a method that does not exist or cannot be used for the campaign.

    Args:
        method: the name of the method.
        prior: (k,) the prior of the campaign; None without one.
        decoder: the decoder of the campaign.
    Raises:
        MethodRefused: the method is unknown, or the campaign does not support it.
    """
    if method not in METHODS:
        raise MethodRefused(f"there is no method {method[:40]!r}; the methods are {', '.join(METHODS)}")
    if method in ("mmse", "map") and prior is None:
        raise MethodRefused(f"method {method!r} needs a prior, and this campaign has none: leave out --method")
    if method == "em" and isinstance(decoder, Pooled):
        raise MethodRefused(
            "method 'em' needs one channel and prior for everybody, and this campaign has several: leave out --method"
        )
    if method == "map" and isinstance(decoder, TranscriptDecoder) and decoder.drift:
        raise MethodRefused("method 'map' needs values that do not change, and this campaign allows drift: use 'mmse'")
    if method == "smooth" and decoder.by_value:
        raise MethodRefused(
            "method 'smooth' is for numbers sent by the wave mechanism: for this channel leave out --method"
        )
    if method in WITHOUT_INVERSE and not decoder.one_hot:
        raise MethodRefused(
            f"method {method!r} needs whole outputs, and this channel's reports are counted bit by bit: "
            "use 'projection' or 'empirical-bayes'"
        )


def default_method(decoder: Decoder, prior: Floats | None, se: Floats | None, *, ordered: bool = False) -> str:
    """Return the default method of a campaign.

    - "mmse" if the campaign has a prior and whole outputs are counted, because it has the least error if the prior is
      right.
    - "smooth" for numbers sent by the wave mechanism, and "em" for other channels without an unbiased estimate.
    - "empirical-bayes" for 16 or more values if the standard errors are at least a quarter of 1/k.
    - "projection" otherwise, and for any number of ordered values.

    Measurements (k = 4 .. 1024, n = 1,000 .. 10^6, eps = .5 .. 4, five distributions, total variation distance): if the
    noise is above a quarter of 1/k, the error of empirical Bayes is 0.45 to 0.79 times that of the projection
    (geometric means). With less noise, it is .89 to .99 times that of the projection (geometric means), and at most
    1.15 times for these five distributions. Empirical Bayes is worse if all people have one of a few values, and the
    noise hides most of these values: its error is then 1.5 times that of the projection (k = 32).

    Estimates for ordered values (numbers) are used for distances and quantiles. Empirical Bayes moves shares between
    values with equal estimates, regardless of their order, so it is worse for ordered values. In measurements (k = 16,
    32, 64, n = 2,000 and 50,000, eps = 1; the shapes Beta(2, 5), two peaks, a spike on a hill, exponential), the
    Wasserstein distance of the projection is .39 to 1.02 times that of empirical Bayes. It is at most 1.00 times that
    of expectation maximisation (geometric means). The projection is worse than empirical Bayes on equal shares, and
    if all people have one value.

    Args:
        decoder: the decoder of the campaign.
        prior: (k,) the prior of the campaign; None without one.
        se: (k,) the standard errors of the raw estimates; None if they do not exist.
        ordered: whether the values are ordered.
    """
    if prior is not None and decoder.one_hot:
        return "mmse"
    if se is None:
        return "em" if decoder.by_value else "smooth"
    return "projection" if ordered or not needs_shrinkage(se) else "empirical-bayes"


def needs_shrinkage(se: Floats) -> bool:
    """Return whether empirical Bayes is the default for unordered values with the standard errors ``se``; False if
    these are NaN."""
    return len(se) >= MANY_VALUES and math.sqrt(float(np.mean(se**2))) * len(se) >= NOISY


def consistent(
    method: str,
    decoder: Decoder,
    mean_features: Floats,
    reports: int,
    linear: tuple[Floats, Floats] | None,
    prior: Floats | None,
    warnings: list[str],
    shown_inputs: ShownInputs,
) -> Floats:
    """Return shares of the inputs, estimated by ``method``, shape (k,).

    Args:
        method: one of ``names.METHODS``.
        decoder: the decoder of the campaign.
        mean_features: (m,) mean features of the reports.
        reports: n, the number of reports.
        linear: the raw estimates and their standard errors, both (k,); None if they do not exist and the method does
            not need them.
        prior: (k,) the prior of the campaign; None without one.
        warnings: a list to which a search that has not converged adds a warning.
        shown_inputs: the inputs whose shares are shown, whose constraints the projection takes into account.
    Raises:
        ValueError: ``linear`` is None, and the method needs raw estimates.
        NotInvertible: by "smooth", a class without the wave mechanism has no unbiased estimate.
    """
    # A pooled decoder has the prior of each class; ``prior`` is the mean of these priors.
    if isinstance(decoder, Pooled) and method in ("mmse", "map"):
        return decoder.posterior_mean(mean_features) if method == "mmse" else decoder.posterior_mode(mean_features)
    if method == "mmse" and prior is not None:
        return distribution.posterior_mean(decoder, mean_features, prior)
    if method == "map" and prior is not None:
        return _converged_share(likelihood.posterior_mode(decoder, mean_features, reports, prior), warnings)
    if method == "smooth" and isinstance(decoder, ClassesDecoder):
        return _smooth_classes(decoder, mean_features, reports, shown_inputs)
    if method == "smooth":
        merged = MergedReports.of(decoder, np.rint(mean_features * reports).astype(np.int64))
        return merged.of_numbers(smoothed_shares(merged))
    if method == "em":
        even = np.full(decoder.input_count, 1 / decoder.input_count)
        # The start matters only if the maximum is not unique.
        start = empirical_bayes(*linear) if linear else even if prior is None else prior
        return _converged_share(likelihood.em(decoder, mean_features, reports, start), warnings)
    if linear is None:
        raise ValueError(f"method {method!r} needs an unbiased estimate, and none exists: use 'em'")
    if method == "empirical-bayes":
        return empirical_bayes(*linear)
    if method == "linear":
        return linear[0]
    return distribution.projected_shares(decoder, linear[0], reports, prior, shown_inputs)


def _smooth_classes(decoder: ClassesDecoder, mean_features: Floats, reports: int, shown_inputs: ShownInputs) -> Floats:
    """Return the shares of all classes together, shape (k,); classes with the wave mechanism are smoothed, others
    projected."""
    shares = np.zeros(decoder.input_count)
    for inner, part, weight in zip(decoder.decoders, decoder.of_classes(mean_features), decoder.parts, strict=True):
        if weight:
            class_share = float(part.sum())
            class_features, linear = part / class_share, None
            if inner.by_value:
                linear = inner.invert(class_features), np.empty(0)
            method = "projection" if inner.by_value else "smooth"
            shares += weight * consistent(
                method, inner, class_features, round(class_share * reports), linear, None, [], shown_inputs
            )
    return shares


def _converged_share(fit: likelihood.Fit, warnings: list[str]) -> Floats:
    if not fit.converged:
        warnings.append(
            f"the search for the most likely shares stopped after {fit.steps:,} steps, so the shares are approximate: "
            f"the most likely shares make the reports at most e^{fit.gap:.3g} times as probable as these shares do (a "
            f"factor of up to e^{likelihood.CONVERGED_NATS:g} is negligible)"
        )
    return fit.share
