"""The link that another program opened the app with: on Android an intent; elsewhere there is none.

The filters that name this app to the system: intent_filters.xml.

What is done with a link: app.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from demo_app.system.android import activity


def watch(opened: Callable[[str], object]) -> None:
    """Hand over the link that the app was opened with, and each that comes while it runs.

    Args:
        opened: is given each link, as it was written; in a thread of Android's own for those that come later.
    """
    shown = activity()
    if shown is None:
        return

    def came(intent: Any) -> None:
        text = intent.getDataString()
        if text:
            opened(str(text))

    importlib.import_module("android.activity").bind(on_new_intent=came)
    came(shown.getIntent())
