"""Code that device and aggregator share: channels, certificates, campaigns, reports and the wire format.

    from protocol import SigningKey, open_campaign, seal_campaign

The package is pure: no files, no network, no clock, no numpy; randomness and time are arguments. ``SPEC.md`` beside
this file is normative; where code and SPEC differ, the code is wrong. The names in ``__all__`` are loaded at first use.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # type checkers treat it as true; an import of typing would take time

if TYPE_CHECKING:
    from protocol.campaign import Campaign as Campaign
    from protocol.campaign import SignedCampaign as SignedCampaign
    from protocol.campaign import open_campaign as open_campaign
    from protocol.campaign import seal_campaign as seal_campaign
    from protocol.campaign import unverified_campaign as unverified_campaign
    from protocol.closing import seal_closing as seal_closing
    from protocol.errors import HalftruthError as HalftruthError
    from protocol.errors import NotInDomain as NotInDomain
    from protocol.errors import OutsideSchedule as OutsideSchedule
    from protocol.keys import AuthorKey as AuthorKey
    from protocol.keys import SigningKey as SigningKey
    from protocol.keys import public_from_line as public_from_line
    from protocol.keys import public_line as public_line
    from protocol.link import Link as Link

_HOME = {
    "AuthorKey": "protocol.keys",
    "Campaign": "protocol.campaign",
    "HalftruthError": "protocol.errors",
    "Link": "protocol.link",
    "NotInDomain": "protocol.errors",
    "OutsideSchedule": "protocol.errors",
    "SignedCampaign": "protocol.campaign",
    "SigningKey": "protocol.keys",
    "open_campaign": "protocol.campaign",
    "public_from_line": "protocol.keys",
    "public_line": "protocol.keys",
    "seal_campaign": "protocol.campaign",
    "seal_closing": "protocol.closing",
    "unverified_campaign": "protocol.campaign",
}
"""The module that defines each public name."""

__all__ = list(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"protocol has no {name!r}; its names are {', '.join(__all__)}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
