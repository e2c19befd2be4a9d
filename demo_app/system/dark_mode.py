"""The system's choice of light or dark: a phone's night mode, or the setting of a desktop."""

from __future__ import annotations

from demo_app.system.android import activity, java


def is_dark() -> bool:
    """Return whether the person has set the system to dark; False if this is unknown."""
    shown = activity()
    if shown is None:
        # This package is for desktops: it asks macOS, Windows or GNOME.
        import darkdetect

        return darkdetect.isDark() is True
    modes = java("android.content.res.Configuration")
    mode = shown.getResources().getConfiguration().uiMode & modes.UI_MODE_NIGHT_MASK
    return bool(mode == modes.UI_MODE_NIGHT_YES)
