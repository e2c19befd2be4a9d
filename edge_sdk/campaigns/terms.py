"""The terms of a campaign, shown to the person before consent.

Everything is computed from the signed campaign, as text and in nats. This module makes no decisions.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction

from protocol import exact, keys
from protocol.address import host_of
from protocol.campaign import Campaign, SignedCampaign
from protocol.domain import Dates, Domain, Form, Grid, Items, Line
from protocol.domain.items import SEPARATOR
from protocol.notions import Certificate, Classes, DeclaredPrior, Lip, MutualInformation, Promise, TranscriptPrior
from protocol.texts import Texts
from protocol.views import Map, QuestionsMap, is_plain
from protocol.views.sentences import question_sentence

MAX_LISTED = 512

WITHDRAWAL = (
    "Forgetting the campaign deletes your answers and the reports that wait on this device. A report that was sent "
    "cannot be withdrawn. Reports that the study has counted stay counted, unless the study counts again without this "
    "device."
)
"""The effect of forgetting on answers and sent reports."""


@dataclass(frozen=True)
class ClassTerms:
    """The terms of one class of people.

    Attributes:
        name: the class's name, as an argument of ``Device.consent``.
        shown: the class's name in the language of the terms.
        level: the level declared for the class, in nats.
        cost: the cost of one fresh output, in nats.
        worst_case: the cost of all answers together, in nats.
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
        name: the key of its answer.
        text: the question.
        answers: the possible answers, described in words.
        values: the labels of the possible answers in order, if there are at most ``MAX_LISTED``; else empty.
        shown: these labels in the language of the terms.
        skippable: whether the question may be left out, or answered by "skipped".
    """

    name: str
    text: str
    answers: str
    values: tuple[str, ...]
    shown: tuple[str, ...]
    skippable: bool


@dataclass(frozen=True)
class Terms:
    """The terms of a campaign as shown to the person.

    Attributes:
        campaign_id: the campaign's id, 16 bytes.
        author: the public key of the author, 32 bytes.
        language: the language of the texts, as a tag; "" if the author did not state it.
        languages: all languages of the campaign, the original first.
        title: the campaign's title.
        question: the question; for a form, one line for each question.
        purpose: the reason for the question; "" if not given.
        organisation: the name of the organisation that asks.
        closed_early: time of the early closing, UTC seconds; None if it was not closed early.
        addresses: the addresses for reports, tried in this order; empty if neither the campaign nor the owner named
            one.
        contact: contact of the organisation; "" if not given.
        retention: how long reports and results are kept; "" if not given.
        notice: a link to the organisation's legal notice (not a closing notice); "" if not given.
        opens: UTC seconds at which the campaign opens.
        closes: UTC seconds at which the campaign closes; an answer at that second is too late.
        period_seconds: length of a period.
        answers_per_period: maximum number of answers of one device in a period.
        enrolment: "open" or "enrolled" (only keys that the study has registered).
        has_code: whether the device has a code that the study has not redeemed yet. The issuer of a code could learn
            which reports are this device's.
        level: the declared level in nats: the campaign's, the level of the person's class once it is chosen, or a
            personal level once it is declared.
        cost_nanonats: the cost of one fresh output in nanonats, for the most expensive view.
        worst_case_nanonats: the cost of all answers together in nanonats, for the most expensive view; consent reserves
            the cost for this device's view.
        promise: the promise in numbers; ``promise.text`` returns it in words.
        assumed: the shares of the answers that the promise assumes, each with its label in the language of the terms,
            the largest first; empty if the promise assumes none, or for more than ``MAX_LISTED`` answers.
        answers: the possible answers, described in words.
        views: number of views; 1 if all devices are asked for the same answer.
        map: the coarsening of this device's view (not a geographic map), which ``view_description`` describes in
            English; None if all devices are asked for the uncoarsened answer. For a form it is None until consent, so
            that a person cannot refuse because of the assigned questions and thereby reveal something.
        domain: the domain of the answers.
        values: the labels of the possible answers in order, for item sets those of the items and the dummies, if there
            are at most ``MAX_LISTED``; else empty.
        shown: these labels in the language of the terms.
        questions: all questions of a form; empty if the campaign is not a form.
        classes: the classes of people; the person chooses one at consent. Empty if the campaign has none. Before the
            choice, the costs are those of the most expensive class.
        member_of: the person's class, once it is chosen.
        declares_prior: whether consent requires a declared prior, which is public. Before consent, the costs are those
            of the uniform prior, or of the prior that was declared before the campaign was forgotten.
        author_name: the name of a trusted author, for display only; "" if the key is not trusted or has no name.
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
    assumed: tuple[tuple[str, Fraction], ...]
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
    has_code: bool = False

    @property
    def ends(self) -> int:
        """The time from which no answer is taken, UTC seconds: the early closing, or else ``closes``."""
        return self.closes if self.closed_early is None else self.closed_early

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts of ``addresses``, in order; the device connects to these only."""
        return tuple(host_of(address) for address in self.addresses)

    @property
    def cost(self) -> float:
        """The cost of one fresh output in nats."""
        return exact.nats(self.cost_nanonats)

    @property
    def view_description(self) -> str:
        """A sentence that describes the coarsened answer of this device, in English; empty if ``map`` is None."""
        return self.view_description_in("en")

    def view_description_in(self, language: str) -> str:
        """Return ``view_description`` in one of the languages of ``protocol.views.sentences``.

        Args:
            language: a tag such as "de".
        Returns:
            A sentence; empty if ``map`` is None.
        """
        return "" if self.map is None else question_sentence(self.map, self.domain, self.views, language)

    @property
    def asked_names(self) -> tuple[str, ...]:
        """The names of the questions of a form that this device is asked; empty until consent."""
        return (
            tuple(question.name for question in self.map.questions(self.domain))
            if isinstance(self.map, QuestionsMap)
            else ()
        )

    @property
    def worst_case(self) -> float:
        """The cost of all answers together in nats, in the worst case."""
        return exact.nats(self.worst_case_nanonats)

    def as_json(self) -> dict[str, object]:
        """Return the terms as a JSON object.

        Returns:
            Text, numbers, lists and mappings by name; levels in nats.
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
            "has_code": self.has_code,
            "level": self.level,
            "cost": self.cost,
            "worst_case": self.worst_case,
            "promise": self.promise.text(),
            "promise_numbers": self.promise.as_json(),
            **({"assumed_percent": {name: share_text(share) for name, share in self.assumed}} if self.assumed else {}),
            "answers": self.answers,
            **({"view_description": self.view_description} if self.view_description else {}),
            "values": list(self.values),
            "shown": list(self.shown),
            **({"questions": [asdict(question) for question in self.questions]} if self.questions else {}),
            **({"asked_names": list(self.asked_names)} if self.asked_names else {}),
            "classes": [asdict(class_terms) for class_terms in self.classes],
            "declares_prior": self.declares_prior,
        }

    @classmethod
    def of(
        cls,
        signed: SignedCampaign,
        certificate: Certificate,
        class_index: int | None,
        view: int,
        language: str | None = None,
    ) -> Terms:
        """Return the terms of a verified campaign.

        Args:
            signed: the verified campaign.
            certificate: the certificate of the channel for the person's answers.
            class_index: index of the person's class, once it is chosen.
            view: index of the device's view.
            language: the reader's language, such as "de" or "de_AT"; None for the campaign's original language.
        Returns:
            The terms in that language, if the campaign has it.
        """
        campaign = signed.campaign
        cost, worst, map_ = certificate.cost, certificate.cost * campaign.max_draws, None
        if not is_plain(campaign.views):
            campaign_certificate, map_ = campaign.certificate, campaign.views[view].map
            certificate = (
                campaign_certificate if class_index is None else campaign_certificate.class_certificates[class_index]
            )
            class_indexes = range(max(1, len(campaign.classes))) if class_index is None else (class_index,)
            cost, worst = max(map(campaign.cost_of, class_indexes)), max(map(campaign.worst_case_of, class_indexes))
        texts, declares_prior = campaign.texts(language), isinstance(campaign.notion, DeclaredPrior)
        translated = campaign.domain_in(language)
        return cls(
            signed.id,
            signed.author,
            texts.language,
            tuple(
                translation.language
                for translation in (campaign.own_texts, *campaign.translations)
                if translation.language
            ),
            texts.title,
            texts.question,
            texts.purpose,
            texts.organisation,
            campaign.addresses,
            texts.contact,
            texts.retention,
            texts.notice,
            campaign.opens,
            campaign.closes,
            campaign.period_seconds,
            campaign.answers_per_period,
            campaign.enrolment,
            exact.nats(
                campaign.notion.level if class_index is None and not declares_prior else certificate.declared_level
            ),
            cost,
            worst,
            Promise.of(campaign.notion, certificate, class_index, max_outputs=campaign.answers_per_period),
            assumed_shares(campaign, class_index, translated),
            _answers(translated),
            campaign.domain,
            len(campaign.views),
            map_,
            _listed(campaign.domain),
            _listed(translated),
            _questions(campaign.domain, translated),
            _classes(campaign, texts),
            None if class_index is None else campaign.classes[class_index],
            declares_prior,
        )


