"""The catalogue: every mechanism by name, which questions it serves, and the best one for a question.

One idea: a mechanism is a name, the wishes it can meet, and a recipe. Whoever wants a channel asks the catalogue;
whatever it hands out has been certified at the level asked for, and its error is computed from its own integers.

How integers are found: the recipes. What a choice costs beside the others: plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from aggregator.design import idue, mechanisms, noise, optimum, support, unary
from aggregator.design.columns import optimal_table
from aggregator.design.information import mutual_information_table
from aggregator.design.windows import windows
from aggregator.estimate.decoders import NotInvertible, decoder_of
from aggregator.estimate.decoders.decoder import Floats
from aggregator.estimate.error import expected_mse, lip_mse, prior_mse
from protocol import exact, notions
from protocol.channels import Channel
from protocol.channels.noise import MAX_POINTS
from protocol.channels.triples import MAX_INPUTS as MOST_TRIPLED
from protocol.domain import MAX_VALUES, Buckets, Domain
from protocol.errors import BadData, HalftruthError
from protocol.notions import (
    UNBOUNDED,
    Block,
    Certificate,
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

AUTO, LIP = "auto", "lip"
"""Names of a choice: the best of all, and the best of those that are made for a prior."""

SPARE_BITS = 8
"""What a choice allows an output beyond log2 k bits."""

SAME = 5e-4
"""Relative differences of errors below this are not worth telling."""

ROUNDING = 1e-9
"""Relative differences of errors below this are of rounding; then fewer bits decide, and then the catalogue's order."""

AS_GOOD = 0.999
"""LIP mechanisms that reach this part of the best one's gain are as good, and the unbiased estimate decides."""


class Unsuited(HalftruthError):
    """A wish that no mechanism, or not the one named, can meet. The text names what would do."""


@dataclass(frozen=True)
class Question:
    """What a channel is wanted for.

    Attributes:
        domain: what can be answered.
        notion: what must be kept, of as many values as the domain has.
    """

    domain: Domain
    notion: Notion

    @property
    def size(self) -> int:
        """k, the number of the channel's inputs."""
        return self.notion.inputs or self.domain.size


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


@dataclass(frozen=True)
class Candidate:
    """A mechanism's channel for one question, certified and weighed.

    Attributes:
        raw_mse: expected squared error of the unbiased histogram of one report, summed over the values; NaN where the
            channel has no unbiased estimate.
        weight: the most people one report can count for; NaN likewise.
        person_mse: LIP only: expected squared error of one person's histogram when the prior is right.
    """

    mechanism: Mechanism
    channel: Channel
    certificate: Certificate
    raw_mse: float
    weight: float
    person_mse: float | None

    @property
    def error(self) -> float:
        """What mechanisms for one question are compared by."""
        return self.raw_mse if self.person_mse is None else self.person_mse

    def within(self, most_bits: int) -> bool:
        """Whether an output is short enough."""
        return self.channel.output_bits <= most_bits

    def beside(self, choice: Candidate, most_bits: int) -> str:
        """Why ``choice`` is preferred to this one."""
        if not self.within(most_bits):
            return f"needs {self.channel.output_bits} bits, more than {most_bits}"
        if math.isnan(self.error) or math.isnan(choice.error):
            return "has no unbiased estimate"
        ratio = self.error / choice.error
        return "the same error" if abs(ratio - 1) < SAME else f"{ratio:.4g} times the error"


def candidates(
    question: Question, p: Sequence[float] | Floats | None = None, mechanisms: Sequence[Mechanism] | None = None
) -> Iterator[tuple[Mechanism, Candidate | str]]:
    """The channel of every one of ``mechanisms``, all if not given, for ``question``; or why it has none."""
    for mechanism in CATALOGUE if mechanisms is None else mechanisms:
        recipe = mechanism.recipe(question)
        if isinstance(recipe, str):
            yield mechanism, recipe
            continue
        try:
            yield mechanism, weigh(mechanism, recipe(), question.notion, p)
        except BadData as reason:
            yield mechanism, str(reason)


def weigh(
    mechanism: Mechanism, channel: Channel, notion: Notion, p: Sequence[float] | Floats | None = None
) -> Candidate:
    """Certify and weigh a channel.

    Args:
        p: the shares to expect; the prior of a LIP notion, else even, where not given.
    Raises:
        BadData: it does not keep the notion.
    """
    certificate = notions.certify(channel, notion)
    prior = notion.prior if isinstance(notion, Information) else None
    if p is None and prior is not None:
        p = [weight / sum(prior) for weight in prior]
    raw_mse = weight = math.nan
    with suppress(NotInvertible):
        raw_mse, weight = expected_mse(channel, p), decoder_of(channel, p).weight
    person = None if prior is None or channel.unary else lip_mse(channel, prior)
    return Candidate(mechanism, channel, certificate, raw_mse, weight, person)


