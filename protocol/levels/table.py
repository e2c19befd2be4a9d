"""A table of all privacy levels of one channel, each with a number or the reason why it is missing.

The analyst's audit and the device's both print this table, so that they agree. A level that is too expensive to compute
is reported as missing, never guessed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import accumulate, pairwise

from protocol.channels import Channel
from protocol.channels.structure import Structure, TooLarge
from protocol.levels import leakage, pairs, priors
from protocol.levels.level import Delta, Level
from protocol.levels.metric import Metric
from protocol.levels.pufferfish import Distinction, Pufferfish, pufferfish


@dataclass(frozen=True)
class LevelsRequest:
    """The parameters of a table of privacy levels.

    Attributes:
        prior: positive integers, for the levels that need a prior. With classes or views, the weights of the first
            class or view come first, then those of the second, and so on.
        epsilons: the levels, in nanonats, at which the deltas are computed.
        radius: the radius of the ball of priors, in total variation; None if its level is not requested.
        metric: the distance for geo-indistinguishability; None if the values have no distance.
        pufferfish: the secrets and scenarios; None if the level of Pufferfish is not requested.
    """

    prior: Sequence[int]
    epsilons: Sequence[int] = ()
    radius: Fraction | None = None
    metric: Metric | None = None
    pufferfish: Pufferfish | None = None


@dataclass(frozen=True)
class DeltaRow:
    """The deltas at one level; None if not computed.

    Attributes:
        epsilon: the level in nanonats.
        ldp, lip: the smallest delta of (eps, delta)-LDP and, under the prior, of (eps, delta)-LIP.
    """

    epsilon: int
    ldp: Delta | None
    lip: Delta | None


@dataclass(frozen=True)
class LevelTable:
    """All privacy levels of one channel or campaign.

    Attributes:
        levels: the levels by name, in a fixed order: ldp, lip, lip-ball, mutual-information, maximal-leakage,
            differential-identifiability, geo, pufferfish. Levels not requested or not computed are absent.
        missing: the reason for each level that is absent, by its name, except for a lip-ball that is not requested.
            It also has the reasons for delta-ldp, delta-lip and posterior, if they are too expensive to compute.
        curve: a row for each requested level.
        posterior: the largest prior and the largest posterior of one value; None if not computed.
        distinction: the worst case of Pufferfish; None if not requested or not computed.
    """

    levels: dict[str, Level]
    missing: dict[str, str]
    curve: tuple[DeltaRow, ...]
    posterior: tuple[Fraction, Fraction] | None
    distinction: Distinction | None

    @property
    def mutual_information_bits(self) -> float | None:
        """Mutual information in bits, rounded up; None if not computed."""
        level = self.levels.get("mutual-information")
        return None if level is None else leakage.bits_above(level)


def table(structure: Structure, request: LevelsRequest) -> LevelTable:
    """Return all levels of a channel.

    Raises:
        NotionError: the Pufferfish scenarios do not have the channel's number of inputs.
    """
    levels: dict[str, Level] = {}
    missing: dict[str, str] = {}

    def add(name: str, compute: Callable[[], Level]) -> None:
        try:
            levels[name] = compute()
        except TooLarge as error:
            missing[name] = str(error)

    def delta(name: str, compute: Callable[[], Delta]) -> Delta | None:
        if name in missing:
            return None
        try:
            return compute()
        except TooLarge as error:
            missing[name] = str(error)
            return None

    prior, metric, puffer, radius = request.prior, request.metric, request.pufferfish, request.radius
    distinctions: list[Distinction] = []

    def distinguish(secrets: Pufferfish) -> Level:
        distinctions.append(pufferfish(structure, secrets))
        return distinctions[0].level

    add("ldp", lambda: pairs.ldp(structure))
    add("lip", lambda: priors.lip(structure, prior))
    if radius is not None:
        add("lip-ball", lambda: priors.lip_in_ball(structure, prior, radius))
    add("mutual-information", lambda: leakage.mutual_information(structure, prior))
    add("maximal-leakage", lambda: leakage.maximal_leakage(structure))
    add("differential-identifiability", lambda: pairs.identifiability(structure, prior))
    if metric is None:
        missing["geo"] = "the domain defines no distance between values"
    else:
        add("geo", lambda: pairs.geo(structure, metric))
    if puffer is None:
        missing["pufferfish"] = "no secrets and scenarios are given"
    else:
        add("pufferfish", lambda: distinguish(puffer))
    curve = tuple(
        DeltaRow(
            epsilon,
            delta("delta-ldp", partial(pairs.delta, structure, epsilon)),
            delta("delta-lip", partial(priors.lip_delta, structure, prior, epsilon)),
        )
        for epsilon in request.epsilons
    )
    posterior = None
    try:
        before = Fraction(max(prior), sum(prior))
        posterior = before, max(before, priors.most_probable(structure, prior, range(len(prior)))[0])
    except TooLarge as error:
        missing["posterior"] = str(error)
    return LevelTable(levels, missing, curve, posterior, distinctions[0] if distinctions else None)


def worst_table(structures: Sequence[Structure], request: LevelsRequest) -> LevelTable:
    """Return all levels of a campaign: of its channel, or the worst levels over the channels of its classes or views.

    The class of a person and the view of a device are public and independent of the answer. So nothing is compared
    between classes or views.

    Args:
        structures: the structure of the only channel, or one structure for each class or view.
    Returns:
        The levels; their inputs and outputs are numbered consecutively over all channels.
    Raises:
        NotionError: as for ``table``.
    """
    first_inputs = [0, *accumulate(structure.channel.input_count for structure in structures)]
    first_outputs = [0, *accumulate(structure.channel.output_count for structure in structures)]
    tables = [
        table(structure, replace(request, prior=request.prior[begin:end]))
        for structure, (begin, end) in zip(structures, pairwise(first_inputs), strict=True)
    ]
    if len(tables) == 1:
        return tables[0]
    missing = {name: reason for level_table in tables for name, reason in level_table.missing.items()}
    places = range(len(tables))
    levels = {}
    for name in tables[0].levels:
        if name not in missing:
            worst = max(places, key=lambda place: _height(tables[place].levels[name]))
            levels[name] = _shifted(tables[worst].levels[name], first_inputs[worst], first_outputs[worst])
    curve = tuple(
        DeltaRow(
            rows[0].epsilon,
            _worst([row.ldp for row in rows], first_inputs),
            _worst([row.lip for row in rows], first_inputs),
        )
        for rows in zip(*(level_table.curve for level_table in tables), strict=True)
    )
    posteriors = [level_table.posterior for level_table in tables if level_table.posterior is not None]
    distinctions = [
        replace(level_table.distinction, level=_shifted(level_table.distinction.level, first, start))
        for level_table, first, start in zip(tables, first_inputs, first_outputs, strict=False)
        if level_table.distinction is not None
    ]
    return LevelTable(
        levels,
        missing,
        curve,
        max(posteriors, key=lambda pair: pair[1]) if len(posteriors) == len(tables) else None,
        max(distinctions, key=lambda distinction: _height(distinction.level))
        if len(distinctions) == len(tables)
        else None,
    )


def _shifted(level: Level, first: int, start: int) -> Level:
    """Return a channel's level, numbered over all channels: its inputs begin at ``first``, its outputs at ``start``."""
    x, other = (None if number is None else number + first for number in (level.x, level.other))
    return replace(level, x=x, other=other, y=None if level.y is None else level.y + start)


