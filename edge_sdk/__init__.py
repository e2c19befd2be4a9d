"""The device: it charges, draws, signs and queues answers.

    from edge_sdk import BudgetPolicy, Device

The names in ``__all__`` are loaded at first use, so an app starts fast. The errors are in ``edge_sdk.errors``. The
package ``protocol`` defines channels, campaigns and reports. The package ``aggregator`` estimates from reports and is
never imported here.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # type checkers treat it as true; an import of typing would take time

if TYPE_CHECKING:
    from edge_sdk.answers.results import Receipt as Receipt
    from edge_sdk.budget.policy import BudgetPolicy as BudgetPolicy
    from edge_sdk.campaigns.terms import Terms as Terms
    from edge_sdk.device import Device as Device
    from edge_sdk.disclosure.envelopes import output_meanings as output_meanings
    from edge_sdk.disclosure.envelopes import waiting_envelopes as waiting_envelopes
    from edge_sdk.disclosure.preview import Preview as Preview
    from edge_sdk.rollback.file_store import FileKeyStore as FileKeyStore
    from edge_sdk.transport.download import fetch_campaign as fetch_campaign
    from edge_sdk.transport.download import fetch_invited as fetch_invited
    from edge_sdk.transport.download import fetch_offers as fetch_offers
    from edge_sdk.transport.download import learn_closings as learn_closings

_HOME = {
    "BudgetPolicy": "edge_sdk.budget.policy",
    "Device": "edge_sdk.device",
    "FileKeyStore": "edge_sdk.rollback.file_store",
    "Preview": "edge_sdk.disclosure.preview",
    "Receipt": "edge_sdk.answers.results",
    "Terms": "edge_sdk.campaigns.terms",
    "fetch_campaign": "edge_sdk.transport.download",
    "fetch_invited": "edge_sdk.transport.download",
    "fetch_offers": "edge_sdk.transport.download",
    "learn_closings": "edge_sdk.transport.download",
    "output_meanings": "edge_sdk.disclosure.envelopes",
    "waiting_envelopes": "edge_sdk.disclosure.envelopes",
}
"""The module that defines each public name."""

__all__ = list(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"edge_sdk has no {name!r}; its names are {', '.join(__all__)}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
