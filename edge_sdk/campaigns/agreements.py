"""The person's decisions about a campaign: consent, class, prior, enrolment and code.

What each of them does to the store: consent. What they cost before they are made: disclosure/declaration.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from edge_sdk.campaigns.consent import agree, choose, choose_prior, no_consent, present_code
from edge_sdk.session import Session

if TYPE_CHECKING:  # loaded when it is first asked for
    from edge_sdk.disclosure.declaration import Declaration


class Agreements(Session):
    """The part of ``Device`` that records a person's decisions about campaigns."""

    def consented(self, campaign_id: bytes) -> bool:
        """Whether the person agreed to a joined campaign.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
        Returns:
            True from consent until the campaign is forgotten.
        """
        return self.records.consents.find(self.records.campaigns.number(campaign_id)) is not None

    def consent(
        self,
        campaign_id: bytes,
        *,
        as_class: str | None = None,
        prior: Mapping[str, int] | None = None,
        level: float | None = None,
    ) -> None:
        """Record the person's consent: reserve the campaign's worst case; in an open campaign, queue the enrolment.

        Agreeing again changes nothing.

        Args:
            as_class: the person's class, in a campaign that has classes. It is public, and no answer may decide it;
                ``choose_class`` has one chosen that fits a person's secrets.
            prior: how likely each value is for the person, as whole numbers above zero, in a campaign for people's own
                priors. By agreeing they declare it openly, and it holds for good.
            level: nats, with a prior: at most the campaign's level, and then the person's own. It is declared with the
                prior, so no answer may decide it.
        Raises:
            ConsentMissing: the campaign asks for a class or a prior, and none is given.
            CampaignError: no such class; or the person agreed or declared otherwise before.
            ReportError, NotInDomain: not a prior that can be declared, or of other values.
            BudgetRefused: the worst case does not fit under the caps.
            OutboxFull: too much waits to leave, and the device could not be introduced.
            OutsideSchedule: it is over.
        """
        joined, now = self._open_now(campaign_id)
        agree(self.records, joined, now, self._urandom, as_class, prior, level)

    def choose_class(self, campaign_id: bytes, level: float, history: Mapping[str, int] | None = None) -> str:
        """Record the consent under a class chosen at random, most likely the one whose prior is nearest to the person's
        history.

            the nearest class with probability e^level / (e^level + C - 1), each other with 1 / (e^level + C - 1)

        It is drawn once and charged ``level`` at once, beside the worst case of any class; a person who agreed already
        keeps their class. After forgetting, it is drawn and charged anew.

        Args:
            level: nats that the choice may reveal.
            history: counts of the person's values; None takes this device's answers to campaigns with the same
                question. It never leaves the device.
        Returns:
            the class.
        Raises:
            CampaignError: the campaign has no classes with priors.
            NotionError: a level that protects nothing or measures nothing.
            NotInDomain: the history is of other values.
            BudgetRefused: the choice and the costliest class do not fit under the caps.
            OutboxFull: too much waits to leave, and the device could not be introduced.
            OutsideSchedule: it is over.
        """
        joined, now = self._open_now(campaign_id)
        return choose(self.records, joined, now, self._urandom, level, history)

    def declaration(
        self, campaign_id: bytes, prior: Mapping[str, int] | None = None, level: float | None = None
    ) -> Declaration:
        """Return what declaring a prior of one's own says, promises and costs; nothing is stored, drawn or charged.

        Args:
            campaign_id: of a joined campaign for people's own priors, 16 bytes.
            prior: as for ``consent``; None for the one that was declared before or, before any, for the even one.
            level: as for ``consent``.
        Returns:
            For each value what an observer who believes the declaration could believe after a report, and the costs.
        Raises:
            CampaignError: the campaign asks for no prior; or another one was declared before, and holds.
            ReportError, NotInDomain: not a prior that can be declared, or of other values.
        """
        from edge_sdk.disclosure.declaration import declaration

        return declaration(self.records, campaign_id, prior, level)

    def choose_prior(
        self, campaign_id: bytes, level: float, history: Mapping[str, int] | None = None
    ) -> dict[str, int]:
        """Record the consent under a declared prior chosen at random from a public list, most likely the one that is
        nearest to the person's own history.

            the nearest of k + 1 with probability e^level / (e^level + k), each other with 1 / (e^level + k)

        The list has the even prior and, for each value, the one that gives it three quarters. It is drawn once, charged
        ``level`` at once, beside the worst case of any prior of the list, and then public for good: a prior that was
        declared before holds, also after forgetting, and nothing is drawn or charged.

        Args:
            campaign_id: of a joined campaign for people's own priors, 16 bytes.
            level: nats that the choice may tell.
            history: as in ``choose_class``.
        Returns:
            The declared weights by label.
        Raises:
            CampaignError: the campaign asks for no prior.
            NotionError: a level that protects nothing or measures nothing.
            NotInDomain: the history is of other values.
            BudgetRefused: the choice and the costliest prior of the list do not fit under the caps.
            OutboxFull: too much waits to leave, and the device could not be introduced.
            OutsideSchedule: it is over.
        """
        joined, now = self._open_now(campaign_id)
        prior = choose_prior(self.records, joined, now, self._urandom, level, history)
        return {joined.campaign.domain.label(x): weight for x, weight in enumerate(prior)}

    def enrolment(self, campaign_id: bytes) -> bytes:
        """Return the sealed enrolment for a campaign with consent, to be handed to the organisation.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
        Returns:
            One signed envelope.
        """
        joined = self.records.member(campaign_id)
        if not self.consented(campaign_id):
            raise no_consent(joined)
        return joined.enrolment()

    def present_code(self, campaign_id: bytes, code: str) -> None:
        """Keep the code by which the study of an enrolled campaign lets this device in; ``send`` redeems it.

        It is redeemed with the first upload after consent, whose enrolment the device then sends itself, and forgotten
        once the study has let the device in. Another code replaces one that the study refused.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
            code: as the invitation has it.
        Raises:
            CampaignError: no code; or the campaign takes reports of anybody.
            UnknownCampaign: this device has not joined it.
            OutboxFull
        """
        present_code(self.records, self.records.campaigns.find(campaign_id), code)
