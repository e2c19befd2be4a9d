"""The app's calls to the system, on objects in memory with the methods that Android documents, and on a desktop."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from demo_app.system.dark_mode import is_dark
from demo_app.system.insets import insets
from demo_app.system.lock import REQUEST, has_lock, unlock
from demo_app.system.opened_link import watch
from demo_app.system.reminder import entry, remind


class Intent:
    """A replacement for Android's Intent with the methods that the app uses."""

    ACTION_INSERT = "android.intent.action.INSERT"

    def __init__(self, action: str = "", text: str | None = None) -> None:
        self.action = action
        self.text = text
        self.extras: dict[str, Any] = {}
        self.handler: object = "calendar"

    def getDataString(self) -> str | None:
        return self.text

    def setData(self, data: object) -> None:
        self.data = data

    def putExtra(self, name: str, value: object) -> None:
        self.extras[name] = value

    def resolveActivity(self, _: object) -> object:
        return self.handler


class Phone:
    """A simulated phone: its API level, night mode, insets and lock, and the intents that the app started.

    Attributes:
        bound: the app's listeners, by event.
        started: the started intents, with the request number of those that expect an answer.
    """

    def __init__(self) -> None:
        self.api, self.mode, self.secure = 35, 0x21, True
        self.taken: Any = types.SimpleNamespace(left=1, top=63, right=2, bottom=48)
        self.bound: dict[str, Callable[..., None]] = {}
        self.started: list[tuple[Intent, int | None]] = []
        self.opened_by = Intent(text="halftruth://study.example/s/1#k=2")

    @property
    def activity(self) -> Any:
        insets = None if self.taken is None else types.SimpleNamespace(getInsets=lambda kinds: {3: self.taken}[kinds])
        decor = types.SimpleNamespace(getRootWindowInsets=lambda: insets)
        keeper = types.SimpleNamespace(
            isDeviceSecure=lambda: self.secure,
            createConfirmDeviceCredentialIntent=lambda title, _: Intent(title) if self.secure else None,
        )
        configuration = types.SimpleNamespace(uiMode=self.mode)
        return types.SimpleNamespace(
            getIntent=lambda: self.opened_by,
            getResources=lambda: types.SimpleNamespace(getConfiguration=lambda: configuration),
            getWindow=lambda: types.SimpleNamespace(getDecorView=lambda: decor),
            getSystemService=lambda name: {"keyguard": keeper}[name],
            getPackageManager=lambda: None,
            startActivity=lambda intent: self.started.append((intent, None)),
            startActivityForResult=lambda intent, number: self.started.append((intent, number)),
        )

    def java(self, name: str) -> Any:
        """Return a Java class that the app may use; fail for any other."""
        return {
            "org.kivy.android.PythonActivity": types.SimpleNamespace(mActivity=self.activity),
            "android.content.Intent": Intent,
            "android.content.Context": types.SimpleNamespace(KEYGUARD_SERVICE="keyguard"),
            "android.content.res.Configuration": types.SimpleNamespace(UI_MODE_NIGHT_MASK=0x30, UI_MODE_NIGHT_YES=0x20),
            "android.os.Build$VERSION": types.SimpleNamespace(SDK_INT=self.api),
            "android.view.WindowInsets$Type": types.SimpleNamespace(systemBars=lambda: 1, displayCutout=lambda: 2),
            "android.app.Activity": types.SimpleNamespace(RESULT_OK=-1),
            "android.provider.CalendarContract$Events": types.SimpleNamespace(CONTENT_URI="events"),
        }[name]

    def unbind(self, **gone: Callable[..., None]) -> None:
        for name, function in gone.items():
            assert self.bound.pop(name) is function


@pytest.fixture
def phone(monkeypatch: pytest.MonkeyPatch) -> Phone:
    """Make the app run on a simulated phone; return the phone."""
    made = Phone()
    answers = types.SimpleNamespace(bind=lambda **came: made.bound.update(came), unbind=made.unbind)
    monkeypatch.setitem(sys.modules, "android", types.ModuleType("android"))
    monkeypatch.setitem(sys.modules, "android.activity", answers)
    monkeypatch.setitem(sys.modules, "jnius", types.SimpleNamespace(autoclass=made.java))
    return made


