"""The draft: a campaign as its author writes it, in TOML.

A draft is read strictly into the ``Campaign`` that will be signed. Unknown keys are refused, numbers stay decimals
until they become integers, and an error names the entry and what is expected.

``domain_section`` reads the values of the question, ``privacy_section`` the notion and the prior, and
``aggregator.planner.choice`` chooses the channel.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from aggregator.author.classes import DraftClasses, classes_of
from aggregator.author.domain_section import domain_of
from aggregator.author.firmware import FAMILIES_ENTRY, families_of, require_families
from aggregator.author.form_bins import bins_sentences
from aggregator.author.form_section import DraftForm, form_draft, form_of
from aggregator.author.privacy_section import notion_of, sensitive_share_of
from aggregator.author.study_section import addresses_of, translations_of
from aggregator.author.toml_section import DraftError, Section, count, file_of, finite, normalised, read_toml, shown
from aggregator.author.views_section import DEVICES, views_of
from aggregator.estimate.reported import Reported
from aggregator.estimate.weighting import CLASS
from aggregator.families.decoder import Decoder
from aggregator.families.mechanism import REPORTS, Question
from aggregator.families.noise.recipe import discrete_gaussian
from aggregator.families.table.mutual_information import mutual_information_table
from aggregator.families.table.recipe import MOST_CONVEX
from aggregator.planner.choice import AUTO, GAUSSIAN, TABLE, Unsuited, chosen, own_prior_channel
from aggregator.planner.mean_edges import rounded_for_mean
from aggregator.planner.padding import choose_padding, read_sets
from protocol.campaign import ENROLMENTS, GOALS, Campaign
from protocol.channels import Channel, Table
from protocol.domain import Dates, Domain, Form, Items, Line, NumberRange
from protocol.errors import NotionError
from protocol.notions import Classes, Ldp, MutualInformation, OwnPrior, TranscriptPrior
from protocol.views import View, plain_views

DAY = 86_400
OWN = "lip-response"
"""The mechanism by which every device and the study derive the channel of a declared prior."""
AVERAGE = "mutual-information"
"""The notion and mechanism with the additional entry ``distortion``."""
POWERS = {"wrong": 0, "absolute": 1, "squared": 2}
"""The power of the distance between two numbers, by distortion; with 0, all wrong answers count equally."""
MOST_REPORTS = 10**12
"""Maximum of ``[analysis] reports``."""


def read_draft(path: Path) -> Campaign:
    """Read the draft at ``path``; names of files in the draft are relative to its folder.

    Args:
        path: a TOML file.
    Returns:
        The campaign, audited; it is not signed yet.
    Raises:
        DraftError, BadData: an entry is invalid. The text names it.
    """
    return campaign_of(read_toml(path), path.parent)


def read_question(path: Path, *, rounded: bool = True) -> Question:
    """Return the question for which the draft at ``path`` needs a channel; sections that do not affect it are ignored.

    Args:
        rounded: whether to replace the domain of a question about a mean by the few numbers to which ``auto`` rounds.
    Returns:
        The question, with its domain, notion, goal and expected reports.
    Raises:
        DraftError, BadData: an entry is invalid, or the draft is a form.
    """
    document = read_toml(path)
    if _is_form(document):
        raise DraftError("the draft is a form, which has a channel for each view: plan it with `halftruth plan DRAFT`")
    question = _whole_question(document, path.parent)
    return rounded_for_mean(question) if rounded and "views" not in document else question


def read_form(path: Path) -> DraftForm | None:
    """Read the form of the draft at ``path``, with its views; None if it is not a form.

    Raises:
        DraftError, BadData
    """
    document = read_toml(path)
    if not _is_form(document):
        return None
    _require_form(document)
    top = Section("", document)
    privacy, analysis, mechanism = (
        Section(name, top.take(name, dict, "a table", {})) for name in ("privacy", "analysis", "mechanism")
    )
    form, name = form_of(top), _name_of(mechanism)
    question, classes = _question_and_classes(document, top, form, path.parent, privacy, Section("prior", {}))
    return form_draft(analysis, name, form, dataclasses.replace(question, reports=_reports(analysis)), classes)


def read_bins(path: Path, made: Domain) -> list[str]:
    """Return a sentence for each numeric question of the form at ``path`` that gets fewer values than its author
    wrote; empty if the draft is not a form.

    Args:
        made: the domain of the campaign read from the draft.
    """
    document = read_toml(path)
    if not isinstance(made, Form):
        return []
    top = Section("", document)
    analysis = Section("analysis", top.take("analysis", dict, "a table", {}))
    return bins_sentences(form_of(top), made, _reports(analysis))


def _whole_question(document: dict[str, Any], folder: Path) -> Question:
    """Return the question for which a draft needs a channel, over all values of its domain."""
    top = Section("", document)
    sections = [
        Section(name, top.take(name, dict, "a table", {})) for name in ("domain", "privacy", "prior", "analysis")
    ]
    domain = domain_of(sections[0])
    question = _question(sections[1], sections[2], domain, folder, document)
    question = _for_goal(question, _goal(sections[3], domain), _reports(sections[3]))
    for section in sections:
        section.done()
    return _by_value(question) if "views" in document else question


def read_classes(path: Path) -> DraftClasses | None:
    """Read the classes of the draft at ``path``; None for a draft without classes, or for a form.

    With ``[views]``, the channels are those of the view that asks for the answer itself.

    Raises:
        DraftError, BadData
    """
    document = read_toml(path)
    if "classes" not in document or _is_form(document):
        return None
    top = Section("", document)
    domain, privacy, prior, analysis, mechanism = (
        Section(name, top.take(name, dict, "a table", {}))
        for name in ("domain", "privacy", "prior", "analysis", "mechanism")
    )
    asked = domain_of(domain)
    question, names = _question_and_classes(document, top, asked, path.parent, privacy, prior)
    question = _for_goal(question, _goal(analysis, asked), _reports(analysis))
    return DraftClasses.of(names, _by_value(question) if "views" in document else question, _name_of(mechanism))


def read_views(path: Path, expected: int = DEVICES) -> tuple[Domain, tuple[View, ...], int] | None:
    """Read the domain, the views and the number of classes of the draft at ``path``; None without ``[views]``.

    Args:
        expected: the number of devices for which shares are chosen, if the draft gives no number.
    Raises:
        DraftError, BadData
    """
    document = read_toml(path)
    if "views" not in document:
        return None
    top = Section("", document)
    domain, privacy, prior, mechanism = (
        Section(name, top.take(name, dict, "a table", {})) for name in ("domain", "privacy", "prior", "mechanism")
    )
    question, names = _question_and_classes(document, top, domain_of(domain), path.parent, privacy, prior)
    return question.domain, _views(top, mechanism, question, path.parent, expected)[1], len(names)


def campaign_of(document: dict[str, Any], folder: Path) -> Campaign:
    """Return the campaign of a parsed draft.

    Args:
        document: the parsed TOML, with floats as ``Decimal``.
        folder: the folder to which the names of files in the draft are relative.
    Raises:
        DraftError, BadData: an entry is invalid. The text names it.
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
    form = form_of(top) if _is_form(document) else None
    domain = form or domain_of(sections["domain"])
    goal, reports = ("" if form else _goal(sections["analysis"], domain)), _reports(sections["analysis"])
    question, names = _question_and_classes(document, top, domain, folder, sections.pop("privacy"), sections["prior"])
    notion = question.notion
    if form:
        question = dataclasses.replace(question, reports=reports)
        made = form_draft(sections["analysis"], _name_of(sections["mechanism"]), form, question, names)
        domain, mechanism, views = made.form, made.made_by, made.views
    elif isinstance(notion, Classes) and "views" not in top:
        asked = DraftClasses.of(names, _for_goal(question, goal, reports), _name_of(sections["mechanism"]))
        domain, mechanism, views = asked.questions[0].domain, asked.mechanism, plain_views(asked.channel)
    else:
        question = _for_goal(question, goal, reports)
        if "views" not in top and _name_of(Section("mechanism", document.get("mechanism", {}))) == AUTO:
            question = rounded_for_mean(question)
            domain = question.domain
        mechanism, views = _views(top, sections["mechanism"], question, folder)
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
            "\n".join(one.text for one in form.questions)
            if form
            else top.take(
                "question", str, "the question to the person, or a table [[question]] for each question of a form"
            )
        ),
        purpose=top.take("purpose", str, "the purpose of the survey", ""),
        organisation=top.take("organisation", str, "the name of the organisation"),
        domain=domain,
        notion=notion,
        mechanism=mechanism,
        views=views,
        opens=opens,
        closes=closes,
        period_seconds=_period(schedule, closes - opens),
        answers_per_period=count(schedule, "answers_per_period", 1),
        minimum_reports=count(limits, "minimum_reports", 100),
        enrolment=limits.choice("enrolment", ENROLMENTS, "open"),
        classes=names,
        addresses=addresses_of(study),
        contact=study.take("contact", str, "a contact for questions of people", ""),
        retention=study.take("retention", str, "how long reports and results are kept", ""),
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
        section.done()
    return campaign


