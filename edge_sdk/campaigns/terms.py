"""The terms of a campaign, shown to the person before consent.

Everything is computed from the signed campaign, as text and in nats. This module makes no decisions.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from protocol import exact, keys
from protocol.address import host_of
from protocol.campaign import Campaign, SignedCampaign
from protocol.domain import Dates, Domain, Form, Grid, Line
from protocol.notions import Certificate, OwnPrior, Promise
from protocol.texts import Texts
from protocol.views import Map, Questions, is_plain
from protocol.views.sentences import asked

MOST_LISTED = 512

WITHDRAWAL = (
    "Forgetting the campaign deletes your answers and the reports that wait on this device. A report that was sent "
    "cannot be withdrawn: the device cannot take it back, and what the study has counted stays counted, unless the "
    "organisation counts anew without this device."
)
"""Whether an answer can be withdrawn."""


@dataclass(frozen=True)
class ClassTerms:
    """The terms of one class of people.

    Attributes:
        name: of the class, as one agrees by it.
        shown: the same in the language of the terms.
        level: that it declares, nats.
        cost: of one fresh answer, nats.
        worst_case: of all answers together, nats.
    """

    name: str
    shown: str
    level: float
    cost: float
    worst_case: float


@dataclass(frozen=True)
class QuestionTerms:
    """One question of a form.

    Attributes:
        name: by which it is answered.
        text: what the person is asked.
        answers: what can be answered, in plain words.
        values: the possible answers in order, where there are at most ``MOST_LISTED``; else empty.
        skippable: whether it may be left out.
    """

    name: str
    text: str
    answers: str
    values: tuple[str, ...]
    skippable: bool


@dataclass(frozen=True)
class Terms:
    """A campaign as the person sees it.

    Attributes:
        campaign_id: 16 bytes.
        author: the public key that it is signed with, 32 bytes.
        language: of the texts, as a tag; "" where the author did not say.
        languages: all that the campaign says it has, its own first.
        title, question, purpose, organisation: who asks what, and why.
        closed_early: since when its author closed it before its time, UTC seconds; None where they did not.
        addresses: where the reports go, the first that answers; empty where neither the campaign nor whoever joined it
            says.
        contact: how the organisation is reached; "" if not given.
        retention: how long reports and results are kept; "" if not given.
        notice: a link to the legal notice; "" where there is none.
        opens, closes, period_seconds, answers_per_period: when and how often, in UTC seconds.
        enrolment: "open" or "enrolled" (only keys that the study has registered).
        coded: whether this device is let in by a code; whoever issued the code could learn which reports are this
            device's.
        level: what the campaign declares, nats; to the person's class, once they have named it; their own, once they
            declared one.
        cost, cost_nanonats: of one fresh answer, for the view where it costs most.
        worst_case, worst_case_nanonats: of all answers together, for the view where they cost most; what this device's
            view costs is reserved on consent.
        promise: the promise in numbers; ``promise.text`` puts it into words.
        answers: what can be answered, in plain words.
        views: how many views of the answer devices are asked for; 1 where all are asked for the same.
        map: the coarsening of this device's view; None if all devices are asked for the uncoarsened answer. ``asked``
            describes it in English. For a form it is None until consent: a refusal that depends on the assigned
            questions would reveal something.
        domain: what can be answered, as the campaign has it.
        values: the possible answers in order, as one answers with them, where there are at most ``MOST_LISTED``; else
            empty.
        shown: the same in the language of the terms.
        questions: those of a form, all of them; empty where one thing is asked.
        classes: the classes of people, one of which the person agrees as; empty where all are treated alike. Before
            they name one, the costs are those of the class where they are highest.
        member_of: the person's class, once they have named it.
        declares_prior: whether agreeing means to declare a prior of one's own, which then is public.
        author_name: of the author, where the owner trusts the key and it has a name; else "". It decides nothing.
    """

    campaign_id: bytes
    author: bytes
    language: str
    languages: tuple[str, ...]
    title: str
    question: str
    purpose: str
    organisation: str
    addresses: tuple[str, ...]
    contact: str
    retention: str
    notice: str
    opens: int
    closes: int
    period_seconds: int
    answers_per_period: int
    enrolment: str
    level: float
    cost_nanonats: int
    worst_case_nanonats: int
    promise: Promise
    answers: str
    domain: Domain
    views: int
    map: Map | None
    values: tuple[str, ...]
    shown: tuple[str, ...]
    questions: tuple[QuestionTerms, ...]
    classes: tuple[ClassTerms, ...]
    member_of: str | None
    declares_prior: bool
    closed_early: int | None = None
    author_name: str = ""
    coded: bool = False

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts of ``addresses``, in order; the device connects to these only."""
        return tuple(host_of(address) for address in self.addresses)

    @property
    def cost(self) -> float:
        """Nats of one fresh answer."""
        return exact.nats(self.cost_nanonats)

    @property
    def asked(self) -> str:
        """What this device's view asks for, in plain English; empty if no view coarsens the answer."""
        return self.asked_in("en")

    def asked_in(self, language: str) -> str:
        """The same in one of the languages of ``protocol.views.sentences``.

        Args:
            language: a tag such as "de".
        Returns:
            A sentence; empty where all devices are asked for the same.
        """
        return "" if self.map is None else asked(self.map, self.domain, self.views, language)

    @property
    def asked_names(self) -> tuple[str, ...]:
        """The names of the questions of a form that this device is asked; empty until the person agreed."""
        return tuple(one.name for one in self.map.asked(self.domain)) if isinstance(self.map, Questions) else ()

    @property
    def worst_case(self) -> float:
        """Nats of all answers together, in the worst case."""
        return exact.nats(self.worst_case_nanonats)

    def as_json(self) -> dict[str, object]:
        """The machine-readable form; levels in nats.

        Returns:
            A mapping of names to text, numbers, lists and mappings.
        """
        return {
            "campaign": self.campaign_id.hex(),
            "author": keys.fingerprint_text(keys.fingerprint(self.author)),
            "author_name": self.author_name,
            "language": self.language,
            "languages": list(self.languages),
            "title": self.title,
            "question": self.question,
            "purpose": self.purpose,
            "organisation": self.organisation,
            "addresses": list(self.addresses),
            "hosts": list(self.hosts),
            "contact": self.contact,
            "retention": self.retention,
            "notice": self.notice,
            "withdrawal": WITHDRAWAL,
            "opens": self.opens,
            "closes": self.closes,
            "closed_early": self.closed_early,
            "period_seconds": self.period_seconds,
            "answers_per_period": self.answers_per_period,
            "enrolment": self.enrolment,
            "coded": self.coded,
            "level": self.level,
            "cost": self.cost,
            "worst_case": self.worst_case,
            "promise": self.promise.text(),
            "promise_numbers": self.promise.as_json(),
            "answers": self.answers,
            **({"asked": self.asked} if self.asked else {}),
            "values": list(self.values),
            "shown": list(self.shown),
            **({"questions": [asdict(one) for one in self.questions]} if self.questions else {}),
            **({"asked_names": list(self.asked_names)} if self.asked_names else {}),
            "classes": [
                {
                    "name": one.name,
                    "shown": one.shown,
                    "level": one.level,
                    "cost": one.cost,
                    "worst_case": one.worst_case,
                }
                for one in self.classes
            ],
            "declares_prior": self.declares_prior,
        }

    @classmethod
    def of(
        cls,
        signed: SignedCampaign,
        certificate: Certificate,
        place: int | None,
        view: int,
        language: str | None = None,
    ) -> Terms:
        """Return the terms of a verified campaign.

        Args:
            certificate: of what the person's answers are drawn from.
            place: of the person's class, where they have named it.
            view: of the device.
            language: of the reader, such as "de" or "de_AT"; None for the texts the campaign was written in.
        Returns:
            The terms, in the language asked for.
        """
        campaign = signed.terms
        cost, worst, map_ = certificate.cost, certificate.cost * campaign.most_draws, None
        if not is_plain(campaign.views):
            whole, map_ = campaign.certificate, campaign.views[view].map
            certificate = whole if place is None else whole.classes[place]
            places = range(max(1, len(campaign.classes))) if place is None else (place,)
            cost, worst = max(map(campaign.cost_of, places)), max(map(campaign.worst_case_of, places))
        said, own = campaign.texts(language), isinstance(campaign.notion, OwnPrior)
        listed = range(campaign.domain.size) if _is_listed(campaign.domain) else ()
        return cls(
            signed.id,
            signed.author,
            said.language,
            tuple(one.language for one in (campaign.own_texts, *campaign.translations) if one.language),
            said.title,
            said.question,
            said.purpose,
            said.organisation,
            campaign.addresses,
            said.contact,
            said.retention,
            said.notice,
            campaign.opens,
            campaign.closes,
            campaign.period_seconds,
            campaign.answers_per_period,
            campaign.enrolment,
            exact.nats(campaign.notion.level if place is None and not own else certificate.declared),
            cost,
            worst,
            Promise.of(campaign.notion, certificate, place),
            _answers(campaign.domain),
            campaign.domain,
            len(campaign.views),
            map_,
            tuple(campaign.domain.label(x) for x in listed),
            tuple(said.labels[x] if x < len(said.labels) else campaign.domain.label(x) for x in listed),
            _questions(campaign.domain, campaign.question_texts(language)),
            _classes(campaign, said),
            None if place is None else campaign.classes[place],
            own,
        )