def most_bits_of(question: Question, asked: int | None) -> int:
    """The bit limit of an output: what was asked, or ``SPARE_BITS`` beyond log2 k.

    Raises:
        Unsuited: fewer than log2 k bits cannot tell k values apart.
    """
    least = (question.size - 1).bit_length()
    if asked is not None and asked < least:
        raise Unsuited(f"{question.size} values take {least} bits at least, not {asked}: allow {least}")
    return least + SPARE_BITS if asked is None else asked


def best(question: Question, found: Sequence[Candidate], most_bits: int) -> tuple[Candidate, str]:
    """The candidate of least error within the bit limit, and the reason.

    Under a prior the error is one person's; of those as good, the one whose unbiased estimate of all is surest.

    Raises:
        Unsuited: none is left; the text names the nearest wish that can be met.
    """
    short = [one for one in found if one.within(most_bits)]
    if not short:
        if not found:
            raise Unsuited(f'no mechanism keeps notion "{question.notion.name}" for this question')
        nearest = min(found, key=lambda one: one.channel.output_bits)
        raise Unsuited(
            f"no mechanism answers within {most_bits} bits; {nearest.mechanism.name} needs "
            f"{nearest.channel.output_bits}"
        )
    weighed = [one for one in short if not math.isnan(one.error)] or short
    least = min(one.error for one in weighed)
    if isinstance(question.notion, Information):
        alone = prior_mse(question.notion.prior)
        as_good = [one for one in weighed if alone - one.error >= AS_GOOD * (alone - least)]
        choice = min(as_good, key=lambda one: math.inf if math.isnan(one.raw_mse) else one.raw_mse)
    else:
        as_good = [one for one in weighed if one.error <= (1 + ROUNDING) * least] or weighed
        choice = min(as_good, key=lambda one: one.channel.output_bits)
    return choice, _reason(choice, short, question)


def _reason(choice: Candidate, short: Sequence[Candidate], question: Question) -> str:
    if len(short) == 1:
        return "the only one that serves"
    if not isinstance(question.notion, Information):
        return f"least exact error of {len(short)} that serve"
    reason = f"tells most of a person under the prior, of {len(short)} that serve"
    if math.isnan(choice.raw_mse):
        reason += "; it has no unbiased estimate, so no error bars"
    surer = [
        one for one in short if one.raw_mse < choice.raw_mse or math.isnan(choice.raw_mse) > math.isnan(one.raw_mse)
    ]
    if surer:
        surest = min(surer, key=lambda one: one.raw_mse)
        reason += f"; for shares that do not lean on the prior, take {surest.mechanism.name}"
        if not math.isnan(choice.raw_mse):
            reason += f", with {surest.raw_mse / choice.raw_mse:.2g} times its squared error"
    return reason


def chosen(name: str, question: Question) -> tuple[str, Channel]:
    """The mechanism called ``name``, or for ``auto`` the best, and its channel for ``question``.

    Raises:
        Unsuited: there is none of that name, or it does not serve.
    """
    if name == LIP and not isinstance(question.notion, Information):
        raise Unsuited('"lip" does not serve this question: it is made for a prior, notion lip')
    if name in (AUTO, LIP):
        wanted = [one for one in CATALOGUE if name == AUTO or one.name.startswith(LIP)]
        found = [one for _, one in candidates(question, mechanisms=wanted) if not isinstance(one, str)]
        choice, _ = best(question, found, most_bits_of(question, None))
        return choice.mechanism.name, choice.channel
    mechanism = next((one for one in CATALOGUE if one.name == name), None)
    if mechanism is None:
        names = ", ".join([LIP, *(one.name for one in CATALOGUE)])
        raise Unsuited(f"name is {AUTO}, table, or one of {names}; not {name[:60]!r}")
    recipe = mechanism.recipe(question)
    if isinstance(recipe, str):
        others = [one.name for one in CATALOGUE if not isinstance(one.recipe(question), str)]
        raise Unsuited(f'"{name}" does not serve this question: {recipe}. What does: {", ".join(others)}, table')
    try:
        return name, weigh(mechanism, recipe(), question.notion).channel
    except BadData as reason:
        raise Unsuited(f'"{name}" does not serve this question: {reason}') from None


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
        _everywhere(support.projective),
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