def test_a_link_from_another_program_is_handed_over(phone: Phone) -> None:
    """The link of the intent that started the app, and of each later intent, is handed over; an intent without a link
    has no effect."""
    opened: list[str] = []
    watch(opened.append)
    phone.bound["on_new_intent"](Intent())
    phone.bound["on_new_intent"](Intent(text="https://study.example/s/3#k=4"))
    assert opened == ["halftruth://study.example/s/1#k=2", "https://study.example/s/3#k=4"]


def test_a_phone_in_night_mode_is_dark(phone: Phone) -> None:
    """The app is dark if and only if the phone is in night mode."""
    assert is_dark()
    phone.mode = 0x11
    assert not is_dark()


@pytest.mark.parametrize(("shown", "dark"), [(True, True), (False, False), (None, False)])
def test_a_desktop_in_dark_mode_is_dark(monkeypatch: pytest.MonkeyPatch, shown: bool | None, dark: bool) -> None:
    """On a desktop the app is dark if and only if darkdetect reports a dark system; it returns None for an unknown
    one."""
    monkeypatch.setitem(sys.modules, "darkdetect", types.SimpleNamespace(isDark=lambda: shown))
    assert is_dark() is dark


def test_bars_take_room_from_android_15_on(phone: Phone) -> None:
    """From Android 15 on, the bars need margins; earlier systems place the window between the bars. Before the window
    is laid out, all margins are 0."""
    assert insets() == (1, 63, 2, 48)
    phone.taken = None
    assert insets() == (0, 0, 0, 0)
    phone.taken, phone.api = types.SimpleNamespace(left=1, top=1, right=1, bottom=1), 34
    assert insets() == (0, 0, 0, 0)


@pytest.mark.parametrize(("result", "good"), [(-1, True), (0, False)])
def test_only_the_systems_yes_unlocks(phone: Phone, result: int, good: bool) -> None:
    """Only a positive result of the app's own request unlocks; results of other requests are ignored, and after its own
    result the app stops listening."""
    assert has_lock()
    unlocked: list[bool] = []
    unlock("why", unlocked.append)
    [(intent, number)] = phone.started
    assert (intent.action, number) == ("why", REQUEST)
    phone.bound["on_activity_result"](REQUEST + 1, -1, None)
    assert unlocked == []
    phone.bound["on_activity_result"](REQUEST, result, None)
    assert unlocked == [good]
    assert phone.bound == {}


def test_a_phone_without_a_lock_unlocks_at_once(phone: Phone) -> None:
    """On a phone without a lock, unlocking succeeds at once and starts no request."""
    phone.secure = False
    unlocked: list[bool] = []
    unlock("why", unlocked.append)
    assert (has_lock(), unlocked, phone.started) == (False, [True], [])


def test_a_reminder_opens_the_calendar_and_names_no_survey(phone: Phone, tmp_path: Path) -> None:
    """A reminder starts the calendar with the given title and a quarter of an hour, and writes no file."""
    assert remind("halftruth asks again", 1_800_000_000, tmp_path) is None
    [(intent, number)] = phone.started
    assert (intent.action, intent.data, number) == (Intent.ACTION_INSERT, "events", None)
    ends = 1_800_000_900_000
    assert intent.extras == {"title": "halftruth asks again", "beginTime": 1_800_000_000_000, "endTime": ends}
    assert list(tmp_path.iterdir()) == []


def test_a_desktop_has_no_links_insets_or_lock(tmp_path: Path) -> None:
    """On a desktop the app has no links, no insets and no lock; a reminder is a file that calendars open."""
    opened: list[str] = []
    watch(opened.append)
    unlocked: list[bool] = []
    unlock("why", unlocked.append)
    assert (opened, insets(), has_lock(), unlocked) == ([], (0, 0, 0, 0), False, [True])
    file = remind("again; and, again", 1_800_000_000, tmp_path)
    assert file is not None
    lines = file.read_bytes().decode().split("\r\n")
    assert "DTSTART:20270115T080000Z" in lines
    assert "SUMMARY:again\\; and\\, again" in lines
    assert all("\n" not in line and len(line) <= 75 for line in lines)


def test_calendar_entries_have_different_ids() -> None:
    """Two calendar entries have different ids, so a calendar keeps both."""
    one, other = (next(line for line in entry("t", 0).split("\r\n") if line.startswith("UID:")) for _ in range(2))
    assert one != other
