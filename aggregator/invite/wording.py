"""What a poster says beside the campaign's own texts and its promise, in English and German.

The promise's sentences: protocol.notions.sentences.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass


@dataclass(frozen=True)
class Wording:
    """The fixed texts of a poster in one language; a name in braces is filled in.

    Attributes:
        asks: above the question, with the organisation.
        why: before the purpose.
        part: over the steps.
        steps: how it works.
        enrolled: in place of the first step, where devices are registered beforehand.
        when: the first and the last day.
        promise: over the promise.
        contact, kept, notice, key: before what the campaign says, and the fingerprint.
        form: of a form, how much of it each device is asked.
        card: what a card with a single-use code says below the code; two sentences.
        months: of the year, in order.
        day: a date.
    """

    asks: str
    why: str
    part: str
    steps: tuple[str, str, str]
    enrolled: str
    when: str
    promise: str
    contact: str
    kept: str
    notice: str
    key: str
    form: str
    card: str
    months: tuple[str, ...]
    day: str

    def date(self, seconds: int) -> str:
        """The day of a moment, UTC."""
        found = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
        return self.day.format(day=found.day, month=self.months[found.month - 1], year=found.year)


WORDINGS = {
    "en": Wording(
        asks="{organisation} asks",
        why="What for: {purpose}",
        part="Take part",
        steps=(
            "Point your phone's camera at the code, or open the link below.",
            "Answer. Your phone changes your answer at random before it sends anything.",
            "The study receives only the changed answer. Many of them together show how common each answer is.",
        ),
        enrolled="This study accepts only devices that it has registered. Point the camera of yours at the code.",
        when="From {opens} to {closes}",
        promise="What is promised",
        contact="Questions: {contact}",
        kept="How long it is kept: {retention}",
        notice="Legal notice: {notice}",
        key="Key of the author, as an app shows it: {key}",
        form="{count} questions, of which each phone is asked one or two.",
        card="The code lets in one device, until {closes}. Whoever handed you this card could learn which reports are "
        "yours; what they say stays protected.",
        months=(
            "January", "February", "March", "April", "May", "June",
            "July", "August", "September", "October", "November", "December",
        ),
        day="{day} {month} {year}",
    ),
    "de": Wording(
        asks="{organisation} fragt",
        why="Wozu: {purpose}",
        part="Machen Sie mit",
        steps=(
            "Richten Sie die Kamera Ihres Telefons auf den Code, oder öffnen Sie den Link darunter.",
            "Antworten Sie. Ihr Telefon verändert die Antwort zufällig, bevor es etwas sendet.",
            "Die Studie bekommt nur die veränderte Antwort. Viele zusammen zeigen, wie häufig jede Antwort ist.",
        ),
        enrolled="Diese Studie nimmt nur Geräte an, die sie registriert hat. Richten Sie die Kamera Ihres Geräts auf "
        "den Code.",
        when="Vom {opens} bis zum {closes}",
        promise="Was versprochen wird",
        contact="Fragen an: {contact}",
        kept="Wie lange etwas aufbewahrt wird: {retention}",
        notice="Rechtlicher Hinweis: {notice}",
        key="Schlüssel des Autors, wie ihn eine App zeigt: {key}",
        form="{count} Fragen, von denen jedes Telefon eine oder zwei bekommt.",
        card="Der Code lässt ein einziges Gerät zu, bis zum {closes}. Wer Ihnen diese Karte gab, könnte herausfinden, "
        "welche Antworten von Ihnen sind; was sie sagen, bleibt geschützt.",
        months=(
            "Januar", "Februar", "März", "April", "Mai", "Juni",
            "Juli", "August", "September", "Oktober", "November", "Dezember",
        ),
        day="{day}. {month} {year}",
    ),
}  # fmt: skip
"""By language."""