def assumed_shares(campaign: Campaign, class_index: int | None, translated: Domain) -> tuple[tuple[str, Fraction], ...]:
    """Return the shares of the answers that the promise assumes, each with its label, the largest first.

    Args:
        class_index: index of the person's class; None without classes, or if the person has not chosen one.
        translated: the campaign's domain in the person's language.
    Returns:
        Pairs of label and share; empty if the promise assumes no shares, or for more than ``MAX_LISTED`` answers.
    """
    notion = campaign.notion
    if isinstance(notion, Classes) and class_index is not None:
        notion = notion.notions[class_index]
    prior = notion.prior if isinstance(notion, Lip | MutualInformation | TranscriptPrior) else ()
    if len(prior) != translated.size or len(prior) > MAX_LISTED:
        return ()
    total = sum(prior)
    shares = [(translated.label(x), Fraction(weight, total)) for x, weight in enumerate(prior)]
    return tuple(sorted(shares, key=lambda share: share[1], reverse=True))


def share_text(share: Fraction) -> str:
    """Return a share in percent as digits with a point, rounded to three significant digits."""
    return format(Decimal(f"{100 * float(share):.3g}"), "f")


def _classes(campaign: Campaign, texts: Texts) -> tuple[ClassTerms, ...]:
    return tuple(
        ClassTerms(
            name,
            shown,
            exact.nats(campaign.certificate.class_certificates[class_index].declared_level),
            exact.nats(campaign.cost_of(class_index)),
            exact.nats(campaign.worst_case_of(class_index)),
        )
        for class_index, (name, shown) in enumerate(zip(campaign.classes, texts.classes, strict=bool(campaign.classes)))
    )


