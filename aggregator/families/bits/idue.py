"""Input-discriminative unary encoding: bits for budgets by class of inputs (Gu et al. 2020).

The paper calls its problem non-convex; after a change of variables it is convex. Let u = ln(a/b) and v =
ln((1-b)/(1-a)) for each class. Then

    a (1-b') / (b (1-a')) <= e^r    is    u + v' <= r                                    (eq. 5)
    b (1-b) / (a-b)^2 = 1 / ((e^u - 1) (1 - e^-v))
    (1-a-b) / (a-b)   = 1 / (e^v - 1) - 1 / (e^u - 1)

The worst-case error of opt0 (eq. 8) is the largest of t convex functions. Newton's method inside a logarithmic barrier
finds the unique optimum, and needs numpy only.

    opt0   u and v free                                              (eq. 8)
    opt1   u = v: ones and zeros flip equally often, as in RAPPOR    (eq. 10)
    opt2   a = 1/2, as in OUE                                        (eq. 11)

The optimum is rounded to 32 bits, a downwards and b upwards; the certificate then verifies the level.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from aggregator.families.barrier import Problem, minimising_point
from aggregator.families.bits.recipe import rounded_probabilities
from aggregator.families.decoder import Floats
from aggregator.families.mechanism import BITS, Mechanism, PlannedQuestion, Recipe
from aggregator.families.rounding import LEVEL_RESERVE
from protocol import exact
from protocol.channels.bits.channel import Bits
from protocol.domain.items import Items
from protocol.notions.graded import Graded

VARIANTS = ("opt0", "opt1", "opt2")


def idue(notion: Graded, variant: str = "opt0", shown_count: int | None = None) -> Bits:
    """Return the input-discriminative unary encoding with the least worst-case error under ``notion``.

    Args:
        variant: the paper's variant, one of ``VARIANTS``.
        shown_count: r; the error of the inputs 0 .. r - 1 is minimised. None for all inputs. For item sets
            these inputs are the items; the dummies after the items are protected, but their shares are not shown. With
            padding and sampling on the device this is IDUE-PS (Gu et al. 2020, sec. VI-B, Algorithm 2).
    Raises:
        ValueError: an unknown variant, or a class without a shown input.
    """
    input_count = sum(map(len, notion.inputs_by_class))
    counted = input_count if shown_count is None else shown_count
    sizes = [sum(x < counted for x in members) for members in notion.inputs_by_class]
    if not all(sizes):
        raise ValueError("a budget has no value whose share is shown; each budget needs at least one such value")
    levels = np.full((len(sizes), len(sizes)), np.inf)
    for c, d, level in notion.bounds():
        levels[c, d] = exact.nats(level) * (1 - LEVEL_RESERVE)
    a, b = optimum(sizes, levels, variant)
    probabilities = [rounded_probabilities(a, b) for a, b in zip(a.tolist(), b.tolist(), strict=True)]
    class_of = [0] * input_count
    for number, members in enumerate(notion.inputs_by_class):
        for x in members:
            class_of[x] = number
    return Bits.over([probabilities[number] for number in class_of])


def item_budgets(domain: Items, budgets: Sequence[int]) -> list[int]:
    """Return the budgets of the inputs of an item set in nanonats: the budgets of the items, then the smallest of these
    for each dummy.

    Source: Gu et al. 2020, sec. VI-B.

    Raises:
        ValueError: the numbers of budgets and items differ.
    """
    if len(budgets) != domain.item_count:
        raise ValueError(f"there must be {domain.item_count} budgets, one for each item, not {len(budgets)}")
    return [*budgets, *[min(budgets)] * domain.padding]


def worst_error(sizes: Sequence[int], a: Floats, b: Floats) -> float:
    """Return the objective of opt0: the largest possible total variance of the counts, per report.

    Source: Gu et al. 2020, eq. 8.

    Args:
        sizes: m, the number of inputs of each class whose shares an estimate shows.
        a, b: a and b of each class.
    """
    spread = a - b
    variances = b * (1 - b) / spread**2
    return float(np.asarray(sizes) @ variances + ((1 - a - b) / spread).max())


def optimum(sizes: Sequence[int], levels: Floats, variant: str = "opt0") -> tuple[Floats, Floats]:
    """Return a and b of each class, with the least worst-case error.

    Args:
        sizes: m, the number of inputs of each class whose shares an estimate shows, at least one.
        levels: (t, t) the bound between inputs of two classes in nats; infinite for a pair without a bound. A class
            without any bound is sent unperturbed: a = 1, b = 0.
        variant: the paper's variant, one of ``VARIANTS``.
    Raises:
        ValueError: an unknown variant, or no pair has a bound.
    """
    problems: dict[str, type[_Encoding]] = {"opt0": _Free, "opt1": _Symmetric, "opt2": _Half}
    if variant not in problems:
        raise ValueError(f"unknown variant of IDUE {variant!r}; expected one of {', '.join(VARIANTS)}")
    bounded = np.isfinite(levels).any(axis=1)
    if not bounded.any():
        raise ValueError("no pair of classes has a finite bound; at least one is needed")
    a, b = np.ones(len(sizes)), np.zeros(len(sizes))
    problem = problems[variant](np.asarray(sizes, dtype=np.float64)[bounded], levels[np.ix_(bounded, bounded)])
    a[bounded], b[bounded] = problem.probabilities(minimising_point(problem))
    return a, b


class _Encoding(Problem):
    """The optimisation problem of IDUE for input classes with pairwise bounds; subclasses choose the variables."""

    def __init__(self, sizes: Floats, levels: Floats) -> None:
        self.sizes, self.count = sizes, len(sizes)
        self.pairs = np.argwhere(np.isfinite(levels))
        self.bounds = levels[tuple(self.pairs.T)]

    @abstractmethod
    def probabilities(self, z: Floats) -> tuple[Floats, Floats]:
        """Return a and b of each class at the point ``z``."""

    def _incidence(self, left: int, right: int, width: int) -> Floats:
        rows = np.zeros((len(self.pairs), width))
        pair_rows = np.arange(len(self.pairs))
        np.add.at(rows, (pair_rows, left + self.pairs[:, 0]), 1.0)
        np.add.at(rows, (pair_rows, right + self.pairs[:, 1]), 1.0)
        return rows


class _Free(_Encoding):
    """The problem opt0 in the variables (u, v, s): minimise s, an upper bound on the t functions."""

    def __init__(self, sizes: Floats, levels: Floats) -> None:
        super().__init__(sizes, levels)
        t = self.count
        self.rows = np.vstack([self._incidence(0, t, 2 * t + 1), -np.eye(2 * t, 2 * t + 1)])
        self.limits = np.concatenate([self.bounds, np.zeros(2 * t)])
        half = np.full(2 * t, 0.45 * self.bounds.min())
        f, h = _odds(half[:t]), _odds(half[t:])
        self.start = np.append(half, 2 * float(self.sizes @ (f * (1 + h)) + (h - f).max()))
        self.nonlinear_count = t

    def objective(self, z: Floats) -> float:
        return float(z[-1])

    def barrier(self, z: Floats, weight: float) -> tuple[float, Floats, Floats]:
        t = self.count
        f, h = _odds(z[:t]), _odds(z[t : 2 * t])
        slack = z[-1] - float(self.sizes @ (f * (1 + h))) - (h - f)
        if (slack <= 0).any():
            return np.inf, z, self.rows
        # df and dh are the first derivatives of f in u and of h in v; ddf and ddh are the second derivatives.
        df, dh = -f * (1 + f), -h * (1 + h)
        ddf, ddh = f * (1 + f) * (1 + 2 * f), h * (1 + h) * (1 + 2 * h)
        common = np.concatenate([self.sizes * df * (1 + h), self.sizes * f * dh])
        slopes = np.zeros((t, 2 * t + 1))  # derivatives of -slack
        slopes[:, : 2 * t] = common
        slopes[:, :t] -= np.diag(df)
        slopes[:, t : 2 * t] += np.diag(dh)
        slopes[:, -1] = -1
        inverse = 1 / slack
        gradient = inverse @ slopes
        gradient[-1] += weight
        hessian = (slopes * (inverse**2)[:, np.newaxis]).T @ slopes
        both, i = inverse.sum(), np.arange(t)
        hessian[i, i] += both * self.sizes * ddf * (1 + h) - inverse * ddf
        hessian[t + i, t + i] += both * self.sizes * f * ddh + inverse * ddh
        hessian[i, t + i] += both * self.sizes * df * dh
        hessian[t + i, i] += both * self.sizes * df * dh
        return weight * z[-1] - float(np.log(slack).sum()), gradient, hessian

    def probabilities(self, z: Floats) -> tuple[Floats, Floats]:
        return _probabilities(z[: self.count], z[self.count : 2 * self.count])


class _Symmetric(_Encoding):
    """The problem opt1 in the variables u = v."""

    def __init__(self, sizes: Floats, levels: Floats) -> None:
        super().__init__(sizes, levels)
        self.rows = np.vstack([self._incidence(0, 0, self.count), -np.eye(self.count)])
        self.limits = np.concatenate([self.bounds, np.zeros(self.count)])
        self.start = np.full(self.count, 0.45 * self.bounds.min())

    def objective(self, z: Floats) -> float:
        f = _odds(z)
        return float(self.sizes @ (f + f**2))

    def barrier(self, z: Floats, weight: float) -> tuple[float, Floats, Floats]:
        # e^u / (e^u - 1)^2 = f + f^2 with f = 1 / (e^u - 1) and f' = -(f + f^2).
        f = _odds(z)
        first = -(f + f**2) * (1 + 2 * f)
        second = (f + f**2) * (1 + 6 * f + 6 * f**2)
        m = weight * self.sizes
        return weight * self.objective(z), m * first, np.diag(m * second)

    def probabilities(self, z: Floats) -> tuple[Floats, Floats]:
        return _probabilities(z, z)


class _Half(_Encoding):
    """The problem opt2 in the variables b, with a = 1/2 and the constraints e^r b + b' >= 1."""

    def __init__(self, sizes: Floats, levels: Floats) -> None:
        super().__init__(sizes, levels)
        t = self.count
        steep = np.exp(self.bounds)
        rows = np.zeros((len(self.pairs), t))
        pair_rows = np.arange(len(self.pairs))
        np.add.at(rows, (pair_rows, self.pairs[:, 0]), -1.0)
        np.add.at(rows, (pair_rows, self.pairs[:, 1]), -1 / steep)
        self.rows = np.vstack([rows, np.eye(t), -np.eye(t)])
        self.limits = np.concatenate([-1 / steep, np.full(t, 0.5), np.zeros(t)])
        self.start = np.full(t, (1 / (steep.min() + 1) + 0.5) / 2)

    def objective(self, z: Floats) -> float:
        # With g = 1/2 - b, b (1 - b) / (1/2 - b)^2 + 1 = 1 / (4 g^2); the added constant 1 does not move the minimum.
        return float(self.sizes @ (0.25 / (0.5 - z) ** 2))

    def barrier(self, z: Floats, weight: float) -> tuple[float, Floats, Floats]:
        g, m = 0.5 - z, weight * self.sizes
        return weight * self.objective(z), m * 0.5 / g**3, np.diag(m * 1.5 / g**4)

    def probabilities(self, z: Floats) -> tuple[Floats, Floats]:
        return np.full(self.count, 0.5), z


