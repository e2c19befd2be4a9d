"""The entry point on a phone: Android's starter runs the ``main.py`` beside the packages; ``make apk`` puts it there.

Only what a phone lacks is set up here. Its authorities for https lie where Python does not look, so the ones
that come with the app (certifi's) are named before anything connects.

What the app does: app. What a computer is told by options: ``__main__``.
"""

from __future__ import annotations

import os

from demo_app.__main__ import main


def start() -> int:
    """Run the app as a phone does; its exit code."""
    import certifi

    os.environ.setdefault("SSL_CERT_FILE", certifi.where())
    return main([])


if __name__ == "__main__":
    raise SystemExit(start())
