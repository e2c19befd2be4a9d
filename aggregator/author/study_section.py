"""Reads the study's addresses and the translated texts of a draft.

The campaign's own constructor judges them; here the entries are only read, and an error names the entry.
"""

from __future__ import annotations

from typing import Any

from aggregator.author.toml_section import DraftError, Section
from protocol.errors import CampaignError
from protocol.texts import Texts

_SAID = {
    "title": None, "question": None, "purpose": "", "organisation": "", "contact": "", "retention": "", "notice": "",
}  # fmt: skip
"""The texts of a translation, and what stands for one that is left out: the campaign's own, where it may be."""


def addresses_of(section: Section) -> tuple[str, ...]:
    """The addresses of ``[study] address``: one, or a list in the order in which they are tried."""
    if "address" not in section:
        return ()
    if section.holds("address", list):
        written = section.list_of("address", str, "addresses, https://HOST")
    else:
        written = [section.take("address", str, "an address, https://HOST, or a list of up to 4")]
    return tuple(one.removesuffix("/") for one in written)


def translations_of(tables: dict[str, Any]) -> tuple[Texts, ...]:
    """The translations of ``[text.LANGUAGE]``, in order of their tags."""
    sections = {language.lower(): Section(f"text.{language}", table) for language, table in tables.items()}
    return tuple(_translation(language, sections[language]) for language in sorted(sections))


def _translation(language: str, section: Section) -> Texts:
    said = {
        name: section.take(name, str, f"the {name} in this language", other)
        for name, other in _SAID.items()
        if name != "question" or "questions" not in section
    }
    if "questions" in section:
        said["question"] = "\n".join(
            section.list_of("questions", str, "texts, one for each question of the form, in order")
        )
    labels = _names(section, "values", "texts, one for each value in the domain's order")
    classes = _names(section, "classes", "names, one for each class in the draft's order")
    section.done()
    try:
        return Texts(language, **said, labels=labels, classes=classes)
    except CampaignError as error:
        raise DraftError(f"[{section.name}] {error}") from None


def _names(section: Section, entry: str, what: str) -> tuple[str, ...]:
    return tuple(section.list_of(entry, str, what)) if entry in section else ()
