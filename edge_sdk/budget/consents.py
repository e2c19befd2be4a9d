"""The consents of one store: the campaign, the person's role, and the worst case of each.

campaigns/consent records a consent, and budget/caps compares its cost with the caps.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from edge_sdk.budget.policy import Commitment
from edge_sdk.campaigns.role import Role
from edge_sdk.errors import StoreError
from edge_sdk.store.sqlite import Store
from protocol.errors import BadData, CampaignError


@dataclass(frozen=True)
class Consent:
    """A person's consent to one campaign.

    Attributes:
        time: the time of the consent, UTC seconds.
        dither: secret random bytes that round numbers and choose items, the same for all answers in the campaign.
        role: the class or the declared prior under which the person answers.
        commitment: the cost of one draw, the maximum number of draws, and the schedule.
        choice: nanonats charged for the random choice of the class or the prior.
        latest: the time of the latest answer; before the first answer, the time of the consent.
        floor: a lower bound of the current time: the time of the consent, or the start of the latest answer's period.
            It is wrong only if the clock was ahead.
    """

    time: int
    dither: bytes = field(repr=False)
    role: Role
    commitment: Commitment
    choice: int
    latest: int
    floor: int


class Consents:
    """The consents of one store, and the permanently declared priors.

    ``number`` is the store's number of a campaign. Writes join the caller's transaction.
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    def find(self, number: int) -> Consent | None:
        """Return the consent to a campaign; None if the person has not agreed."""
        row = self.store.row(
            "SELECT cost, draws, answers, period_seconds, periods, time, dither, class_index, choice, latest, "
            "floor, prior FROM consent LEFT JOIN declared USING (campaign) WHERE campaign = ?",
            number,
        )
        if row is None:
            return None
        *terms, time, dither, class_index, choice, latest, floor, prior = row
        role = Role(class_index, *(() if prior is None else _declaration(prior)))
        return Consent(int(time), bytes(dither), role, Commitment(*terms), int(choice), int(latest), int(floor))

    def commitments(self) -> list[Commitment]:
        """Return the commitment of each consent; the random choice of a class or prior counts as one draw more."""
        rows = self.store.rows("SELECT cost, draws, answers, period_seconds, periods, choice FROM consent")
        chosen = [Commitment.once(choice) for *_, choice in rows if choice]
        return [Commitment(*terms) for *terms, _ in rows] + chosen

    def add(self, number: int, consent: Consent) -> None:
        terms = consent.commitment
        self.store.execute(
            "INSERT INTO consent VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            number,
            consent.time,
            consent.dither,
            terms.cost,
            terms.draws,
            terms.answers_per_period,
            terms.period_seconds,
            terms.periods,
            consent.role.class_index,
            consent.choice,
            consent.latest,
            consent.floor,
        )

    def record_answer(self, number: int, now: int, began: int) -> None:
        """Record that an answer is given at ``now``, in a period that began at ``began``."""
        self.store.execute(
            "UPDATE consent SET latest = max(latest, ?), floor = max(floor, ?) WHERE campaign = ?", now, began, number
        )

    def set_clock(self, number: int, now: int) -> None:
        """Lower the time of the consent and the floor to ``now`` if they are later; the latest answer's time stays."""
        self.store.execute(
            "UPDATE consent SET time = min(time, ?), floor = min(floor, ?) WHERE campaign = ?", now, now, number
        )

    def latest_and_cost_of(self, number: int, answers: int) -> tuple[int, int]:
        """Return (time of the latest answer, nanonats that the answers and the random choice cost at most).

        Args:
            answers: number of answers; each is counted as a fresh output, up to the maximum number of draws.
        Returns:
            (0, 0) without a consent.
        """
        row = self.store.row("SELECT latest, choice, cost, draws FROM consent WHERE campaign = ?", number)
        if row is None:
            return 0, 0
        latest, choice, cost, draws = map(int, row)
        return latest, choice + cost * min(draws, answers)

    def forget(self, number: int) -> None:
        """Delete a consent; a declared prior stays."""
        self.store.execute("DELETE FROM consent WHERE campaign = ?", number)

    def declared_role(self, number: int) -> Role | None:
        """Return the role with the declared prior, even if the campaign was forgotten; None if none was declared."""
        row = self.store.row("SELECT prior FROM declared WHERE campaign = ?", number)
        return None if row is None else Role(None, *_declaration(row[0]))

    def with_declared(self, number: int, role: Role) -> Role:
        """Return ``role`` with the prior and the level that were declared first, if there are any.

        The study stores the first declared prior, so it could not decode reports under another prior.

        Raises:
            CampaignError: another prior or level was declared before.
        """
        known = self.declared_role(number)
        if known is None:
            return role
        if (role.prior or known.prior, role.level or known.level) != (known.prior, known.level):
            raise CampaignError(
                "another prior or level was declared in this campaign before and stays valid: leave out the new one"
            )
        return replace(known, class_index=role.class_index)

    def declare(self, number: int, role: Role) -> Role:
        """Store the prior of a role unless a prior is declared already; return the role with the declared prior.

        Raises:
            CampaignError: another prior or level was declared before.
        """
        from protocol import codec, personal

        declared = self.with_declared(number, role)
        if declared.prior is not None:
            written = codec.encode(personal.declaration_value(declared.prior, declared.level))
            self.store.execute("INSERT OR IGNORE INTO declared VALUES (?, ?)", number, written)
        return declared


def _declaration(written: bytes) -> tuple[tuple[int, ...], int]:
    """Return the prior and the level that the store keeps as ``written``.

    Raises:
        StoreError: the declaration is damaged.
    """
    from protocol import codec, personal

    try:
        return personal.declaration_of(codec.decode(written, limit=8 * personal.MAX_DECLARED_VALUES))
    except BadData as error:
        raise StoreError(
            f"the store's declared prior is damaged ({error}): run doctor, which checks the database"
        ) from None
