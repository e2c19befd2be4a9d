"""Bound the disclosure by a person's reports to all campaigns about the same values.

The levels of two inputs add over all draws, for every prior knowledge of an observer and every order of the campaigns.
So the matrices of levels of all draws sum to one matrix for the person:

    E[x][x'] = sum over draws of max over y of ln Q(y|x) - ln Q(y|x')

(Acharya et al. 2020, Prop. 2 and 3; for budgets of single values, Gu et al. 2020, Theorem 2). Levels under a prior do
not add in this way. So a LIP campaign counts with the LDP level of its channel, and a campaign with transcripts with
the LDP levels of the channels that were used. The matrix is never stored. The level of a pair, the maximum of a row and
the worst pair are computed from the channels, exactly if that is cheap, and otherwise as an upper bound.

A pair (x, x') compares a person who always answers x with a person who always answers x'. If a person changes answers
and campaigns protect different values, the bound is larger: the sum of the worst pairs of the draws (MATH 10.2). The
charges of the draws are at least this sum, except for transcripts and for infinite levels. In addition, repeated
outputs show that an answer did not change.

The module posterior computes the posterior after one report. All results are secret and never leave the device.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product

from protocol import exact
from protocol.channels import Channel, Loss
from protocol.domain import DITHER_BYTES, Answer, Domain, Form, Items, Line
from protocol.levels import Level, structure_of
from protocol.notions import MinId
from protocol.views import Identity, Map, QuestionsMap

MAX_STEPS = 2**20
"""Maximum number of steps, about a second; beyond it, the sum of the channels' worst cases is the bound."""

_END_DITHERS = bytes(DITHER_BYTES), bytes([255] * DITHER_BYTES)
"""The least and the greatest dither, which round a number to its two possible inputs."""


@dataclass(frozen=True)
class ViewChannel:
    """A channel, and the map of the device's view, which coarsens the answer before the channel."""

    map: Map
    channel: Channel

    def loss(self, domain: Domain, first: Sequence[int], second: Sequence[int]) -> Loss:
        """Return the worst ratio of an output's probabilities under an input of ``first`` and one of ``second``."""
        loss = self.channel.loss(self._inputs(domain, first), self._inputs(domain, second))
        return replace(
            loss,
            x=self._preimage(domain, first, loss.x),
            other=None if loss.other is None else self._preimage(domain, second, loss.other),
        )

    def level(self, domain: Domain, first: Sequence[int], second: Sequence[int]) -> int | None:
        """Return the level of the ratio that ``loss`` returns, in nanonats; None if it is infinite."""
        return self.channel.loss(self._inputs(domain, first), self._inputs(domain, second)).level

    def _inputs(self, domain: Domain, inputs: Sequence[int]) -> Sequence[int]:
        """Return the channel's inputs to which the map sends the given inputs of the domain."""
        if isinstance(self.map, Identity):
            return inputs
        if inputs == range(domain.size):
            return range(self.map.input_count(domain))
        return sorted({self.map.input(domain, x) for x in inputs})

    def _preimage(self, domain: Domain, inputs: Sequence[int], z: int) -> int:
        """Return an element of ``inputs`` that the map sends to the channel's input ``z``."""
        if inputs == range(domain.size):
            return self.map.first_input(domain, z)
        return next(x for x in inputs if self.map.input(domain, x) == z)


@dataclass(frozen=True)
class CampaignExposure:
    """The draws of one campaign, and a bound on their disclosure.

    Attributes:
        campaign_id, title: the campaign's id and title.
        domain: the domain of the values.
        draws: number of outputs drawn from each channel.
        extra: nanonats from other sources: the random choice of a class or prior, and draws before the campaign was
            forgotten and joined again. None if there is no bound.
        budgets: the budgets of the values, if the campaign's notion has budgets and bounds all pairs.
    """

    campaign_id: bytes
    title: str
    domain: Domain
    draws: Mapping[ViewChannel, int]
    extra: int | None = 0
    budgets: MinId | None = None

    @property
    def drawn(self) -> int:
        """Number of outputs drawn."""
        return sum(self.draws.values())

    @property
    def nanonats(self) -> int | None:
        """The level between any two values, in nanonats; None if there is no bound."""
        everything = range(self.domain.size)
        return _sum([self.extra, *_losses(self.domain, self.draws, everything, everything)])

    @property
    def nats(self) -> float | None:
        """This level in nats, for display; None if there is no bound."""
        level = self.nanonats
        return None if level is None else exact.nats(level)

    def budget(self, x: int) -> int | None:
        """Return an upper bound of the level between value ``x`` and any other value: if the values have budgets, the
        budget of ``x`` for each draw. None if there is no bound."""
        if self.budgets is None:
            return self.nanonats
        return _sum([self.extra, self.drawn * self.budgets.budgets[self.budgets.class_of(x)]])


