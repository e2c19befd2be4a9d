"""Read the study's addresses and the translated texts of a draft.

The constructor of the campaign validates them. This module only reads the entries, and an error names the entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aggregator.author.toml_section import DraftError, Section, toml_text
from aggregator.quantity import quantity
from protocol.domain import Domain, Form, NumberRange
from protocol.errors import CampaignError
from protocol.spelling import repeated
from protocol.texts import Texts

_OTHER_TEXTS = {
    "title": None, "purpose": "", "organisation": "", "contact": "", "retention": "", "notice": "",
}  # fmt: skip
"""The texts of a translation besides the question, with their defaults; None requires the text, and "" takes the
campaign's own text."""


def addresses_of(section: Section) -> tuple[str, ...]:
    """Return the addresses of ``[study] address``, in the order in which devices try them.

    Raises:
        DraftError: the value is neither a text nor a list of texts.
    """
    if "address" not in section:
        return ()
    if section.holds("address", list):
        written = section.list_of("address", str, "addresses, https://HOST")
    else:
        written = [section.take("address", str, "an address, https://HOST, or a list of up to 4")]
    return tuple(address.removesuffix("/") for address in written)


def translations_of(
    tables: dict[str, Any], domain: Domain, districts: Sequence[str], classes: Sequence[str]
) -> tuple[Texts, ...]:
    """Return the translations of ``[text.LANGUAGE]``, in order of their tags.

    Args:
        domain: the campaign's domain, whose labels and units may be translated.
        districts: the names of the districts for which the campaign's views ask.
        classes: the names of the campaign's classes of people.
    Raises:
        DraftError: an entry is invalid. The text names it.
    """
    sections: dict[str, Section] = {}
    for language, table in tables.items():
        if language.lower() in sections:
            raise DraftError(f"[text.{language}] is the second table of this language: leave one out")
        sections[language.lower()] = Section(f"text.{language}", table)
    return tuple(
        _translation(language, sections[language], domain, districts, classes) for language in sorted(sections)
    )


def _translation(
    language: str, section: Section, domain: Domain, districts: Sequence[str], classes: Sequence[str]
) -> Texts:
    others = {
        name: section.take(name, str, f"the {name} in this language", default) for name, default in _OTHER_TEXTS.items()
    }
    if isinstance(domain, Form):
        question, labels = _questions(section, domain)
    else:
        question = section.take("question", str, "the question in this language")
        labels = [(_labels(section, domain), domain.named)]
    labels.append((_names(section, "districts", districts), districts))
    named = _names(section, "classes", classes)
    section.refuse_unknown()
    try:
        return Texts(language, question=question, **others, labels=_all_names(labels), classes=named)
    except CampaignError as error:
        raise DraftError(f"[{section.name}] {error}") from None


def _questions(section: Section, form: Form) -> tuple[str, list[tuple[Sequence[str], Sequence[str]]]]:
    """Return the translated texts of a form's questions, one on each line, and for each question its labels or unit,
    translated and as in the draft."""
    expected = "a table [text.LANGUAGE.question.NAME] for each question of the form"
    tables = Section(f"{section.name}.question", section.take("question", dict, expected))
    lines = []
    labels: list[tuple[Sequence[str], Sequence[str]]] = []
    for question in form.questions:
        question_section = Section(
            f"{tables.name}.{question.name}", tables.take(question.name, dict, "a table with the text of this question")
        )
        lines.append(question_section.take("text", str, "the text of the question in this language"))
        labels.append((_labels(question_section, question.domain), question.domain.named))
        question_section.refuse_unknown()
    tables.refuse_unknown()
    return "\n".join(lines), labels


def _all_names(labels: Sequence[tuple[Sequence[str], Sequence[str]]]) -> tuple[str, ...]:
    """Return all translated names. A group that the author did not translate keeps the draft's names; the result is
    empty if no group is translated."""
    if not any(translated for translated, _ in labels):
        return ()
    return tuple(name for translated, original in labels for name in translated or original)


def _labels(section: Section, domain: Domain) -> tuple[str, ...]:
    """Return the labels or the unit of one question in this language; empty if the draft does not translate them."""
    if not isinstance(domain, NumberRange):
        return _names(section, "values", domain.named)
    if not domain.unit or "unit" not in section:
        return ()
    return (section.take("unit", str, f"the unit {toml_text(domain.unit)} in this language"),)


def _names(section: Section, entry: str, draft_names: Sequence[str]) -> tuple[str, ...]:
    """Return the translations in ``entry``, a list in the draft's order or a table by the draft's names; empty if the
    entry is missing."""
    if not draft_names or entry not in section:
        return ()
    if section.holds(entry, dict):
        table = Section(f"{section.name}.{entry}", section.take(entry, dict, "a table"))
        translations = [table.take(name, str, f"{toml_text(name)} in this language") for name in draft_names]
        table.refuse_unknown()
    else:
        translations = section.list_of(
            entry, str, "texts in the draft's order, or a table of them by the draft's names"
        )
        if len(translations) != len(draft_names):
            raise DraftError(
                f"{section.entry(entry)} must have {quantity(len(draft_names), 'text')}, as the draft has, not "
                f"{len(translations)}: translate each text"
            )
    if (name := repeated(translations)) is not None:
        raise DraftError(f"{section.entry(entry)} has {toml_text(name)} twice: give each a text of its own")
    return tuple(translations)
