"""The entry point on a phone: Android's starter runs the ``main.py`` beside the packages; ``make apk`` puts it there.

Python does not find a phone's certificate authorities for https. So this module sets the authorities that are delivered
with the app (from certifi) before any connection.

The module app defines the app, and ``__main__`` the options on a computer.
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
