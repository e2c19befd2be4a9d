"""Error messages: the texts for the person after a refusal or an error.

The class of an error decides the text and the offered remedy. A message with a remedy, and one of ``DETAILED``, also
shows the error's English text, for people who are asked for help. That text never contains a person's value, prior or
key.

The module app and the screen trouble show the messages. ``edge_sdk.errors`` and the stages of SPEC define the errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from demo_app.texts import say

KEYS = {
    "StoreRestored": "restored",
    "StoreDamaged": "damaged",
    "StoreError": "store",
    "BudgetRefused": "budget",
    "ConsentMissing": "consent",
    "QuotaReached": "quota",
    "NotJoined": "unknown",
    "AmbiguousCampaign": "unknown",
    "NothingWaiting": "nothing",
    "OutboxFull": "full",
    "AddressRefused": "address",
    "LinkRefused": "link",
    "InvitationRefused": "invitation",
    "NoCampaign": "absent",
    "NoResponse": "answer",
    "KeyRefused": "key",
    "SignatureRefused": "signature",
    "Uncertified": "certificate",
    "NotOpen": "early",
    "OutsideSchedule": "schedule",
    "NotInDomain": "domain",
    "NotTrusted": "trust",
    "NotAFile": "file",
    "BadData": "data",
}
"""The message for an error, by the name of its class or of the nearest base class."""

UNEXPECTED = "unexpected"
"""The message for any other error: a mistake in the program."""

DETAILED = {"address", "data", "store", UNEXPECTED}
"""The messages without a remedy that also show the error's own text, because their causes differ."""

REMEDIES = {"restored": "adopt", "damaged": "adopt", "full": "outbox", "budget": "budget", "trust": "authors"}
"""The remedy that the dialog of a message offers, by the key of the message."""


class NotAFile(Exception):
    """A file that a person named cannot be read."""


class NotTrusted(Exception):
    """The person does not trust the author who signed a campaign."""


@dataclass(frozen=True)
class ErrorMessage:
    """A text for the person after a refusal or an error.

    Attributes:
        key: the texts are ``notice.KEY.title`` and ``notice.KEY.body`` of the app.
        detail: the error's own text; for an unexpected error, its class and origin instead.
        remedy: the remedy, one of the values of ``REMEDIES``; "" for none.
    """

    key: str
    detail: str = ""
    remedy: str = ""


def message_of(error: BaseException) -> ErrorMessage:
    key = next((KEYS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in KEYS), UNEXPECTED)
    detail = _place(error) if key == UNEXPECTED else str(error)
    return ErrorMessage(key, detail, REMEDIES.get(key, ""))


def detail_after(body: str, detail: str) -> str:
    """Return the error's English text to append to ``body``: after a short introduction, or alone if ``body`` ends
    with a colon. "" if the error has no text."""
    if not detail or body.endswith(":"):
        return detail
    return say("dialog.detail") + f" {detail}"


def _place(error: BaseException) -> str:
    """Return the class and the origin of an unexpected error, without its text, which might contain a person's
    value."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    origin = "" if trace is None else f", {Path(trace.tb_frame.f_code.co_filename).name} {trace.tb_lineno}"
    return f"{type(error).__name__}{origin}"
