"""The catalogue: every mechanism by name, and which questions it serves.

One idea: a mechanism is a name, the wishes it can meet, and a recipe; where it does not serve, it says why.

How integers are found: the recipes. Which mechanism is best for a question: choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from aggregator.design import idue, mechanisms, noise, optimum, support, unary
from aggregator.design.columns import optimal_table
from aggregator.design.information import mutual_information_table
from aggregator.design.windows import windows
from protocol import exact
from protocol.channels import Channel
from protocol.channels.noise import MAX_POINTS
from protocol.channels.triples import MAX_INPUTS as MOST_TRIPLED
from protocol.domain import MAX_VALUES, Buckets, Domain
from protocol.notions import (
    UNBOUNDED,
    Block,
    Geo,
    Graded,
    HighLow,
    Information,
    Ldp,
    Matrix,
    MutualInformation,
    Notion,
    Pairwise,
)

LIP = "lip"
"""How the names of mechanisms begin that are made for a prior, and the name of the best of them."""


@dataclass(frozen=True)
class Question:
    """What a channel is wanted for.

    Attributes:
        domain: what can be answered.
        notion: what must be kept, of as many values as the domain has.
        part: of the people who hold a sensitive value, of a high-low notion; None where nobody says.
    """

    domain: Domain
    notion: Notion
    part: float | None = None

    def __post_init__(self) -> None:
        if self.part is not None and not (isinstance(self.notion, HighLow) and 0 < self.part < 1):
            raise ValueError("a part of the people holds sensitive values: notion high-low, above 0 and below 1")

    @property
    def size(self) -> int:
        """k, the number of the channel's inputs."""
        return self.notion.inputs or self.domain.size

    @property
    def shares(self) -> list[float] | None:
        """The shares to expect where a part is said: even among the sensitive values, and among the others."""
        if self.part is None or not isinstance(self.notion, HighLow):  # the second says it to the type checker
            return None
        sensitive = frozenset(self.notion.sensitive)
        each, other = self.part / len(sensitive), (1 - self.part) / (self.size - len(sensitive))
        return [each if x in sensitive else other for x in range(self.size)]


Recipe: TypeAlias = Callable[[], Channel]


@dataclass(frozen=True)
class Mechanism:
    """A way to a channel.

    Attributes:
        name: what authors call it.
        does: what it does, in a line.
        source: who described it.
        decode: what decoding n reports costs.
        recipe: what makes the channel of a question; the reason, in words, where it does not serve it.
    """

    name: str
    does: str
    source: str
    decode: str
    recipe: Callable[[Question], Recipe | str]


# What a recipe needs of a question, and the reason in words where it is not there.


def _level(notion: Notion) -> int | str:
    """The level at which plain LDP keeps ``notion``, or why there is none."""
    if isinstance(notion, Information):
        return notion.level  # eps-LDP implies eps-LIP under every prior (Jiang, Li, Tandon 2020, Prop. 1)
    if isinstance(notion, MutualInformation):
        return "it is not made for an average"
    if isinstance(notion, Geo):
        level = notion.level * notion.nearest // notion.unit
    elif isinstance(notion, Pairwise):
        level = min(bound for _, _, bound in notion.bounds())
    else:
        return f"notion {notion.name} has a rule of its own"
    if level < exact.MIN_LEVEL:
        return f"the smallest bound, {exact.nats(level):g} nats, is too small for a channel that keeps it everywhere"
    return min(level, exact.MAX_LEVEL)


def _everywhere(build: mechanisms.Build, most: int = MAX_VALUES) -> Callable[[Question], Recipe | str]:
    """A plain LDP mechanism of at most ``most`` values, inside blocks and a sensitive set too."""

    def recipe(question: Question) -> Recipe | str:
        notion = question.notion
        if isinstance(notion, HighLow):
            return lambda: mechanisms.high_low(notion.size, notion.sensitive, notion.level, build)
        if isinstance(notion, Block):
            return lambda: mechanisms.in_blocks(_block_of(notion), notion.level, build)
        return _plain(build, most)(question)

    return recipe


def _projective(question: Question) -> Recipe | str:
    """Projective geometry everywhere; the order that is best alone is not the one that others hide among best."""
    notion = question.notion
    if not isinstance(notion, HighLow):
        return _everywhere(support.projective)(question)

    def inner(sensitive: int, level: int) -> Channel:
        return support.projective_for_high_low(notion.size, sensitive, level, question.part)

    return lambda: mechanisms.high_low(notion.size, notion.sensitive, notion.level, inner)


def _plain(build: mechanisms.Build, most: int = MAX_VALUES, least: int = 2) -> Callable[[Question], Recipe | str]:
    """A plain LDP mechanism of ``least`` to ``most`` values, at a level that keeps every bound there is."""

    def recipe(question: Question) -> Recipe | str:
        if isinstance(question.notion, HighLow | Block):
            return "it does not tell protected values from others"
        level = _level(question.notion)
        if isinstance(level, str):
            return level
        if not least <= question.size <= most:
            return f"it takes {least} to {most:,} values"
        return lambda: build(question.size, level)

    return recipe