def _height(level: Level) -> float:
    return float("inf") if level.nanonats is None else level.nanonats


def _worst(deltas: Sequence[Delta | None], first: Sequence[int]) -> Delta | None:
    """Return the largest delta of the classes or views, whose inputs begin at ``first``; None if a delta is missing."""
    known = [delta for delta in deltas if delta is not None]
    if len(known) < len(deltas):
        return None
    place = max(range(len(known)), key=lambda place: known[place].value)
    worst = known[place]
    other = None if worst.other is None else worst.other + first[place]
    return replace(worst, x=worst.x + first[place], other=other)


def as_json(level_table: LevelTable, channels: Sequence[Channel]) -> dict[str, object]:
    """Return the table as a JSON object: levels in nats, rounded up to a nanonat; null if infinite; absent
    levels under ``missing``.

    Args:
        channels: the channels of the table, which write the outputs of the witnesses as text. If the table has several
            channels, each witness contains the position of its channel.
    """
    first_inputs, first_outputs = (
        [0, *accumulate(getattr(channel, name) for channel in channels)] for name in ("input_count", "output_count")
    )

    def witness(x: int | None, other: int | None, y: int) -> dict[str, object]:
        place = bisect_right(first_outputs, y) - 1
        position: dict[str, object] = {} if len(channels) == 1 else {"channel": place}
        first = first_inputs[place]
        return position | {
            "input": None if x is None else x - first,
            "other": None if other is None else other - first,
            "output": channels[place].spelled(y - first_outputs[place]),
        }

    return {
        "levels": {name: level.nats for name, level in level_table.levels.items()},
        "witnesses": {
            name: witness(level.x, level.other, level.y)
            for name, level in level_table.levels.items()
            if level.y is not None
        },
        "missing": level_table.missing,
        "delta": [
            {
                "epsilon": Level(row.epsilon).nats,
                "ldp": None if row.ldp is None else row.ldp.float_above,
                "lip": None if row.lip is None else row.lip.float_above,
            }
            for row in level_table.curve
        ],
        "mutual_information_bits": level_table.mutual_information_bits,
        "posterior": level_table.posterior
        and {"before": float(level_table.posterior[0]), "after": float(level_table.posterior[1])},
    }
