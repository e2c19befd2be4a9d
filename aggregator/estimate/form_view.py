"""Estimate from one view of a form, which asks each of its devices one or two questions.

The inputs of the channel are the values of the question, or the cells of the table of two questions, numbered row by
row. So a query on one question is a query on the cells, and the decoder of any mechanism computes its result and its
variance.

``form`` pools the views, and ``form_table`` estimates the table of two questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aggregator.estimate.linear import Linear, unbiased_estimate
from aggregator.estimate.reweighted import ReweightedDecoder
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import Decoder, Floats


def covariances(decoder: Decoder, mean_features: Floats, v: Floats) -> Floats:
    """Return the covariance of one report's contribution to each share with its contribution to v . raw.

    Args:
        decoder: the decoder of the channel.
        mean_features: (m,) the mean features of the reports.
        v: (k,) the weight of each input.
    Returns:
        (k,) covariances of one report.
    Raises:
        NotInvertible: no unbiased estimate exists.
    """
    if isinstance(decoder, ReweightedDecoder):
        return decoder.covariances(v, mean_features)
    if decoder.one_hot:
        phi = decoder.adjoint(v)
        return decoder.invert(mean_features * phi) - float(mean_features @ phi) * decoder.invert(mean_features)
    # A report has several features, so the covariances are computed as (Var(a + b) - Var(a - b)) / 4.
    units = np.eye(decoder.input_count)
    both = [(decoder.variance(unit + v, mean_features), decoder.variance(unit - v, mean_features)) for unit in units]
    return np.array([(plus - minus) / 4 for plus, minus in both])


@dataclass(frozen=True)
class MarginVariances:
    """Variances of one report's contribution to the share of each value of a question.

    Attributes:
        even: (a,) the variances under the reference distribution, for the weights of views.
        shown: (a,) the variances estimated from the reports, for the standard errors.
    """

    even: Floats
    shown: Floats


@dataclass(frozen=True)
class FormView:
    """One view of a form with its reports.

    Attributes:
        questions: the positions of its one or two questions in the form, in increasing order.
        shape: the number of values of each question, including "skipped" if a person may skip.
        decoder: the decoder of the view's channel.
        tally: the counts of the devices with this view; at least one report.
        ordered_questions: the positions, in the form, of its questions with ordered values.
    """

    questions: tuple[int, ...]
    shape: tuple[int, ...]
    decoder: Decoder
    tally: Tally
    ordered_questions: frozenset[int] = frozenset()

    @cached_property
    def linear(self) -> Linear:
        """The unbiased shares of the view's inputs.

        Raises:
            NotInvertible: no unbiased estimate exists.
        """
        return unbiased_estimate(self.decoder, self.tally)

    @cached_property
    def mean_features(self) -> Floats:
        """Mean features of the reports, shape (m,)."""
        return self.tally.counts / self.tally.reports

    @cached_property
    def reports(self) -> float:
        """The effective number of reports; NaN if all reports come from one group of devices."""
        effect = self.linear.effect
        return self.tally.reports / (1.0 if effect is None else float(np.max(effect)))

    def furthest_of(self, v: Floats) -> float:
        """Return a bound on how far one device can move v . raw by changing all its reports.

        Args:
            v: (k,) the weight of each input.
        """
        phi = self.decoder.adjoint(v)
        apart = float(phi.max() - phi.min()) if self.decoder.one_hot else float(np.abs(phi).sum())
        return apart * self.tally.max_outputs / self.tally.reports

    def lift(self, place: int, v: Floats) -> Floats:
        """Return a query on one question as a query on the view's inputs.

        Args:
            place: one of ``questions``.
            v: (a,) the weight of each value of the question.
        Returns:
            (k,) the weight of each input.
        """
        first = len(self.questions) > 1 and place == self.questions[0]
        return np.broadcast_to(v[:, np.newaxis] if first else v, self.shape).ravel()

    def marginal(self, place: int, numbers: Floats) -> Floats:
        """Return for each value of one question the sum of the numbers of the inputs with this value.

        Returns:
            (a,) the sums.
        """
        others = tuple(axis for axis, question in enumerate(self.questions) if question != place)
        summed: Floats = numbers.reshape(self.shape).sum(axis=others)
        return summed

    @cached_property
    def variances(self) -> dict[int, MarginVariances]:
        """The variances of one report's contribution to the shares, by question.

        Raises:
            NotInvertible: no unbiased estimate exists.
        """
        return {question: self._variances(place) for place, question in enumerate(self.questions)}

    def _variances(self, place: int) -> MarginVariances:
        distributions = (self.even, self.mean_features)
        if len(self.questions) == 1:
            return MarginVariances(
                *(np.maximum(self.decoder.variances(distribution), 0) for distribution in distributions)
            )
        rows: list[list[float]] = []
        both = np.stack(distributions)
        for unit in np.eye(self.shape[place]):
            v = self.lift(self.questions[place], unit)
            if self.decoder.one_hot and not isinstance(self.decoder, ReweightedDecoder):
                # There may be a million features, so phi is computed once for both distributions.
                phi = self.decoder.adjoint(v)
                rows.append((both @ phi**2 - (both @ phi) ** 2).tolist())
            else:
                rows.append([self.decoder.variance(v, distribution) for distribution in distributions])
        return MarginVariances(*np.array(rows).T)

    @cached_property
    def even(self) -> Floats:
        """Mean features under the reference distribution (all inputs equally frequent), shape (m,)."""
        return self.decoder.forward(np.full(self.decoder.input_count, 1 / self.decoder.input_count))


def views_with(views: Sequence[FormView], *questions: int) -> list[FormView]:
    """Return the views that ask all ``questions`` and distinguish their inputs, in the given order."""
    return [view for view in views if set(questions) <= set(view.questions) and view.decoder.by_value]
