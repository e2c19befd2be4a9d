"""Privacy notions: what a campaign claims, and the audit that proves it (SPEC 6).

One idea: a notion is a predicate on a channel's integers. ``certify`` computes the channel's level exactly, names
the worst pair as witness, and refuses a channel above its declared level: there is no other way to a certificate.

    Pairwise      ln Q(y|x) - ln Q(y|x') <= E[x][x'] for all y         (Acharya et al. 2020, Def. 2)
    Information   |ln P(x|y) - ln P(x)| <= eps, under a prior          (Jiang, Li, Tandon 2020, Def. 1)

How a channel is made to keep a notion is the author's business, not here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from protocol import codec, exact, runs
from protocol.channels import Channel, Loss, RandomizedResponse, Table
from protocol.domain import MAX_VALUES
from protocol.errors import NotionError, Uncertified
from protocol.runs import Runs, require_runs, runs_of

UNBOUNDED = -1
"""The wire's infinite level."""

MAX_MATRIX = 256
MAX_PRIOR_WEIGHT = 2**53


@dataclass(frozen=True)
class Certificate:
    """What a channel's integers prove. All levels in nanonats, rounded up.

    Attributes:
        declared: the level the notion claims.
        audited: the smallest level the channel provably keeps under its own notion.
        ldp: its plain LDP level, which needs no prior; None where it is infinite.
        witness: the ratio that comes nearest to its bound.
    """

    declared: int
    audited: int
    ldp: int | None
    witness: Loss

    @property
    def cost(self) -> int:
        """What one fresh answer is charged.

        The LDP level, which adds up over answers whatever the prior; where it is infinite, the level between the
        inputs that the notion protects from each other.
        """
        return self.audited if self.ldp is None else self.ldp


class Notion(ABC):
    """A privacy notion at a declared level."""

    name: ClassVar[str]
    level: int

    @property
    @abstractmethod
    def inputs(self) -> int | None:
        """The number of inputs it speaks of; None where it fits any."""

    @abstractmethod
    def audit(self, channel: Channel) -> tuple[bool, int, Loss]:
        """Whether the channel keeps the notion, the audited level, and the worst case.

        Raises:
            Uncertified: a loss without bound where a bound is declared.
        """

    @abstractmethod
    def encode(self) -> codec.Value:
        """The wire form (SPEC 6)."""


def certify(channel: Channel, notion: Notion) -> Certificate:
    """The certificate of ``channel`` under ``notion``.

    Raises:
        Uncertified: the channel does not keep the declared level, by however little.
    """
    if notion.inputs not in (None, channel.inputs):
        raise NotionError(f"the notion speaks of {notion.inputs} values, the channel of {channel.inputs}")
    kept, audited, witness = notion.audit(channel)
    if not kept:
        raise Uncertified(
            f"the channel's level is {exact.nats(audited):.9f} nats where {notion.name} declares "
            f"{exact.nats(notion.level):.9f} (input {witness.x}"
            + (f" against {witness.other}" if witness.other is not None else " against the prior")
            + f", output {witness.y})"
        )
    everything = range(channel.inputs)
    ldp = audited if isinstance(notion, Ldp) else channel.loss(everything, everything).level
    return Certificate(notion.level, audited, ldp, witness)


@dataclass(frozen=True)
class Pairwise(Notion):
    """A bound for each ordered pair of inputs, by classes of inputs that are bounded alike."""

    level: int

    def __post_init__(self) -> None:
        require_level(self.level)

    @property
    @abstractmethod
    def classes(self) -> Sequence[Sequence[int]] | None:
        """The inputs of each class; None where all inputs are one class."""

    @abstractmethod
    def bounds(self) -> Iterator[tuple[int, int, int]]:
        """(class of x, class of x', level) for every pair of classes whose level is finite."""

    def audit(self, channel: Channel) -> tuple[bool, int, Loss]:
        classes = self.classes or [range(channel.inputs)]
        worst = witness = None
        nearest = (False, 0.0)
        for first, second, bound in self.bounds():
            loss = channel.loss(classes[first], classes[second])
            if loss.denominator == 0:
                raise Uncertified(
                    f"{self.name} bounds input {loss.x} against {loss.other}, but only the first can answer {loss.y}"
                )
            if worst is None or loss.worse_than(worst):
                worst = loss
            exceeded = not exact.keeps(loss.numerator, loss.denominator, bound)
            # The witness is for people to read, so a float may choose it among bounds that are all kept.
            nearness = (exceeded, exact.rough_log(loss.numerator, loss.denominator) / max(bound, 1))
            if witness is None or nearness > nearest:
                nearest, witness = nearness, loss
        if worst is None or witness is None or worst.level is None:
            raise NotionError(f"{self.name} bounds no pair of values: it would protect nothing")
        return not nearest[0], worst.level, witness


