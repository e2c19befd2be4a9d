"""Hypothesis tests that an output allows: false alarms against missed detections, for pairs of answers.

An observer of one output tests whether the answer is x or x'. A test decides for x if the output is in a set. A false
alarm is to decide for x if the answer is x'; a missed detection is to decide for x' if the answer is x. The best tests
decide for x at the outputs of the largest ratios Q(y|x) / Q(y|x'), so their errors follow from the weights of the two
rows (Neyman, Pearson 1933). If E is the level of x against x', and E' the level of x' against x, every test has

    missed >= max(1 - e^E false, e^-E' (1 - false)),

which is the promise of context-aware LDP in terms of tests (Acharya et al. 2020, Theorem 1 and Fig. 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from protocol import exact
from protocol.campaign import Campaign
from protocol.channels import Channel, structure_of
from protocol.errors import HalftruthError
from protocol.notions import Geo, Ldp, Notion, Pairwise
from protocol.views import is_plain

MAX_PAIRS = 4
"""Maximum number of pairs of answers that are shown."""

MAX_GEO_CLASSES = 256
"""For geo-indistinguishability with more classes of inputs than this, only the worst pair is shown."""


class NoTradeOff(HalftruthError, ValueError):
    """The campaign has several channels, one for each class of people."""


@dataclass(frozen=True)
class TradeOff:
    """The best tests of one pair of answers.

    Attributes:
        answer, other: the labels of the two answers.
        levels: the audited levels of ``answer`` against ``other`` and the reverse, in nats, rounded up; None for
            infinite.
        bounds: the bounds of the notion on these levels, in nats; None without a bound.
        points: (false alarm, missed detection) of the best tests, from (0, 1) to (1, 0); randomised tests lie on the
            lines between them.
    """

    answer: str
    other: str
    levels: tuple[float | None, float | None]
    bounds: tuple[float | None, float | None]
    points: tuple[tuple[float, float], ...]

    def missed(self, false: float) -> float:
        """Return the smallest rate of missed detections at a rate of false alarms."""
        alarms, missed = zip(*self.points, strict=True)
        return float(np.interp(false, alarms, missed))

    def promised(self, false: float) -> float | None:
        """Return the promised lower bound on missed detections at a rate of false alarms; None unless the pair is
        bounded in both directions."""
        forth, back = self.bounds
        if forth is None or back is None:
            return None
        return max(1 - math.exp(forth) * false, math.exp(-back) * (1 - false))

    @property
    def promises(self) -> tuple[tuple[float, float], ...]:
        """The corners of the curve that ``promised`` computes; empty unless the pair is bounded in both directions."""
        forth, back = self.bounds
        if forth is None or back is None:
            return ()
        if not forth + back:
            return (0.0, 1.0), (1.0, 0.0)
        corner = (1 - math.exp(-back)) / (math.exp(forth) - math.exp(-back))
        return (0.0, 1.0), (corner, 1 - math.exp(forth) * corner), (1.0, 0.0)


def trade_off(channel: Channel, x: int, other: int) -> tuple[tuple[float, float], ...]:
    """Return (false alarm, missed detection) of the best tests of input ``x`` against ``other``, starting at (0, 1).

    Raises:
        TooLarge: the channel has too many outputs, and its family does not group them into classes.
    """
    outputs = [
        (mine, theirs, count) for mine, theirs, count in structure_of(channel).profile(x, other) if mine + theirs
    ]
    outputs.sort(key=lambda output: Fraction(output[0], output[0] + output[1]), reverse=True)
    total, false, missed = sum(mine * count for mine, _, count in outputs), 0, 0
    points = [(0.0, 1.0)]
    for mine, theirs, count in outputs:
        false, missed = false + theirs * count, missed + mine * count
        points.append((false / total, 1 - missed / total))
    return tuple(points)


def trade_offs(campaign: Campaign) -> list[TradeOff]:
    """Return the best tests of a campaign's worst pair of answers, and of one pair for each other bound of its notion,
    at most ``MAX_PAIRS`` pairs in all.

    With several views, the pairs are those of the view with the certificate's witness.

    Raises:
        NoTradeOff: the campaign has classes of people, each with a channel of its own.
        TooLarge: see ``trade_off``.
    """
    if campaign.classes:
        raise NoTradeOff(
            "--plot draws the tests of a single channel, and this campaign has one for each class of people: leave out "
            "--plot"
        )
    view, witness = campaign.views[campaign.certificate.view_index], campaign.certificate.witness
    channel = view.channel
    if witness.other is None:  # this witness compares an input with the prior, not with another input
        everything = channel.selected(range(channel.input_count))
        witness = channel.loss(everything, everything)
    promised = _Promised(campaign.notion if is_plain(campaign.views) or isinstance(campaign.notion, Ldp) else None)
    pairs = [(witness.x, witness.other or 0)]
    shown = {promised.between(*pairs[0])}
    for pair in promised.pairs(channel.input_count):
        if promised.between(*pair) not in shown and len(pairs) < MAX_PAIRS:
            shown.add(promised.between(*pair))
            pairs.append(pair)
    return [
        TradeOff(
            view.map.label(campaign.domain, x),
            view.map.label(campaign.domain, other),
            (_nats(channel.loss([x], [other]).level), _nats(channel.loss([other], [x]).level)),
            (_nats(promised.between(x, other)), _nats(promised.between(other, x))),
            trade_off(channel, x, other),
        )
        for x, other in pairs
    ]


class _Promised:
    """The bounds of a notion, pair by pair."""

    def __init__(self, notion: Notion | None) -> None:
        self._bounds: dict[tuple[int, int], int] = {}
        self._classes: Sequence[Sequence[int]] | None = None
        self._geo = notion if isinstance(notion, Geo) and len(notion.inputs_by_class) > MAX_GEO_CLASSES else None
        if isinstance(notion, Pairwise) and self._geo is None:
            self._bounds = {(c, d): level for c, d, level in notion.bounds()}
            self._classes = notion.inputs_by_class

    def _class_of(self, x: int) -> int:
        return 0 if self._classes is None else next(c for c, members in enumerate(self._classes) if x in members)

    def between(self, x: int, other: int) -> int | None:
        """Return the bound on ``x`` against another input, nanonats; None without a bound."""
        if self._geo is not None:
            return self._geo.bound(x, other)
        return self._bounds.get((self._class_of(x), self._class_of(other)))

    def pairs(self, input_count: int) -> Iterator[tuple[int, int]]:
        """Yield a pair of different inputs for each bounded pair of classes, the smallest bounds first."""
        classes = [range(input_count)] if self._classes is None else self._classes
        for (c, d), _ in sorted(self._bounds.items(), key=lambda item: item[1]):
            x = classes[c][0]
            other = next((y for y in classes[d] if y != x), None)
            if other is not None:
                yield x, other


def _nats(level: int | None) -> float | None:
    return None if level is None else exact.nats(level)
