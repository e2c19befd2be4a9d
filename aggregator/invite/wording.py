"""The fixed texts of a poster, in English and German: en.toml, de.toml.

``protocol.notions.sentences`` has the sentences of the promise.
"""

from __future__ import annotations

import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protocol.campaign import Campaign
from protocol.texts import best_tag


@dataclass(frozen=True)
class Wording:
    """The fixed texts of a poster in one language; a name in braces is replaced by its value.

    Attributes:
        asks: the head of the page, with the name of the organisation.
        why: the purpose.
        part: heading of the steps.
        steps: the steps by which a person takes part.
        enrolled: replaces the first step if the campaign accepts reports only from enrolled devices.
        when: the first and the last day.
        promise: heading of the promise.
        contact, retention, notice, key: the lines at the foot of the page, for contact, retention, legal notice and the
            author's key.
        form: the number of questions of a form, and how many of them each device is asked.
        card: text of a card below its single-use code.
        months: names in order.
        day: format of a date.
    """

    asks: str
    why: str
    part: str
    steps: tuple[str, str, str]
    enrolled: str
    when: str
    promise: str
    contact: str
    retention: str
    notice: str
    key: str
    form: str
    card: str
    months: tuple[str, ...]
    day: str

    def date(self, seconds: int) -> str:
        """Return the day of a time as text, UTC."""
        date = time.gmtime(seconds)
        return self.day.format(day=date.tm_mday, month=self.months[date.tm_mon - 1], year=date.tm_year)


def _read(language: str) -> Wording:
    texts: dict[str, Any] = tomllib.loads(Path(__file__).with_name(f"{language}.toml").read_text(encoding="utf-8"))
    return Wording(**texts | {name: tuple(texts[name]) for name in ("steps", "months")})


WORDINGS = {language: _read(language) for language in ("en", "de")}
"""The fixed texts of posters and cards, by language."""


def missing_texts(campaign: Campaign, language: str | None) -> list[str]:
    """Return a sentence for each kind of text that does not exist in ``language``; it names the language that is used
    instead. Empty for None, the campaign's own language."""
    if not language:
        return []
    campaign_language = campaign.texts(language).language
    sentences = []
    if best_tag(language, [campaign_language]) is None:
        instead = f"{campaign_language!r} is used" if campaign_language else "the campaign's own language is used"
        sentences.append(f"the campaign has no texts in {language!r}: {instead}")
    if best_tag(language, list(WORDINGS)) is None:
        sentences.append(f"the fixed texts exist only in {' and '.join(WORDINGS)}, not in {language!r}: 'en' is used")
    return sentences
