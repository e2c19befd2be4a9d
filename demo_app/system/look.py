"""Whether the system is dark: a phone's night mode, or what a desktop says of itself."""

from __future__ import annotations

from demo_app.system.android import activity, java


def is_dark() -> bool:
    """Whether the person has set their system to dark; not where the system does not say."""
    shown = activity()
    if shown is None:
        import darkdetect  # a desktop's: it asks macOS, Windows, or GNOME

        return darkdetect.isDark() is True
    modes = java("android.content.res.Configuration")
    mode = shown.getResources().getConfiguration().uiMode & modes.UI_MODE_NIGHT_MASK
    return bool(mode == modes.UI_MODE_NIGHT_YES)
