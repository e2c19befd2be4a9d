"""The app: the navigation between screens, and the threads that run the tasks.

The thread of the window only draws. One worker runs the tasks that need no network, and another the tasks that use the
network. Each has its own model, so both may have the store open. The app shows a result when it arrives.

The package screens defines the screens, the module shell the frame around them, the module model the tasks, and
settings the saved choices.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kivy.app import App
from kivy.clock import Clock
from kivy.core.window import Window

from demo_app import theme
from demo_app.error_messages import DETAILED, detail_after, message_of
from demo_app.idle_gc import IdleCollector
from demo_app.model import Model
from demo_app.settings import Settings
from demo_app.shell import DESTINATIONS, Screens, Shell
from demo_app.system.dark_mode import is_dark
from demo_app.system.insets import insets
from demo_app.system.lock import has_lock, unlock
from demo_app.system.opened_link import watch
from demo_app.texts import say, spaced_fingerprint, use_language
from demo_app.widgets.dialogs import ask, close_dialogs, show_notice
from demo_app.widgets.palette import palette
from demo_app.worker import Worker
from edge_sdk.errors import StoreError

if TYPE_CHECKING:  # imported at run time only when something is sent
    from demo_app.content.authors import LinkContent
    from demo_app.content.campaign import TermsContent
    from demo_app.content.post import Delivery

T = TypeVar("T")

HOME = "campaigns"
PRELOADED = (
    "terms",
    "consent",
    "declaration",
    "selection",
    "question",
    "review",
    "add",
    "delivered",
    *DESTINATIONS[1:],
    "exposure",
)
"""The screens to load after the first one is shown, the most likely next ones first."""

LOCKED_AFTER = 60.0
"""Seconds in the background after which the app is locked, if the person chose a lock."""

BACK_KEY = 27
"""Escape on a keyboard, and the back button of a phone."""


class HalftruthApp(App):
    """The app: a window with the screens, and the workers.

    Args:
        folder: the device's folder, with the store and the settings; None for the system's folder of this app.
        language, dark: used in place of the saved settings, and saved when the person next changes a setting.
        address: the address of a study, filled in on the screen for adding a campaign.
        bundled: key lines of authors that are delivered with the app, or trusted in this run only.
        link: a link to follow, received from another program; "" for none.
        say_ready: True to print a line once the first screen can be used.
    """

    root: Shell | None
    title = "halftruth"

    def __init__(
        self,
        folder: Path | None = None,
        address: str = "",
        language: str = "",
        dark: bool = False,
        bundled: Iterable[str] = (),
        say_ready: bool = False,
        link: str = "",
    ) -> None:
        super().__init__()
        self._folder = folder or Path(self.user_data_dir)
        saved = Settings.load(self._folder)
        self.settings = replace(saved, language=language or saved.language, palette="dark" if dark else saved.palette)
        self.address = address
        self._bundled = tuple(bundled)
        self._say_ready = say_ready
        self._link = link
        self._path: list[tuple[str, tuple[Any, ...]]] = []
        self._locked = False
        self._paused_at = 0.0
        self._running = 0
        self._fetching = False
        self._unloaded = [f"screens.{name}" for name in PRELOADED]
        self._collector = IdleCollector(lambda: self.idle and not self._unloaded)

    # Start and stop

    def build(self) -> Shell:
        """Return the root widget; the store is opened in the background."""
        self._use_language()
        self._use_palette()
        Window.softinput_mode = "below_target"
        Window.bind(on_keyboard=self._key)
        Window.bind(
            on_touch_down=self._collector.postpone,
            on_touch_up=self._collector.postpone,
            on_key_down=self._collector.postpone,
        )
        self._worker, self._network = Worker(_in_window_thread), Worker(_in_window_thread)
        self._model, self._network_model = self._new_model(), self._new_model()
        return Shell(app=self)

    def on_start(self) -> None:
        """Open the store, after an unlock if the person chose a lock; then follow the link that opened the app."""
        watch(lambda text: Clock.schedule_once(lambda _: self.open_link(text), 0))
        if self.root is not None:
            self.root.insets = insets()
        if self.settings.lock == "screen" and has_lock():
            self._lock()
        else:
            self.begin()

    def on_pause(self) -> bool:
        """Keep the app in memory while another program is shown."""
        self._paused_at = time.monotonic()
        return True

    def on_resume(self) -> None:
        """Follow the system's colours; ask for the screen lock if the app was hidden for a minute.

        It asks only if the person chose the lock and the phone has one.
        """
        self._use_palette()
        if self.root is not None:
            self.root.insets = insets()
        away = time.monotonic() - self._paused_at
        if self.settings.lock == "screen" and not self._locked and away >= LOCKED_AFTER and has_lock():
            self._lock()

    def on_stop(self) -> None:
        """Finish the running task, and close the store."""
        self._network.end(self._network_model.close)
        self._worker.end(self._model.close)

    def begin(self) -> None:
        """Open the store, and show the first screen."""
        self.do(lambda model: model.open(), lambda _: self._opened(), self._trouble)

    def _opened(self) -> None:
        """Show the first screen, and the link that the app was opened with."""
        self.home()
        self._follow_kept_link()

    def _follow_kept_link(self) -> None:
        link, self._link = self._link, ""
        if link:
            self.follow(link)

    def open_link(self, text: str) -> None:
        """Follow a link from another program, now or as soon as the store is open and the app is unlocked."""
        if self._model.is_open and not self._locked:
            self.follow(text)
        else:
            self._link = text

    def _lock(self) -> None:
        """Hide all content until the person has unlocked the phone again."""
        self._locked = True
        close_dialogs()
        self._show()
        self.unlock()

    def unlock(self) -> None:
        """Have the system ask the person to unlock the phone; if they do, continue at the same place."""

        def resume(_: object) -> None:
            self._locked = False
            if not self._model.is_open:
                self.begin()
                return
            self._show()
            self._follow_kept_link()

        unlock(say("locked.why"), lambda good: Clock.schedule_once(resume, 0) if good else None)

    def adopt(self) -> None:
        """Continue with a store that was restored, copied or damaged."""

        def adopt(_: object) -> None:
            self.do(lambda model: model.adopt(), lambda _: self._opened(), self._trouble)

        # No other thread may have the store open during adoption.
        self._network.ask(self._network_model.close, adopt, self.notify)

    def ready(self) -> None:
        """Report that the first screen can be used, once it is drawn, and load the modules of the next screens."""
        if self._unloaded:
            Clock.schedule_once(lambda _: Clock.schedule_once(self._prepare, 0), 0)

    def _prepare(self, *_: object) -> None:
        """Load one module each time the app is idle, so that the first visit to a screen does not wait for it."""
        if self._say_ready:
            self._say_ready = False
            print("ready", flush=True)
        if self._unloaded and self.idle:
            importlib.import_module(f"demo_app.{self._unloaded.pop(0)}")
            if not self._unloaded:
                self._collector.collect_and_freeze()
        if self._unloaded:
            Clock.schedule_once(self._prepare, 0.05)

    @property
    def idle(self) -> bool:
        """True if no task runs and the screen is complete."""
        screen = self.root.ids.screens.current_screen if self.root else None
        return not (self._running or self._fetching) and getattr(screen, "filled", True)

    def _new_model(self) -> Model:
        return Model(self._folder, self._bundled)

    def _use_palette(self) -> None:
        """Apply the palette that the person chose, or the system's."""
        chosen = self.settings.palette
        palette.use(theme.DARK if chosen == "dark" or (chosen == "system" and is_dark()) else theme.LIGHT)
        Window.clearcolor = palette.ground

    def _use_language(self) -> None:
        use_language(self.settings.language or os.environ.get("LANGUAGE") or os.environ.get("LANG") or "")

    def _trouble(self, error: Exception) -> None:
        self._path = []
        self.go("trouble", message_of(error))

    # Tasks

    def do(
        self,
        work: Callable[[Model], T],
        receive: Callable[[T], object],
        failed: Callable[[Exception], object] | None = None,
    ) -> None:
        """Run a task on the device; ``receive`` shows its result, ``failed`` or an error message shows its error."""

        def over(show: Callable[[Any], object], outcome: Any) -> None:
            self._running -= 1
            self._show_activity()
            show(outcome)

        self._running += 1
        self._show_activity()
        self._worker.ask(
            lambda: work(self._model),
            lambda result: over(receive, result),
            lambda error: over(failed or self.notify, error),
        )

    def online(self, work: Callable[[Model], T], receive: Callable[[T], object]) -> None:
        """Run a task on the network, unless another one is running; the screens stay usable meanwhile."""
        if self._fetching:
            show_notice(say("app.fetching"))
            return

        def over(show: Callable[[Any], object], outcome: Any) -> None:
            self._fetching = False
            self._show_activity()
            show(outcome)

        def fetch() -> T:
            if not self._network_model.is_open:
                self._network_model.open()
            return work(self._network_model)

        self._fetching = True
        self._show_activity()
        self._network.ask(fetch, lambda result: over(receive, result), lambda error: over(self.notify, error))

    def send(self) -> None:
        """Send the waiting envelopes to their studies, and show the result."""

        def shown(delivery: Delivery) -> None:
            self.go("delivered", delivery, fresh=True)

        self.online(lambda model: model.send(), shown)

    def follow(self, text: str) -> None:
        """Fetch a link's campaign from the study, after the person has read the study's address and agreed."""

        def shown(link: LinkContent) -> None:
            whose = "known" if link.trusted else "stranger"
            body = say(f"link.{whose}", host=link.host, name=link.name or say("link.unnamed"))
            key = say("link.key", key=spaced_fingerprint(link.fingerprint))
            ask(say("link.ask"), f"{body}\n\n{key}", say("link.follow"), lambda: fetch(link))

        def fetch(link: LinkContent) -> None:
            self.online(
                lambda model: model.follow(link.text),
                lambda invitation: self.do(lambda model: model.accept(invitation), joined),
            )

        def joined(content: TermsContent) -> None:
            self.go("terms", content.summary.campaign_id, fresh=True)

        self.do(lambda model: model.link(text), shown)

    def notify(self, error: Exception) -> None:
        """Show an error, and offer its remedy if there is one."""
        message = message_of(error)
        title, body = say(f"notice.{message.key}.title"), say(f"notice.{message.key}.body")
        if message.remedy == "adopt":
            self._trouble(error)
        elif message.remedy:
            open_screen = self.visit if message.remedy in DESTINATIONS else self.go
            text = f"{body}\n\n{detail_after(body, message.detail)}".rstrip()
            ask(title, text, say(f"remedy.{message.remedy}"), lambda: open_screen(message.remedy), say("remedy.close"))
        else:
            detail = message.detail if message.key in DETAILED else ""
            show_notice(f"{title} {body} {detail}".strip(), "alert")

    def _show_activity(self) -> None:
        if self.root is not None:
            self.root.ids.screens.busy = self._running > 0
            self.root.ids.loading.active = self._running > 0 or self._fetching

    # Settings

    def change(self, settings: Settings) -> None:
        """Store changed settings, and redraw all screens."""
        self._keep(settings)
        self._use_language()
        self._use_palette()
        if self.root is not None:
            Window.remove_widget(self.root)
            self.root = Shell(app=self)
            Window.add_widget(self.root)
            self._collector.request_full_collection()
            self._show()

    def _keep(self, settings: Settings) -> None:
        self.settings = settings
        try:
            settings.save(self._folder)
        except OSError as error:
            self.notify(StoreError(f"the settings were not saved: {error.strerror or error}"))

    # Navigation

    def go(self, name: str, *arguments: Any, fresh: bool = False) -> None:
        """Open a screen.

        Args:
            name: the name of the screen.
            arguments: the arguments of the screen's method ``open``.
            fresh: True if going back from the screen opens the first screen.
        """
        if fresh:
            self._path = [(HOME, ())]
        self._path.append((name, arguments))
        self._show()

    def visit(self, name: str) -> None:
        """Open a destination; going back from there opens the first screen."""
        self._path = [(name, ())]
        self._show()

    def home(self) -> None:
        """Open the first screen."""
        self.visit(HOME)

    def back(self) -> bool:
        """Go back one screen, or from a destination to the first screen; return False if neither is possible."""
        if self._locked:
            return False
        if len(self._path) > 1:
            self._path.pop()
            self._show(back=True)
            return True
        if self._path and self._path[0][0] not in (HOME, "trouble"):
            self.home()
            return True
        return False

    def _show(self, back: bool = False) -> None:
        if self.root is None or not (self._path or self._locked):
            return
        name, arguments = ("locked", ()) if self._locked else self._path[-1]
        ids = self.root.ids
        screen = self._screen(ids.screens, name)
        ids.screens.current = name
        ids.top.title = screen.title
        ids.top.back = len(self._path) > 1 and not self._locked
        ids.places.chosen = f"place:{screen.destination}"
        ids.places.disabled = name in ("trouble", "locked")
        screen.reopen(*arguments) if back else screen.open(*arguments)

    def _screen(self, screens: Screens, name: str) -> Any:
        """Return the screen ``name``, which is made at the first visit, so that the first screen appears quickly."""
        if not screens.has_screen(name):
            module = importlib.import_module(f"demo_app.screens.{name}")
            screens.add_widget(getattr(module, f"{name.capitalize()}Screen")(self, name=name))
        return screens.get_screen(name)

    def _key(self, _window: object, key: int, *_: object) -> bool:
        return key == BACK_KEY and self.back()


def _in_window_thread(result: Callable[[], None]) -> None:
    Clock.schedule_once(lambda _: result(), 0)