def _classes(campaign: Campaign, said: Texts) -> tuple[ClassTerms, ...]:
    return tuple(
        ClassTerms(
            name,
            shown,
            exact.nats(campaign.certificate.classes[place].declared),
            exact.nats(campaign.cost_of(place)),
            exact.nats(campaign.worst_case_of(place)),
        )
        for place, (name, shown) in enumerate(zip(campaign.classes, said.classes, strict=bool(campaign.classes)))
    )


def _questions(domain: Domain, texts: tuple[str, ...]) -> tuple[QuestionTerms, ...]:
    if not isinstance(domain, Form):
        return ()
    return tuple(
        QuestionTerms(
            one.name,
            text,
            _answers(one.domain),
            tuple(map(one.label, range(one.size))) if one.size <= MOST_LISTED else (),
            one.skippable,
        )
        for one, text in zip(domain.questions, texts, strict=True)
    )


def _is_listed(domain: Domain) -> bool:
    """Whether the answers are few enough to list; those of a form are listed by question."""
    return not isinstance(domain, Form) and domain.size <= MOST_LISTED


def _answers(domain: Domain) -> str:
    if isinstance(domain, Form):
        return f"A form of {len(domain.questions)} questions, of which each device is asked one or two: name=answer."
    if isinstance(domain, Grid):
        return (
            f"A position, rounded to one of {domain.size} cells of {domain.step / 10**6:g} degrees: latitude,longitude."
        )
    if isinstance(domain, Line):
        what = "day" if isinstance(domain, Dates) else "number"
        outside = " What lies outside counts as the nearer end." if domain.clamps else ""
        how = ", up or down at random so that the mean is kept" if domain.rounds_randomly else ""
        return f"A {what} from {domain.span}, rounded to one of {domain.size}{how}.{outside}"
    return f"One of {domain.size} values."
