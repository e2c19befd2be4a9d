"""The link with which another program opened the app: an intent on Android; no link on other systems.

intent_filters.xml contains the filters that register the app for links.

The module app follows the link.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from demo_app.system.android import activity


def watch(opened: Callable[[str], object]) -> None:
    """Pass on the link that the app was opened with, and each link that arrives while it runs.

    Args:
        opened: called with the text of each link; links that arrive later are passed in a thread of Android.
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
