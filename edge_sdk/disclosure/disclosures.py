"""The disclosure by one more report and by all reports of a person, and the person's own history.

The module preview computes the disclosure, and is loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edge_sdk.session import Session

if TYPE_CHECKING:
    from edge_sdk.disclosure.exposure import Exposure
    from edge_sdk.disclosure.preview import Preview
    from protocol.domain import Answer


class Disclosures(Session):
    """The part of ``Device`` that computes the disclosure by a person's reports; nothing is drawn or stored."""

    def preview(self, campaign_id: bytes, value: Answer | None = None) -> Preview:
        """Return the size, the cost and the possible disclosure of an answer; nothing is drawn, charged or stored.

        Args:
            campaign_id: id of a joined campaign, 16 bytes.
            value: the answer that the person considers; None for the answer that one report can make most probable. For
                a form before consent, ``value`` must be None, and the answer is that of any view.
        Returns:
            The lengths in bytes, the cost, and bounds on the disclosure.
        Raises:
            NotInDomain: the value is not an answer to the campaign's question.
            ConsentMissing: a value is given for a form that the person has not agreed to.
            NotJoined: this device has not joined it.
        """
        from edge_sdk.disclosure.preview import preview

        return preview(self.records, campaign_id, value, self._now())

    def exposure(self, campaign_id: bytes) -> Exposure:
        """Return a bound on the disclosure by all reports about the same values, over all joined campaigns.

        The result is for the person only, because it depends on the number of different values that they gave.

        Args:
            campaign_id: id of a joined campaign, 16 bytes.
        Returns:
            The exposure by campaign; levels are rounded up.
        Raises:
            NotJoined: this device has not joined it.
        """
        from edge_sdk.disclosure.preview import exposure

        return exposure(self.records, campaign_id)

    def history(self, campaign_id: bytes) -> dict[str, int]:
        """Return the number of answers with each value: the person's history, which never leaves the device.

        If this device's view coarsens the answer, the history counts its groups or districts; finer values were never
        stored.

        Args:
            campaign_id: id of a joined campaign, 16 bytes.
        Returns:
            The number of answers by label; labels without an answer are left out.
        Raises:
            NotJoined: this device has not joined it.
        """
        joined = self.records.campaigns.find(campaign_id)
        counts = self.records.memo.counts(self.records.campaigns.number(campaign_id))
        return {joined.label(x): times for x, times in sorted(counts.items())}
