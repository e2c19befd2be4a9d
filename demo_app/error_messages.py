"""Notices: what is said to the person when something is refused or has gone wrong.

An error's class decides which text is shown and what is offered; the error's own English text, which never
holds a person's value, prior or key, stands below it for whoever is asked for help.

How a notice looks: screens. What the errors mean: ``edge_sdk.errors`` and the SPEC's stages.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

KEYS = {
    "StoreRestored": "restored",
    "StoreDamaged": "damaged",
    "StoreError": "store",
    "BudgetRefused": "budget",
    "ConsentMissing": "consent",
    "QuotaReached": "quota",
    "UnknownCampaign": "unknown",
    "NothingQueued": "nothing",
    "OutboxFull": "full",
    "AddressRefused": "address",
    "LinkRefused": "link",
    "InvitationRefused": "invitation",
    "NoCampaign": "absent",
    "NoAnswer": "answer",
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
"""Which notice an error is, by the name of its class or of the nearest class above it."""

UNEXPECTED = "unexpected"
"""The notice of any other error: a mistake of the program's own."""

OFFERS = {"restored": "adopt", "damaged": "adopt", "full": "outbox", "budget": "budget", "trust": "authors"}
"""What a notice offers to do next, beside closing it."""


class NotAFile(Exception):
    """A file that a person named cannot be read."""


class NotTrusted(Exception):
    """A campaign was opened before the person named any author."""


@dataclass(frozen=True)
class Notice:
    """What is said.

    Attributes:
        key: the texts are ``notice.KEY.title`` and ``notice.KEY.body`` of the catalogue.
        detail: the error's own words; empty where the texts say all.
        offer: what the person can do next: a key of ``OFFERS``'s values, or empty.
    """

    key: str
    detail: str = ""
    offer: str = ""


def notice_of(error: BaseException) -> Notice:
    """The notice of an error."""
    key = next((KEYS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in KEYS), UNEXPECTED)
    detail = _place(error) if key == UNEXPECTED else str(error)
    return Notice(key, detail, OFFERS.get(key, ""))


def _place(error: BaseException) -> str:
    """What an unforeseen error is and where it came from; its text might hold anything, so it is left out."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f", {Path(trace.tb_frame.f_code.co_filename).name} {trace.tb_lineno}"
    return f"{type(error).__name__}{where}"
