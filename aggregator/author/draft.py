"""The draft: a campaign as its author writes it, in TOML.

A draft is read strictly into the ``Campaign`` that will be signed. Unknown keys are refused, numbers stay decimals
until they become integers, and an error names the entry and the expected value.

``domain_section`` reads the values of the question, ``privacy_section`` the notion and the prior, and
``mechanism_section`` the mechanism, whose channel ``aggregator.planner.choice`` chooses.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

from aggregator.author.classes import DraftClasses, classes_of
from aggregator.author.domain_section import domain_of
from aggregator.author.form_bins import bins_sentences
from aggregator.author.form_section import DraftForm, form_draft, questions_form
from aggregator.author.mechanism_section import (
    FAMILIES_ENTRY,
    families_of,
    mechanism_name,
    mechanism_of,
    require_families,
)
from aggregator.author.privacy_section import notion_of, sensitive_share_of
from aggregator.author.study_section import addresses_of, translations_of
from aggregator.author.toml_section import DraftError, Section, read_toml, toml_text, whole_number
from aggregator.author.views_section import EXPECTED_DEVICES, views_of
from aggregator.estimate.shown_inputs import ShownInputs
from aggregator.estimate.weighting import BY_CLASS
from aggregator.families.decoder import Decoder
from aggregator.families.mechanism import EXPECTED_REPORTS, PlannedQuestion
from aggregator.planner.choice import AUTO
from aggregator.planner.mean_edges import rounded_for_mean
from aggregator.planner.padding import choose_padding, read_sets
from protocol.campaign import ENROLMENTS, GOALS, Campaign
from protocol.domain import Dates, Domain, Form, Items, Line, NumberRange
from protocol.notions import Classes, Ldp
from protocol.views import View, plain_views

DAY = 86_400
MAX_REPORTS = 10**12
"""Maximum of ``[analysis] reports``."""


def read_draft(path: Path) -> Campaign:
    """Read the draft at ``path``; names of files in the draft are relative to its folder.

    Args:
        path: a TOML file.
    Returns:
        The campaign, audited; it is not signed yet.
    Raises:
        DraftError, BadData: an entry is invalid. The text names it.
        OSError: a file cannot be read.
    """
    return campaign_of(read_toml(path), path.parent)


def read_padded(path: Path) -> dict[str, Any]:
    """Return the parsed draft at ``path``, with floats as ``Decimal`` and with a number instead of the padding "auto".

    Raises:
        DraftError, BadData, OSError: as in ``read_draft``.
    """
    return _padded(read_toml(path), path.parent)


def read_question(path: Path) -> PlannedQuestion:
    """Return the question for which the draft at ``path`` needs a channel, over the numbers to which ``auto`` rounds.

    Args:
        path: a draft, as TOML.
    Returns:
        The question, with its domain, notion, goal and expected reports.
    Raises:
        DraftError, BadData: an entry is invalid, or the draft is a form.
        OSError: a file cannot be read.
    """
    return rounded_for_mean(draft_question(read_padded(path), path.parent))


def draft_question(document: dict[str, Any], folder: Path) -> PlannedQuestion:
    """Return the question of a parsed draft, over all values; sections that do not affect it are ignored.

    Raises:
        DraftError, BadData: an entry is invalid, or the draft is a form.
        OSError: a file cannot be read.
    """
    if _is_form(document):
        raise DraftError("the draft is a form, which has a channel for each view: plan it with `halftruth plan DRAFT`")
    top = Section("", document)
    sections = answers, privacy, prior, analysis = _sections(top, "domain", "privacy", "prior", "analysis")
    domain = domain_of(answers)
    question = _question(privacy, prior, domain, folder, document)
    question = _for_goal(question, _goal(analysis, domain), _reports(analysis))
    for section in sections:
        section.refuse_unknown()
    return _by_value(question) if "views" in document else question


def draft_form(document: dict[str, Any], folder: Path) -> DraftForm | None:
    """Return the form of a parsed draft, with its views; None if it is not a form.

    Raises:
        DraftError, BadData, OSError: as in ``read_draft``.
    """
    if not _is_form(document):
        return None
    _require_form(document)
    top = Section("", document)
    privacy, analysis, mechanism = _sections(top, "privacy", "analysis", "mechanism")
    form, name = questions_form(top), mechanism_name(mechanism)
    question, classes = _question_and_classes(document, top, form, folder, privacy, Section("prior", {}))
    return form_draft(analysis, name, form, dataclasses.replace(question, reports=_reports(analysis)), classes)


def bins_sentences_of_draft(document: dict[str, Any], campaign_domain: Domain) -> list[str]:
    """Return a sentence for each numeric question of a parsed form that gets fewer values than its author wrote; empty
    if the draft is not a form.

    Raises:
        DraftError, BadData: an entry is invalid.
    """
    if not isinstance(campaign_domain, Form):
        return []
    top = Section("", document)
    (analysis,) = _sections(top, "analysis")
    return bins_sentences(questions_form(top), campaign_domain, _reports(analysis))


def draft_classes(document: dict[str, Any], folder: Path) -> DraftClasses | None:
    """Return the classes of a parsed draft; None for a draft without classes, or for a form.

    With ``[views]``, the channels are those of the view that asks for the answer itself.

    Raises:
        DraftError, BadData, OSError: as in ``read_draft``.
    """
    if "classes" not in document or _is_form(document):
        return None
    top = Section("", document)
    answers, privacy, prior, analysis, mechanism = _sections(top, "domain", "privacy", "prior", "analysis", "mechanism")
    domain = domain_of(answers)
    question, names = _question_and_classes(document, top, domain, folder, privacy, prior)
    question = _for_goal(question, _goal(analysis, domain), _reports(analysis))
    return DraftClasses.of(names, _by_value(question) if "views" in document else question, mechanism_name(mechanism))


def draft_views(
    document: dict[str, Any], folder: Path, expected: int = EXPECTED_DEVICES
) -> tuple[Domain, tuple[View, ...], int] | None:
    """Return the domain, the views and the number of classes of a parsed draft; None without ``[views]``.

    Args:
        expected: the number of devices for which shares are chosen, if the draft gives no number.
    Raises:
        DraftError, BadData, OSError: as in ``read_draft``.
    """
    if "views" not in document:
        return None
    top = Section("", document)
    domain, privacy, prior, mechanism = _sections(top, "domain", "privacy", "prior", "mechanism")
    question, names = _question_and_classes(document, top, domain_of(domain), folder, privacy, prior)
    _, views = _views(top, mechanism_name(mechanism), mechanism, question, folder, expected)
    return question.domain, views, len(names)


def campaign_of(document: dict[str, Any], folder: Path) -> Campaign:
    """Return the campaign of a parsed draft.

    Args:
        document: the parsed TOML, with floats as ``Decimal``.
        folder: the folder to which the names of files in the draft are relative.
    Raises:
        DraftError, BadData: an entry is invalid. The text names it.
        OSError: a file cannot be read.
    """
    document = _padded(document, folder)
    if _is_form(document):
        _require_form(document)
        document = {"domain": {}, **document}
    top = Section("", document)
    sections = {
        name: Section(name, top.take(name, dict, f"a table [{name}], as docs/DRAFT.md describes it", default))
        for name, default in (
            ("domain", None), ("privacy", None), ("schedule", None), ("mechanism", {}), ("limits", {}), ("prior", {}),
            ("study", {}), ("analysis", {}),
        )
    }  # fmt: skip
    form = questions_form(top) if _is_form(document) else None
    domain = form or domain_of(sections["domain"])
    goal, reports = ("" if form else _goal(sections["analysis"], domain)), _reports(sections["analysis"])
    question, names = _question_and_classes(document, top, domain, folder, sections.pop("privacy"), sections["prior"])
    notion, name = question.notion, mechanism_name(sections["mechanism"])
    if form:
        question = dataclasses.replace(question, reports=reports)
        form_of_draft = form_draft(sections["analysis"], name, form, question, names)
        domain, mechanism, views = form_of_draft.form, form_of_draft.made_by, form_of_draft.views
    elif isinstance(notion, Classes) and "views" not in top:
        classes = DraftClasses.of(names, _for_goal(question, goal, reports), name)
        domain, mechanism, views = classes.questions[0].domain, classes.mechanism, plain_views(classes.channel)
    else:
        question = _for_goal(question, goal, reports)
        if "views" not in top and name == AUTO:
            question = rounded_for_mean(question)
            domain = question.domain
        mechanism, views = _views(top, name, sections["mechanism"], question, folder)
    require_families(question, views)
    sections["mechanism"].take("families", list, FAMILIES_ENTRY, [])
    schedule, limits, study = sections["schedule"], sections["limits"], sections["study"]
    opens, closes = _time(schedule, "opens"), _time(schedule, "closes")
    if closes <= opens:
        raise DraftError(
            f"[schedule] closes must be later than opens, not {'the same time' if closes == opens else 'earlier'}"
        )
    campaign = Campaign(
        title=top.take("title", str, "the name of the campaign"),
        question=(
            "\n".join(form_question.text for form_question in form.questions)
            if form
            else top.take(
                "question", str, "the question to the person, or a table [[question]] for each question of a form"
            )
        ),
        purpose=top.take("purpose", str, "the purpose of the campaign", ""),
        organisation=top.take("organisation", str, "the name of the organisation"),
        domain=domain,
        notion=notion,
        mechanism=mechanism,
        views=views,
        opens=opens,
        closes=closes,
        period_seconds=_period(schedule, closes - opens),
        answers_per_period=whole_number(schedule, "answers_per_period", 1),
        minimum_devices=whole_number(limits, "minimum_reports", 100),
        enrolment=limits.choice("enrolment", ENROLMENTS, "open"),
        classes=names,
        addresses=addresses_of(study),
        contact=study.take("contact", str, "a contact for questions of people", ""),
        retention=study.take("retention", str, "the time for which reports and results are kept", ""),
        notice=study.take("notice", str, "a link to the legal notice", ""),
        language=top.take("language", str, "the language of the texts, such as en", "").lower(),
        translations=translations_of(
            top.take("text", dict, "a table [text.LANGUAGE] for each language", {}),
            domain,
            [name for view in views for name in view.map.named],
            names,
        ),
        goal=goal,
    )
    for section in (*sections.values(), top):
        section.refuse_unknown()
    return campaign


def _sections(top: Section, *names: str) -> list[Section]:
    """Return the tables with the given names; a missing table is treated as empty."""
    return [Section(name, top.take(name, dict, "a table", {})) for name in names]


def _is_form(document: dict[str, Any]) -> bool:
    """Return whether a draft has tables ``[[question]]`` instead of one question."""
    return isinstance(document.get("question"), list)


def _require_form(document: dict[str, Any]) -> None:
    """Refuse sections and notions that a form cannot have."""
    for name in ("domain", "views", "prior"):
        if name in document:
            raise DraftError(f"[{name}] cannot be combined with [[question]]: leave out [{name}]")
    privacy = document.get("privacy")
    notion = privacy.get("notion", Ldp.name) if isinstance(privacy, dict) else Ldp.name
    if notion != Ldp.name:
        raise DraftError(f'[privacy] notion of a form must be "{Ldp.name}", not {toml_text(notion)}')


def _reports(section: Section) -> int:
    """Return the expected number of reports."""
    reports = whole_number(section, "reports", EXPECTED_REPORTS)
    if reports > MAX_REPORTS:
        raise DraftError(f"[analysis] reports must be at most {MAX_REPORTS:,}, not {reports:,}")
    return reports


def _goal(section: Section, domain: Domain) -> str:
    """Return the goal of the analysis; "" without one."""
    if "goal" not in section:
        return ""
    goal = section.choice("goal", GOALS)
    if goal == "mean" and not isinstance(domain, Line):
        raise DraftError('[analysis] goal "mean" needs numbers, dates or buckets: choose another goal')
    if goal == "ranges" and not domain.ordered:
        raise DraftError(
            '[analysis] goal "ranges" needs numbers, dates, buckets or ordered values: choose another goal'
        )
    return goal


def _for_goal(question: PlannedQuestion, goal: str, reports: int) -> PlannedQuestion:
    """Return the question with its goal (default for numbers and dates: distribution) and the expected reports."""
    if not goal and isinstance(question.domain, NumberRange | Dates):
        goal = "distribution"
    return dataclasses.replace(question, goal=goal, reports=reports)


def _views(
    top: Section,
    name: str,
    mechanism: Section,
    question: PlannedQuestion,
    folder: Path,
    expected: int = EXPECTED_DEVICES,
) -> tuple[str, tuple[View, ...]]:
    """Return the names of the mechanisms, and the views; without ``[views]``, the view of the answer itself."""
    if "views" not in top:
        made_by, channel = mechanism_of(name, mechanism, question)
        return made_by, plain_views(channel)
    section = Section("views", top.take("views", dict, "a table"))
    return views_of(section, name, _by_value(question), folder, expected)


def _by_value(question: PlannedQuestion) -> PlannedQuestion:
    """Return the question without a goal: every view estimates the shares of its values."""
    return dataclasses.replace(question, goal="")


def _padded(document: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the draft with a padding of "auto" replaced by the number with the least expected error on a sample."""
    domain_table = document.get("domain")
    if not isinstance(domain_table, dict) or domain_table.get("kind") != "items" or domain_table.get("padding") != AUTO:
        return document
    section = Section("domain", domain_table)
    file = section.file("sample", "a text file of sets, one per line, from which the padding is chosen", folder)
    limits = Section("limits", document.get("limits", {}))
    rest = {name: value for name, value in domain_table.items() if name != "sample"}

    def padded(length: int) -> dict[str, Any]:
        return document | {"domain": rest | {"padding": length}}

    def decoder(length: int) -> Decoder:
        tried = Section("", padded(length))
        domain, privacy, prior, mechanism = _sections(tried, "domain", "privacy", "prior", "mechanism")
        items = domain_of(domain)
        question = _question(privacy, prior, items, folder, document)
        return ShownInputs.of(items).decoder(mechanism_of(mechanism_name(mechanism), mechanism, question)[1])

    domain = domain_of(Section("domain", rest | {"padding": 1}))
    if not isinstance(domain, Items):
        return document
    baskets = read_sets(file, domain)
    return padded(
        choose_padding(baskets, domain.item_count, decoder, whole_number(limits, "minimum_reports", 100)).length
    )


