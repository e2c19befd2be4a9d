"""The texts of one campaign's page: the part that the campaign needs, and its promise."""

from __future__ import annotations

from collections.abc import Set
from fractions import Fraction
from typing import Any

from edge_sdk.campaigns.terms import assumed_shares, share_text
from edge_sdk.texts import LANGUAGES, texts_in
from protocol import exact
from protocol.campaign import Campaign
from protocol.domain import Form, Line
from protocol.notions import Classes, DeclaredPrior
from protocol.notions.sentences import MARKS, SENTENCES
from protocol.views import Identity, is_plain
from protocol.views.sentences import question_sentence

ONLY = {
    "list": ("choice.search", "choice.none", "page.more"),
    "items": ("choice.chosen", "history.none", "review.empty", "review.picked"),
    "grid": ("map.", "answer.position", "terms.place"),
    "number": ("number.", "terms.number", "page.number"),
    "date": ("day.", "terms.day"),
    "rounded": ("terms.rounded",),
    "form": (
        "terms.form", "terms.form_how", "terms.chances_any", "consent.form", "selection.", "question.on",
        "question.place", "question.skip", "answer.skipped", "review.stay", "review.together", "bar.",
    ),
    "one": ("terms.question", "terms.chances_how", "terms.values"),
    "classes": ("consent.class", "consent.class_how", "consent.class_cost"),
    "prior": ("consent.prior",),
    "transcript": ("terms.cost_each",),
    "views": ("terms.asked", "review.group"),
    "assumed": ("terms.assumed", "terms.share"),
    "enrolled": (
        "consent.enrol", "page.enrolment", "page.enrolment_how", "fault.code", "fault.code_how", "outbox.code",
    ),
}  # fmt: skip
"""The texts that a page needs only if its campaign has a feature, by feature: keys, or names of sections with a dot at
the end."""

_LISTS = {"values": {"list"}, "ordered": {"list"}, "items": {"list", "items"}, "date": {"list", "date"}}
"""Features by kind of domain. A domain of another kind has its kind as its feature; buckets count as numbers."""


def texts_of_page(campaign: Campaign) -> dict[str, dict[str, Any]]:
    """Return the texts of a campaign's page in every language, without texts for features that the campaign does not
    have.

    Returns:
        The texts by language, in the form that the page's script reads; ``promise`` contains the sentences for the
            campaign's notions, ``assumed`` the shares that it assumes, by class, and ``views`` the description of each
            view, and whether it coarsens the answer.
    """
    has = _features(campaign)
    omitted = tuple(key for feature, keys in ONLY.items() if feature not in has for key in keys)
    kinds = {campaign.notion.name}
    if isinstance(campaign.notion, Classes):
        kinds |= {notion.name for notion in campaign.notion.notions} | {"class"}
    named = kinds | {"ball", "everybody"} | ({"pairwise"} if kinds & {"minid", "avgid"} else set())
    if campaign.answers_per_period > 1:
        named.add("bundle")
    return {
        language: _texts_of(campaign, language, omitted)
        | {
            "promise": _promises(language, named),
            "assumed": _assumed(campaign, language),
            "views": _views(campaign, language),
        }
        for language in LANGUAGES
    }


def _features(campaign: Campaign) -> set[str]:
    form = isinstance(campaign.domain, Form)
    domains = (
        [question.domain for question in campaign.domain.questions]
        if isinstance(campaign.domain, Form)
        else [campaign.domain]
    )
    kinds = {"number" if domain.kind == "buckets" else domain.kind for domain in domains}
    features = {feature for kind in kinds for feature in _LISTS.get(kind, {kind})}
    others = {
        "classes": campaign.classes,
        "prior": isinstance(campaign.notion, DeclaredPrior),
        "form": form,
        "rounded": isinstance(campaign.domain, Line) and campaign.domain.rounds_randomly,
        "one": not form,
        "views": _has_views(campaign),
        "assumed": any(_assumed(campaign, LANGUAGES[0])),
        "enrolled": campaign.enrolment == "enrolled",
        "transcript": campaign.transcript is not None,
    }
    return features | {feature for feature, present in others.items() if present}


def _texts_of(campaign: Campaign, language: str, omitted: tuple[str, ...]) -> dict[str, Any]:
    """Return the texts of a language without the keys and sections ``omitted``.

    ``terms.rounded`` replaces ``terms.number``, so that the page's script has one text for all numbers.
    """
    sections = {
        section: {key: text for key, text in texts.items() if f"{section}.{key}" not in omitted}
        for section, texts in texts_in(language).items()
        if f"{section}." not in omitted
    }
    if rounded := sections["terms"].pop("rounded", ""):
        count = exact.decimal_text(Fraction(campaign.domain.size), *MARKS[language])
        sections["terms"]["number"] = rounded.replace("{count}", count)
    return {section: texts for section, texts in sections.items() if texts}


def _has_views(campaign: Campaign) -> bool:
    return not isinstance(campaign.domain, Form) and not is_plain(campaign.views)


def _views(campaign: Campaign, language: str) -> list[tuple[str, bool]]:
    """Return the description of each view, and whether it coarsens the answer; empty for a form, whose questions are
    shown after consent."""
    if not _has_views(campaign):
        return []
    count = len(campaign.views)
    return [
        (question_sentence(view.map, campaign.domain, count, language), not isinstance(view.map, Identity))
        for view in campaign.views
    ]


def _assumed(campaign: Campaign, language: str) -> list[list[tuple[str, str]]]:
    """Return the shares that the promise to each class assumes, in percent by label; one list without classes."""
    domain = campaign.domain_in(language)
    return [
        [(name, share_text(share)) for name, share in assumed_shares(campaign, class_index, domain)]
        for class_index in range(max(1, len(campaign.classes)))
    ]


def _promises(language: str, named: Set[str]) -> dict[str, str | tuple[str, str]]:
    return {key: text for key, text in SENTENCES[language].items() if key.split(".")[0] in named}
