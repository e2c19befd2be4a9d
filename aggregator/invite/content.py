"""The content of a poster: the campaign's texts and its promise, in one language.

Where it stands: layout.
"""

from __future__ import annotations

from dataclasses import dataclass

from aggregator.invite.wording import WORDINGS
from protocol.campaign import SignedCampaign
from protocol.domain import Form
from protocol.link import Link
from protocol.notions import Promise
from protocol.texts import best

LISTED = 5
"""Questions of a form that a poster shows, at most."""


@dataclass(frozen=True)
class PosterContent:
    """The texts of a poster, in the order in which they are read; an empty one is left out.

    Attributes:
        language: of the fixed texts, and of the campaign's where it has them.
        head: who asks.
        title, question, purpose: of the campaign.
        part, steps: how somebody takes part.
        when: the first and the last day.
        link: as text.
        promised, promise: the heading, and the sentences that an app shows, too.
        foot: whom to ask, how long things are kept, the legal notice, and the author's key.
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
        """All texts of the poster."""
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
            language: of the reader, such as "de" or "de_AT"; None for the one that the campaign was written in. What
                the campaign lacks in it is in its own; the fixed texts are in English where they are not in it.
            closes: from when on the author closes it before its time, UTC seconds; None where they do not.
        """
        terms = signed.terms
        said, domain = terms.texts(language), terms.domain_in(language)
        asked = tuple(one.text for one in domain.questions) if isinstance(domain, Form) else ()
        spoken = best(language or said.language, list(WORDINGS)) or "en"
        wording = WORDINGS[spoken]
        steps = wording.steps if terms.enrolment == "open" else (wording.enrolled, *wording.steps[1:])
        more = ("…",) if len(asked) > LISTED else ()
        form = (wording.form.format(count=len(asked)), *asked[:LISTED], *more)
        foot = (
            ("contact", wording.contact, said.contact),
            ("retention", wording.kept, said.retention),
            ("notice", wording.notice, said.notice),
            ("key", wording.key, link.fingerprint_text),
        )
        days = {
            "opens": wording.date(terms.opens),
            "closes": wording.date((terms.closes if closes is None else closes) - 1),
        }
        return cls(
            language=spoken,
            head=wording.asks.format(organisation=said.organisation) if said.organisation else "",
            title=said.title,
            question="\n".join(form) if asked else said.question,
            purpose=wording.why.format(purpose=said.purpose) if said.purpose else "",
            part=wording.part,
            steps=steps,
            when=wording.when.format(**days),
            link=str(link),
            promised=wording.promise,
            promise=Promise.of(terms.notion, terms.certificate).text(spoken),
            foot=tuple(text.format(**{name: words}) for name, text, words in foot if words),
        )
