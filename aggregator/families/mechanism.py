"""A mechanism: its name, the questions to which it applies, and the recipe of its channel.

Each family lists its mechanisms beside its recipe. ``aggregator.planner.catalogue`` lists the compared mechanisms in
order, and ``aggregator.planner.choice`` finds the best mechanism for a question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from aggregator.estimate.shown_inputs import ShownInputs
from aggregator.families.lifts import level_for_ball
from protocol import exact
from protocol.channels import Blocks, Channel
from protocol.channels.blocks.channel import Constant
from protocol.domain import MAX_VALUES, Domain, Line
from protocol.notions import Block, Geo, HighLow, Lip, MutualInformation, Notion, Pairwise

LIP = "lip"
"""The name in a draft for the best mechanism among those whose names begin with ``lip``."""

COUNT, TRANSFORM, BITS, DENSE, TRIPLES = "n + k", "n + K log K", "n k", "n + k m", "n + k^2"
"""Cost of decoding n reports of k values. COUNT: outputs are counted. TRANSFORM: a transform of K points. BITS: bits
are counted. DENSE: a matrix of k x m cells for m outputs. TRIPLES: sums over triples."""

EXPECTED_REPORTS = 10_000
"""Default number of expected reports."""

Build: TypeAlias = Callable[[int, int], Channel]
"""A function that makes a channel from a number of inputs and a level in nanonats."""


@dataclass(frozen=True)
class PlannedQuestion:
    """The planning problem of one question: the values, the notion and the goal for which a channel is wanted.

    Attributes:
        domain: the possible answers.
        notion: the privacy notion, over the values of the domain.
        sensitive_share: for high-low LDP, the expected share of people with a sensitive value; None if it is unknown.
        bundled: whether a device answers several times a period, so that a report may contain many outputs.
        goal: the goal of the analysis, as in ``Campaign``; "" for the share of each value.
        reports: the expected number of reports.
        families: the wire names of the channel families that devices support; empty for all.
    Raises:
        ValueError: ``sensitive_share`` is given for a notion other than high-low LDP, or is not above 0 and below 1.
    """

    domain: Domain
    notion: Notion
    sensitive_share: float | None = None
    bundled: bool = False
    goal: str = ""
    reports: int = EXPECTED_REPORTS
    families: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.sensitive_share is None:
            return
        if not isinstance(self.notion, HighLow):
            raise ValueError(f"sensitive_share needs the notion {HighLow.name}, not {self.notion.name}: leave it out")
        if not 0 < self.sensitive_share < 1:
            raise ValueError(f"sensitive_share must be above 0 and below 1, not {self.sensitive_share}")

    @property
    def size(self) -> int:
        """Number of the channel's inputs, k."""
        return self.notion.input_count or self.domain.size

    def missing(self, channel: Channel) -> list[str]:
        """Return the families of a channel and of its blocks that the devices do not support."""
        inner = channel.channels if isinstance(channel, Blocks) else ()
        families = {channel.family, *(block.family for block in inner if not isinstance(block, Constant))}
        return sorted(families - self.families) if self.families else []

    @property
    def shown_inputs(self) -> ShownInputs:
        """The conversion to the shares that an estimate shows. The error of these shares is minimised."""
        return ShownInputs.of(self.domain)

    @property
    def shares(self) -> list[float] | None:
        """The expected shares, shape (k,), uniform within each set of values if ``sensitive_share`` is given; None for
        equal shares.

        If the goal is the mean and devices round at random, all numbers of the range are assumed to be equally common;
        the result is the shares of the rounded numbers.
        """
        if self.goal == "mean" and isinstance(self.domain, Line) and self.domain.rounds_randomly:
            gaps = [float(high - low) for low, high in pairwise(self.domain.points)]
            around = zip([0.0, *gaps], [*gaps, 0.0], strict=True)
            return [(below + above) / (2 * sum(gaps)) for below, above in around]
        # The second condition is for the type checker.
        if self.sensitive_share is None or not isinstance(self.notion, HighLow):
            return None
        sensitive = frozenset(self.notion.sensitive)
        share, other = self.sensitive_share / len(sensitive), (1 - self.sensitive_share) / (self.size - len(sensitive))
        return [share if x in sensitive else other for x in range(self.size)]


