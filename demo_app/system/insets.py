"""The margins of a phone's screen that bars and cameras cover.

From Android 15 on, an app draws behind the bars and must not place content there:
https://developer.android.com/about/versions/15/behavior-changes-15#edge-to-edge.
"""

from __future__ import annotations

from demo_app.system.android import activity, java

EDGE_TO_EDGE = 35
"""The API of Android 15; earlier systems keep an app's window between the bars."""

Insets = tuple[int, int, int, int]
"""Pixels at the left, top, right and bottom."""


def insets() -> Insets:
    """Return the margins to leave free, in pixels; zeros on a desktop, and before the window is open."""
    shown = activity()
    if shown is None or java("android.os.Build$VERSION").SDK_INT < EDGE_TO_EDGE:
        return 0, 0, 0, 0
    around = shown.getWindow().getDecorView().getRootWindowInsets()
    if around is None:
        return 0, 0, 0, 0
    kinds = java("android.view.WindowInsets$Type")
    margins = around.getInsets(kinds.systemBars() | kinds.displayCutout())
    return margins.left, margins.top, margins.right, margins.bottom
