"""The reasons for which envelopes are refused; the reason is the first check that an envelope fails.

Every report is accepted, or refused for exactly one reason. So the numbers of accepted reports and of refusals add up
to ``IngestResult.read``, which leaves out enrolments that were not refused.
"""

from __future__ import annotations

from enum import StrEnum


class RefusalReason(StrEnum):
    """The reasons for which envelopes are refused, in the order of the checks."""

    MALFORMED = "malformed"
    """The bytes are not an envelope (a run of such bytes counts once), or are an envelope of a kind that does not
    belong in an upload, a malformed report or enrolment, or an enrolment whose declaration does not fit the
    campaign."""
    UNKNOWN_CAMPAIGN = "unknown-campaign"
    """The study has not imported the campaign."""
    UNKNOWN_KEY = "unknown-key"
    """The key is not registered in the campaign, and is not revoked in the report's period."""
    REVOKED_KEY = "revoked-key"
    """The key was revoked before the ingest, from the report's period on or from an earlier one."""
    BAD_SIGNATURE = "bad-signature"
    """The signature does not verify under the named key, or the key is weak (under a weak key, a signature proves
    nothing), or its id belongs to another key."""
    EARLY = "early"
    """The report's period lies after the next period, so the clocks of the device and of the study differ by at least a
    period."""
    LATE = "late"
    """The report's period begins at or after the campaign's closing."""
    OVER_QUOTA = "over-quota"
    """The report has more outputs, or a later slot, than a device may have in a period."""
    BAD_OUTPUT = "bad-output"
    """The outputs are packed incorrectly, or are not outputs of the campaign's channel."""
    REPLAYED = "replayed"
    """One of the report's slots was already filled, by the study or by this ingest."""
