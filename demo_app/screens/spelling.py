"""The spelling of answers in the person's language.

The device's text of an answer is exact and the same in every language; this module translates it for display only.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from demo_app.content.campaign import CampaignSummary, QuestionNames
from demo_app.texts import date_of, localised_decimal, say

ITEMS_BETWEEN = ";"
"""Separates the items of a set in the device's text."""

QUESTIONS_BETWEEN, EQUALS, SKIPPED = "; ", "=", "skipped"
"""The text between answers to a form, the text between a question's name and its answer, and a skipped answer."""

ENDS_BETWEEN = " .. "
"""The text between the two ends of a group, in the device's text."""


def form_text(answers: Mapping[str, str]) -> str:
    """Return the text that the device parses as the answers to a form, given by the names of the questions."""
    return QUESTIONS_BETWEEN.join(f"{name}{EQUALS}{answer}" for name, answer in answers.items())


def answered(kind: str, value: str, summary: CampaignSummary) -> tuple[tuple[str, str], ...]:
    """Return (question, answer) pairs in the person's language: one for each question of a form, else one with an empty
    question.

    Args:
        kind: the kind of the answers, from ``edge_sdk.presentation.kept_kind``.
        value: the text of an answer; "" for the empty set.
        summary: the summary of the campaign.
    """
    return tuple((question.text, _text(question, answer)) for question, answer in _by_question(kind, value, summary))


def input_sentences(kind: str, value: str, label: str, summary: CampaignSummary) -> tuple[str, ...]:
    """Return one text for each question: a sentence that names the input that the answer counts as; "" if it is the
    answer itself.

    Args:
        kind: the kind of the answers, from ``edge_sdk.presentation.kept_kind``.
        value: the text of an answer.
        label: the label of the answer's input, in a view that does not coarsen; "" for a dummy.
        summary: the summary of the campaign.
    """
    pairs = zip(_by_question(kind, value, summary), _by_question(kind, label, summary), strict=True)
    return tuple(_input_sentence(question, answer, counted) for (question, answer), (_, counted) in pairs)


def _by_question(kind: str, value: str, summary: CampaignSummary) -> list[tuple[QuestionNames, str]]:
    """Return each question with the device's text of its answer; the text of a single question is ""."""
    if kind != "form":
        return [(QuestionNames("", kind, summary.names, summary.unit), value)]
    parts = (part.partition(EQUALS) for part in value.split(QUESTIONS_BETWEEN))
    return [(summary.questions[name], answer) for name, _, answer in parts]


def _text(question: QuestionNames, answer: str) -> str:
    """Return an answer or a group in the person's language; "" for the empty set."""
    # Only a question of a form has a text, and only such a question can be skipped.
    if question.text and answer == SKIPPED and SKIPPED not in question.names:
        return say("answer.skipped")
    ends = answer.split(ENDS_BETWEEN) if question.kind in ("grid", "buckets", "number", "date") else [answer]
    unit = question.unit if question.kind == "number" else ""
    return ENDS_BETWEEN.join(f"{spelled(question.kind, end, question.names)} {unit}".strip() for end in ends)


def _input_sentence(question: QuestionNames, answer: str, label: str) -> str:
    """Return the sentence that names an input; "" if it is the answer itself."""
    kind, text = question.kind, _text(question, label)
    if kind == "items":
        return say("review.picked", item=text or say("history.none")) if not label or label != answer else ""
    if answer == label:
        return ""
    if kind == "date":
        return say("day.counts", day=text)
    # The person may type 7.0, and its input is 7.
    if kind in ("buckets", "number") and Decimal(answer) != Decimal(label):
        return say("number.counts", number=text)
    return ""


def spelled(kind: str, value: str, names: Mapping[str, str]) -> str:
    """Return the text of an answer to one question of a kind; "" for the empty set.

    Args:
        names: the names of the values in the person's language, by label; empty if not translated.
    """
    if kind == "grid":
        latitude, longitude = value.split(",")
        return say(
            "answer.position",
            latitude=localised_decimal(latitude.lstrip("-")),
            north=say("map.south" if latitude.startswith("-") else "map.north"),
            longitude=localised_decimal(longitude.lstrip("-")),
            east=say("map.west" if longitude.startswith("-") else "map.east"),
        )
    if kind in ("buckets", "number"):
        return localised_decimal(value)
    if kind == "date":
        return date_of(value)
    if kind == "items":
        return ", ".join(names.get(item, item) for item in value.split(ITEMS_BETWEEN))
    return names.get(value, value)
