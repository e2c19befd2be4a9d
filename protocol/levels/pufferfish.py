"""Pufferfish privacy: the protection of secrets that are correlated with the answer, under given scenarios.

A secret and a scenario determine the distribution of the answer, and so the distribution of the report. The level is
the worst ratio of two distributions of the report. If every value is its own secret and all pairs are protected, this
is LDP.

Source: Kifer and Machanavajjhala 2012; SoK, Def. 8 and eq. 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from protocol.channels.channel import Loss
from protocol.channels.structure import Structure
from protocol.errors import NotionError
from protocol.levels.level import Level
from protocol.spelling import repeated


@dataclass(frozen=True)
class Scenario:
    """A joint distribution of the secret and the answer.

    Attributes:
        name: the name shown to people.
        joint: for each secret, by its index, the joint weight of each input; a secret of weight 0 is impossible.
    """

    name: str
    joint: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Pufferfish:
    """Secrets, the pairs that must stay indistinguishable, and the scenarios.

    Attributes:
        secrets: the names of the secrets.
        pairs: pairs of indices of secrets; a pair is protected in both directions.
        scenarios: the scenarios, at least one.
    Raises:
        NotionError: an attribute is invalid, or does not fit the others.
    """

    secrets: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]
    scenarios: tuple[Scenario, ...]

    def __post_init__(self) -> None:
        count = len(self.secrets)
        if count < 2:
            raise NotionError(f"Pufferfish must have at least two secrets, not {count}")
        if len(set(self.secrets)) < count:
            raise NotionError(f"two secrets have the name {(repeated(self.secrets) or '')[:40]!r}: rename one")
        if not self.pairs or not self.scenarios:
            raise NotionError(
                f"Pufferfish must have at least one pair of secrets and one scenario, not {len(self.pairs)} and "
                f"{len(self.scenarios)}"
            )
        for secret, other in self.pairs:
            if not (0 <= secret < count and 0 <= other < count):
                raise NotionError(f"a pair must be two indices in 0 .. {count - 1}, not {secret} and {other}")
            if secret == other:
                raise NotionError(f"a pair must be two different secrets, not {self.secrets[secret][:40]!r} twice")
        for scenario in self.scenarios:
            name = f"scenario {scenario.name[:40]!r}"
            if len(scenario.joint) != count:
                raise NotionError(
                    f"{name} must have a distribution for each of {count} secrets, not {len(scenario.joint)}"
                )
            sizes = {len(row) for row in scenario.joint}
            if len(sizes) != 1:
                raise NotionError(
                    f"the distributions of {name} must have equal numbers of values, not {min(sizes)} and {max(sizes)}"
                )
            if (lowest := min((mass for row in scenario.joint for mass in row), default=0)) < 0:
                raise NotionError(f"a weight of {name} must be at least 0, not {lowest}")
        if not any(any(scenario.joint[s]) and any(scenario.joint[o]) for scenario in self.scenarios
                   for s, o in self.pairs):  # fmt: skip
            raise NotionError(
                "no scenario allows both secrets of any pair, so nothing would be protected: give both secrets of a "
                "pair a weight in one scenario"
            )


@dataclass(frozen=True)
class Distinction:
    """The worst case of Pufferfish.

    Attributes:
        level: the level, rounded up; its ``y`` is the output.
        secret, other, scenario: indices; the output is more likely under ``secret`` than under ``other``.
    """

    level: Level
    secret: int
    other: int
    scenario: int


def pufferfish(structure: Structure, requested: Pufferfish) -> Distinction:
    """Return the level of Pufferfish privacy.

        max over scenarios t, pairs (s, s') and outputs y of |ln P(y|s, t) - ln P(y|s', t)|,
        P(y|s, t) = sum over x of P(x|s, t) Q(y|x)

    Raises:
        NotionError: the scenarios do not have the channel's number of inputs.
        TooLarge: more than ``structure.max_steps`` steps.
    """
    worst = Loss(1, 1, 0, None, 0)
    worst_case = (requested.pairs[0][0], requested.pairs[0][1], 0)
    for number, scenario in enumerate(requested.scenarios):
        if len(scenario.joint[0]) != structure.channel.input_count:
            raise NotionError(
                f"a scenario must have {structure.channel.input_count} values, one for each input of the channel, not "
                f"{len(scenario.joint[0])}"
            )
        marginals: dict[int, Sequence[int]] = {}
        for pair in requested.pairs:
            totals = [sum(scenario.joint[secret]) for secret in pair]
            if 0 in totals:
                continue
            for secret in pair:
                marginals.setdefault(secret, structure.marginals(scenario.joint[secret]))
            for y, (mine, theirs) in enumerate(zip(marginals[pair[0]], marginals[pair[1]], strict=True)):
                ways = (
                    (mine * totals[1], theirs * totals[0], pair),
                    (theirs * totals[0], mine * totals[1], pair[::-1]),
                )
                for numerator, denominator, (secret, other) in ways:
                    candidate = Loss(numerator, denominator, 0, None, y)
                    if candidate.worse_than(worst):
                        worst, worst_case = candidate, (secret, other, number)
            if worst.denominator == 0:
                break
    return Distinction(Level(worst.level, y=worst.y), *worst_case)
