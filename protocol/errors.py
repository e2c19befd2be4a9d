"""The errors for invalid bytes, declarations and values from outside.

The text of an error names the fault. In the subclasses of ``BadData``, ``stage`` is the stage of SPEC.md at which the
fault was found, as in the negative test vectors. A mistake of the calling programmer is a plain ``ValueError`` or
``TypeError``. No error text contains a person's value, prior or secret key.
"""

from __future__ import annotations


class HalftruthError(Exception):
    """The base class of all errors; the text names the fault, and the remedy if it is not obvious."""


class BadData(HalftruthError):
    """Bytes or declarations from outside that SPEC.md does not allow."""

    stage = "data"


class CodecError(BadData):
    """Bytes that are not in the canonical subset of msgpack (SPEC 1)."""

    stage = "codec"


class Truncated(CodecError):
    """The bytes end before the value does; more bytes could complete it."""


class KeyRefused(BadData):
    """A public key that must not be used, or an invalid key file, key name or fingerprint (SPEC 2)."""

    stage = "key"


class SignatureRefused(BadData):
    """A signature that does not verify; every implementation reaches the same verdict (SPEC 2)."""

    stage = "signature"


class EnvelopeError(BadData):
    """Bytes that are not an envelope, or an envelope of another key (SPEC 3)."""

    stage = "envelope"


class DomainError(BadData):
    """An invalid domain, such as a single value, repeated labels or edges out of order (SPEC 4)."""

    stage = "domain"


class ChannelError(BadData):
    """An invalid channel, such as a row that does not sum to one or a repeated inner channel (SPEC 5)."""

    stage = "channel"


class NotionError(BadData):
    """An invalid privacy notion, such as a level of zero or a prior with a zero (SPEC 6)."""

    stage = "notion"


class Uncertified(BadData):
    """A channel that is not proved to satisfy the level of its notion: its level is higher, its audit is too large, or
    the notion does not allow this channel (SPEC 6)."""

    stage = "certificate"


class ViewError(BadData):
    """Invalid views, such as a weight that is not positive or an invalid map (SPEC 7.3)."""

    stage = "view"


class CampaignError(BadData):
    """An invalid campaign or closing notice, or a choice that does not fit its campaign (SPEC 7).

    A campaign or closing notice that no trusted author has signed is refused, too. The choices are an option, a code, a
    class, a prior, and the consent, which is refused for a campaign with transcripts whose answers were forgotten.
    """

    stage = "campaign"


class LinkRefused(BadData):
    """An invalid link: it is cut off or misspelt, or its address is not valid (SPEC 7.4)."""

    stage = "link"


class ReportError(BadData):
    """A report, enrolment, declared prior or counts of values that are invalid or do not fit the campaign (SPEC 8)."""

    stage = "report"


class OutsideSchedule(HalftruthError):
    """The campaign is not open at this time, or the clock shows a time before the consent or the latest report."""


class ClosedEarly(OutsideSchedule):
    """The campaign's author closed it before its time."""


class NotYet(HalftruthError):
    """The request is valid but not possible yet; it may succeed later."""


class NotOpen(OutsideSchedule, NotYet):
    """The campaign has not opened yet."""


class NotInDomain(HalftruthError, ValueError):
    """The question does not allow the value. The text never repeats the value."""
