"""The texts of a campaign for people, their limits and translations (SPEC 7.1).

Every text is signed. The campaign's own texts are in one language, which the campaign may name. A translation has
these texts in another language. It may also have the domain's labels and units, the names of districts and the names of
classes, in the campaign's order. Answers and counts always use the campaign's own labels, in every language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from protocol import address, codec
from protocol.domain import Domain, Form, require_label
from protocol.errors import CampaignError, DomainError, ViewError
from protocol.spelling import repeated
from protocol.views.maps import Map

MAX_TEXT = 2000
MAX_TITLE = 200
MAX_TRANSLATIONS = 32

_TAG = re.compile(r"[a-z]{2,3}(?:-[a-z0-9]{2,8}){0,3}")


@dataclass(frozen=True)
class Texts:
    """A campaign's texts in one language.

    Attributes:
        language: a tag in lower case, such as "de" or "zh-hant"; "" if a campaign does not name its own language.
        title, question, purpose, organisation: shown to the person before consent.
        contact: how to reach the organisation; "" if not given.
        retention: how long reports and results are kept; "" if not given.
        notice: a link to the legal notice; "" for none.
        labels: the names in ``named`` of the domain (labels and units), then those of the views' maps (districts);
            empty in a translation that does not translate them.
        classes: names of the classes of people; empty in a translation that does not translate them.
    Raises:
        CampaignError: an attribute is invalid, or does not fit the others.
    """

    language: str
    title: str
    question: str
    purpose: str = ""
    organisation: str = ""
    contact: str = ""
    retention: str = ""
    notice: str = ""
    labels: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.language:
            require_language(self.language)
        for name in ("title", "question"):
            if not getattr(self, name).strip():
                raise CampaignError(f"the {name} is empty, and the person must see it before consent: write one")
        if self.organisation and not self.organisation.strip():
            raise CampaignError(
                "the organisation's name is only blanks: write the name; a translation may leave it empty"
            )
        for name in ("title", "organisation", "contact"):
            require_text(getattr(self, name), name, MAX_TITLE)
        for name in ("question", "purpose", "retention"):
            require_text(getattr(self, name), name, MAX_TEXT, lines=True)
        if self.notice:
            address.require_link(self.notice)
        for label in self.labels:
            require_label(label, "a label, unit or district's name", CampaignError)
        for name in self.classes:
            require_label(name, "a class name", CampaignError)
        if len(set(self.classes)) != len(self.classes):
            raise CampaignError(f"two classes have the name {(repeated(self.classes) or '')[:40]!r}: rename one")

    def with_fallback(self, fallback: Texts) -> Texts:
        """Return these texts, with the texts of ``fallback`` in place of missing ones."""
        names = ("purpose", "organisation", "contact", "retention", "notice", "labels", "classes")
        return replace(self, **{name: getattr(self, name) or getattr(fallback, name) for name in names})

    def encode(self) -> codec.Value:
        """Return the wire form of a translation (SPEC 7.1)."""
        return [
            self.language, self.title, self.question, self.purpose, self.organisation, self.contact, self.retention,
            self.notice, list(self.labels), list(self.classes),
        ]  # fmt: skip

    @classmethod
    def from_wire(cls, value: codec.Value) -> Texts:
        """Return the translation of a wire form.

        Raises:
            CampaignError: wrong fields, or an invalid text.
        """
        parts = codec.fields(value, 10, "a translation", CampaignError)
        language, title, question, purpose, organisation, contact, retention, notice = (
            codec.text(part, "a translation's text", CampaignError) for part in parts[:8]
        )
        labels, classes = names_of(parts[8], "labels"), names_of(parts[9], "classes")
        return cls(language, title, question, purpose, organisation, contact, retention, notice, labels, classes)


def translated(domain: Domain, maps: Sequence[Map], texts: Texts) -> tuple[Domain, tuple[Map, ...]]:
    """Return the domain and the views' maps in the language of a translation.

    Args:
        domain: the campaign's domain.
        maps: the maps of the campaign's views.
        texts: the translation; if it has no labels, the domain and the maps keep theirs.
    Returns:
        The domain with the translated labels, units and question texts of a form, and the maps with the translated
        names of districts.
    Raises:
        CampaignError: the domain or a map does not allow one of the texts, or a form has a different number of
            questions.
    """
    lines = texts.question.split("\n")
    if isinstance(domain, Form) and len(lines) != len(domain.questions):
        raise CampaignError(
            f"the translation {texts.language!r} must have a line for each of the form's {len(domain.questions)} "
            f"questions, in order, not {len(lines)}"
        )
    rest = iter(texts.labels)
    try:
        renamed, named = domain, tuple(maps)
        if texts.labels:
            renamed = domain.renamed(tuple(islice(rest, len(domain.named))))
            named = tuple(map_.renamed(tuple(islice(rest, len(map_.named)))) for map_ in maps)
        return (renamed.reworded(lines) if isinstance(renamed, Form) else renamed), named
    except (DomainError, ViewError) as error:
        raise CampaignError(f"the translation {texts.language!r}: {error}") from None


def require_translations(original: Texts, translations: Sequence[Texts], domain: Domain, maps: Sequence[Map]) -> None:
    """Refuse translations that a campaign must not have.

    Raises:
        CampaignError: they do not fit the campaign's texts, domain and maps, there are too many, or their languages are
            missing, repeated or not in order.
    """
    if len(translations) > MAX_TRANSLATIONS:
        raise CampaignError(f"a campaign must have at most {MAX_TRANSLATIONS} translations, not {len(translations)}")
    tags = [translation.language for translation in translations]
    if tags and not original.language:
        raise CampaignError("the campaign has translations, but does not name the language of its own texts: name it")
    if "" in tags:
        raise CampaignError("a translation does not name its language: name it")
    if original.language in tags:
        raise CampaignError(f"the campaign is written in {original.language!r}: leave out the translation into it")
    codec.require_increasing(tags, "the language tags of translations", CampaignError)
    for translation in translations:
        for noun, names, own_names in (
            ("labels, units and districts", translation.labels, original.labels),
            ("class names", translation.classes, original.classes),
        ):
            if names and len(names) != len(own_names):
                raise CampaignError(
                    f"the translation {translation.language!r} must have as many {noun} as the campaign, "
                    f"{len(own_names)}, or none, not {len(names)}: translate all of them, in order"
                )
        # The campaign's labels are not filled in where a translation has none: with 32 translations they would be
        # checked 32 times.
        translated(domain, maps, translation)


def require_language(tag: str) -> None:
    """Refuse an invalid language tag.

    Raises:
        CampaignError: not a short tag in lower case.
    """
    if not _TAG.fullmatch(tag):
        raise CampaignError(f"a language must be a tag in lower case, such as de, pt-br or zh-hant; not {tag[:40]!r}")


def best_tag(language: str, available: Sequence[str]) -> str | None:
    """Return the available tag for a reader of ``language``: the longest with which ``language`` begins.

    Args:
        language: a tag in any common spelling: de, de-AT, de_AT.
        available: the available tags, in lower case.
    Returns:
        A tag of ``available``; None if none fits.

    Source: RFC 4647, section 3.4 (lookup).
    """
    parts = language.lower().replace("_", "-").split("-")
    while parts:
        if (tag := "-".join(parts)) in available:
            return tag
        parts.pop()
    return None


def require_text(value: str, name: str, limit: int, *, lines: bool = False) -> None:
    """Refuse a text that cannot be shown.

    Args:
        lines: True if the text may have several lines, separated by line feeds; else it must be readable on one line.
    Raises:
        CampaignError: too long, or not readable.
    """
    if len(value) > limit:
        raise CampaignError(f"the {name} must have at most {limit} characters, not {len(value)}")
    if not codec.readable(value.replace("\n", " ") if lines else value):
        breaks = "line breaks other than line feeds" if lines else "line breaks"
        raise CampaignError(
            f"the {name} has a character that is not allowed: leave out control codes, invisible characters, "
            f"changes of direction and {breaks}"
        )


def names_of(value: codec.Value, subject: str) -> tuple[str, ...]:
    """Return the names of a wire form.

    Raises:
        CampaignError: not an array of texts.
    """
    names = codec.array(value, f"the {subject}", CampaignError)
    return tuple(codec.text(name, f"each of the {subject}", CampaignError) for name in names)