Recipe: TypeAlias = Callable[[], Channel]
"""A function that makes the channel of one question."""


@dataclass(frozen=True)
class Mechanism:
    """A mechanism: its name, and the channels that it makes for questions.

    Attributes:
        name: the name of the mechanism in drafts.
        description: the description of the mechanism in one line.
        source: the publication that describes it.
        decoding_cost: the cost of decoding n reports.
        recipe_for: a function that takes a question, and returns the ``Recipe`` of its channel, or the reason why the
            mechanism does not apply.
    """

    name: str
    description: str
    source: str
    decoding_cost: str
    recipe_for: Callable[[PlannedQuestion], Recipe | str]


def sufficient_ldp_level(notion: Notion) -> int | str:
    """Return the level in nanonats at which plain LDP implies ``notion``, or the reason why a mechanism of plain LDP
    does not apply."""
    if isinstance(notion, Lip):
        # eps-LDP implies eps-LIP under every prior (Jiang, Li, Tandon 2020, Theorem 1).
        return notion.level
    if isinstance(notion, MutualInformation):
        return "it does not support a notion that bounds an average"
    if isinstance(notion, Geo):
        level = notion.level * notion.smallest_gap // notion.unit
    elif isinstance(notion, Pairwise):
        level = min(bound for _, _, bound in notion.bounds())
    else:
        return f"it does not support notion {notion.name}"
    if level < exact.MIN_LEVEL:
        return (
            f"the smallest bound, {exact.in_nats(level)} (nats: see docs/GLOSSARY.md), is below the smallest level "
            "that a channel may have"
        )
    return min(level, exact.MAX_LEVEL)


def for_ldp(build: Build, maximum: int = MAX_VALUES, minimum: int = 2) -> Callable[[PlannedQuestion], Recipe | str]:
    """Return the ``Mechanism.recipe_for`` of a mechanism of plain LDP over ``minimum`` to ``maximum`` values, at the
    smallest bound of the notion."""

    def recipe_for(question: PlannedQuestion) -> Recipe | str:
        if isinstance(question.notion, HighLow | Block):
            return "it does not distinguish protected values from others"
        level = sufficient_ldp_level(question.notion)
        if isinstance(level, str):
            return level
        if not minimum <= question.size <= maximum:
            return f"it supports {minimum} to {maximum:,} values"
        return lambda: build(question.size, level)

    return recipe_for


def for_prior(
    build: Callable[[Sequence[int], int], Channel], maximum: int = MAX_VALUES
) -> Callable[[PlannedQuestion], Recipe | str]:
    """Return the ``Mechanism.recipe_for`` of a mechanism for a prior of at most ``maximum`` values. With a radius, the
    level is lowered so that it is satisfied for the whole ball."""
    return for_priors_near(lambda prior, level, radius: build(prior, level_for_ball(level, radius)), maximum)


def for_priors_near(
    build: Callable[[Sequence[int], int, int], Channel], maximum: int = MAX_VALUES
) -> Callable[[PlannedQuestion], Recipe | str]:
    """Return the ``Mechanism.recipe_for`` of a mechanism for a prior of at most ``maximum`` values, a level and a
    radius in parts per billion."""

    def recipe_for(question: PlannedQuestion) -> Recipe | str:
        notion = question.notion
        if not isinstance(notion, Lip):
            return "it needs a prior: notion lip"
        if len(notion.prior) > maximum:
            return f"it supports at most {maximum:,} values"
        return lambda: build(notion.prior, notion.level, notion.radius)

    return recipe_for


def for_sensitive(build: Callable[[int, Sequence[int], int], Channel]) -> Callable[[PlannedQuestion], Recipe | str]:
    """Return the ``Mechanism.recipe_for`` of a mechanism for a set of sensitive values."""

    def recipe_for(question: PlannedQuestion) -> Recipe | str:
        notion = question.notion
        if not isinstance(notion, HighLow):
            return "it needs sensitive values: notion high-low"
        return lambda: build(notion.size, notion.sensitive, notion.level)

    return recipe_for
