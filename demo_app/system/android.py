"""Android's own objects, where the app runs on a phone."""

from __future__ import annotations

import importlib
from typing import Any


def java(name: str) -> Any:
    """Return a class of Android's, such as ``android.content.Intent``; None where there is no Android."""
    try:
        jnius = importlib.import_module("jnius")
    except ImportError:
        return None
    return jnius.autoclass(name)


def activity() -> Any:
    """Return the activity that shows this app; None where there is no Android."""
    starter = java("org.kivy.android.PythonActivity")
    return None if starter is None else starter.mActivity
