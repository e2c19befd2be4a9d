"""Estimate the shares of a campaign's values from a tally of its reports.

The steps are: the decoder and the unbiased shares with their intervals (``linear``, ``interval``), the consistent
distribution (``method``), the tests for forged reports (``forgeries``), and the warnings (``advice``).

``result`` defines the parts of an estimate. ``query`` computes linear queries such as means.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from aggregator.campaign_facts import estimated_noun
from aggregator.estimate import advice, interval, likelihood
from aggregator.estimate.class_weights import reweight
from aggregator.estimate.forgeries import find_forgeries_in_tally
from aggregator.estimate.interval import Interval, Intervals, require_confidence
from aggregator.estimate.linear import unbiased_estimate
from aggregator.estimate.method import WITHOUT_INVERSE, MethodRefused, consistent, default_method, require_method
from aggregator.estimate.names import POOLS, VIEW_METHODS
from aggregator.estimate.precision_pooling import PoolingRefused, precision_pooled
from aggregator.estimate.prior_test import prior_test
from aggregator.estimate.result import Estimate, Influence, unsigned_and_id
from aggregator.estimate.shown_inputs import ShownInputs
from aggregator.estimate.tally import Tally
from aggregator.estimate.tally_decoder import decoder_and_prior
from aggregator.estimate.transcript import TranscriptTally
from aggregator.estimate.view_estimate import estimate_views
from aggregator.estimate.weighting import KnownMargin, MarginRefused, require_unweighted
from aggregator.families.decoder import Decoder, Floats, NotInvertible
from protocol.campaign import Campaign, SignedCampaign
from protocol.domain import Form
from protocol.views import is_plain

WRONG_PRIOR = "map"
"""The default method if the outputs contradict the prior; its estimate departs from the prior where the outputs
contradict it."""


def estimate(
    campaign: Campaign | SignedCampaign,
    tally: Tally,
    *,
    method: str | None = None,
    confidence: float = 0.95,
    forged: int | None = None,
    class_name: str | None = None,
    pool: str = POOLS[0],
    margins: Sequence[KnownMargin] = (),
) -> Estimate:
    """Return the shares of ``campaign``'s values, estimated from a tally of its reports.

    Args:
        tally: the counts of the campaign's reports.
        method: one of ``names.METHODS``; None uses ``default_method``.
        confidence: the confidence level of the intervals, such as 0.95.
        forged: a number of forged outputs; the estimate states their influence in addition to the usual numbers.
        class_name: the class, if ``classes.campaign_of_class`` has restricted campaign and tally to one.
        pool: the way to combine classes, one of ``POOLS``.
        margins: the known shares of the population by class, to which the classes are weighted.
    Raises:
        MarginRefused: the classes cannot be weighted to the margins.
        PoolingRefused: classes cannot be pooled by precision.
        NotEnough: fewer devices than the campaign's minimum.
        MethodRefused: the method is unknown, the campaign does not support it, or the campaign is a form.
        NotInvertible: no unbiased estimate exists and the method needs one.
        ValueError: ``confidence`` is not between 0 and 1, or ``forged`` is out of range.
    """
    unsigned, campaign_id = unsigned_and_id(campaign)
    if isinstance(unsigned.domain, Form):
        raise MethodRefused(f"{unsigned.title!r} is a form: estimate one of its questions, or a table of two")
    require_confidence(confidence)
    if forged is not None and not 0 <= forged <= tally.reports:
        raise ValueError(f"the number of forged {estimated_noun(unsigned)}s must be 0 to {tally.reports}, not {forged}")
    if not is_plain(unsigned.views):
        require_unweighted(margins)
        if pool != POOLS[0]:
            raise PoolingRefused(
                "the classes of a campaign with views can only be pooled with equal weight for every report: leave out "
                "--pool"
            )
        return estimate_views(unsigned, campaign_id, tally, method, confidence, forged, class_name)
    decoder, prior = decoder_and_prior(unsigned, tally)
    shown_inputs = ShownInputs.of(unsigned.domain)

    n, groups = tally.reports, tally.correlated
    mean_features = tally.counts / n
    if method is not None:
        require_method(method, prior, decoder)
    if pool == "precision":
        decoder = precision_pooled(decoder, mean_features, n, dependent=groups is not None)
        method = method or "projection"
    weighting = None
    if margins:
        method = _weighted_method(method, pool, class_name, by_value=decoder.by_value)
        decoder, weighting = reweight(decoder, mean_features, margins, dependent=groups is not None)
        prior = None
    warnings = list(tally.warnings) if isinstance(tally, TranscriptTally) else []
    tested = None
    if prior is not None:
        tested = prior_test(decoder, prior, tally.counts, n, tally.max_outputs)
    if tested is not None and tested.rejected:
        method = method or WRONG_PRIOR
        warnings.append(advice.contradicted(tested, method, decoder))
    try:
        unbiased = _inverted(decoder, tally)
        method = method or default_method(decoder, prior, unbiased.se, ordered=unsigned.domain.ordered)
    except NotInvertible as reason:
        method = method or default_method(decoder, prior, None)
        if method not in WITHOUT_INVERSE:
            raise
        unbiased = _identified(decoder, tally, prior, shown_inputs, str(reason))
    warnings += unbiased.warnings
    linear = (unbiased.raw, unbiased.se) if unbiased.inverse else None
    shares = consistent(method, decoder, mean_features, n, linear, prior, warnings, shown_inputs)
    shares, raw, se = map(shown_inputs.shares, (shares, unbiased.raw, unbiased.se))
    intervals = Intervals.of(unbiased.ends, confidence, shown_inputs.count).transform(shown_inputs.shares)
    warnings += advice.noisy(se)
    warnings += () if weighting is None else weighting.warnings
    if findings := find_forgeries_in_tally(decoder, tally, estimated_noun(unsigned)):
        warnings += [*findings, *advice.beside_robust(unsigned.domain, decoder, tally, prior, shown_inputs)]
    if method == "mmse" and tested is None:
        warnings += advice.outside(shares, intervals.simultaneous_low, intervals.simultaneous_high, confidence)
    if method != "linear":
        shares = shown_inputs.possible(shares)
    return Estimate(
        raw, se, *intervals.possible(se, shares), shares,
        unsigned, campaign_id, n, method, confidence, tally.refused, tally.version,
        Influence(unbiased.people_per_report * shown_inputs.factor, n, forged), tuple(warnings),
        n if groups is None else groups.devices if class_name is None else None, class_name, pool,
        prior if shown_inputs.count == decoder.input_count else None, tested,
        unbiased.rough[: shown_inputs.count] if unbiased.inverse else None, weighting=weighting,
    )  # fmt: skip


def _weighted_method(method: str | None, pool: str, class_name: str | None, *, by_value: bool) -> str:
    """Return the method of an estimate that is weighted to known margins."""
    if pool != POOLS[0]:
        raise MarginRefused("known margins weight classes by their sizes: leave out --pool precision")
    if class_name is not None:
        raise MarginRefused(
            f"known margins weight all classes, and only class {class_name!r} is selected: leave out --where"
        )
    methods = VIEW_METHODS if by_value else ("smooth",)
    method = method or methods[0]
    if method not in methods:
        raise MethodRefused(
            f"an estimate weighted to known margins needs method {' or '.join(methods)} here, not {method[:40]!r}"
        )
    return method


@dataclass(frozen=True)
class _Unbiased:
    """Unbiased shares of the inputs, with their intervals.

    Attributes:
        raw, se: (k,) the shares and their standard errors; NaN where no unbiased estimate exists.
        ends: a function from alpha to intervals, each of which misses its share with probability alpha.
        people_per_report: the largest number of people that one output counts for.
        rough: (k,) whether too few reports affect the value for ``se`` to be reliable.
        warnings: sentences about missing standard errors.
        inverse: whether the channel has an inverse, so that every share has an unbiased estimate.
    """

    raw: Floats
    se: Floats
    ends: Callable[[float], Interval]
    people_per_report: float
    rough: NDArray[np.bool_]
    warnings: tuple[str, ...]
    inverse: bool


def _inverted(decoder: Decoder, tally: Tally) -> _Unbiased:
    """Return the unbiased shares of all inputs, by the inverse of the channel.

    Raises:
        NotInvertible: no unbiased estimate exists.
    """
    linear = unbiased_estimate(decoder, tally)
    alone = linear.between is not None and not linear.between.freedom
    warnings = (advice.ONE_DEVICE,) if alone else ()
    return _Unbiased(linear.raw, linear.se, linear.intervals, decoder.people_per_report, linear.rough, warnings, True)


def _identified(
    decoder: Decoder, tally: Tally, prior: Floats | None, shown_inputs: ShownInputs, reason: str
) -> _Unbiased:
    """Return the unbiased shares of the inputs that a channel without an inverse distinguishes."""
    raw = se = np.full(decoder.input_count, np.nan)
    weight, warning = math.nan, f"{advice.WITHOUT_INTERVALS}: {reason}"
    if decoder.by_value and decoder.input_count * decoder.features <= likelihood.MAX_MATRIX_CELLS:
        # This is conservative: every device is assumed to have sent the largest number of reports of any device.
        n = tally.reports / tally.max_outputs
        mean_features, even = tally.counts / tally.reports, np.full(decoder.input_count, 1 / decoder.input_count)
        fit = likelihood.em(decoder, mean_features, math.ceil(n), even if prior is None else prior)
        values = likelihood.identified_values(decoder, mean_features, fit.share)
        raw, se, weight = values.raw, np.sqrt(values.variance / n), values.people_per_report
        lost = int(np.count_nonzero(~values.identified[: shown_inputs.count]))
        warning = (
            f"{advice.WITHOUT_INTERVALS} at {lost} of {shown_inputs.count} values, because the channel does not "
            f"distinguish them: {reason}"
            if lost
            else ""
        )
    rough = np.zeros(decoder.input_count, dtype=np.bool_)
    return _Unbiased(raw, se, partial(interval.normal, raw, se), weight, rough, (warning,) if warning else (), False)
