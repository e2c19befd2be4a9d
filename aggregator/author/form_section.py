"""Drafts of forms: several questions, of which each device is asked one or two.

    [[question]]
    name = "age"                            # short, used in --question and --cross, and as a column of a truth file
    text = "How old are you?"
    kind = "number"                         # and its entries, as in [domain]
    low = 17
    high = 92
    step = 5                                # in a pair a number has at most 16 values
    skippable = true

    [analysis]
    tables = [["age", "vote"], ["age", "income"]]    # the pairs that are asked together; or
    outcome = "vote"                                 # this question with each other one

Without either, all pairs are asked, each of as many devices. A question that is in no pair is asked alone. Each view
has the channel that is best for its number of answers, at the whole level; with tables [classes.NAME], one for each
class, at the level of the class.

What a view of a form is: protocol.views.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

from aggregator.author.domain_section import domain_of
from aggregator.author.toml_section import DraftError, Section, shown
from aggregator.author.views_section import channel_of, named_once
from aggregator.families.mechanism import Question
from protocol.channels import Channel
from protocol.domain import Form, FormQuestion, Line, NumberRange
from protocol.notions import Classes, Ldp
from protocol.notions.classes import class_channels
from protocol.views import Questions, View

MOST_BINS = 16
"""The most values of a number that is asked together with another question."""


@dataclass(frozen=True)
class DraftForm:
    """What a draft says of a form.

    Attributes:
        form: its questions.
        question: what the campaign asks, which is the form, and what it keeps.
        mechanism: the name of one that makes all channels, or ``auto``.
        views: that devices would be asked for.
        classes: the names of the classes of people; empty where there are none.
    """

    form: Form
    question: Question
    mechanism: str
    views: tuple[View, ...]
    classes: tuple[str, ...] = ()

    def of_class(self, place: int) -> DraftForm:
        """Return the form as the class at ``place`` has it."""
        if not isinstance(self.question.notion, Classes):
            raise ValueError("the form has no classes")
        views = tuple(
            replace(view, channel=class_channels(view.channel, len(self.classes))[place]) for view in self.views
        )
        question = replace(self.question, notion=self.question.notion.notions[place])
        return replace(self, question=question, views=views, classes=())

    def channel(self, view: View, level: int) -> Channel:
        """Return the channel of a view if the form had no classes and kept another level, nanonats."""
        return channel_of(self.mechanism, replace(self.question, notion=Ldp(level)), view.map)[1]


def form_of(top: Section) -> Form:
    """Return the form of the tables ``[[question]]``.

    Raises:
        DraftError, BadData: what is wrong, and where.
    """
    return Form(tuple(map(_question, top.list_of("question", dict, "tables [[question]]"))))


def form_views(analysis: Section, mechanism: str, form: Form, question: Question) -> tuple[str, tuple[View, ...]]:
    """Return the names of the mechanisms and the views of a form.

    Args:
        analysis: of which ``tables`` or ``outcome`` are taken.
        mechanism: the name of one that makes all channels, or ``auto`` for the best for each.
        question: what the campaign asks, which is the form, and what it keeps.
    Raises:
        DraftError, BadData: what is wrong, and where.
    """
    asked = _asked(analysis, form)
    for places in asked:
        if len(places) > 1:
            for place in places:
                _require_few(form.questions[place])
    maps = [Questions(places) for places in asked]
    made: dict[int, tuple[str, Channel]] = {}
    for map_ in maps:
        size = map_.inputs(form)
        if size not in made:  # the channel depends on the number of answers alone
            made[size] = channel_of(mechanism, question, map_)
    views = tuple(View(1, map_, made[map_.inputs(form)][1]) for map_ in maps)
    return named_once(name for name, _ in made.values()), views


def _question(table: dict[str, object]) -> FormQuestion:
    name = table.get("name")
    section = Section(f"question {name}" if isinstance(name, str) else "question", table)
    found = FormQuestion(
        section.take("name", str, "short, of a-z, 0-9 and _"),
        section.take("text", str, "what the person is asked"),
        domain_of(section),
        section.flag("skippable", "a person may leave it out"),
    )
    section.done()
    return found


def _asked(analysis: Section, form: Form) -> list[tuple[int, ...]]:
    """The places of the questions of each view, in order."""
    if "tables" in analysis and "outcome" in analysis:
        raise DraftError("[analysis] tables and outcome do not go together: leave out one of the two")
    every = range(len(form.questions))
    if "tables" in analysis:
        listed = analysis.list_of("tables", list, 'pairs of names, such as ["age", "vote"]')
        pairs = [_pair(names, form) for names in listed]
        if len(set(pairs)) < len(pairs):
            raise DraftError("[analysis] tables lists a pair twice")
    elif "outcome" in analysis:
        outcome = _place(analysis.take("outcome", str, "the name of a question"), form)
        pairs = [(min(place, outcome), max(place, outcome)) for place in every if place != outcome]
    else:
        pairs = list(combinations(every, 2))
    paired = {place for pair in pairs for place in pair}
    return sorted([*pairs, *((place,) for place in every if place not in paired)])


def _require_few(question: FormQuestion) -> None:
    """Refuse a number of many values in a pair: a table of them would be noise."""
    domain = question.domain
    if not isinstance(domain, Line) or domain.size <= MOST_BINS:
        return
    way = "give it a longer step" if isinstance(domain, NumberRange) else "make it coarser"
    raise DraftError(
        f"[question {question.name}] has {domain.size:,} values, and in a pair a number has at most {MOST_BINS}: "
        f"{way}, or name the pairs under [analysis] tables without it, so that it is asked alone"
    )


def _pair(names: list[object], form: Form) -> tuple[int, ...]:
    if len(names) != 2 or names[0] == names[1]:
        raise DraftError(f"[analysis] a table is of two different questions; {shown(names)} is not")
    return tuple(sorted(_place(name, form) for name in names))


def _place(name: object, form: Form) -> int:
    if not isinstance(name, str) or name not in form.places:
        raise DraftError(f"[analysis] the form has no question {shown(name)}; it has {', '.join(form.places)}")
    return form.places[name]
