"""The system's screen lock, which may also lock this app: the PIN, pattern, face or finger that unlocks the phone.

The app learns whether the person unlocked it, and nothing else. The lock keeps others from looking; what is stored is
not encrypted by it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from demo_app.system.android import activity, java

REQUEST = 0x6875
"""The request code by which Android's answer is recognised."""


def has_lock() -> bool:
    """Whether the app runs on a phone whose screen is locked by a secret."""
    keeper = _keeper()
    return keeper is not None and bool(keeper.isDeviceSecure())


def unlock(title: str, done: Callable[[bool], object]) -> None:
    """Have the system ask the person for what unlocks their phone.

    Args:
        title: what it is for, as the person reads it.
        done: is given whether they unlocked it, perhaps in a thread of Android's own; at once where there is no lock.
    """
    keeper = _keeper()
    asking = None if keeper is None else keeper.createConfirmDeviceCredentialIntent(title, "")
    if asking is None:  # the person has removed their lock since
        done(True)
        return
    shown, answers = activity(), importlib.import_module("android.activity")
    accepted = java("android.app.Activity").RESULT_OK

    def came(request: int, result: int, _: Any) -> None:
        if request == REQUEST:
            answers.unbind(on_activity_result=came)
            done(result == accepted)

    answers.bind(on_activity_result=came)
    shown.startActivityForResult(asking, REQUEST)


def _keeper() -> Any:
    shown = activity()
    return None if shown is None else shown.getSystemService(java("android.content.Context").KEYGUARD_SERVICE)