@dataclass(frozen=True)
class Exposure:
    """A bound on the disclosure by all campaigns about the same values. It must stay secret, like the number of draws.

    Attributes:
        domain: the domain of these values.
        dither: secret bytes that round the person's numbers and choose items, in the campaign in question.
        campaigns: the disclosure by the reports of each campaign.
        forgotten_nanonats: an upper bound of the charges of forgotten campaigns, whatever they asked, and the
            unattributed spending. Their values are deleted, so the other numbers do not include them.
        map: the coarsening of this device's view, in the campaign in question.
    """

    domain: Domain
    dither: bytes = field(repr=False)
    campaigns: tuple[CampaignExposure, ...]
    forgotten_nanonats: int
    map: Map = field(default_factory=Identity)

    @property
    def forgotten(self) -> float:
        """``forgotten_nanonats`` in nats, for display."""
        return exact.nats(self.forgotten_nanonats)

    def about(self, answer: Answer) -> Level:
        """Return an upper bound on the level between this answer and any other: the reports are at most e^level times
        as likely with this answer as with another.

        Args:
            answer: for a form, the answers to the questions that this device is asked.
        Raises:
            NotInDomain: ``answer`` is not an answer to the campaign's question.
        """
        inputs = self._inputs_of(answer)
        if isinstance(self.domain, Form) and any(view.map != self.map for view in self._draws):
            # Another campaign may have asked questions that this answer leaves out, so only the bound for all answers
            # is valid.
            return self.together
        return self._worst(inputs)

    def _inputs_of(self, answer: Answer) -> Sequence[int]:
        """Return the inputs of an answer under all dithers, because an observer does not know the dither."""
        if isinstance(self.domain, Items):
            items, members = self.domain.item_count, self.domain.members(answer)
            if members and members[0] >= items:
                return members
            dummies = range(items, self.domain.size) if len(members) < self.domain.padding else ()
            return *members, *dummies
        x = self.map.index(self.domain, answer, self.dither)
        if not _depends_on_dither(self.domain):
            return [x]
        if isinstance(self.domain, Form) and isinstance(answer, Mapping):
            digits: list[Iterable[int]] = [[digit] for digit in self.domain.split(x)]
            for name, single_answer in answer.items():
                position = self.domain.positions[name]
                question = self.domain.questions[position]
                digits[position] = {question.index(single_answer, dither) for dither in _END_DITHERS}
            return sorted(map(self.domain.join, product(*digits)))
        return sorted({self.map.index(self.domain, answer, dither) for dither in _END_DITHERS})

    def pair(self, x: int, other: int) -> Level:
        """Return an upper bound on the level between the inputs ``x`` and ``other``: the reports are at most e^level
        times as likely with ``x`` as with ``other``."""
        return Level(0 if x == other else self._sum([x], [other]), x, other)

    def value(self, x: int) -> Level:
        """Return the largest ``pair(x, other)`` over all inputs ``other``; a result whose ``other`` is None is an upper
        bound of it."""
        return self._worst([x])

    @cached_property
    def together(self) -> Level:
        """The largest bound of ``about``, for a person who always gives the same answer; its pair of values is named if
        it was found. ``changing`` is at least as large."""
        return self._worst(range(self.domain.size))

    @cached_property
    def changing(self) -> Level:
        """The bound of ``about`` for any two sequences of answers, which may change from report to report."""
        everything = range(self.domain.size)
        return Level(self._sum(everything, everything))

    @cached_property
    def question_levels(self) -> Mapping[str, Level]:
        """The bound of ``about`` for two answers to a form that differ in one question only, by the question's name.

        Empty if the domain is not a form.
        """
        if not isinstance(self.domain, Form):
            return {}
        everything = range(self.domain.size)
        levels = {}
        for name, position in self.domain.positions.items():
            asking = {
                view: n
                for view, n in self._draws.items()
                if isinstance(view.map, QuestionsMap) and position in view.map.positions
            }
            levels[name] = Level(_sum([self._extra, *_losses(self.domain, asking, everything, everything)]))
        return levels

    @property
    def highest_posterior(self) -> Fraction:
        """The highest posterior probability of a value whose only alternative was equally likely before; rounded up."""
        level = self.together.nanonats
        return Fraction(1) if level is None else exact.posterior_above(level)

    @cached_property
    def budgets(self) -> tuple[int, ...] | None:
        """The budget of each value in nanonats; the level of two values is at most their smaller budget (Gu et al.
        2020, Theorem 2).

        None if no campaign has budgets for its values, or if a campaign has no bound.
        """
        if all(campaign.budgets is None for campaign in self.campaigns):
            return None
        plain = _sum(campaign.nanonats for campaign in self.campaigns if campaign.budgets is None)
        graded = [campaign for campaign in self.campaigns if campaign.budgets is not None]
        rows = [_sum([plain, *(campaign.budget(x) for campaign in graded)]) for x in range(self.domain.size)]
        return None if None in rows else tuple(level for level in rows if level is not None)

    @cached_property
    def _draws(self) -> Counter[ViewChannel]:
        draws: Counter[ViewChannel] = Counter()
        for campaign in self.campaigns:
            draws.update({view: times for view, times in campaign.draws.items() if times})
        return draws

    @cached_property
    def _extra(self) -> int | None:
        return _sum(campaign.extra for campaign in self.campaigns)

    def _sum(self, first: Sequence[int], second: Sequence[int]) -> int | None:
        return _sum([self._extra, *_losses(self.domain, self._draws, first, second)])

    def _worst(self, first: Sequence[int]) -> Level:
        everything = range(self.domain.size)
        if len(self._draws) <= 1 or self._extra is None:
            for view in self._draws:
                loss = view.loss(self.domain, first, everything)
                return Level(self._sum(first, everything), loss.x, loss.other, loss.y)
            return Level(self._extra)
        if _depends_on_dither(self.domain):
            # Each campaign has its own dither, so one answer may have different inputs in two campaigns.
            return Level(self._sum(first, everything))
        steps = sum(structure_of(view.channel).loss_steps for view in self._draws)
        # len() of a range fails beyond sys.maxsize, and a form may have more inputs.
        if self.domain.size > MAX_STEPS or len(first) * self.domain.size * steps > MAX_STEPS:
            return Level(self._sum(first, everything), None if first == everything else first[0])
        worst = Level(0)
        for x in first:
            for other in everything:
                level = self.pair(x, other)
                if level.nanonats is None:
                    return level
                if worst.x is None or level.nanonats > (worst.nanonats or 0):
                    worst = level
        return worst


def _depends_on_dither(domain: Domain) -> bool:
    """Return whether the input of some answer depends on the dither."""
    if isinstance(domain, Form):
        return any(_depends_on_dither(question.domain) for question in domain.questions)
    return isinstance(domain, Items) or (isinstance(domain, Line) and domain.rounds_randomly)


def _losses(
    domain: Domain, draws: Mapping[ViewChannel, int], first: Sequence[int], second: Sequence[int]
) -> list[int | None]:
    """Return the level of the draws of each channel, between inputs of ``first`` and ``second``; None if infinite."""
    levels = [(view.level(domain, first, second), times) for view, times in draws.items() if times]
    return [None if level is None else level * times for level, times in levels]


def _sum(levels: Iterable[int | None]) -> int | None:
    """Return the sum of levels; None if a level is infinite."""
    total = 0
    for level in levels:
        if level is None:
            return None
        total += level
    return total
