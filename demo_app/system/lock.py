"""The system's screen lock, which may also lock this app: the PIN, pattern, face or finger that unlocks the phone.

The app is informed only whether the person unlocked the phone. The lock hides the screens from others; it does not
encrypt the store.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from demo_app.system.android import activity, java

REQUEST = 0x6875
"""The request code that identifies Android's result."""


def has_lock() -> bool:
    """Return whether the app runs on a phone with a secret screen lock."""
    keeper = _keeper()
    return keeper is not None and bool(keeper.isDeviceSecure())


def unlock(title: str, receive: Callable[[bool], object]) -> None:
    """Have the system ask the person to unlock the phone.

    Args:
        title: the reason, shown to the person.
        receive: called with True if the person unlocked the phone, else with False; possibly in a thread of Android. If
            the phone has no lock, it is called with True at once.
    """
    keeper = _keeper()
    asking = None if keeper is None else keeper.createConfirmDeviceCredentialIntent(title, "")
    if asking is None:  # the person has removed the lock meanwhile
        receive(True)
        return
    shown, results = activity(), importlib.import_module("android.activity")
    accepted = java("android.app.Activity").RESULT_OK

    def receive_result(request: int, result: int, _: Any) -> None:
        if request == REQUEST:
            results.unbind(on_activity_result=receive_result)
            receive(result == accepted)

    results.bind(on_activity_result=receive_result)
    shown.startActivityForResult(asking, REQUEST)


def _keeper() -> Any:
    shown = activity()
    return None if shown is None else shown.getSystemService(java("android.content.Context").KEYGUARD_SERVICE)
