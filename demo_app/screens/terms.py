"""The screen of the terms: organisation, question, purpose, schedule, promise, risk of one report, and cost.

All that is relevant for the person's decision is on one page, in the order in which people look for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from kivy.uix.widget import Widget

from demo_app.content.campaign import ANSWERED, NEW, OPEN, TermsContent
from demo_app.content.declaration import Statement
from demo_app.screens.campaigns import answering, state
from demo_app.screens.screen import PageScreen, action, card, words
from demo_app.system.reminder import remind
from demo_app.texts import (
    date_of,
    day,
    factor_text,
    language,
    localised_decimal,
    nats_rounded_down,
    nats_rounded_up,
    say,
    spaced_fingerprint,
    span,
)
from demo_app.widgets.boxes import Rule
from demo_app.widgets.chances import BeforeAfter, Chances
from demo_app.widgets.dialogs import ask, show_notice
from demo_app.widgets.words import Mono

if TYPE_CHECKING:
    from edge_sdk.campaigns.terms import Terms
    from edge_sdk.presentation import AnswerChoices

QUESTIONS_A_CARD = 6

MAX_NAMED, FEW_NAMED = 24, 8
"""Maximum number of possible answers that the terms list: for a single question, and for each question of a form. The
question's page lists all."""


class TermsScreen(PageScreen):
    """The screen with the terms of one campaign."""

    def open(self, campaign_id: bytes) -> None:
        self.app.do(lambda model: model.terms(campaign_id), self.show)

    def show(self, content: TermsContent) -> None:
        """Fill the screen with the terms of the campaign, and the actions that its state allows."""
        self.fill(self._parts(content))

    def _parts(self, content: TermsContent) -> Iterator[Widget]:
        terms, campaign = content.terms, content.summary
        yield card(
            words(terms.title, "headline"),
            words(say("terms.who", organisation=terms.organisation), colour="muted"),
            None if campaign.questions else words(say("terms.question", question=terms.question)),
            words(say("terms.why", purpose=terms.purpose)) if terms.purpose else None,
        )
        yield card(
            words(say("terms.when"), "title"),
            *(_schedule(content) if content.answers else ()),
            None if campaign.state == NEW else words(state(campaign), colour="muted"),
        )
        if not campaign.questions:
            answers = answers_of(content.questions[0], MAX_NAMED)
            yield card(words(say("terms.values"), "title"), words(answers, name="values"))
        if campaign.questions:
            yield from _form(content)
        elif terms.map is not None:
            yield card(
                words(say("terms.asked"), "title"),
                words(terms.view_description_in(language()), name="asked of this device"),
            )
        yield card(*_about(terms))
        yield card(
            words(say("terms.promise"), "title"),
            words(terms.promise.text(language()), name="promise"),
            words(_assumed(terms), name="assumed") if terms.assumed else None,
            words(say("terms.checked"), "small", "muted"),
        )
        yield card(
            words(say("terms.chances"), "title"),
            words(
                say("terms.chances_any" if campaign.questions and not terms.asked_names else "terms.chances_how"),
                "small",
                "muted",
            ),
            Chances(fits_true=content.preview.fits_true, fits_other=content.preview.fits_other),
        )
        yield card(BeforeAfter(before=content.preview.posterior.before, after=content.preview.posterior.after))
        yield card(
            words(say("terms.price"), "title"),
            words(say("terms.cost_each" if content.each_costs else "terms.cost", cost=nats_rounded_up(terms.cost))),
            words(
                say(
                    "terms.worst",
                    worst=nats_rounded_up(terms.worst_case),
                    remaining=nats_rounded_down(content.budget.remaining),
                ),
                name="worst",
            ),
            None
            if content.statement is None or content.statement.declared_before
            else words(say("terms.stated_worst"), name="stated worst"),
            None
            if content.within_budget or campaign.state != NEW
            else words(say("terms.unfit"), colour="alert", name="unfit"),
        )
        if content.statement is not None and content.statement.declared_before:
            yield card(words(say("consent.prior_held"), "title"), *stated(content.statement))
        yield card(
            words(say("terms.short_key"), "small", "muted"),
            words(terms.author_name, name="author") if terms.author_name else None,
            Mono(text=spaced_fingerprint(content.author), role="small"),
            None if content.trusted else words(say("terms.this_only"), "small", "muted", name="this only"),
            None if content.trusted else action("trust", say("terms.trust"), lambda: self._trust(content), "plain"),
        )
        yield from self._actions(content)

    def _actions(self, content: TermsContent) -> Iterator[Widget]:
        campaign = content.summary
        if campaign.state == NEW:
            yield action(
                "join", say("terms.join"), lambda: self.app.go("consent", content), disabled=not content.within_budget
            )
            yield action("decline", say("terms.decline"), lambda: self._decline(content), "outlined")
            return
        if campaign.state == OPEN:
            yield action("answer", say("terms.answer"), lambda: self.app.go(answering(campaign), campaign.campaign_id))
        if campaign.state == ANSWERED and campaign.next_period is not None:
            next_period = campaign.next_period
            yield action("remind", say("terms.remind"), lambda: self._remind(next_period), "outlined")
        yield action("forget", say("terms.forget"), lambda: self._forget(content), "plain")

    def _remind(self, when: int) -> None:
        def handed() -> None:
            downloads = Path.home() / "Downloads"
            try:
                file = remind(say("terms.remind_entry"), when, downloads if downloads.is_dir() else Path.home())
            except OSError:
                show_notice(say("terms.remind_failed"), "alert")
                return
            if file is not None:
                show_notice(say("terms.reminded", file=file), "good")

        ask(say("terms.remind"), say("terms.remind_what", day=day(when)), say("terms.remind_do"), handed)

    def _decline(self, content: TermsContent) -> None:
        self.app.do(lambda model: model.forget(content.summary.campaign_id), lambda _: self.app.home())

    def _trust(self, content: TermsContent) -> None:
        name = content.terms.organisation
        ask(
            say("terms.trust_ask"),
            say("terms.trust_what", name=name),
            say("terms.trust"),
            lambda: self.app.do(lambda model: model.trust_author_of(content.summary.campaign_id, name), self.show),
        )

    def _forget(self, content: TermsContent) -> None:
        ask(
            say("forget.ask", title=content.terms.title),
            say("forget.what"),
            say("forget.do"),
            lambda: self._decline(content),
            grave=True,
        )


