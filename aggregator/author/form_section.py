"""Drafts of forms: several questions, of which each device is asked one or two.

    [[question]]
    name = "age"                            # short, used in --question and --cross, and as a column of a truth file
    text = "How old are you?"
    kind = "number"                         # and its entries, as in [domain]
    low = 17
    high = 90
    bins = 8                                # the largest number of values; form_bins chooses the default
    skippable = true

    [analysis]
    reports = 20000                                  # expected number of reports; form_bins uses it
    tables = [["age", "vote"], ["age", "income"]]    # the pairs that are asked together; or
    outcome = "vote"                                 # this question with each other one

Without ``tables`` and ``outcome``, all pairs are asked, each of the same number of devices. A question in no pair is
asked alone. Each view has the best channel for its number of answers, at the whole level; with tables [classes.NAME], a
view has such a channel for each class, at the level of the class.

``protocol.views`` defines the views of a form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

from aggregator.author.domain_section import domain_of
from aggregator.author.form_bins import MAX_BINS, form_with_bins, with_bins
from aggregator.author.toml_section import DraftError, Section, toml_text, whole_number
from aggregator.author.views_section import channel_of, named_once
from aggregator.families.mechanism import PlannedQuestion
from protocol.channels import Channel
from protocol.domain import Form, FormQuestion, Line, NumberRange, Values
from protocol.notions import Classes, Ldp
from protocol.notions.classes import class_channels
from protocol.views import Identity, QuestionsMap, View


@dataclass(frozen=True)
class DraftForm:
    """The form that a draft describes.

    Attributes:
        form: the questions.
        question: the form as a domain, with the campaign's notion.
        mechanism: the name of the mechanism for all channels, or ``auto``.
        made_by: the names of the mechanisms that made the channels.
        views: the views for which devices are asked.
        classes: the names of the classes of people; empty without classes.
    """

    form: Form
    question: PlannedQuestion
    mechanism: str
    made_by: str
    views: tuple[View, ...]
    classes: tuple[str, ...] = ()

    def of_class(self, place: int) -> DraftForm:
        """Return the form with the channels and the notion of the class at ``place``.

        Raises:
            ValueError: the form has no classes.
        """
        if not isinstance(self.question.notion, Classes):
            raise ValueError(
                f'the form has no classes (its notion is "{self.question.notion.name}"): use the form itself'
            )
        views = tuple(
            replace(view, channel=class_channels(view.channel, len(self.classes))[place]) for view in self.views
        )
        question = replace(self.question, notion=self.question.notion.notions[place])
        return replace(self, question=question, views=views, classes=())

    def channel(self, view: View, level: int) -> Channel:
        """Return the channel that a view would have in a form without classes, at an LDP level of ``level``
        nanonats."""
        return channel_of(self.mechanism, replace(self.question, notion=Ldp(level)), view.map)[1]


def questions_form(top: Section) -> Form:
    """Return the form of the tables ``[[question]]``.

    Raises:
        DraftError, BadData: an entry is invalid. The text names it.
    """
    return Form(tuple(map(_question, top.list_of("question", dict, "tables [[question]]"))))


def form_draft(
    analysis: Section, mechanism: str, written: Form, question: PlannedQuestion, classes: tuple[str, ...]
) -> DraftForm:
    """Return the form with its views; numeric questions in pairs get longer steps if necessary.

    Args:
        analysis: ``[analysis]``, with ``tables`` or ``outcome``.
        mechanism: the name of the mechanism for all channels, or ``auto`` for the best one of each.
        written: the form as its author wrote it.
        question: this form as a domain, with the campaign's notion and the expected number of reports.
        classes: the names of the classes of people; empty without classes.
    Raises:
        DraftError, BadData: an entry is invalid. The text names it.
    """
    view_places = _questions_by_view(analysis, written)
    for place in {place for places in view_places if len(places) > 1 for place in places}:
        _require_few(written.questions[place])
    notion = question.notion
    strictest = min(notion.notions, key=lambda inner: inner.level) if isinstance(notion, Classes) else notion

    def of_cells(cells: int) -> Channel:
        domain = Values(tuple(map(str, range(1, cells + 1))))
        return channel_of(mechanism, replace(question, domain=domain, notion=Ldp(strictest.level)), Identity())[1]

    form = form_with_bins(written, view_places, question.reports, of_cells)
    question = replace(question, domain=form)
    maps = [QuestionsMap(places) for places in view_places]
    channels_by_size: dict[int, tuple[str, Channel]] = {}
    for map_ in maps:
        size = map_.input_count(form)
        if size not in channels_by_size:  # the channel depends on the number of answers alone
            channels_by_size[size] = channel_of(mechanism, question, map_)
    views = tuple(View(1, map_, channels_by_size[map_.input_count(form)][1]) for map_ in maps)
    names = named_once(name for name, _ in channels_by_size.values())
    return DraftForm(form, question, mechanism, names, views, classes)


def _question(table: dict[str, object]) -> FormQuestion:
    name = table.get("name")
    section = Section(f"question {name}" if isinstance(name, str) else "question", table)
    domain = domain_of(section)
    if isinstance(domain, NumberRange) and "bins" in section:
        bins = whole_number(section, "bins")
        if bins < 2:
            raise DraftError(f"{section.entry('bins')}, the maximum number of values, must be at least 2, not {bins}")
        domain = with_bins(domain, bins)
    question = FormQuestion(
        section.take("name", str, "a short name of a-z, 0-9 and _"),
        section.take("text", str, "the question to the person"),
        domain,
        section.flag("skippable", "a person may skip the question"),
    )
    section.refuse_unknown()
    return question


def _questions_by_view(analysis: Section, form: Form) -> list[tuple[int, ...]]:
    """Return the positions of the questions of each view, in order."""
    if "tables" in analysis and "outcome" in analysis:
        raise DraftError("[analysis] tables and outcome cannot be combined: leave out one of the two")
    every = range(len(form.questions))
    if "tables" in analysis:
        listed = analysis.list_of("tables", list, 'pairs of names, such as ["age", "vote"]')
        pairs = [_pair(names, form) for names in listed]
        for names, pair in zip(listed, pairs, strict=True):
            if pairs.count(pair) > 1:
                raise DraftError(f"[analysis] tables lists the pair {toml_text(names)} twice: leave one out")
    elif "outcome" in analysis:
        outcome = _place(analysis.take("outcome", str, "the name of a question"), form)
        pairs = [(min(place, outcome), max(place, outcome)) for place in every if place != outcome]
    else:
        pairs = list(combinations(every, 2))
    paired = {place for pair in pairs for place in pair}
    return sorted([*pairs, *((place,) for place in every if place not in paired)])


def _require_few(question: FormQuestion) -> None:
    """Refuse dates or edges with many values in a pair, because these cannot get a longer step automatically."""
    domain = question.domain
    if not isinstance(domain, Line) or isinstance(domain, NumberRange) or domain.size <= MAX_BINS:
        return
    raise DraftError(
        f"[question {question.name}] has {domain.size:,} values, but in a pair it may have at most {MAX_BINS}: "
        "make its values coarser, or give [analysis] tables without this question, so that it is asked alone"
    )


def _pair(names: list[object], form: Form) -> tuple[int, ...]:
    if len(names) != 2 or names[0] == names[1]:
        raise DraftError(f"[analysis] each table must name two different questions, not {toml_text(names)}")
    return tuple(sorted(_place(name, form) for name in names))


def _place(name: object, form: Form) -> int:
    if not isinstance(name, str) or name not in form.positions:
        raise DraftError(f"[analysis] the form has no question {toml_text(name)}; it has {', '.join(form.positions)}")
    return form.positions[name]
