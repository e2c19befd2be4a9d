"""The person's public statement on how likely each of their possible answers is, before and after consent.

Shares are typed in percent. The rest is spread evenly over the answers without a typed share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from demo_app.texts import language
from edge_sdk import Device

PLACES = 2
"""Maximum number of decimal places of a typed share."""

WHOLE = 100 * 10**PLACES
"""A hundred percent, in units of the smallest share that can be typed."""

MAX_TYPED = 32
"""Maximum number of answers for typed shares; with more answers, only the uniform or a chosen statement is offered."""


@dataclass(frozen=True)
class StatedValue:
    """One answer in a statement.

    Attributes:
        name: the answer in the person's language.
        before: the stated probability of the answer.
        lowest, highest: bounds of its posterior after any one report, for an observer who believes the statement.
    """

    name: str
    before: Fraction
    lowest: Fraction
    highest: Fraction


@dataclass(frozen=True)
class Statement:
    """A declared prior, or one that consent would declare.

    Attributes:
        values: the answers, in the campaign's order.
        prior: the weights by label, for ``Device.consent``; None for a prior that was declared before.
        declared_before: True if the prior was declared before and so cannot be changed.
        level: the level of an answer's protection, in nats: the campaign's, or a lower personal level.
        personal: True if the level is personal.
        worst_case: maximum cost of all answers together, in nats.
        within_budget: True if the worst case fits into the remaining budget, or is reserved by consent already.
    """

    values: tuple[StatedValue, ...] = field(repr=False)
    prior: Mapping[str, int] | None = field(repr=False)
    declared_before: bool
    level: float
    personal: bool
    worst_case: float
    within_budget: bool

    @property
    def is_uniform(self) -> bool:
        """True if all answers are equally likely."""
        return len({value.before for value in self.values}) == 1

    @property
    def can_be_typed(self) -> bool:
        """True if the person can type another statement instead."""
        return not self.declared_before and len(self.values) <= MAX_TYPED

    @classmethod
    def of(
        cls, device: Device, campaign_id: bytes, prior: Mapping[str, int] | None = None, level: float | None = None
    ) -> Statement:
        """Return the statement with the weights ``prior`` and a personal level.

        Without weights, this is the statement that was declared before, or else the uniform prior at the campaign's
        level.
        """
        from edge_sdk.presentation import uniform_prior

        declaration = device.declaration(campaign_id, prior, level)
        terms = device.terms(campaign_id, language())
        names = dict(zip(terms.values, terms.shown, strict=True))
        remaining = device.budget.remaining
        return cls(
            tuple(
                StatedValue(names[value.label], value.before, value.lowest, value.highest)
                for value in declaration.values
            ),
            None if declaration.declared_before else prior or uniform_prior(device, campaign_id),
            declaration.declared_before,
            declaration.level,
            declaration.personal,
            declaration.worst_case,
            device.consented(campaign_id) or declaration.worst_case <= remaining,
        )


@dataclass(frozen=True)
class TypedShares:
    """The typed shares and their sum.

    Attributes:
        total: the sum of the typed shares, in percent.
        free: number of answers without a typed share.
        blank_share: the share in percent of each of these answers; 0 if nothing is left or all answers have a share.
        wrong: the fault: "number" (a text is not a share), "much" (the sum is above 100, or nothing is left for the
            other answers), "little" (all answers have a share, and the sum is below 100); "" for none.
    """

    total: Fraction
    free: int
    blank_share: Fraction
    wrong: str


def shares_of(typed: Mapping[str, str]) -> TypedShares:
    """Return the sum and the faults of typed shares, given by label; a blank text is an answer without a share."""
    try:
        hundredths = [_hundredths(text) for text in typed.values() if text.strip()]
    except ValueError:
        return TypedShares(Fraction(0), 0, Fraction(0), "number")
    total, free = sum(hundredths), len(typed) - len(hundredths)
    left = WHOLE - total
    wrong = "much" if left < 0 or (free and not left) else "little" if left and not free else ""
    blank_share = Fraction(left, WHOLE // 100 * free) if free and left > 0 else Fraction(0)
    return TypedShares(Fraction(total, WHOLE // 100), free, blank_share, wrong)


def weights_of(typed: Mapping[str, str]) -> dict[str, int]:
    """Return the weights that typed shares declare, by label.

    Raises:
        ValueError: the shares are not valid; ``shares_of`` returns the fault.
    """
    if wrong := shares_of(typed).wrong:
        raise ValueError(f"the shares must be above 0 and sum to 100 percent; the fault is {wrong!r}")
    named = {label: _hundredths(text) for label, text in typed.items() if text.strip()}
    free = len(typed) - len(named)
    left = WHOLE - sum(named.values())
    return {label: named[label] * max(free, 1) if label in named else left for label in typed}


def _hundredths(text: str) -> int:
    """Return a typed share in hundredths of a percent.

    Raises:
        ValueError: the text is not a number above 0 and at most 100, or has more than two decimal places.
    """
    try:
        share = Decimal(text.strip().removesuffix("%").strip().replace(",", ".")) * (WHOLE // 100)
    except InvalidOperation:
        raise ValueError("a share must be a number above 0 and at most 100 percent, such as 12.5") from None
    if not share.is_finite() or share != share.to_integral_value() or not 0 < share <= WHOLE:
        raise ValueError(f"a share must be above 0 and at most 100 percent, with at most {PLACES} decimal places")
    return int(share)
