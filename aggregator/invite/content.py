"""The content of a poster: the campaign's texts and its promise, in one language.

``layout`` computes the positions on the page.
"""

from __future__ import annotations

from dataclasses import dataclass

from aggregator.invite.wording import WORDINGS
from protocol.campaign import SignedCampaign
from protocol.domain import Form
from protocol.link import Link
from protocol.notions import Promise
from protocol.texts import best_tag

LISTED = 5
"""Maximum number of a form's questions on a poster."""


@dataclass(frozen=True)
class PosterContent:
    """The texts of a poster in reading order; empty texts are not drawn.

    Attributes:
        language: the language of the fixed texts, and of the campaign's texts if they exist in it.
        head: the organisation that asks.
        title, question, purpose: texts of the campaign.
        part, steps: the heading above the steps by which a person takes part, and these steps.
        when: the first and the last day.
        link: the link as text.
        promised, promise: the heading of the promise, and its sentences, the same as in an app.
        foot: contact, retention, legal notice and the author's key.
    """

    language: str
    head: str
    title: str
    question: str
    purpose: str
    part: str
    steps: tuple[str, ...]
    when: str
    link: str
    promised: str
    promise: str
    foot: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return (
            self.head, self.title, self.question, self.purpose, self.part, *self.steps, self.when, self.link,
            self.promised, self.promise, *self.foot,
        )  # fmt: skip

    @classmethod
    def of(
        cls, signed: SignedCampaign, link: Link, language: str | None = None, closes: int | None = None
    ) -> PosterContent:
        """Return the texts of a campaign's poster.

        Args:
            language: the reader's language, such as "de" or "de_AT"; None for the campaign's own language. A text of
                the campaign without a translation is in the campaign's own language; a fixed text without a translation
                is in English.
            closes: time of an early closing, UTC seconds; None if the campaign is not closed early.
        """
        campaign = signed.campaign
        texts, domain = campaign.texts(language), campaign.domain_in(language)
        questions = tuple(question.text for question in domain.questions) if isinstance(domain, Form) else ()
        fixed = best_tag(language or texts.language, list(WORDINGS)) or "en"
        wording = WORDINGS[fixed]
        steps = wording.steps if campaign.enrolment == "open" else (wording.enrolled, *wording.steps[1:])
        more = ("…",) if len(questions) > LISTED else ()
        form = (wording.form.format(count=len(questions)), *questions[:LISTED], *more)
        foot = (
            ("contact", wording.contact, texts.contact),
            ("retention", wording.retention, texts.retention),
            ("notice", wording.notice, texts.notice),
            ("key", wording.key, link.fingerprint_text),
        )
        days = {
            "opens": wording.date(campaign.opens),
            "closes": wording.date((campaign.closes if closes is None else closes) - 1),
        }
        return cls(
            language=fixed,
            head=wording.asks.format(organisation=texts.organisation) if texts.organisation else "",
            title=texts.title,
            question="\n".join(form) if questions else texts.question,
            purpose=wording.why.format(purpose=texts.purpose) if texts.purpose else "",
            part=wording.part,
            steps=steps,
            when=wording.when.format(**days),
            link=str(link),
            promised=wording.promise,
            promise=Promise.of(campaign.notion, campaign.certificate, max_outputs=campaign.answers_per_period).text(
                fixed
            ),
            foot=tuple(text.format(**{name: words}) for name, text, words in foot if words),
        )