@dataclass(frozen=True)
class Ldp(Pairwise):
    """eps-LDP: one bound for all pairs."""

    name: ClassVar[str] = "ldp"

    @property
    def inputs(self) -> int | None:
        return None

    @property
    def classes(self) -> None:
        return None

    def bounds(self) -> Iterator[tuple[int, int, int]]:
        yield 0, 0, self.level

    def encode(self) -> codec.Value:
        return [self.name, self.level]


@dataclass(frozen=True)
class HighLow(Pairwise):
    """High-low LDP: Q(y|x) <= e^eps Q(y|x') for x sensitive and every x'   (Acharya et al. 2020, Def. 3).

    Attributes:
        size: k.
        sensitive: the sensitive inputs, increasing; neither none nor all.
    """

    size: int
    sensitive: tuple[int, ...]
    name: ClassVar[str] = "high-low"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < len(self.sensitive) < self.size:
            raise NotionError("high-low LDP needs some sensitive values, and some that are not")
        if any(x >= y for x, y in zip(self.sensitive, self.sensitive[1:], strict=False)):
            raise NotionError("the sensitive values are listed once each, in the domain's order")
        if self.sensitive[0] < 0 or self.sensitive[-1] >= self.size:
            raise NotionError("a sensitive value lies outside the domain")

    @property
    def inputs(self) -> int | None:
        return self.size

    @cached_property
    def classes(self) -> tuple[tuple[int, ...], ...]:
        marked = frozenset(self.sensitive)
        return self.sensitive, tuple(x for x in range(self.size) if x not in marked)

    def bounds(self) -> Iterator[tuple[int, int, int]]:
        yield 0, 0, self.level
        yield 0, 1, self.level

    def encode(self) -> codec.Value:
        return [self.name, self.level, self.size, list(self.sensitive)]


@dataclass(frozen=True)
class Block(Pairwise):
    """Block-structured LDP: eps within a block, no bound between blocks   (Acharya et al. 2020, Def. 4).

    Attributes:
        runs: (block, length) pairs in input order; blocks numbered from 0 in order of first appearance.
    """

    runs: Runs
    name: ClassVar[str] = "block"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_runs(self.runs, 0, NotionError)
        if all(len(members) < 2 for members in self.classes):
            raise NotionError("block-structured LDP needs a block of at least two values")

    @classmethod
    def over(cls, level: int, blocks: Sequence[int]) -> Block:
        """The notion for a block number per input; blocks are renumbered by first appearance."""
        return cls(level, runs_of(blocks))

    @property
    def inputs(self) -> int | None:
        return sum(length for _, length in self.runs)

    @cached_property
    def classes(self) -> tuple[tuple[int, ...], ...]:
        members: list[list[int]] = [[] for _ in range(1 + max((block for block, _ in self.runs), default=-1))]
        x = 0
        for block, length in self.runs:
            members[block].extend(range(x, x + length))
            x += length
        return tuple(tuple(block) for block in members)

    def bounds(self) -> Iterator[tuple[int, int, int]]:
        for block in range(len(self.classes)):
            yield block, block, self.level

    def encode(self) -> codec.Value:
        return [self.name, self.level, runs.encode(self.runs)]


@dataclass(frozen=True)
class Matrix(Pairwise):
    """E-LDP for an explicit matrix of levels, for small domains   (Acharya et al. 2020, Def. 2).

    Attributes:
        levels: k x k nanonats, ``UNBOUNDED`` where there is no bound; the diagonal is not looked at and 0.
            ``level`` is the largest finite entry.
    """

    levels: tuple[tuple[int, ...], ...]
    name: ClassVar[str] = "pairwise"

    def __post_init__(self) -> None:
        super().__post_init__()
        size = len(self.levels)
        if not 2 <= size <= MAX_MATRIX:
            raise NotionError(f"a matrix of levels speaks of 2 to {MAX_MATRIX} values, not {size}")
        for x, row in enumerate(self.levels):
            if len(row) != size:
                raise NotionError(f"row {x} of the levels has {len(row)} entries, not {size}")
            if row[x] != 0:
                raise NotionError("the diagonal of a matrix of levels is 0")
            if any(level != UNBOUNDED and not 0 <= level <= exact.MAX_LEVEL for level in row):
                raise NotionError(f"levels lie in 0 .. {exact.nats(exact.MAX_LEVEL):g} nats, or are unbounded")
        if self.level != max(max(row) for row in self.levels):
            raise NotionError("the declared level is the largest finite entry of the matrix")

    @property
    def inputs(self) -> int | None:
        return len(self.levels)

    @cached_property
    def classes(self) -> tuple[tuple[int, ...], ...]:
        return tuple((x,) for x in range(len(self.levels)))

    def bounds(self) -> Iterator[tuple[int, int, int]]:
        for x, row in enumerate(self.levels):
            for other, level in enumerate(row):
                if x != other and level != UNBOUNDED:
                    yield x, other, level

    def encode(self) -> codec.Value:
        return [self.name, self.level, [list(row) for row in self.levels]]


