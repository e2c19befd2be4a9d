"""The person's decisions about a campaign: consent, class, prior, enrolment and code.

The module consent implements them. disclosure/declaration computes the cost of a prior before it is declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from edge_sdk.campaigns.consent import agree, choose_class, choose_prior, no_consent, present_code
from edge_sdk.session import Session

# At run time, these are imported only with the first declaration.
if TYPE_CHECKING:
    from edge_sdk.disclosure.declaration import Declaration


class Agreements(Session):
    """The part of ``Device`` that records a person's decisions about campaigns."""

    def consented(self, campaign_id: bytes) -> bool:
        """Return whether the person agreed to a joined campaign.

        Args:
            campaign_id: id of a joined campaign, 16 bytes.
        Returns:
            True from consent until the campaign is forgotten.
        Raises:
            NotJoined: this device never joined it.
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
        """Record the person's consent: reserve the campaign's worst case, and queue the enrolment, if the campaign
        accepts every device or the person has a code.

        Calling it again changes nothing.

        Args:
            campaign_id: id of a joined campaign, 16 bytes.
            as_class: the person's class, in a campaign with classes. It is public and must not depend on an answer;
                ``choose_class`` chooses one at random by the person's history.
            prior: the weight of each value for the person, as whole numbers above zero, in a campaign for declared
                priors. Consent declares it publicly and permanently.
            level: a personal level in nats, at most the campaign's; only with a prior. It is declared with the prior,
                so it must not depend on an answer.
        Raises:
            NotJoined: this device has not joined it.
            ConsentMissing: the campaign asks for a class or a prior, and none is given.
            CampaignError: the class is unknown, or the person agreed to another class or declared another prior before;
                the campaign asks for no prior, or its level is lower than ``level``; or forgetting deleted the
                transcript of earlier answers.
            ReportError, NotInDomain: the prior cannot be declared, or has other values than the campaign.
            NotionError: the level is outside the allowed range.
            ValueError: the level is not a finite number.
            BudgetRefused: the worst case does not fit under the caps.
            OutboxFull: the outbox has no room for the enrolment.
            OutsideSchedule: the campaign is over.
        """
        joined, now = self._not_over(campaign_id)
        agree(self.records, joined, now, self._urandom, as_class, prior, level)

    def choose_class(self, campaign_id: bytes, level: float, history: Mapping[str, int] | None = None) -> str:
        """Record the consent under a class chosen at random; the class whose prior is nearest to the person's history
        is the most likely.

            P(nearest class) = e^level / (e^level + C - 1),   P(each other class) = 1 / (e^level + C - 1),
            C = number of classes

        The class is drawn once, and ``level`` is charged at once. The caps must leave room for this charge and for the
        most expensive class. A person who agreed before keeps their class. After forgetting, the class is drawn and
        charged again.

        Args:
            campaign_id: id of a joined campaign with classes, 16 bytes.
            level: nats that the choice may reveal.
            history: counts of the person's values, which never leave the device; None for this device's answers to
                all campaigns with the same possible answers, except campaigns that ask it for a coarser answer.
        Returns:
            The class.
        Raises:
            NotJoined: this device has not joined it.
            CampaignError: the campaign has no classes, or a class has no prior.
            NotionError: the level is outside the allowed range.
            ValueError: the level is not a finite number.
            ReportError, NotInDomain: the history has an invalid count, or other values than the campaign.
            BudgetRefused: the choice and the most expensive class do not fit under the caps.
            OutboxFull: the outbox has no room for the enrolment.
            OutsideSchedule: the campaign is over.
        """
        joined, now = self._not_over(campaign_id)
        return choose_class(self.records, joined, now, self._urandom, level, history)

    def declaration(
        self, campaign_id: bytes, prior: Mapping[str, int] | None = None, level: float | None = None
    ) -> Declaration:
        """Return the level and the costs of declaring a prior; nothing is stored, drawn or charged.

        Args:
            campaign_id: id of a joined campaign for declared priors, 16 bytes.
            prior: as for ``consent``; None for the prior declared before, or the uniform prior if none was.
            level: as for ``consent``.
        Returns:
            The costs, and for each value the range of posteriors of an observer with the declared prior.
        Raises:
            NotJoined: this device has not joined it.
            CampaignError: the campaign asks for no prior, its level is lower than ``level``, or another prior was
                declared before and cannot be replaced.
            ReportError, NotInDomain: the prior cannot be declared, or has other values than the campaign.
            NotionError: the level is outside the allowed range.
            ValueError: the level is not a finite number.
        """
        from edge_sdk.disclosure.declaration import declaration

        return declaration(self.records, campaign_id, prior, level)

    def choose_prior(
        self, campaign_id: bytes, level: float, history: Mapping[str, int] | None = None
    ) -> dict[str, int]:
        """Record the consent under a declared prior chosen at random from a public list; the prior nearest to the
        person's history is the most likely.

            P(nearest prior) = e^level / (e^level + k),   P(each of the k others) = 1 / (e^level + k)

        The list contains the uniform prior and, for each value, a prior that gives this value the probability 3/4. The
        prior is drawn once, and ``level`` is charged at once. The caps must leave room for this charge and for the most
        expensive prior of the list. The chosen prior is public and permanent. If a prior was declared before, even
        before forgetting, it stays, and nothing is drawn or charged.

        Args:
            campaign_id: id of a joined campaign for declared priors, 16 bytes.
            level: nats that the choice may reveal.
            history: as in ``choose_class``.
        Returns:
            The declared weights by label.
        Raises:
            NotJoined: this device has not joined it.
            CampaignError: the campaign asks for no prior.
            NotionError: the level is outside the allowed range.
            ValueError: the level is not a finite number.
            ReportError, NotInDomain: the history has an invalid count, or other values than the campaign.
            BudgetRefused: the choice and the most expensive prior of the list do not fit under the caps.
            OutboxFull: the outbox has no room for the enrolment.
            OutsideSchedule: the campaign is over.
        """
        joined, now = self._not_over(campaign_id)
        prior = choose_prior(self.records, joined, now, self._urandom, level, history)
        return {joined.campaign.domain.label(x): weight for x, weight in enumerate(prior)}

    def enrolment(self, campaign_id: bytes) -> bytes:
        """Return the sealed enrolment for a campaign with consent, to be handed to the organisation.

        Args:
            campaign_id: id of a joined campaign, 16 bytes.
        Returns:
            One signed envelope.
        Raises:
            NotJoined: this device has not joined it.
            ConsentMissing: the person has not agreed to it.
        """
        joined = self.records.joined_in_role(campaign_id)
        if not self.consented(campaign_id):
            raise no_consent(joined)
        return joined.enrolment()

    def present_code(self, campaign_id: bytes, code: str) -> None:
        """Store the code that admits this device to a campaign for enrolled devices; ``outbox.send`` redeems it.

        The first upload after consent redeems the code, together with the device's enrolment. The code is deleted once
        the study has admitted the device. A later code replaces an earlier code, even a refused one.

        Args:
            campaign_id: id of a joined campaign, 16 bytes.
            code: as written in the invitation.
        Raises:
            CampaignError: the text is not a code, or the campaign accepts reports from every device.
            NotJoined: this device has not joined it.
            OutboxFull: the outbox has no room for the enrolment.
        """
        present_code(self.records, self.records.campaigns.find(campaign_id), code)
