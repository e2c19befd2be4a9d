"""The spelling of answers in the person's language.

The device's text of an answer is exact and the same in every language; this module translates it for display only.
"""

from __future__ import annotations

from collections.abc import Mapping

from demo_app.content.campaign import CampaignSummary
from demo_app.texts import date_of, localised_decimal, say

ITEMS_BETWEEN = ";"
"""Separates the items of a set in the device's text."""

QUESTIONS_BETWEEN, EQUALS, SKIPPED = "; ", "=", "skipped"
"""The text between answers to a form, the text between a question's name and its answer, and a skipped answer."""


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
    if kind != "form":
        return (("", f"{spelled(kind, value, summary.names)} {summary.unit}".strip()),)
    pairs = []
    for part in value.split(QUESTIONS_BETWEEN):
        name, _, answer = part.partition(EQUALS)
        question = summary.questions[name]
        skipped = answer == SKIPPED and SKIPPED not in question.names
        read = f"{spelled(question.kind, answer, question.names)} {question.unit}".strip() if not skipped else ""
        pairs.append((question.text, read or say("answer.skipped")))
    return tuple(pairs)


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
