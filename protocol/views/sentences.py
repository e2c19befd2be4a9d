"""The sentences that explain a device's view, in every language; no other module contains such texts.

Each text describes one device, because people read it about their own device. The sentences of promises are in
notions.sentences.
"""

from __future__ import annotations

from fractions import Fraction

from protocol import exact
from protocol.domain import Domain, Grid
from protocol.notions.sentences import MARKS
from protocol.views.maps import Coarse, Identity, Map, QuestionsMap, form_of

SENTENCES: dict[str, dict[str, str]] = {
    "en": {
        "cell": "This device is asked for the square that contains your answer.",
        "answer": "This device is asked for your answer itself.",
        "square": "This device is asked for the district of at most {factor} x {factor} squares that contains your "
        "answer, not for the square itself.",
        "stretch": "This device is asked for the group of at most {factor} neighbouring answers that contains your "
        "answer, not for the answer itself.",
        "district": "This device is asked which of {count} districts contains your answer, not for the square itself.",
        "group": "This device is asked which of {count} groups of answers contains your answer, not for the answer "
        "itself.",
        "question": "This device is asked one of {count} questions: {names}.",
        "questions": "This device is asked two of {count} questions: {names}.",
        "others": "Other devices may be asked other questions. The device's key for this survey decides the selection; "
        "your answers do not.",
        "chosen": "Other devices may be asked for more or less detail. The device's key for this survey decides the "
        "detail; your answers do not.",
    },
    "de": {
        "cell": "Dieses Gerät wird nach dem Quadrat gefragt, in dem Ihre Antwort liegt.",
        "answer": "Dieses Gerät wird nach Ihrer Antwort selbst gefragt.",
        "square": "Dieses Gerät wird nach dem Bezirk aus höchstens {factor} x {factor} Quadraten gefragt, in dem Ihre "
        "Antwort liegt, nicht nach dem Quadrat selbst.",
        "stretch": "Dieses Gerät wird nach der Gruppe von höchstens {factor} benachbarten Antworten gefragt, in der "
        "Ihre Antwort liegt, nicht nach der Antwort selbst.",
        "district": "Dieses Gerät wird gefragt, in welchem von {count} Bezirken Ihre Antwort liegt, nicht nach dem "
        "Quadrat selbst.",
        "group": "Dieses Gerät wird gefragt, in welcher von {count} Gruppen von Antworten Ihre Antwort liegt, nicht "
        "nach der Antwort selbst.",
        "question": "Dieses Gerät bekommt eine von {count} Fragen: {names}.",
        "questions": "Dieses Gerät bekommt zwei von {count} Fragen: {names}.",
        "others": "Andere Geräte bekommen vielleicht andere Fragen. Der Schlüssel des Geräts für diese Umfrage "
        "bestimmt die Auswahl; Ihre Antworten bestimmen sie nicht.",
        "chosen": "Andere Geräte werden vielleicht genauer oder weniger genau gefragt. Der Schlüssel des Geräts für "
        "diese Umfrage entscheidet das; Ihre Antworten entscheiden es nicht.",
    },
}
"""The sentences, by language and key."""


def question_sentence(map_: Map, domain: Domain, view_count: int, language: str) -> str:
    """Return a sentence about the question that a device with this map is asked; if there are several views, a second
    sentence explains the choice of the view.

    Args:
        domain: the campaign's domain.
        view_count: number of the campaign's views.
        language: one of ``MARKS``.
    """
    is_grid = isinstance(domain, Grid)
    factor = count = 0
    names, others = "", "chosen"
    if isinstance(map_, Identity):
        key = "cell" if is_grid else "answer"
    elif isinstance(map_, Coarse):
        key, factor = "square" if is_grid else "stretch", map_.factor
    elif isinstance(map_, QuestionsMap):
        key, count = "question" if len(map_.positions) == 1 else "questions", len(form_of(domain).questions)
        names, others = ", ".join(question.name for question in map_.questions(domain)), "others"
    else:
        key, count = "district" if is_grid else "group", map_.input_count(domain)
    marks = MARKS[language]
    sentence = SENTENCES[language][key].format(
        factor=exact.decimal_text(Fraction(factor), *marks),
        count=exact.decimal_text(Fraction(count), *marks),
        names=names,
    )
    return sentence if view_count == 1 else f"{sentence} {SENTENCES[language][others]}"
