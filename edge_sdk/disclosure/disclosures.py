"""What a person may ask about their reports: what one would reveal, what all of them reveal, what they answered before.

Computed in preview, which is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edge_sdk.session import Session

if TYPE_CHECKING:
    from edge_sdk.disclosure.exposure import Exposure
    from edge_sdk.disclosure.preview import Preview, Transcript
    from protocol.domain import Answer


class Disclosures(Session):
    """The part of ``Device`` that shows a person what their reports reveal; nothing is drawn, charged or stored."""

    def preview(self, campaign_id: bytes, value: Answer | None = None) -> Preview:
        """Return what an answer would send and what it could reveal; nothing is drawn, charged or stored.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
            value: the answer that the person considers; None describes the question alone. Of a form that nobody agreed
                to, it describes what would tell most, whichever questions are asked.
        Returns:
            The bytes, and the most that they could tell; bounds are rounded up.
        Raises:
            NotInDomain: not an answer to the campaign's question.
            ConsentMissing: an answer to a form that the person did not agree to.
        """
        from edge_sdk.disclosure.preview import preview

        return preview(self.records, campaign_id, value, self._now())

    def exposure(self, campaign_id: bytes) -> Exposure:
        """Return a bound on what all reports about the same values reveal together, over all joined campaigns.

        For the person only: the result depends on how many different values they gave.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
        Returns:
            The exposure by campaign; levels are rounded up.
        """
        from edge_sdk.disclosure.preview import exposure

        return exposure(self.records, campaign_id)

    def transcript(self, campaign_id: bytes) -> Transcript:
        """Return what this device's reports reveal in a campaign whose channels depend on earlier reports; public.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
        Returns:
            The periods of the reports, and two bounds on what they reveal, in nanonats.
        Raises:
            CampaignError: the campaign has no transcripts.
        """
        from edge_sdk.disclosure.preview import transcript

        return transcript(self.records, campaign_id)

    def prior(self, campaign_id: bytes) -> dict[str, int]:
        """Return the number of reports of each value: the person's history, which never leaves the device.

        If this device's view is of districts, the history is of districts; finer values were never stored.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
        Returns:
            By label, a number of reports; labels without a report are left out.
        """
        joined = self.records.campaigns.find(campaign_id)
        counts = self.records.memo.counts(self.records.campaigns.number(campaign_id))
        return {joined.label(x): times for x, times in sorted(counts.items())}
