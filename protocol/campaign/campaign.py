"""The terms of a campaign: one question, its views, its schedule, and the promise it makes (SPEC 7).

A ``Campaign`` cannot exist without a certificate: its constructor audits the channels. The author's tools and the
decoder call the same constructor, so a campaign is audited wherever it arrives, on the integers that are sampled.

A campaign is immutable. Its id is a hash of the signed bytes, and nothing outside repeats its parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from protocol import address, texts, views
from protocol.channels import Channel
from protocol.domain import Domain
from protocol.errors import CampaignError, NotOpen, OutsideSchedule
from protocol.notions import Certificate, Notion
from protocol.notions.classes import class_channels, require_class_names
from protocol.notions.transcript import MAX_TRANSCRIPT, TranscriptPrior
from protocol.texts import MAX_TITLE, Texts
from protocol.views import View

MAX_ANSWERS_PER_PERIOD = 4096
MAX_PERIODS = 2**20
MAX_TIME = 2**40

ENROLMENTS = ("open", "enrolled")

GOALS = ("distribution", "mean", "ranges", "top")
"""The purposes of an estimate. A goal decides what a planner chooses and what is shown first, and nothing else."""


@dataclass(frozen=True)
class Campaign:
    """The terms under which a device answers.

    Attributes:
        title, question, purpose, organisation: texts shown to the person; the title also names the campaign.
        domain, notion: what can be answered, and what is promised.
        mechanism: the recipe that made the channels; shown, never used in a computation.
        views: what devices are asked for, each by its public key, and the laws that keep the promise. A plain campaign
            has one view, of the answer as it is.
        opens, closes: UTC seconds; open from ``opens`` until just before ``closes``.
        period_seconds: length of a period; period p begins at opens + p * period_seconds, the last may be shorter.
        answers_per_period: the most outputs of one device in one period.
        minimum_reports: below this many outputs, nothing is estimated.
        enrolment: "open" (any key that introduces itself) or "enrolled" (keys registered at the study).
        classes: names of the classes of people, where the notion is one of classes; else empty. An input of a view's
            channel is then class * k + value, k the number of the view's inputs.
        addresses: where the study takes reports, tried in this order; empty if the device gets one when it joins.
        contact: how the organisation is reached; "" where it is not said.
        retention: how long reports and results are kept, in words; "" where it is not said.
        notice: a link to the legal notice; "" where there is none.
        language: tag of the language of all these texts; "" where it is not said.
        translations: the texts in other languages, in order of their tags.
        goal: one of ``GOALS``, what the estimate is wanted for; "" where it is not said.
        certificate: what the integers of all views prove; computed here, never carried.
        view_certificates: what those of each view prove, in the order of the views.
    """

    title: str
    question: str
    purpose: str
    organisation: str
    domain: Domain
    notion: Notion
    mechanism: str
    views: tuple[View, ...]
    opens: int
    closes: int
    period_seconds: int
    answers_per_period: int
    minimum_reports: int
    enrolment: str
    classes: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    contact: str = ""
    retention: str = ""
    notice: str = ""
    language: str = ""
    translations: tuple[Texts, ...] = ()
    goal: str = ""
    certificate: Certificate = field(init=False, compare=False)
    view_certificates: tuple[Certificate, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not self.organisation.strip():
            raise CampaignError("a campaign has an organisation: the person is told it before consenting")
        texts.require_text(self.mechanism, "mechanism", MAX_TITLE)
        texts.require_translations(self.own_texts, self.translations, self.domain)
        address.require_addresses(self.addresses)
        require_class_names(self.classes, self.notion)
        views.require_views(self.views)
        views.require_inputs(self.views, self.domain, len(self.classes))
        views.require_every_question(self.views, self.domain)
        if not 0 <= self.opens < self.closes <= MAX_TIME:
            raise CampaignError("a campaign opens before it closes")
        if not 1 <= self.period_seconds <= MAX_TIME or self.periods > MAX_PERIODS:
            raise CampaignError(f"a campaign has 1 to {MAX_PERIODS} periods of at least a second")
        if not 1 <= self.answers_per_period <= MAX_ANSWERS_PER_PERIOD:
            raise CampaignError(f"a device answers 1 to {MAX_ANSWERS_PER_PERIOD} times a period")
        if self.transcript and (self.answers_per_period != 1 or self.periods > MAX_TRANSCRIPT):
            raise CampaignError(
                f"a campaign with transcripts has one answer a period, in at most {MAX_TRANSCRIPT} periods: its "
                "reports have an order"
            )
        if not 1 <= self.minimum_reports <= 2**40:
            raise CampaignError("the minimum number of reports is at least 1")
        if self.enrolment not in ENROLMENTS:
            raise CampaignError(f"enrolment is {' or '.join(ENROLMENTS)}, not {self.enrolment[:40]!r}")
        if self.goal and self.goal not in GOALS:
            raise CampaignError(f"a goal is one of {', '.join(GOALS)}, or empty, not {self.goal[:40]!r}")
        found = views.certificates_of(self.views, self.notion, self.domain)
        object.__setattr__(self, "view_certificates", found)
        object.__setattr__(self, "certificate", views.worst_of(found, self.notion))

    @cached_property
    def own_texts(self) -> Texts:
        """The texts that the campaign was written in."""
        return Texts(
            self.language, self.title, self.question, self.purpose, self.organisation, self.contact, self.retention,
            self.notice, self.domain.named, self.classes,
        )  # fmt: skip

    def texts(self, language: str | None = None) -> Texts:
        """The texts for a reader of ``language``; the campaign's own where it has no translation, or None is asked for.

        Args:
            language: a tag as a system writes it: de, de-AT, de_AT.
        Returns:
            The texts; what the translation leaves out is in the campaign's own language.
        """
        own, translated = self.own_texts, {one.language: one for one in self.translations}
        tag = None if language is None else texts.best(language, [*translated, own.language])
        return own if tag is None or tag == own.language else translated[tag].over(own)

    def domain_in(self, language: str | None = None) -> Domain:
        """The domain for a reader of ``language``: its labels and units, and the texts of a form's questions.

        Args:
            language: as for ``texts``.
        Returns:
            A domain of the same inputs in the same order; answers and reports are in the campaign's own.
        """
        said = self.texts(language)
        return self.domain if said.language == self.language else texts.translated(self.domain, said)

    @property
    def channel(self) -> Channel:
        """The channel that every device answers through, in a plain campaign.

        Raises:
            CampaignError: devices are asked for views of the answer, each of its own inputs and channel.
        """
        if not views.is_plain(self.views):
            raise CampaignError(f"{self.title!r} asks devices for views of the answer: it has no one channel")
        return self.views[0].channel

    @cached_property
    def output_bits(self) -> int:
        """Bits of one output on the wire, the same whatever the view: those of the widest."""
        return max(view.channel.output_bits for view in self.views)

    @cached_property
    def view_ends(self) -> tuple[int, ...]:
        """[j]: the sum of the weights of views 0 .. j."""
        return tuple(accumulate(view.weight for view in self.views))

    @property
    def periods(self) -> int:
        """Number of periods, the last perhaps shorter."""
        return -(-(self.closes - self.opens) // self.period_seconds)

    def periods_until(self, closes: int) -> int:
        """Return the number of periods that have begun before a time.

        Args:
            closes: UTC seconds.
        Returns:
            0 .. ``periods``.
        """
        return min(self.periods, max(0, -(-(closes - self.opens) // self.period_seconds)))

    @property
    def transcript(self) -> TranscriptPrior | None:
        """The notion, if each report is designed for what the device's earlier reports revealed; else None."""
        return self.notion if isinstance(self.notion, TranscriptPrior) else None

    def slots(self, period: int) -> int:
        """Return the number of slots that reports up to ``period`` may use.

        With transcripts a report's slot is how many reports of the device came before it: at most one a period.

        Args:
            period: 0 .. ``periods`` - 1.
        Returns:
            1 or more.
        """
        return period + 1 if self.transcript else self.answers_per_period

    def takes(self, period: int, slot: int, count: int) -> bool:
        """Return whether a device may send ``count`` outputs from ``slot`` on in ``period``.

        Args:
            period: of the report.
            slot: of its first output.
            count: of its outputs.
        Returns:
            Whether all of them are allowed.
        """
        return count <= self.answers_per_period and slot + count <= self.slots(period)

    def draws_of(self, view: int) -> int:
        """The most fresh draws a device with this view can ever make.

        A value is drawn for once and its output kept, so there are no more draws than values of the view, nor than
        reports; with transcripts, every report is a fresh draw.

        Args:
            view: by its position in the campaign.
        Returns:
            A number of draws; at least 1.
        """
        if self.transcript:
            return self.periods
        return min(self.views[view].map.inputs(self.domain), self.periods * self.answers_per_period)

    @cached_property
    def most_draws(self) -> int:
        """The most fresh draws a device can ever make, over all views."""
        return max(map(self.draws_of, range(len(self.views))))

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """What the integers prove for each class; where there are no classes, for each view."""
        return self.certificate.classes or self.view_certificates

    @cached_property
    def worst_case(self) -> int:
        """Nanonats that all fresh draws together cost at most, in the class and for the view where they cost most.

        A device reserves what they cost in its own class, and for its own view, when the person consents.
        """
        return max(self.worst_case_of(place) for place in range(max(1, len(self.classes))))

    def worst_case_of(self, place: int) -> int:
        """Nanonats that all fresh draws of a member of class ``place`` cost at most, for the view where that is most.

        Args:
            place: of the class; 0 where there are none.
        Returns:
            A level.
        """
        return max(self.certificate_of(place, view).cost * self.draws_of(view) for view in range(len(self.views)))

    def cost_of(self, place: int) -> int:
        """Nanonats that a fresh draw of a member of class ``place`` costs at most, for the view where that is most.

        Args:
            place: of the class; 0 where there are none.
        Returns:
            A level.
        """
        return max(self.certificate_of(place, view).cost for view in range(len(self.views)))

    def certificate_of(self, place: int, view: int) -> Certificate:
        """The certificate of what members of class ``place`` answer through in a view.

        Args:
            place: of the class; 0 where there are none.
            view: by its position in the campaign.
        Returns:
            The certificate; its inputs are those of the class's own channel.
        """
        found = self.view_certificates[view]
        return found.classes[place] if self.classes else found

    def channel_of(self, place: int, view: int) -> Channel:
        """The channel that members of class ``place`` answer through in a view, over the view's inputs.

        Args:
            place, view: as for ``certificate_of``.
        Returns:
            The channel; its outputs begin at 0.
        """
        whole = self.views[view].channel
        return class_channels(whole, len(self.classes))[place] if self.classes else whole

    def class_of(self, name: str) -> int:
        """The place of the class called ``name``.

        Args:
            name: of a class.
        Returns:
            0 .. number of classes - 1.
        Raises:
            CampaignError: there is none.
        """
        if name not in self.classes:
            known = ", ".join(self.classes) or "none"
            raise CampaignError(f"{self.title!r} has no class of that name; its classes are: {known}")
        return self.classes.index(name)

    def input_of(self, x: int, place: int, view: int = 0) -> int:
        """The input of a view's channel for value ``x`` of a member of class ``place``; without classes, that is 0.

        Args:
            x: a value's number in the domain.
            place: of the person's class.
            view: by its position in the campaign.
        Returns:
            A channel's input, 0 .. its size - 1.
        """
        map_ = self.views[view].map
        return place * map_.inputs(self.domain) + map_.input(self.domain, x)

    def period_at(self, now: int) -> int:
        """The period that a time lies in.

        Args:
            now: UTC seconds.
        Returns:
            0 .. ``periods`` - 1.
        Raises:
            NotOpen: before it opens.
            OutsideSchedule: from its closing on.
        """
        if now < self.opens:
            raise NotOpen(f"{self.title!r} opens in {_span(self.opens - now)}")
        if now >= self.closes:
            raise OutsideSchedule(f"{self.title!r} closed {_span(now - self.closes)} ago")
        return (now - self.opens) // self.period_seconds


def _span(seconds: int) -> str:
    """Return a length of time as text in its largest sensible unit."""
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} seconds"
