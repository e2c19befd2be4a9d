"""The entry point on a phone: Android's starter runs the ``main.py`` beside the packages; ``make apk`` puts it there.

It sets up only what a phone lacks. Python does not find a phone's certificate authorities for https, so this module
names those delivered with the app (certifi's) before any connection.

The app: app. Options on a computer: ``__main__``.
"""

from __future__ import annotations

import os

from demo_app.__main__ import main


def start() -> int:
    """Run the app as on a phone, and return its exit code."""
    import certifi

    os.environ.setdefault("SSL_CERT_FILE", certifi.where())
    return main([])


if __name__ == "__main__":
    raise SystemExit(start())