def _lip(build: Callable[[Sequence[int], int], Channel], most: int = MAX_VALUES) -> Callable[[Question], Recipe | str]:
    """A mechanism made for a prior of at most ``most`` values."""

    def recipe(question: Question) -> Recipe | str:
        notion = question.notion
        if not isinstance(notion, Information):
            return "it is made for a prior: notion lip"
        if len(notion.prior) > most:
            return f"it takes {most:,} values at most"
        return lambda: build(notion.prior, notion.level)

    return recipe


def _published(question: Question) -> Recipe | str:
    notion = question.notion
    if isinstance(notion, Information):
        least = Fraction(min(notion.prior), sum(notion.prior))
        if least * (exact.exp_lower(notion.level) + (1 << exact.EXP_BITS)) < 1 << exact.EXP_BITS:
            return (
                f"it breaks its own definition for this prior, with a share of {float(least):.3g}: it is legal only "
                f"where every share is at least 1 / (e^epsilon + 1). Use {LIP}"
            )
    return _lip(mechanisms.published_lip_response)(question)


def _sensitive(build: Callable[[int, Sequence[int], int], Channel]) -> Callable[[Question], Recipe | str]:
    """A mechanism made for a sensitive set."""

    def recipe(question: Question) -> Recipe | str:
        notion = question.notion
        if not isinstance(notion, HighLow):
            return "it is made for sensitive values: notion high-low"
        return lambda: build(notion.size, notion.sensitive, notion.level)

    return recipe


def _graded(kind: str) -> Callable[[Question], Recipe | str]:
    def recipe(question: Question) -> Recipe | str:
        notion = question.notion
        if not isinstance(notion, Graded):
            return "it is made for a budget for each value: notion minid or avgid"
        return lambda: idue.idue(notion, kind)

    return recipe


def _in_each_block(question: Question) -> Recipe | str:
    notion = question.notion
    if not isinstance(notion, Block):
        return "it is made for blocks: notion block"
    builders = (mechanisms.randomized_response, mechanisms.hadamard, support.projective)
    return lambda: mechanisms.best_in_blocks(_block_of(notion), notion.level, builders)


def _binary(question: Question) -> Recipe | str:
    notion = question.notion
    if not isinstance(notion, Pairwise) or question.size != 2:
        return "it takes two values and a bound each way"
    levels = _matrix(notion, 2).levels
    return lambda: optimum.binary_optimum(levels[0][1], levels[1][0])


def _designed(question: Question) -> Recipe | str:
    notion = question.notion
    if not isinstance(notion, Pairwise) or isinstance(notion, Ldp):
        return "it is made for bounds that differ from pair to pair"
    if not 3 <= question.size <= MOST_DESIGNED:
        return f"it takes 3 to {MOST_DESIGNED} values"
    return lambda: optimum.best_table(_matrix(notion, question.size))