def _question_and_classes(
    document: dict[str, Any], top: Section, domain: Domain, folder: Path, privacy: Section, prior: Section
) -> tuple[PlannedQuestion, tuple[str, ...]]:
    """Return the question with its notion, and the names of the classes; these are empty without tables [classes.NAME].

    Args:
        privacy, prior: the sections; with classes, ``privacy`` is read class by class.
    """
    if "classes" not in top:
        question = _question(privacy, prior, domain, folder, document)
        privacy.refuse_unknown()
        return question, ()
    if isinstance(domain, Form) and BY_CLASS in domain.positions:
        raise DraftError(
            f'[[question]] name: with [classes], no question may be called "{BY_CLASS}": choose another name'
        )
    tables = top.take("classes", dict, "a table [classes.NAME] for each class")
    notion, names = classes_of(tables, document.get("privacy", {}), domain, folder)
    return PlannedQuestion(domain, notion, bundled=_bundled(document), families=families_of(document)), names


def _question(
    privacy: Section, prior: Section, domain: Domain, folder: Path, document: dict[str, Any]
) -> PlannedQuestion:
    notion = notion_of(privacy, prior, domain, folder)
    bundled, families = _bundled(document), families_of(document)
    return PlannedQuestion(domain, notion, sensitive_share_of(privacy, notion), bundled, families=families)


def _bundled(document: dict[str, Any]) -> bool:
    """Return whether a device may answer several times a period."""
    schedule = document.get("schedule")
    answers = schedule.get("answers_per_period", 1) if isinstance(schedule, dict) else 1
    return isinstance(answers, int) and answers > 1


def _time(section: Section, name: str) -> int:
    value = section.take(name, datetime.date, "a date, such as 2026-12-01, or a time, in UTC unless it has an offset")
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time())
    if value.tzinfo is None:
        value = value.replace(tzinfo=datetime.UTC)
    return math.floor(value.timestamp())


def _period(section: Section, open_seconds: int) -> int:
    days = section.number("period_days", "a number of days, such as 7", Fraction(open_seconds, DAY))
    seconds = days * DAY
    if seconds.denominator != 1 or seconds < 1:
        raise DraftError(
            f"[schedule] period_days must be above 0 and a whole number of seconds, not {float(days):g} days"
        )
    return seconds.numerator
