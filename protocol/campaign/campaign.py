"""A campaign: its question, views, schedule and privacy notion (SPEC 7).

A ``Campaign`` cannot exist without a certificate: its constructor audits the channels. The author's tools and the
decoder call the same constructor, so a campaign is audited wherever it arrives. The audit uses the same integers as the
sampling.

A campaign is immutable. Its id is a hash of the signed bytes, and reports contain the id only.
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
from protocol.views import Map, View

MAX_ANSWERS_PER_PERIOD = 4096
MAX_PERIODS = 2**20
MAX_TIME = 2**40

ENROLMENTS = ("open", "enrolled")

GOALS = ("distribution", "mean", "ranges", "top")
"""The goals of an estimate. A goal affects the planner's choice and the statistics that an estimate shows. No device
computes with it."""


@dataclass(frozen=True)
class Campaign:
    """A question to many devices, and the conditions under which they answer.

    Attributes:
        title: the name of the campaign.
        question: the question shown to the person; for a form, one line for each question.
        purpose: the reason for the question; "" if not given.
        organisation: the name of the organisation that asks.
        domain: the possible answers.
        notion: the privacy notion and its declared level.
        mechanism: the recipe that made the channels; only shown, never used in a computation.
        views: the coarsenings of the answer, each with its channel; a device's public key decides its view. A plain
            campaign has a single view, which leaves the answer unchanged.
        opens: UTC seconds at which the campaign opens.
        closes: UTC seconds at which it closes; an answer at that second is too late.
        period_seconds: length of a period; period p begins at opens + p * period_seconds, and the last period may be
            shorter.
        answers_per_period: maximum number of outputs of one device in one period.
        minimum_devices: smallest number of devices for which an estimate is made.
        enrolment: "open" (every device, whose first upload introduces its key) or "enrolled" (registered keys).
        classes: names of the classes of people if the notion is one of classes, else empty. An input of a view's
            channel is then class * k + value, with k the number of the view's inputs.
        addresses: the study's addresses, tried in this order; empty if the device receives one when it joins.
        contact: how to reach the organisation; "" if not given.
        retention: how long reports and results are kept, in words; "" if not given.
        notice: a link to the organisation's legal notice, which is not a closing notice; "" for none.
        language: tag of the language of these texts; "" if not given.
        translations: the texts in other languages, in order of their tags.
        goal: the goal of the estimate, one of ``GOALS``; "" if not given.
        certificate: the levels proved from the integers of all views; computed here, never sent.
        view_certificates: the certificate of each view, in the order of the views.
    Raises:
        CampaignError, ViewError: an attribute is invalid, or does not fit the others.
        NotionError, Uncertified: the notion does not fit the domain or the views, or a channel does not satisfy it.
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
    minimum_devices: int
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
            raise CampaignError("the campaign names no organisation, which the person must see before consent: name it")
        texts.require_text(self.mechanism, "mechanism", MAX_TITLE)
        texts.require_translations(self.own_texts, self.translations, self.domain, self._maps)
        address.require_addresses(self.addresses)
        require_class_names(self.classes, self.notion)
        views.require_views(self.views)
        views.require_view_inputs(self.views, self.domain, len(self.classes))
        views.require_every_question(self.views, self.domain)
        if not 0 <= self.opens < self.closes <= MAX_TIME:
            raise CampaignError(
                f"a campaign must open before it closes, at UTC seconds from 0 to {MAX_TIME}; this one opens at "
                f"{self.opens} and closes at {self.closes}"
            )
        if not 1 <= self.period_seconds <= MAX_TIME or self.periods > MAX_PERIODS:
            raise CampaignError(
                f"a campaign must have at most {MAX_PERIODS} periods and a period_seconds of 1 to {MAX_TIME}; this one "
                f"opens at {self.opens}, closes at {self.closes} and has a period_seconds of {self.period_seconds}"
            )
        if not 1 <= self.answers_per_period <= MAX_ANSWERS_PER_PERIOD:
            raise CampaignError(
                f"answers per period must be 1 to {MAX_ANSWERS_PER_PERIOD}, not {self.answers_per_period}"
            )
        if self.transcript and (self.answers_per_period != 1 or self.periods > MAX_TRANSCRIPT):
            raise CampaignError(
                f"a campaign with transcripts must have one answer per period, in at most {MAX_TRANSCRIPT} periods, "
                f"not {self.answers_per_period} per period in {self.periods}"
            )
        if not 1 <= self.minimum_devices <= 2**40:
            raise CampaignError(f"the minimum number of devices must be 1 to 2^40, not {self.minimum_devices}")
        if self.enrolment not in ENROLMENTS:
            raise CampaignError(f"enrolment must be {' or '.join(ENROLMENTS)}, not {self.enrolment[:40]!r}")
        if self.goal and self.goal not in GOALS:
            raise CampaignError(f"a goal must be one of {', '.join(GOALS)}, or empty, not {self.goal[:40]!r}")
        certificates = views.certificates_of(self.views, self.notion, self.domain)
        object.__setattr__(self, "view_certificates", certificates)
        object.__setattr__(self, "certificate", views.worst_of(certificates, self.notion))

    @cached_property
    def own_texts(self) -> Texts:
        """The campaign's own texts, in the language in which it was written."""
        labels = self.domain.named + tuple(name for map_ in self._maps for name in map_.named)
        return Texts(
            self.language, self.title, self.question, self.purpose, self.organisation, self.contact, self.retention,
            self.notice, labels, self.classes,
        )  # fmt: skip

    def texts(self, language: str | None) -> Texts:
        """Return the texts for a reader of ``language``.

        Args:
            language: a tag in any common spelling: de, de-AT, de_AT. None for the campaign's own language.
        Returns:
            The translation, with the campaign's own texts in place of missing ones; if there is no translation, the
            campaign's own texts.
        """
        by_language = {translation.language: translation for translation in self.translations}
        tag = None if language is None else texts.best_tag(language, [*by_language, self.language])
        return self.own_texts if tag is None or tag == self.language else by_language[tag].with_fallback(self.own_texts)

    def domain_in(self, language: str | None) -> Domain:
        """Return the domain for a reader of ``language``: with translated labels, units and question texts.

        Args:
            language: as for ``texts``.
        Returns:
            A domain with the same inputs in the same order. Answers and reports use the campaign's own labels.
        """
        return self._in(language)[0]

    def map_in(self, view: int, language: str | None) -> Map:
        """Return the map of a view for a reader of ``language``: with translated names of districts.

        Args:
            view: index of the view in the campaign.
            language: as for ``texts``.
        Returns:
            A map with the same inputs in the same order.
        """
        return self._in(language)[1][view]

    def _in(self, language: str | None) -> tuple[Domain, tuple[Map, ...]]:
        """Return the domain and the views' maps in the language of a reader."""
        reader_texts, maps = self.texts(language), self._maps
        return (
            (self.domain, maps)
            if reader_texts.language == self.language
            else texts.translated(self.domain, maps, reader_texts)
        )

    @cached_property
    def _maps(self) -> tuple[Map, ...]:
        return tuple(view.map for view in self.views)

    @property
    def channel(self) -> Channel:
        """The channel of all devices in a plain campaign.

        Raises:
            CampaignError: the campaign has several views, or its view is coarser than the answer.
        """
        if not views.is_plain(self.views):
            fault = f"has {len(self.views)} views" if len(self.views) > 1 else "coarsens the answer"
            raise CampaignError(
                f"{self.title!r} {fault}, so its devices do not share one channel for the answer itself: use the "
                "channel of a view"
            )
        return self.views[0].channel

    @cached_property
    def output_bits(self) -> int:
        """Bits of one output on the wire; all views use the number that the largest channel needs."""
        return max(view.channel.output_bits for view in self.views)

    @cached_property
    def view_ends(self) -> tuple[int, ...]:
        """The cumulative weights of the views: entry j is the sum of the weights of views 0 .. j."""
        return tuple(accumulate(view.weight for view in self.views))

    @cached_property
    def periods(self) -> int:
        """Number of periods; the last may be shorter than the others."""
        return -(-(self.closes - self.opens) // self.period_seconds)

    def periods_until(self, closes: int) -> int:
        """Return the number of periods that have begun before a time.

        Args:
            closes: UTC seconds.
        Returns:
            0 .. ``periods``.
        """
        return min(self.periods, max(0, -(-(closes - self.opens) // self.period_seconds)))

    @cached_property
    def transcript(self) -> TranscriptPrior | None:
        """The notion, if each report's channel depends on the device's earlier reports; else None."""
        return self.notion if isinstance(self.notion, TranscriptPrior) else None

    def slots(self, period: int) -> int:
        """Return the number of slots that a report in ``period`` may use.

        With transcripts, the slot of a report is the number of the device's earlier reports, at most one for each
        earlier period.

        Args:
            period: 0 .. ``periods`` - 1.
        Returns:
            1 or more.
        """
        return period + 1 if self.transcript else self.answers_per_period

    def max_draws_of(self, view: int) -> int:
        """Return the maximum number of fresh outputs of a device with this view.

        The output of a value is drawn once and kept. So the number of draws is at most the number of the view's inputs,
        and at most the number of outputs that the schedule allows. With transcripts, every output is fresh.

        Args:
            view: index of the view in the campaign.
        Returns:
            1 or more.
        """
        if self.transcript:
            return self.periods
        return min(self.views[view].map.input_count(self.domain), self.periods * self.answers_per_period)

    @cached_property
    def max_draws(self) -> int:
        """Maximum number of fresh outputs of a device, over all views."""
        return max(map(self.max_draws_of, range(len(self.views))))

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """The certificate of each class; without classes, the certificate of each view."""
        return self.certificate.class_certificates or self.view_certificates

    @cached_property
    def worst_case(self) -> int:
        """The largest total cost of a device's fresh outputs through the campaign's channels, over all classes and
        views, in nanonats.

        A consent reserves the worst case of the person's class and the device's view, which may be lower. After a
        declared prior (own-lip), it reserves the worst case of the person's own channel, which may be lower or higher.
        """
        return max(self.worst_case_of(class_index) for class_index in range(max(1, len(self.classes))))

    def worst_case_of(self, class_index: int) -> int:
        """Return the largest total cost of the fresh outputs of a member of a class, over all views.

        Args:
            class_index: index of the class; 0 without classes.
        Returns:
            Nanonats.
        """
        return max(
            self.certificate_of(class_index, view).cost * self.max_draws_of(view) for view in range(len(self.views))
        )

    def cost_of(self, class_index: int) -> int:
        """Return the largest cost of one fresh output of a member of a class, over all views.

        Args:
            class_index: index of the class; 0 without classes.
        Returns:
            Nanonats.
        """
        return max(self.certificate_of(class_index, view).cost for view in range(len(self.views)))

    def certificate_of(self, class_index: int, view: int) -> Certificate:
        """Return the certificate of the channel of a class's members in a view.

        Args:
            class_index: index of the class; 0 without classes.
            view: index of the view in the campaign.
        Returns:
            The certificate; its inputs are the inputs of the class's own channel.
        """
        certificate = self.view_certificates[view]
        return certificate.class_certificates[class_index] if self.classes else certificate

    def channel_of(self, class_index: int, view: int) -> Channel:
        """Return the channel of a class's members in a view, over the view's inputs.

        Args:
            class_index: as for ``certificate_of``.
            view: as for ``certificate_of``.
        Returns:
            The channel; its outputs begin at 0.
        """
        channel = self.views[view].channel
        return class_channels(channel, len(self.classes))[class_index] if self.classes else channel

    def class_index_of(self, name: str) -> int:
        """Return the index of the class with this name.

        Args:
            name: the name of a class, in the campaign's own language.
        Returns:
            0 .. number of classes - 1.
        Raises:
            CampaignError: no class has this name.
        """
        if not self.classes:
            raise CampaignError(f"{self.title!r} has no classes of people: leave the class out")
        if name not in self.classes:
            known = ", ".join(self.classes)
            raise CampaignError(f"{self.title!r} has no class with the given name; its classes are: {known}")
        return self.classes.index(name)

    def input_of(self, x: int, class_index: int, view: int = 0) -> int:
        """Return the input of a view's channel for one value.

        Args:
            x: the input of the value in the domain, 0 .. size - 1.
            class_index: index of the person's class; 0 without classes.
            view: index of the view in the campaign.
        Returns:
            0 .. number of the channel's inputs - 1.
        """
        map_ = self.views[view].map
        return class_index * map_.input_count(self.domain) + map_.input(self.domain, x)

    def period_at(self, now: int) -> int:
        """Return the period that contains a time.

        Args:
            now: UTC seconds.
        Returns:
            0 .. ``periods`` - 1.
        Raises:
            NotOpen: the campaign has not opened yet.
            OutsideSchedule: the campaign is closed.
        """
        if now < self.opens:
            raise NotOpen(f"{self.title!r} opens in {_span(self.opens - now)}: wait until then")
        if now >= self.closes:
            raise OutsideSchedule(f"{self.title!r} closed {_span(now - self.closes)} ago: it accepts no more answers")
        return (now - self.opens) // self.period_seconds


def _span(seconds: int) -> str:
    """Return a duration in the largest unit in which it is at least 2, rounded down, for example "47 hours"."""
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return "1 second" if seconds == 1 else f"{seconds} seconds"