def _odds(u: Floats) -> Floats:
    """Return 1 / (e^u - 1)."""
    return 1 / np.expm1(u)


def _probabilities(u: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Return a = b e^u and b = (1 - e^-v) / (e^u - e^-v)."""
    other = -np.expm1(-v) / (np.expm1(u) - np.expm1(-v))
    return other * np.exp(u), other


def _graded(variant: str) -> Callable[[PlannedQuestion], Recipe | str]:
    def recipe_for(question: PlannedQuestion) -> Recipe | str:
        notion = question.notion
        if not isinstance(notion, Graded):
            return "it needs one budget for each value: notion minid or avgid"
        return lambda: idue(notion, variant, question.shown_inputs.count)

    return recipe_for


MECHANISMS = (
    Mechanism(
        "idue",
        "a bit for each value, with more noise for a smaller budget",
        "Gu et al. 2020, opt0",
        BITS,
        _graded("opt0"),
    ),
    Mechanism(
        "idue-opt1", "like idue; ones and zeros flip equally often", "Gu et al. 2020, opt1", BITS, _graded("opt1")
    ),
    Mechanism(
        "idue-opt2",
        "like idue; the bit of the true value is set with probability 1/2",
        "Gu et al. 2020, opt2",
        BITS,
        _graded("opt2"),
    ),
)
