"""Views of a form for people with public classes: all classes together, or weighted to known shares of the classes.

Each view is a survey of all classes, and each class is decoded by its own channel (``classes``). With weights, a class
counts in each view for its share of the population, and only the variation within classes is random (``reweighted``). A
view that lacks reports of a class is then left out.

``form_weights`` weights by questions of the form, whose answers are hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from aggregator.estimate.class_weights import group_shares, raked
from aggregator.estimate.classes import ClassesDecoder, view_decoder
from aggregator.estimate.form import SharesEstimate
from aggregator.estimate.form_view import FormView
from aggregator.estimate.reweighted import ReweightedDecoder
from aggregator.estimate.tally import Tally
from aggregator.estimate.weighting import KnownMargin, MarginRefused, Weighting
from aggregator.families.decoder import Floats
from protocol.campaign import Campaign
from protocol.views.maps import QuestionsMap


def form_views(campaign: Campaign, tally: Tally) -> list[FormView]:
    """Return the views of a form that have reports."""
    views = []
    for place, (view, part) in enumerate(zip(campaign.views, tally.by_view, strict=True)):
        if part.reports and isinstance(view.map, QuestionsMap):
            questions = view.map.questions(campaign.domain)
            shape = tuple(question.size for question in questions)
            pairs = zip(view.map.positions, questions, strict=True)
            ordered_questions = frozenset(number for number, question in pairs if question.domain.ordered)
            views.append(
                FormView(view.map.positions, shape, view_decoder(campaign, place, part), part, ordered_questions)
            )
    return views


def weighted_views(views: Sequence[FormView], margins: Sequence[KnownMargin]) -> list[FormView]:
    """Return views in which each class counts for its share of the population.

    Args:
        views: the form's views, with all classes.
        margins: the known shares of the population by class.
    Raises:
        MarginRefused: the form has no classes, devices have several reports, a group of classes has no reports, or
            margins contradict each other or have the same groups.
    """
    if not views:
        return []
    if any(view.tally.correlated is not None for view in views):
        raise MarginRefused(
            "weights by class need one report from each device, and here devices have several: select one --period, "
            "or leave out --margins"
        )
    weights = raked(_members(views), margins)
    return [_reweighted(view, weights) for view in views if (_classes(view).members[weights > 0] > 0).all()]


def class_weighting(
    views: Sequence[FormView],
    margins: Sequence[KnownMargin],
    weighted: SharesEstimate,
    estimate: Callable[[Sequence[FormView]], SharesEstimate],
) -> Weighting:
    """Return the effect of weights by class on an estimate.

    Args:
        views: the form's views, with all classes.
        margins: the known shares of the population by class.
        weighted: the estimate from ``weighted_views``.
        estimate: a function from views to the estimate from these views.
    Raises:
        MarginRefused: see ``raked``.
    """
    members = _members(views)
    # For comparison, the unweighted estimate takes the class sizes as fixed too.
    plain = [_reweighted(view, _classes(view).members) for view in views]
    factors = raked(members, margins)[members > 0] / members[members > 0]
    unweighted = estimate(plain)
    everybody = sum(view.tally.reports for view in views)
    return Weighting(
        tuple(margins),
        tuple(group_shares(members, margin) for margin in margins),
        float(factors.min()),
        float(factors.max()),
        float(weighted.variances.sum() / unweighted.variances.sum()),
        everybody * float(weighted.furthest.max()),
        everybody * float(unweighted.furthest.max()),
    )


def _classes(view: FormView) -> ClassesDecoder:
    if not isinstance(view.decoder, ClassesDecoder):
        raise MarginRefused("the margins are by class, but this form has no classes: use margins by its questions")
    return view.decoder


def _members(views: Sequence[FormView]) -> Floats:
    """Return the share of each class among the reports of all views, shape (C,)."""
    sent = np.array([view.tally.reports for view in views], dtype=np.float64)
    members: Floats = sent @ np.array([_classes(view).members for view in views]) / sent.sum()
    return members


def _reweighted(view: FormView, weights: Floats) -> FormView:
    decoder = _classes(view)
    return replace(view, decoder=ReweightedDecoder(decoder.decoders, decoder.members, None, weights))