def stated(statement: Statement) -> Iterator[Widget]:
    """Yield the widgets of a public statement on how likely each answer is, with the resulting posteriors."""
    values = statement.values
    if statement.personal:
        yield words(say("consent.prior_level", factor=factor_text(statement.level)), name="stated level")
    if statement.is_uniform:
        lowest, highest = min(value.lowest for value in values), max(value.highest for value in values)
        believed = say(
            "consent.prior_each_believed", least=percent(lowest, math.floor), most=percent(highest, math.ceil)
        )
        yield words(say("consent.prior_even", share=percent(values[0].before, round)), name="stated")
        yield words(believed, "small", "muted", name="believed")
        return
    for value in values:
        believed = say(
            "consent.prior_believed", least=percent(value.lowest, math.floor), most=percent(value.highest, math.ceil)
        )
        yield words(say("consent.prior_value", name=value.name, share=percent(value.before, round)), name="stated")
        yield words(believed, "small", "muted", name="believed")


def percent(share: Fraction, rounded: Callable[[Fraction], int]) -> str:
    """Return a share in percent with one decimal, as the language writes it."""
    return localised_decimal(f"{rounded(1000 * share) / 10:g}")


def names_with_rest(values: Sequence[str], limit: int) -> str:
    """Return the first ``limit`` possible answers, and the number of further ones, as text."""
    named = ", ".join(values[:limit])
    more = len(values) - limit
    return named if more <= 0 else say("terms.more", values=named, count=more)


def _assumed(terms: Terms) -> str:
    """Return the shares of the answers that the promise assumes, as text."""
    from edge_sdk.campaigns.terms import share_text

    shares = [
        say("terms.share", name=name, share=localised_decimal(share_text(share))) for name, share in terms.assumed
    ]
    return say("terms.assumed", shares=names_with_rest(shares, MAX_NAMED))


def _schedule(content: TermsContent) -> Iterator[Widget]:
    """Yield texts on the first and the last day of a campaign, and on the number of answers."""
    terms = content.terms
    yield words(say("terms.from_to", opens=day(terms.opens), closes=day(terms.ends - 1)))
    yield words(say("terms.answers", count=content.answers))
    yield words(say("terms.every", count=terms.answers_per_period, length=span(terms.period_seconds)))


def _form(content: TermsContent) -> Iterator[Widget]:
    """Yield widgets with all questions of a form and, after consent, the questions that this device is asked."""
    names = content.terms.asked_names
    for start in range(0, len(content.questions), QUESTIONS_A_CARD):
        yield card(
            None if start else words(say("terms.form", count=len(content.questions)), "title"),
            None if start or names else words(say("terms.form_how"), "small", "muted", name="form"),
            *(
                part
                for question in content.questions[start : start + QUESTIONS_A_CARD]
                for part in (
                    None if start and question is content.questions[start] else Rule(),
                    words(question.text, name=f"question:{question.name}"),
                    words(answers_of(question), "small", "muted", name=f"answers:{question.name}"),
                    words(say("selection.skippable"), "small", "muted") if question.skippable else None,
                )
            ),
        )
    if names:
        yield card(
            words(say("selection.asked", count=len(names), total=len(content.questions)), "title"),
            *(
                words(question.text, name=f"asked:{question.name}")
                for question in content.questions
                if question.name in names
            ),
            words(say("selection.why"), "small", "muted"),
        )


def answers_of(question: AnswerChoices, limit: int = FEW_NAMED) -> str:
    """Return the possible answers to a question in words; only the first ``limit`` of a list."""
    if question.kind == "grid":
        return say("terms.place", step=question.step / 10**6)
    if question.low and question.kind == "date":
        return say("terms.day", low=date_of(question.low), high=date_of(question.high))
    if question.low:
        low, high = localised_decimal(question.low), f"{localised_decimal(question.high)} {question.unit}".strip()
        if question.line is not None and question.line.rounds_randomly:
            return say("terms.rounded", low=low, high=high, count=question.size)
        return say("terms.number", low=low, high=high)
    return names_with_rest(question.shown, limit)


def _about(terms: Terms) -> Iterator[Widget]:
    """Yield texts on the destination of reports, the contact, the retention, and that a sent report is final."""
    yield words(say("terms.about"), "title")
    hosts = ", ".join(terms.hosts)
    yield words(say("terms.hosts", hosts=hosts) if hosts else say("terms.nowhere"), name="hosts")
    yield words(say("terms.contact", contact=terms.contact) if terms.contact else say("terms.nobody"), name="contact")
    retention = say("terms.kept", retention=terms.retention) if terms.retention else say("terms.unkept")
    yield words(retention, name="retention")
    if terms.notice:
        yield words(say("terms.notice", link=terms.notice), name="notice")
    yield words(say("terms.withdrawal"), name="withdrawal")
