"""Decide whether a campaign fits under the owner's caps.

The decision depends on a campaign's worst case, never on its actual cost. The whole worst case is committed when the
person consents, so whether a device answers later cannot depend on its earlier answers.

    committed = reserved - released by forgetting = spent + still reserved

The functions are pure and take integers in nanonats. The modules caps, consents and ledger store the amounts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from edge_sdk.errors import BudgetRefused
from protocol import exact

DEFAULT_LIFETIME = 8 * exact.NANONATS
"""The lifetime cap of a device whose owner never set one: eight answers at 1 nat.

At 8 nats an observer's odds can change by a factor of about 3,000; a higher cap protects little.
"""
MAX_NATS = 10**6
LIFETIME, PER_CAMPAIGN, WINDOW = "lifetime", "campaign", "window"


@dataclass(frozen=True)
class BudgetPolicy:
    """The caps of the device's owner, in nats; None sets no cap.

    Attributes:
        lifetime: the cap for all answers of this device; 8 nats until the owner sets another.
        per_campaign: the cap for one campaign, even if it is forgotten and joined again.
        window: (seconds, nats), the cap for any interval of this length.
    Raises:
        ValueError: a value cannot be a cap.
    """

    lifetime: float | None = None
    per_campaign: float | None = None
    window: tuple[int, float] | None = None

    def __post_init__(self) -> None:
        # The conversion refuses values that cannot be caps.
        self.caps()

    def caps(self) -> tuple[Cap, ...]:
        """Return the caps of this policy in nanonats, rounded down.

        Returns:
            One cap for each attribute that is set.
        Raises:
            ValueError: a value cannot be a cap.
        """
        named = []
        if self.lifetime is not None:
            named.append(Cap(LIFETIME, 0, _nanonats(self.lifetime)))
        if self.per_campaign is not None:
            named.append(Cap(PER_CAMPAIGN, 0, _nanonats(self.per_campaign)))
        if self.window is not None:
            seconds, nats = self.window
            if not isinstance(seconds, int) or not 1 <= seconds <= 2**40:
                raise ValueError(
                    f"a cap on a window must have a whole number of seconds, from 1 to 2^40, not {seconds!r}"
                )
            named.append(Cap(WINDOW, seconds, _nanonats(nats)))
        return tuple(named)


def factor(nanonats: int, point: str, group: str) -> str:
    """Return e^level as text for people, with few digits, rounded up.

    Args:
        nanonats: the level.
        point, group: the decimal point and the mark between thousands in the person's language.
    """
    return exact.decimal_text(exact.factor_above(nanonats), point, group)


def _nanonats(nats: float) -> int:
    level = exact.level_from(nats)
    if not 0 <= level <= MAX_NATS * exact.NANONATS:
        raise ValueError(
            f"a cap must be from 0 to {MAX_NATS:,} nats, not {exact.in_nats(level)} (nats: see docs/GLOSSARY.md)"
        )
    return level


@dataclass(frozen=True)
class Cap:
    """One upper bound on spending that is in force.

    Attributes:
        kind: lifetime, campaign or window.
        seconds: the length of a window; 0 for other kinds.
        nanonats: the bound.
    """

    kind: str
    seconds: int
    nanonats: int

    @property
    def nats(self) -> float:
        """The bound in nats, for display."""
        return exact.nats(self.nanonats)

    def __str__(self) -> str:
        length = f" of {self.seconds} s" if self.seconds else ""
        return f"the {self.kind} cap{length}"


@dataclass(frozen=True)
class Commitment:
    """The cost of a campaign, computed from its signed numbers; amounts in nanonats.

    Attributes:
        cost: the cost of one fresh output.
        draws: maximum number of fresh outputs; the number of values if each value is drawn once and there are fewer
            values than reports.
        answers_per_period, period_seconds, periods: the schedule.
    """

    cost: int
    draws: int
    answers_per_period: int
    period_seconds: int
    periods: int

    @classmethod
    def once(cls, cost: int) -> Commitment:
        """Return the commitment with only a single draw."""
        return cls(cost, 1, 1, 1, 1)

    @property
    def worst_case(self) -> int:
        """The cost in nanonats of all draws that the campaign may ask for."""
        return self.cost * min(self.draws, self.periods * self.answers_per_period)

    def worst_within(self, seconds: int) -> int:
        """Return the highest cost within any interval of ``seconds``.

        ``seconds`` consecutive seconds touch at most (seconds - 2) // period_seconds + 2 periods.
        """
        touched = min((seconds - 2) // self.period_seconds + 2, self.periods)
        return self.cost * min(self.draws, touched * self.answers_per_period)


@dataclass(frozen=True)
class Commitments:
    """The sums of ledger and consents at one moment; amounts in nanonats.

    Attributes:
        committed: the amount spent or reserved by all campaigns.
        of_campaign: the part of this amount that counts for the campaign in question; it includes unattributed
            spending.
        consented: the commitments of the campaigns with consent.
    """

    committed: int
    of_campaign: int
    consented: Sequence[Commitment]


def require_room(
    caps: Iterable[Cap],
    existing: Commitments,
    carried: Sequence[tuple[int, int]],
    commitment: Commitment,
    now: int,
    choice: int = 0,
) -> None:
    """Refuse a campaign that the caps leave no room for.

    A draw is never made before its consent (see ``Device.answer``). So spending that lies a window's length or more
    before the consent shares no window with a draw. Answers dated after ``now``, given while the clock was ahead, are
    not counted (see ``Device.set_clock``).

    Args:
        carried: (time, nanonats) of the carry entries.
        choice: nanonats charged now for the random choice of a class or prior.
    Raises:
        BudgetRefused: its ``commitment``, added to the ``existing`` commitments and ``choice``, exceeds a cap.
    """
    for cap in caps:
        worst_cost = commitment.worst_within(cap.seconds) if cap.kind == WINDOW else commitment.worst_case
        left = cap.nanonats - _counted(cap, existing, carried, now) - choice
        if worst_cost > left:
            # A campaign that may cost more than the whole cap never fits. Under a campaign's own cap, forgetting
            # releases nothing: the campaign has no reserve before its consent. Under a window cap, forgetting
            # may make room only when the length of the window has passed (see ``_counted``). Without consents, nothing
            # is reserved.
            never = cap.kind == PER_CAMPAIGN or worst_cost > cap.nanonats
            if never or not (existing.consented or cap.kind == WINDOW):
                advice = "do not take part"
            elif existing.consented:
                advice = "forget a campaign to release its reserve for unused slots"
            else:
                advice = "wait until earlier spending no longer counts in the window"
            raise BudgetRefused(
                f"the campaign may cost up to {exact.in_nats(worst_cost)}, but {_left_of(cap, left)}: {advice}"
            )


def require_windows(
    caps: Iterable[Cap], existing: Commitments, carried: Sequence[tuple[int, int]], later_cost: int, now: int
) -> None:
    """Refuse the current time if the caps of windows may be exceeded from then on.

    Args:
        carried: (time, nanonats) of the carry entries.
        later_cost: nanonats that answers with dates after ``now`` may have cost.
    Raises:
        BudgetRefused: the cap of a window may be exceeded.
    """
    for cap in caps:
        left = cap.nanonats - _counted(cap, existing, carried, now)
        if cap.kind == WINDOW and later_cost > left:
            raise BudgetRefused(
                f"answers dated after the current time may have cost {exact.in_nats(later_cost)}, but "
                f"{_left_of(cap, left)}: wait, or forget a campaign"
            )


def _counted(cap: Cap, existing: Commitments, carried: Sequence[tuple[int, int]], now: int) -> int:
    """Return the nanonats that count against a cap.

    The spending of a forgotten campaign counts in a window as if all of it had happened at the time of forgetting, so a
    window never counts too little.
    """
    if cap.kind != WINDOW:
        return existing.of_campaign if cap.kind == PER_CAMPAIGN else existing.committed
    recent = sum(spent for time, spent in carried if time > now - cap.seconds)
    return recent + sum(other.worst_within(cap.seconds) for other in existing.consented)


def _left_of(cap: Cap, left: int) -> str:
    return f"{cap} leaves {exact.in_nats(max(0, left))} of {exact.in_nats(cap.nanonats)} (nats: see docs/GLOSSARY.md)"


def require_kept(caps: Iterable[Cap], existing: Commitments) -> None:
    """Refuse an answer if the owner lowered a cap too far.

    The check uses consents and never answers, so it stops a device at the same moment for all answers.

    Raises:
        BudgetRefused: a cap is below the existing commitments.
    """
    for cap in caps:
        committed = _counted(cap, existing, (), 0)
        if committed > cap.nanonats:
            raise BudgetRefused(
                f"{cap} was lowered to {exact.in_nats(cap.nanonats)}, below the {exact.in_nats(committed)} counted "
                "against it (nats: see docs/GLOSSARY.md): forget a campaign to release its reserve for unused slots"
            )


@dataclass(frozen=True)
class Budget:
    """The amounts spent, reserved and remaining, which must stay secret. Amounts in nanonats are exact; those in nats
    are for display."""

    caps: tuple[Cap, ...]
    spent_nanonats: int
    reserved_nanonats: int

    @property
    def remaining_nanonats(self) -> int:
        """Nanonats of the lifetime cap that are neither spent nor reserved."""
        lifetime = next(cap.nanonats for cap in self.caps if cap.kind == LIFETIME)
        return max(0, lifetime - self.spent_nanonats - self.reserved_nanonats)

    @property
    def spent(self) -> float:
        """Nats spent so far."""
        return exact.nats(self.spent_nanonats)

    @property
    def reserved(self) -> float:
        """Nats reserved for further answers in campaigns with consent."""
        return exact.nats(self.reserved_nanonats)

    @property
    def remaining(self) -> float:
        """Nats of the lifetime cap left for further campaigns; another cap may leave less."""
        return exact.nats(self.remaining_nanonats)