def _questions(domain: Domain, translated: Domain) -> tuple[QuestionTerms, ...]:
    """Return the questions of a form, in the language of ``translated``; () for another domain."""
    if not isinstance(domain, Form) or not isinstance(translated, Form):
        return ()
    return tuple(
        QuestionTerms(
            question.name,
            shown.text,
            _answers(shown.domain),
            _listed(question.domain),
            _listed(shown.domain),
            question.skippable,
        )
        for question, shown in zip(domain.questions, translated.questions, strict=True)
    )


def _listed(domain: Domain) -> tuple[str, ...]:
    """Return the labels of a domain; () if they are too many to list, and for a form, whose labels are listed by
    question."""
    listed = not isinstance(domain, Form) and domain.size <= MAX_LISTED
    return tuple(map(domain.label, range(domain.size))) if listed else ()


def _answers(domain: Domain) -> str:
    if isinstance(domain, Form):
        return (
            f"A form of {len(domain.questions)} questions; each device is asked one or two of them; write name=answer."
        )
    if isinstance(domain, Grid):
        return (
            f"A position, rounded to one of {domain.size:,} cells, {domain.step / 10**6:g}° wide; write "
            "latitude,longitude."
        )
    if isinstance(domain, Line):
        noun = "day" if isinstance(domain, Dates) else "number"
        outside = f" A {noun} outside this range counts as the nearest {noun} of the range." if domain.clamps else ""
        how = ", up or down at random, so that averages over many people stay correct" if domain.rounds_randomly else ""
        return f"A {noun} from {domain.range_text}, rounded to one of {domain.size:,} {noun}s{how}.{outside}"
    if isinstance(domain, Items):
        noun, place = ("numbers", "1 to") if isinstance(domain.labels, int) else ("items", "a list of")
        return (
            f"A set of {noun} from {place} {domain.item_count:,}; it may be empty. Write {SEPARATOR} between two "
            f"{noun}. A label such as {domain.label(domain.item_count)} names a dummy; the device adds dummies to a "
            "small set, and reports one member of the set, chosen at random."
        )
    return f"One of {domain.size:,} values."