def _is_form(document: dict[str, Any]) -> bool:
    """Return whether a draft has tables ``[[question]]`` instead of one question."""
    return isinstance(document.get("question"), list)


def _require_form(document: dict[str, Any]) -> None:
    """Refuse sections that a form cannot have, by name."""
    for name in ("domain", "views", "prior"):
        if name in document:
            raise DraftError(f"[{name}] cannot be combined with [[question]]: leave it out")
    privacy = document.get("privacy")
    notion = privacy.get("notion", Ldp.name) if isinstance(privacy, dict) else Ldp.name
    if notion != Ldp.name:
        raise DraftError(f'[privacy] notion of a form must be "{Ldp.name}", not {shown(notion)}')


def _reports(section: Section) -> int:
    """Return the expected number of reports."""
    reports = count(section, "reports", REPORTS)
    if reports > MOST_REPORTS:
        raise DraftError(f"[analysis] reports must be at most {MOST_REPORTS:,}, not {reports:,}")
    return reports


def _goal(section: Section, domain: Domain) -> str:
    """Return the goal of the analysis; "" without one."""
    if "goal" not in section:
        return ""
    goal = section.choice("goal", GOALS)
    if goal == "mean" and not isinstance(domain, Line):
        raise DraftError(f'[analysis] goal "mean" needs numbers or dates, not {domain.kind}')
    if goal == "ranges" and not domain.ordered:
        raise DraftError(f'[analysis] goal "ranges" needs numbers, dates or ordered values, not {domain.kind}')
    return goal


