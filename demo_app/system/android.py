"""The access to Android's classes, if the app runs on a phone."""

from __future__ import annotations

import importlib
from typing import Any


def java(name: str) -> Any:
    """Return the Android class ``name``, such as ``android.content.Intent``; None on other systems."""
    try:
        jnius = importlib.import_module("jnius")
    except ImportError:
        return None
    return jnius.autoclass(name)


def activity() -> Any:
    """Return the activity that shows this app; None on other systems."""
    starter = java("org.kivy.android.PythonActivity")
    return None if starter is None else starter.mActivity