def _geometric(question: Question) -> Recipe | str:
    notion = question.notion
    if isinstance(notion, Geo) and notion.is_line:
        step = notion.level * notion.nearest // notion.unit
        return lambda: noise.discrete_laplace(question.size, min(step, exact.MAX_LEVEL))
    if isinstance(notion, Ldp) and isinstance(question.domain, Buckets) and question.size <= MAX_POINTS:
        return lambda: noise.discrete_laplace(question.size, notion.level // (question.size - 1))
    return "it is made for numbers on a line: a buckets domain, notion geo or ldp"


def _planar(question: Question) -> Recipe | str:
    notion = question.notion
    if not isinstance(notion, Geo) or notion.is_line:
        return "it is made for places: a grid domain, notion geo"
    return lambda: noise.planar(notion)


def _mutual_information(question: Question) -> Recipe | str:
    notion = question.notion
    if not isinstance(notion, MutualInformation):
        return "it is made for an average: notion mutual-information"
    if question.size > MOST_CONVEX:
        return f"it takes {MOST_CONVEX} values at most"
    return lambda: mutual_information_table(notion.prior, notion.level)


def _block_of(notion: Block) -> list[int]:
    return [block for block, length in notion.runs for _ in range(length)]


def _matrix(notion: Pairwise, size: int) -> Matrix:
    """The bounds of a pairwise notion, pair by pair."""
    if isinstance(notion, Matrix):
        return notion
    levels = [[UNBOUNDED] * size for _ in range(size)]
    classes = notion.classes or [range(size)]
    for first, second, bound in notion.bounds():
        for x in classes[first]:
            for other in classes[second]:
                levels[x][other] = min(bound, exact.MAX_LEVEL)
    rows = tuple(tuple(0 if x == other else row[other] for other in range(size)) for x, row in enumerate(levels))
    return Matrix(max(max(row) for row in rows), rows)


MOST_DESIGNED = 8
"""Values of a designed table: above it the search takes long."""
MOST_COLUMNS = 60
"""Values of a table by column generation: a campaign carries every cell."""
MOST_CONVEX = 30
MOST_BITS = 2**16

_COUNT, _WALSH, _POINTS, _BITS, _DENSE = "n + k", "n + K log K", "n + K log K", "n k", "n + k m"
_TRIPLES = "n + k^2"

CATALOGUE = (
    Mechanism(
        "randomized-response",
        "the truth, or a draw from all values",
        "Warner 1965; Kairouz et al. 2016",
        _COUNT,
        _everywhere(mechanisms.randomized_response),
    ),
    Mechanism(
        "hadamard",
        "a column of Hadamard's matrix, log2 k bits",
        "Acharya, Sun, Zhang 2019; Acharya et al. 2020",
        _WALSH,
        _everywhere(mechanisms.hadamard),
    ),
    Mechanism(
        "projective",
        "a point of a projective space, log2 k bits",
        "Feldman et al. 2022",
        _POINTS,
        _projective,
    ),
    Mechanism(
        "subset",
        "a set of values with the own one in it, a bit each",
        "Ye, Barg 2018",
        _BITS,
        _plain(support.subset_selection, 62, 4),
    ),
    Mechanism(
        "triples",
        "three values, the own one likelier to be among them",
        "Ye, Barg 2018, d = 3, on a Steiner triple system (Bose 1939)",
        _TRIPLES,
        _plain(support.triples, MOST_TRIPLED, 4),
    ),
    Mechanism(
        "rappor",
        "a bit for each value, all equally noisy",
        "Erlingsson et al. 2014",
        _BITS,
        _plain(unary.rappor, MOST_BITS),
    ),
    Mechanism("oue", "a bit for each value, zeros noisier", "Wang et al. 2017", _BITS, _plain(unary.oue, MOST_BITS)),
    Mechanism(
        "best-in-blocks",
        "in each block what has least error there",
        "after Acharya et al. 2020, sec. 6",
        _COUNT,
        _in_each_block,
    ),
    Mechanism(
        "utility-rappor",
        "bits; those of values that may show are never set by chance",
        "Murakami, Kawamoto 2019",
        _BITS,
        _sensitive(unary.utility_rappor),
    ),
    Mechanism(
        "utility-oue", "the same with zeros noisier", "Murakami, Kawamoto 2019", _BITS, _sensitive(unary.utility_oue)
    ),
    Mechanism(
        "idue", "a bit for each value, noisier the smaller its budget", "Gu et al. 2020, opt0", _BITS, _graded("opt0")
    ),
    Mechanism("idue-opt1", "the same with symmetric bits", "Gu et al. 2020, opt1", _BITS, _graded("opt1")),
    Mechanism("idue-opt2", "the same with the own bit even", "Gu et al. 2020, opt2", _BITS, _graded("opt2")),
    Mechanism(
        "binary-optimum",
        "the best channel of two values for any bounds",
        "Acharya et al. 2020, Theorem 2",
        _COUNT,
        _binary,
    ),
    Mechanism(
        "designed",
        "the best table found for bounds pair by pair",
        "ours; open in Acharya et al. 2020",
        _DENSE,
        _designed,
    ),
    Mechanism(
        "geometric", "discrete Laplace noise on a line", "Ghosh, Roughgarden, Sundararajan 2009", _DENSE, _geometric
    ),
    Mechanism("planar", "discrete noise around a place", "Andres et al. 2013", _DENSE, _planar),
    Mechanism(
        "lip-response",
        "the truth, or a draw that rare values are rarer in",
        "after Jiang, Li, Tandon 2020, Th. 3",
        _COUNT,
        _lip(mechanisms.lip_response),
    ),
    Mechanism(
        "lip-windows", "types for frequent values, windows of a circle for rare ones", "ours", _POINTS, _lip(windows)
    ),
    Mechanism("lip-table", "the optimum, by column generation", "ours", _DENSE, _lip(optimal_table, MOST_COLUMNS)),
    Mechanism(
        "lip-symmetric",
        "two values, both told wrongly equally often",
        "Jiang, Li, Tandon 2020, Prop. 4",
        _COUNT,
        _lip(optimum.symmetric_lip, 2),
    ),
    Mechanism(
        "lip-published",
        "the published channel, where it is legal",
        "Jiang, Li, Tandon 2020, Th. 2, 3, 5",
        _COUNT,
        _published,
    ),
    Mechanism(
        "random-sampling",
        "the truth, or a draw from the prior",
        "Wang, Qin, Qiu 2023",
        _COUNT,
        _lip(optimum.random_sampling_lip),
    ),
    Mechanism(
        "oue-lip",
        "bits, with the least error under a prior",
        "after Wang, Qin, Qiu 2023",
        _BITS,
        _lip(unary.oue_lip, MOST_BITS),
    ),
    Mechanism(
        "mutual-information",
        "the least distortion within an average leak",
        "Jiang et al. 2018",
        _DENSE,
        _mutual_information,
    ),
)
"""The more widely useful first."""
