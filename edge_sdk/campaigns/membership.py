"""The campaigns of a device: join one, show its terms, change its address, close it early.

The module known stores campaigns, joined verifies and audits them, and agreements records the person's decisions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from edge_sdk.campaigns.agreements import Agreements
from edge_sdk.campaigns.trust import Trust
from edge_sdk.errors import AddressRefused, InvitationRefused, NotJoined
from edge_sdk.transport.address import address as address_of
from protocol.errors import CampaignError

# At run time, these are imported only with the first campaign: an app that shows its ledger needs no audit.
if TYPE_CHECKING:
    from edge_sdk.campaigns.invitation import Invitation
    from edge_sdk.campaigns.joined import Joined
    from edge_sdk.campaigns.terms import Terms
    from protocol.campaign import Campaign
    from protocol.domain import Answer


class Membership(Trust, Agreements):
    """The part of ``Device`` that joins campaigns and returns facts about them."""

    def join(self, data: bytes, address: str | None = None) -> Terms:
        """Verify and audit a signed campaign, check it against the owner's caps, and store it.

        Joining again changes nothing, except that a missing address is stored. A campaign may be joined before it
        opens.

        Args:
            data: the signed campaign, as read from its file.
            address: the study's address for reports: https, or http to this machine. It is used only if the signed
                campaign names no address. Without any address, reports stay on the device or are exported to a file.
        Returns:
            The terms to show to the person before consent.
        Raises:
            AddressRefused: ``address`` is malformed, or another address was given before (``set_address`` changes it).
            BadData: a check failed; for example, no author whom this device trusts signed the campaign.
            OutsideSchedule: the campaign is over (``ClosedEarly`` if its author closed it early).
            BudgetRefused: its worst case over all views does not fit under the caps.
        """
        if not isinstance(data, bytes):
            raise TypeError(f"a signed campaign must be bytes, as read from its file, not {type(data).__name__}")
        return self._join(data, None if address is None else address_of(address).text)

    def accept(self, invitation: Invitation) -> Terms:
        """Join the campaign of a link, as ``join`` does. The campaign's author is trusted for this campaign only.

        If the campaign accepts enrolled devices only, the code in the link is stored (see ``present_code``).

        Args:
            invitation: the study's response to the link (``fetch_invited``).
        Returns:
            The terms to show to the person before consent.
        Raises:
            InvitationRefused: the campaign's author signed addresses, and the link's address is not one of them.
            AddressRefused: another address was given before, and the campaign names none.
            BadData, OutsideSchedule, BudgetRefused: as for ``join``; nothing is stored.
            OutboxFull: the outbox has no room for the enrolment that goes with the code; the campaign is joined.
        """
        from edge_sdk.campaigns.invitation import Invitation

        if not isinstance(invitation, Invitation):
            raise TypeError(f"an invitation must be the result of fetch_invited, not {type(invitation).__name__}")
        link = invitation.link
        terms = self._join(invitation.data, link.address, invitation.author)
        if link.code and terms.enrolment == "enrolled":
            self.present_code(terms.campaign_id, link.code)
        return self.terms(terms.campaign_id)

    @property
    def campaigns(self) -> list[bytes]:
        """Ids of the joined campaigns, in the order in which they were first joined."""
        return self.records.campaigns.ids()

    def campaign(self, campaign_id: bytes) -> Campaign:
        """Return a joined campaign, verified and audited.

        Args:
            campaign_id: id of a joined campaign, 16 bytes.
        Returns:
            The campaign, with its texts in their original language.
        Raises:
            NotJoined: this device has not joined it.
        """
        return self.records.campaigns.find(campaign_id).campaign

    def terms(self, campaign_id: bytes, language: str | None = None) -> Terms:
        """Return the terms of a joined campaign.

        Args:
            campaign_id: id of a joined campaign, 16 bytes.
            language: the person's language as their system names it, such as "de" or "de_AT". If the campaign has no
                texts in this language, or ``language`` is None, the texts are in the campaign's original language.
        Returns:
            The terms in that language, with the current addresses and any closing notice.
        Raises:
            NotJoined: this device has not joined it.
        """
        if not isinstance(language, str | None):
            raise TypeError(f"a language must be text, such as 'de', not {type(language).__name__}")
        return self._terms_now(self.records.joined_in_role(campaign_id), language)

    def parse(self, campaign_id: bytes, text: str) -> Answer:
        """Parse ``text`` as an answer to a joined campaign.

        Args:
            campaign_id: id of a joined campaign, 16 bytes.
            text: an answer as typed by a person, or a label of the campaign.
        Returns:
            The answer, as an argument of ``answer`` and ``preview``.
        Raises:
            NotInDomain: the text is not an answer to the campaign's question.
            NotJoined: this device has not joined it.
        """
        return self.campaign(campaign_id).domain.parse(text)

    def addresses(self, campaign_id: bytes) -> tuple[str, ...]:
        """Return the addresses for a joined campaign's reports, in the order in which they are tried.

        Args:
            campaign_id: id of a joined campaign, 16 bytes.
        Returns:
            Addresses as text; empty if neither the campaign nor the owner named one.
        Raises:
            NotJoined: this device has not joined it.
        """
        campaigns = self.records.campaigns
        return campaigns.addresses(campaigns.require_joined(campaign_id))

    def set_address(self, campaign_id: bytes, address: str) -> None:
        """Set the address for the reports of a joined campaign whose signed bytes name no address.

        All waiting envelopes go to the new address. An envelope that the old address received, but for which it sent no
        acknowledgement, may reach both addresses.

        Args:
            campaign_id: id of a joined campaign, 16 bytes.
            address: https, or http to this machine.
        Raises:
            AddressRefused: the text is not an address, or the campaign names its own addresses.
            NotJoined: this device has not joined it.
        """
        campaigns, text = self.records.campaigns, address_of(address).text
        with self._store.transaction():
            number = campaigns.require_joined(campaign_id)
            if campaigns.signs_addresses(number):
                signed = " or ".join(campaigns.addresses(number))
                raise AddressRefused(
                    "the address cannot be set, because the campaign's author signed the addresses for its reports, "
                    f"{signed}: the reports go there, so leave the address out"
                )
            if campaigns.addresses(number) != (text,):
                campaigns.set_address(number, text)
                self.outbox.restart_upload(number)

    def close_early(self, data: bytes) -> Terms:
        """Close a joined campaign early, with its author's signed closing notice; return its terms.

        From the time in the closing notice on, consent and answers are refused (``ClosedEarly``); answers collected
        before are still bundled and sent. The closing notice stays valid even after forgetting. Passing the same one
        again changes nothing.

        Args:
            data: the signed closing notice, from a study (``learn_closings``) or from a file.
        Returns:
            The campaign's terms with the earlier end.
        Raises:
            BadData: the campaign's author did not sign the closing notice, or its time is not before the campaign's
                end, or is after that of an earlier closing notice.
            NotJoined: the closing notice is for a campaign that is not joined.
        """
        from protocol.closing import open_closing, unverified_closing

        if not isinstance(data, bytes):
            raise TypeError(f"a closing notice must be bytes, as read from its file, not {type(data).__name__}")
        campaigns, campaign_id = self.records.campaigns, unverified_closing(data).campaign_id
        joined = campaigns.find(campaign_id)
        closing = open_closing(data, joined.signed)
        with self._store.transaction():
            known = campaigns.closed_early(campaign_id)
            if known is not None and known < closing.closes:
                raise CampaignError(
                    f"{joined.campaign.title!r} was already closed at an earlier time: a later closing notice "
                    "cannot open it again"
                )
            campaigns.close_early(campaigns.require_joined(campaign_id), closing.closes)
        return self.terms(campaign_id)

    def _join(self, data: bytes, address: str | None, invited_by: bytes | None = None) -> Terms:
        """Join a signed campaign; return its terms.

        Args:
            address: the address of the study, as text.
            invited_by: the author's key that the person's link names. If the campaign names addresses, the link's
                address must be one of them. None requires a trusted author.
        """
        from protocol.campaign import campaign_id

        campaigns, now = self.records.campaigns, self._now()
        try:
            joined = campaigns.find(campaign_id(data))
        except NotJoined:
            joined = self._verified(data, invited_by)
        signed = joined.campaign.addresses
        if invited_by is not None and signed and address not in signed:
            raise InvitationRefused(
                f"the link names {address}, but the campaign's author signed another address, {' or '.join(signed)}: "
                "ask the person who gave you the link for a new one"
            )
        with self._store.transaction():
            campaigns.require_not_over(joined, now)
            number = campaigns.numbered(joined.signed.id)
            if not campaigns.is_joined(number):
                self.records.caps.require_room(number, joined.commitments, now)
                campaigns.add(number, joined, address)
            elif address and not campaigns.signs_addresses(number):
                self._keep_address(number, address)
        campaigns.keep_verified(joined)
        return self._terms_now(joined)

    def _verified(self, data: bytes, invited_by: bytes | None) -> Joined:
        """Verify and audit a campaign that is not joined.

        Raises:
            BadData: a check failed.
        """
        from edge_sdk.campaigns.joined import Joined

        trusted = [author.public for author in self.trusted] if invited_by is None else [invited_by]
        if not trusted:
            raise CampaignError(
                "no author is trusted: join by a link, or name the author's public key (trust=, or --trust)"
            )
        return Joined.open(data, trusted, self._store.secret)

    def _keep_address(self, number: int, address: str) -> None:
        """Store the address of a campaign that has none; part of the caller's transaction.

        Raises:
            AddressRefused: the campaign has another address.
        """
        known = self.records.campaigns.addresses(number)
        if known and known != (address,):
            raise AddressRefused(
                f"reports in this campaign go to {known[0]}: leave the other address out, or set it first with the "
                "command 'address ID URL'"
            )
        if not known:
            self.records.campaigns.set_address(number, address)

    def _terms_now(self, joined: Joined, language: str | None = None) -> Terms:
        """Return the terms, completed with the store's facts that are not part of the signed campaign."""
        terms = joined.terms if language is None else joined.terms_in(language)
        if terms.questions and not self.consented(joined.signed.id):
            terms = replace(terms, map=None)
        campaigns, campaign_id = self.records.campaigns, joined.signed.id
        closed, addresses = campaigns.closed_early(campaign_id), self.addresses(campaign_id)
        has_code = bool(self.records.outbox.code(campaigns.number(campaign_id)))
        author_name = self._name_of(terms.author)
        return replace(terms, addresses=addresses, closed_early=closed, author_name=author_name, has_code=has_code)