@dataclass(frozen=True)
class Information(Notion):
    """Local information privacy under a prior: e^-eps <= P(x|y) / P(x) <= e^eps for all x and y.

    Attributes:
        prior: k positive integers; P(x) = prior[x] / sum(prior), exactly. Counts serve as they are.
    """

    level: int
    prior: tuple[int, ...]
    name: ClassVar[str] = "lip"

    def __post_init__(self) -> None:
        require_level(self.level)
        if len(self.prior) < 2:
            raise NotionError("a prior has at least two values")
        if min(self.prior) < 1:
            raise NotionError("a prior is above zero at every value: LIP says nothing about a value of prior zero")
        if sum(self.prior) > MAX_PRIOR_WEIGHT:
            raise NotionError("prior weights sum to at most 2^53")

    @property
    def inputs(self) -> int | None:
        return len(self.prior)

    def audit(self, channel: Channel) -> tuple[bool, int, Loss]:
        if not isinstance(channel, Table | RandomizedResponse):
            raise Uncertified(f"there is no audit of LIP for {channel.family} channels")
        loss = channel.loss_against_prior(self.prior)
        level = loss.level
        if level is None:
            raise Uncertified(f"output {loss.y} rules input {loss.x} out, which no LIP level allows")
        return exact.keeps(loss.numerator, loss.denominator, self.level), level, loss

    def encode(self) -> codec.Value:
        return [self.name, self.level, list(self.prior)]


def require_level(level: int) -> None:
    """Refuse levels that protect nothing or measure nothing.

    Raises:
        NotionError
    """
    if not exact.MIN_LEVEL <= level <= exact.MAX_LEVEL:
        raise NotionError(
            f"epsilon lies in {exact.nats(exact.MIN_LEVEL):g} .. {exact.nats(exact.MAX_LEVEL):g} nats, "
            f"not {exact.nats(level):g}"
        )


def decode(value: codec.Value) -> Notion:
    """The notion of a wire form (SPEC 6).

    Raises:
        NotionError: unknown name, wrong fields, or a notion without meaning.
    """
    if not isinstance(value, list) or len(value) < 2:
        raise NotionError("a notion is an array that begins with its name and level")
    name = codec.text(value[0], "a notion's name", NotionError)
    level = codec.integer(value[1], "a level", NotionError)
    if name == Ldp.name:
        codec.fields(value, 2, "ldp", NotionError)
        return Ldp(level)
    if name == HighLow.name:
        _, _, size, sensitive = codec.fields(value, 4, "high-low", NotionError)
        return HighLow(
            level,
            codec.integer(size, "the number of values", NotionError, 2, MAX_VALUES),
            codec.integers(sensitive, "a sensitive value", NotionError, 0, MAX_VALUES),
        )
    if name == Block.name:
        return Block(level, runs.decode(codec.fields(value, 3, "block", NotionError)[2], NotionError))
    if name == Matrix.name:
        rows = codec.fields(value, 3, "pairwise", NotionError)[2]
        if not isinstance(rows, list):
            raise NotionError("the levels are an array of rows")
        return Matrix(
            level,
            tuple(codec.integers(row, "a level", NotionError, UNBOUNDED, exact.MAX_LEVEL) for row in rows),
        )
    if name == Information.name:
        weights = codec.fields(value, 3, "lip", NotionError)[2]
        return Information(level, codec.integers(weights, "a prior weight", NotionError, 0, MAX_PRIOR_WEIGHT))
    raise NotionError(f"a notion is ldp, high-low, block, pairwise or lip, not {name[:40]!r}")