def _for_goal(question: Question, goal: str, reports: int) -> Question:
    """Return the question with its goal (default for numbers and dates: distribution) and the expected reports."""
    if not goal and isinstance(question.domain, NumberRange | Dates):
        goal = "distribution"
    return dataclasses.replace(question, goal=goal, reports=reports)


def _views(
    top: Section, mechanism: Section, question: Question, folder: Path, expected: int = DEVICES
) -> tuple[str, tuple[View, ...]]:
    """Return the names of the mechanisms, and the views; without ``[views]``, the view of the answer itself."""
    if "views" not in top:
        name, channel = _mechanism(mechanism, question)
        return name, plain_views(channel)
    section = Section("views", top.take("views", dict, "a table"))
    return views_of(section, _name_of(mechanism), _by_value(question), folder, expected)


def _by_value(question: Question) -> Question:
    """Return the question without a goal: every view estimates the shares of its values."""
    return dataclasses.replace(question, goal="")


def _padded(document: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the draft with a padding of "auto" replaced by the number with the least expected error on a sample."""
    asked = document.get("domain")
    if not isinstance(asked, dict) or asked.get("kind") != "items" or asked.get("padding") != AUTO:
        return document
    section = Section("domain", asked)
    sample = section.take("sample", str, "a text file of sets, one per line, from which the padding is chosen")
    file = file_of(folder, sample, "[domain] sample")
    limits = Section("limits", document.get("limits", {}))
    rest = {name: value for name, value in asked.items() if name != "sample"}

    def padded(length: int) -> dict[str, Any]:
        return document | {"domain": rest | {"padding": length}}

    def decoder(length: int) -> Decoder:
        tried = padded(length)
        top = Section("", tried)
        names = ("domain", "privacy", "prior", "mechanism")
        sections = [Section(name, top.take(name, dict, "a table", {})) for name in names]
        domain = domain_of(sections[0])
        question = _question(sections[1], sections[2], domain, folder, document)
        channel = _mechanism(sections[3], question)[1]
        return Reported.of(domain).reader(channel)

    domain = domain_of(Section("domain", rest | {"padding": 1}))
    if not isinstance(domain, Items):
        return document
    baskets = read_sets(file, domain)
    return padded(choose_padding(baskets, domain.count, decoder, count(limits, "minimum_reports", 100)).length)


def _question_and_classes(
    document: dict[str, Any], top: Section, domain: Domain, folder: Path, privacy: Section, prior: Section
) -> tuple[Question, tuple[str, ...]]:
    """Return the question with its notion, and the names of the classes; these are empty without tables [classes.NAME].

    Args:
        privacy, prior: the sections; with classes, ``privacy`` is read class by class.
    """
    if "classes" not in top:
        question = _question(privacy, prior, domain, folder, document)
        privacy.done()
        return question, ()
    if isinstance(domain, Form) and CLASS in domain.places:
        raise DraftError(f'[[question]] name: with [classes], no question may be called "{CLASS}": choose another name')
    tables = top.take("classes", dict, "a table [classes.NAME] for each class")
    notion, names = classes_of(tables, document["privacy"], domain, folder)
    return Question(domain, notion, bundled=_bundled(document), families=families_of(document)), names


def _question(privacy: Section, prior: Section, domain: Domain, folder: Path, document: dict[str, Any]) -> Question:
    notion = notion_of(privacy, prior, domain, folder)
    bundled, families = _bundled(document), families_of(document)
    return Question(domain, notion, sensitive_share_of(privacy, notion), bundled, families=families)


def _bundled(document: dict[str, Any]) -> bool:
    """Return whether a device may answer several times a period."""
    schedule = document.get("schedule")
    answers = schedule.get("answers_per_period", 1) if isinstance(schedule, dict) else 1
    return isinstance(answers, int) and answers > 1


def _name_of(section: Section) -> str:
    """Return the name of the mechanism in ``[mechanism]``."""
    name: str = section.take("name", str, "a mechanism's name, or auto", AUTO)
    return name.lower()


def _mechanism(section: Section, question: Question) -> tuple[str, Channel]:
    name = _name_of(section)
    if isinstance(question.notion, (OwnPrior, TranscriptPrior)):
        if name not in (AUTO, OWN):
            raise DraftError(
                f'with [prior] kind "own" or "transcript", [mechanism] name must be "{OWN}" or be left out, not '
                f"{name[:60]!r}"
            )
        if isinstance(question.notion, TranscriptPrior):
            return OWN, question.notion.channel_of(question.notion.prior)
        return (OWN, question.notion.response) if name == OWN else own_prior_channel(question)
    if name == TABLE:
        return name, _table(section, question.size)
    if name == GAUSSIAN:
        return name, _gaussian(section, question)
    if "distortion" in section:
        return AVERAGE, _averaged(section, name, question)
    try:
        return chosen(name, question)
    except Unsuited as error:
        raise DraftError(f"[mechanism] {error}") from None


def _gaussian(section: Section, question: Question) -> Channel:
    """Return the channel of Gaussian noise with the draft's width. It keeps the draft's level of pure LDP; the audit
    computes (epsilon, delta)."""
    sigma = finite(
        "mechanism",
        "sigma",
        section.take("sigma", (int, Decimal), "the standard deviation of the noise in steps, above 0"),
    )
    if sigma <= 0:
        raise DraftError(
            f"[mechanism] sigma, the standard deviation of the noise in steps, must be above 0, not {float(sigma):g}"
        )
    if not (isinstance(question.domain, Line) and isinstance(question.notion, Ldp)):
        raise DraftError(
            f'[mechanism] "{GAUSSIAN}" needs numbers or dates, and notion "{Ldp.name}", not {question.domain.kind} and '
            f'notion "{question.notion.name}"'
        )
    return discrete_gaussian(question.size, float(sigma), question.notion.level)


def _averaged(section: Section, name: str, question: Question) -> Channel:
    """Return the channel with the least mean distortion under mutual information."""
    distortion = section.choice("distortion", tuple(POWERS))
    notion, domain = question.notion, question.domain
    if not isinstance(notion, MutualInformation) or name not in (AUTO, AVERAGE):
        raise DraftError(
            f'[mechanism] distortion needs notion "{AVERAGE}" and name = "{AVERAGE}" or "{AUTO}", not notion '
            f'"{notion.name}" and name = "{name}"'
        )
    if question.size > MOST_CONVEX:
        raise DraftError(
            f"[mechanism] distortion needs a question of at most {MOST_CONVEX} values, and this one has {question.size}"
        )
    power = POWERS[distortion]
    if power and not isinstance(domain, Line):
        raise DraftError(f'[mechanism] distortion "{distortion}" needs numbers or dates, not {domain.kind}')
    edges = [float(number) for number in domain.points] if isinstance(domain, Line) else range(question.size)
    apart = [[abs(one - other) ** power if one != other else 0.0 for other in edges] for one in edges]
    most = max(map(max, apart))
    try:
        return mutual_information_table(notion.prior, notion.level, [[cell / most for cell in row] for row in apart])
    except NotionError as error:
        raise DraftError(f"[mechanism] {error}") from None


def _table(section: Section, size: int) -> Table:
    rows = [
        [finite("mechanism", "rows", cell) for cell in row]
        for row in section.list_of("rows", list, "lists of probabilities, one list for each value")
    ]
    if len(rows) != size:
        raise DraftError(f"[mechanism] rows must have {size} rows, one for each value of the domain, not {len(rows)}")
    for x, row in enumerate(rows):
        if (least := min(row, default=0)) < 0:
            raise DraftError(f"[mechanism] rows: a probability in row {x + 1} must be at least 0, not {float(least):g}")
    return Table.nearest([normalised(row, f"[mechanism] rows: the cells of row {x + 1}") for x, row in enumerate(rows)])


def _time(section: Section, name: str) -> int:
    value = section.take(name, datetime.date, "a date, such as 2026-12-01, or a time with its offset")
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time())
    if value.tzinfo is None:
        value = value.replace(tzinfo=datetime.UTC)
    return math.floor(value.timestamp())


def _period(section: Section, whole: int) -> int:
    days = finite("schedule", "period_days", section.take("period_days", (int, Decimal), "days", Fraction(whole, DAY)))
    seconds = days * DAY
    if seconds.denominator != 1 or seconds < 1:
        raise DraftError(
            f"[schedule] period_days must be above 0 and a whole number of seconds, not {float(days):g} days"
        )
    return seconds.numerator
