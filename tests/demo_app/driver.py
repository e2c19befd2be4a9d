"""The driver inside a program on a screen: it plays touches and keys, and reports the visible widgets.

Requests are lines of JSON on standard input. A generator plays each on the program's own thread and yields once for
every frame that it waits; its response is written as a line of JSON. Touches are Kivy motion events in the event loop,
so they pass through window, screens, stencils and widgets as a finger's do.

python -m tests.demo_app.driver WIDTH HEIGHT MODULE [ARGUMENTS]

``screen`` sends the requests; ``pace`` decides when time passes and which frames are drawn. The tests judge the
results.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, TextIO

from kivy.animation import Animation
from kivy.app import App
from kivy.base import EventLoop
from kivy.clock import Clock
from kivy.config import Config
from kivy.input.motionevent import MotionEvent
from kivy.metrics import Metrics

from tests.demo_app.pace import Pace

Play = Generator[None, None, Any]
KEYS = {
    "escape": 27, "enter": 13, "tab": 9, "backspace": 8, "up": 273, "down": 274, "right": 275, "left": 276,
    "spacebar": 32,
}  # fmt: skip
SETTLED = 3.0
"""Seconds after which an animation is no longer waited for."""

SMALLEST = 48.0
"""The smallest width and height of a touch target, in dp."""

LOOKS = 10
"""The largest number of checks of a screen, at least two frames apart, until all texts fit."""

SCROLLED = 0.25
"""Seconds after which a touch inside a scrolling widget has reached the touched child."""


class NotDone(Exception):
    """A request cannot be played; the message gives the reason."""


class Finger(MotionEvent):
    """One touch, in pixels of the window."""

    numbers = 0

    def __init__(self, x: float, y: float, button: str = "") -> None:
        Finger.numbers += 1
        super().__init__("finger", Finger.numbers, (x, y), is_touch=True, type_id="touch")
        self.profile = ["pos", "button"] if button else ["pos"]
        if button:
            self.button = button

    def depack(self, args: tuple[float, float]) -> None:
        width, height = EventLoop.window.size
        self.sx, self.sy = args[0] / max(1.0, width - 1.0), args[1] / max(1.0, height - 1.0)
        super().depack(args)

    def down(self) -> None:
        EventLoop.post_dispatch_input("begin", self)

    def to(self, x: float, y: float) -> None:
        self.move((x, y))
        EventLoop.post_dispatch_input("update", self)

    def up(self) -> None:
        EventLoop.post_dispatch_input("end", self)


class Driver:
    """The player of requests, one after another."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._pace = Pace()
        self._last = 0.0
        self._longest = 0.0
        self._worked = 0.0
        self._busiest = 0.0

    # Visible widgets

    def _shown(self) -> Iterator[tuple[Any, tuple[float, float, float, float]]]:
        """Return the visible widgets and their boxes in pixels, the topmost last."""
        window = EventLoop.window
        if window is None:
            return
        view = (0.0, 0.0, float(window.width), float(window.height))
        children = list(reversed(window.children))
        # Widgets under a dialog cannot be touched, so they are left out.
        modal = [place for place, child in enumerate(children) if type(child).__mro__ and _is_modal(child)]
        for child in children[modal[-1] if modal else 0 :]:
            yield from self._below(child, view)

    def _below(self, widget: Any, view: tuple[float, float, float, float]) -> Iterator[tuple[Any, Any]]:
        box = _box(widget)
        if widget.opacity == 0:
            return
        inside = view
        if hasattr(widget, "viewport_size") or _clips(widget):
            inside = _overlap(view, box)
        if _area(inside) <= 0:
            return
        if _area(_overlap(view, box)) > 0:
            yield widget, box
        for child in reversed(widget.children):
            yield from self._below(child, inside)

    def _find(self, what: str) -> Any:
        shown = [widget for widget, _ in self._shown()]
        found = [widget for widget in shown if getattr(widget, "name", None) == what]
        found = found or [widget for widget in shown if getattr(widget, "text", None) == what]
        if not found:
            return None
        return min(found, key=lambda widget: (-round(_box(widget)[1]), round(_box(widget)[0])))

    def _hidden(self, what: str) -> Any:
        """Return the widget of this name or text, even if it is scrolled out of view."""
        modal = [child for child in EventLoop.window.children if _is_modal(child)]
        for top in modal[:1] or EventLoop.window.children:
            for widget in top.walk():
                if what in (getattr(widget, "name", None), getattr(widget, "text", None)) and _opaque(widget):
                    return widget
        return None

    def _reach(self, what: str) -> Play:
        """Return the widget, scrolled into view if necessary."""
        yield from self._settle()
        widget = self._find(what) or self._hidden(what)
        if widget is None:
            raise NotDone(f"no visible widget has the name or the text {what!r}; there are {self._names()}")
        for above in _above(widget):
            if hasattr(above, "scroll_to") and not hasattr(above, "data"):
                above.scroll_to(widget, animate=False)
                yield from self._settle()
        return widget

    def _names(self) -> list[str]:
        return sorted({name for widget, _ in self._shown() if (name := getattr(widget, "name", ""))})

    def _settle(self) -> Play:
        until = Clock.get_time() + SETTLED
        yield
        yield
        while Animation._instances and Clock.get_time() < until:
            yield

    def _arrived(self, widget: Any) -> Play:
        """Wait for a scrolling widget, which passes a touch to its child only once the touch is not a scroll
        gesture."""
        # A busy machine draws few frames in that time, so at least ten are awaited.
        until, frames = Clock.get_time() + SCROLLED, 10
        if any(hasattr(above, "scroll_timeout") for above in _above(widget)):
            while Clock.get_time() < until or frames > 0:
                frames -= 1
                yield
        yield from self._settle()

    # Requests

    def start(self) -> Play:
        while App.get_running_app() is None or App.get_running_app().root is None or EventLoop.window is None:
            yield
        self._pace.begin()
        Clock.schedule_interval(self._frame, 0)
        yield from self._settle()

    def tap(self, what: str, at: list[float]) -> Play:
        widget = yield from self._reach(what)
        finger = Finger(*_at(widget, at))
        self._uncovered(widget, finger, what)
        finger.down()
        yield
        finger.up()
        yield from self._arrived(widget)

    def _uncovered(self, widget: Any, finger: Finger, what: str) -> None:
        """Raise NotDone unless the widget is topmost at the finger's place: the last widget drawn there is this one,
        its child or its parent."""
        width, height = EventLoop.window.size
        x, y = finger.sx * (width - 1), finger.sy * (height - 1)
        there = [
            seen for seen, box in self._shown() if box[0] <= x <= box[0] + box[2] and box[1] <= y <= box[1] + box[3]
        ]
        if widget not in there:
            raise NotDone(f"{what!r} is not visible at the touched place")
        if not any(above is widget for above in there[-1].walk_reverse()) and there[-1] not in list(widget.walk()):
            raise NotDone(f"{what!r} is covered by {there[-1]!r}")

    def drag(self, what: str, start: list[float], end: list[float], held: bool) -> Play:
        widget = yield from self._reach(what)
        (x, y), (to_x, to_y) = _at(widget, start), _at(widget, end)
        finger = Finger(x, y)
        finger.down()
        if held:
            yield from self._arrived(widget)
        for step in range(1, 11):
            yield
            finger.to(x + (to_x - x) * step / 10, y + (to_y - y) * step / 10)
        yield
        finger.up()
        yield from self._arrived(widget)

    def pinch(self, what: str, factor: float) -> Play:
        widget = yield from self._reach(what)
        x, y = _at(widget, [0.5, 0.5])
        start = min(widget.width, widget.height) / 4 / max(1.0, factor)
        left, right = Finger(x - start, y), Finger(x + start, y)
        left.down()
        right.down()
        for step in range(1, 11):
            yield
            reach = start * (1 + (factor - 1) * step / 10)
            left.to(x - reach, y)
            right.to(x + reach, y)
        yield
        left.up()
        right.up()
        yield from self._settle()

    def wheel(self, what: str, steps: int) -> Play:
        widget = yield from self._reach(what)
        for _ in range(abs(steps)):
            # Kivy names the direction in which the content moves, not that of the wheel.
            turn = Finger(*_at(widget, [0.5, 0.5]), button="scrolldown" if steps > 0 else "scrollup")
            turn.down()
            yield
            turn.up()
        yield from self._settle()

    def type(self, text: str) -> Play:
        for character in text:
            EventLoop.window.dispatch("on_textinput", character)
        yield from self._settle()

    def key(self, name: str) -> Play:
        code, window = KEYS[name], EventLoop.window
        letter = chr(code) if code < 128 else ""
        # As in the window's own loop, the focused widget gets the key first, and then the listeners get it.
        if not window.dispatch("on_key_down", code, code, letter, []):
            window.dispatch("on_keyboard", code, code, letter, [])
        yield
        window.dispatch("on_key_up", code, code)
        yield from self._settle()

    def fill(self, what: str, text: str) -> Play:
        yield from self.tap(what, [0.5, 0.5])
        widget = self._find(what)
        field = next((part for part in widget.walk() if hasattr(part, "select_all")), None)
        if field is None or not field.focus:
            raise NotDone(f"{what!r} did not get the focus when it was touched")
        field.select_all()
        yield from self.key("backspace")
        yield from self.type(text)

    def wait(self, what: str, seconds: float) -> Play:
        yield from self._until(lambda: self._find(what) is not None, seconds, f"{what!r} was not seen")

    def gone(self, what: str, seconds: float) -> Play:
        yield from self._until(lambda: self._find(what) is None, seconds, f"{what!r} is still there")

    def lasts(self, expression: str, what: str, seconds: float) -> Play:
        begun = Clock.get_time()
        yield from self.call(expression)
        if self._find(what) is None:
            raise NotDone(f"{what!r} is not shown; there are {self._names()}")
        while self._find(what) is not None:
            if Clock.get_time() > begun + seconds:
                raise NotDone(f"{what!r} is still there after {seconds:g} seconds")
            yield
        return Clock.get_time() - begun

    def idle(self, seconds: float) -> Play:
        yield from self._until(lambda: App.get_running_app().idle, seconds, "something is being done")

    def _until(self, met: Callable[[], bool], seconds: float, trouble: str) -> Play:
        """Wait until a condition holds; no time is skipped, because other threads may have to work first."""
        until = time.monotonic() + seconds
        with self._pace.real():
            while not met():
                if time.monotonic() > until:
                    raise NotDone(f"{trouble} after {seconds:g} seconds; there are {self._names()}")
                yield
        yield from self._settle()

    def seen(self, what: str) -> Play:
        yield from self._settle()
        return self._find(what) is not None

    def read(self, what: str, prop: str) -> Play:
        yield from self._settle()
        widget = self._find(what) or self._hidden(what)
        if widget is None:
            raise NotDone(f"no visible widget has the name or the text {what!r}; there are {self._names()}")
        value = widget
        for part in prop.split("."):
            value = getattr(value, part)
        return _plain(value)

    def box(self, what: str) -> Play:
        widget = yield from self._reach(what)
        return [length / Metrics.density for length in _box(widget)]

    def texts(self) -> Play:
        yield from self._settle()
        readable = [(widget, box) for widget, box in self._shown() if _reads(widget)]
        readable.sort(key=lambda pair: (-round(pair[1][1] + pair[1][3]), round(pair[1][0])))
        return [widget.text for widget, _ in readable]

    def small(self) -> Play:
        yield from self._settle()
        found = []
        for widget, box in self._shown():
            touchable = hasattr(widget, "on_press") or hasattr(widget, "on_touchable") or hasattr(widget, "select_all")
            if touchable and min(box[2], box[3]) < SMALLEST * Metrics.density - 0.5:
                found.append(f"{_called(widget)}: {box[2] / Metrics.density:.0f} x {box[3] / Metrics.density:.0f} dp")
        return found

    def cut(self) -> Play:
        found: list[str] = []
        # A layout in progress fits after a few frames; a text that is too large never fits.
        for _ in range(LOOKS):
            yield from self._settle()
            found = self._cut()
            if not found:
                break
        return found

    def _cut(self) -> list[str]:
        found: list[str] = []
        width = EventLoop.window.width
        for widget, box in self._shown():
            if not _reads(widget) or not hasattr(widget, "texture_size"):
                continue
            wide, high = widget.texture_size
            if wide > box[2] + 1 or high > box[3] + 1 or box[0] < -1 or box[0] + box[2] > width + 1:
                found.append(f"{widget.text!r}: {wide} x {high} in {box[2]:.0f} x {box[3]:.0f} at {box[0]:.0f}")
            elif (word := _broken(widget)) is not None:
                found.append(f"{widget.text!r}: {word!r} is broken")
            elif getattr(widget, "shorten", False) and _label(widget).is_shortened:
                found.append(f"{widget.text!r}: shortened")
        return found

    def longest_frame(self) -> Play:
        yield
        longest, self._longest = self._longest, 0.0
        return longest

    def busiest_frame(self) -> Play:
        yield
        busiest, self._busiest = self._busiest, 0.0
        return busiest

    def draw(self, each: bool) -> Play:
        self._pace.drawn = each
        yield from self._settle()

    def shot(self, path: str) -> Play:
        yield from self._settle()
        target = Path(path)
        self._pace.draw()
        made = EventLoop.window.screenshot(name=str(target.with_name(f"{target.stem}-.png")))
        # The time of the screenshot must not count as that of a frame.
        self._last = 0.0
        yield
        if not made:
            raise NotDone("the window saved no picture")
        Path(made).replace(target)

    def call(self, expression: str) -> Play:
        value = eval(expression, {"app": App.get_running_app()})  # noqa: S307  # only a test sends expressions
        yield from self._settle()
        return _plain(value)

    def _frame(self, _: float) -> None:
        now, worked = time.perf_counter(), time.thread_time()
        if self._last:
            self._longest = max(self._longest, now - self._last)
            self._busiest = max(self._busiest, worked - self._worked)
        self._last, self._worked = now, worked

    # Requests from the test, and responses

    def play(self, number: int, verb: str, arguments: dict[str, Any]) -> None:
        """Begin a request on the program's thread; the response follows some frames later."""
        steps: Play = getattr(self, verb)(**arguments)
        self._pace.hurry()

        def step(_: float) -> None:
            try:
                next(steps)
            except StopIteration as done:
                self._respond(number, "", done.value)
            # Every error must reach the test.
            except Exception as error:
                self._respond(number, f"{type(error).__name__}: {error}", None)
            else:
                Clock.schedule_once(step, 0)

        Clock.schedule_once(step, 0)

    def _respond(self, number: int, trouble: str, value: Any) -> None:
        self._pace.rest()
        self._out.write(json.dumps([number, trouble, value]) + "\n")
        self._out.flush()


def _box(widget: Any) -> tuple[float, float, float, float]:
    x, y = widget.to_window(*widget.pos)
    right, top = widget.to_window(widget.right, widget.top)
    return x, y, right - x, top - y


def _at(widget: Any, shares: list[float]) -> tuple[float, float]:
    x, y, width, height = _box(widget)
    return x + shares[0] * width, y + shares[1] * height


def _overlap(first: Any, second: Any) -> tuple[float, float, float, float]:
    x, y = max(first[0], second[0]), max(first[1], second[1])
    right = min(first[0] + first[2], second[0] + second[2])
    top = min(first[1] + first[3], second[1] + second[3])
    return x, y, max(0.0, right - x), max(0.0, top - y)


def _area(box: tuple[float, float, float, float]) -> float:
    return box[2] * box[3]


def _clips(widget: Any) -> bool:
    return any(kind.__name__ in ("StencilView", "ScrollView") for kind in type(widget).__mro__)


def _is_modal(widget: Any) -> bool:
    return any(kind.__name__ == "ModalView" for kind in type(widget).__mro__)


def _above(widget: Any) -> list[Any]:
    """Return the containers of a widget, from the inside."""
    found = []
    while widget.parent is not None and widget.parent is not widget:
        widget = widget.parent
        found.append(widget)
    return found


def _opaque(widget: Any) -> bool:
    return all(getattr(part, "opacity", 1) for part in [widget, *_above(widget)])


def _reads(widget: Any) -> bool:
    return isinstance(getattr(widget, "text", None), str) and bool(widget.text.strip())


def _called(widget: Any) -> str:
    return getattr(widget, "name", "") or getattr(widget, "text", "") or type(widget).__name__


_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+(:[0-9]+)?[.,]?")


def _broken(widget: Any) -> str | None:
    """Return a word that is wider than its line and therefore breaks; hosts of addresses are allowed to break."""
    room = widget.text_size[0]
    if room is None or getattr(widget, "markup", False):
        return None
    words = (word for word in widget.text.split() if not _HOST.fullmatch(word))
    return next((word for word in words if _label(widget).get_extents(word)[0] > room + 1), None)


def _label(widget: Any) -> Any:
    return widget._label


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def listen(driver: Driver, stop: Callable[[], None]) -> None:
    """Pass each line of standard input to the driver; end the program when there are no more lines."""
    for line in sys.stdin:
        number, verb, arguments = json.loads(line)
        driver.play(number, verb, arguments)
    Clock.schedule_once(lambda _: stop(), 0)


def stop() -> None:
    """End the program in the same way as closing the window."""
    app = App.get_running_app()
    if app is not None:
        app.stop()


def main() -> None:
    width, height, module = sys.argv[1:4]
    # The program's output goes to stderr, so that it does not mix with the responses.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    Config.set("graphics", "width", width)
    Config.set("graphics", "height", height)
    # Smoothing twice would take a third of all the time of software GL.
    Config.set("graphics", "multisamples", "0")
    Config.set("graphics", "position", "custom")
    Config.set("graphics", "left", "0")
    Config.set("graphics", "top", "0")
    for device in Config.options("input"):
        # Touches and keys of the machine's own devices must not reach the program.
        Config.remove_option("input", device)
    threading.Thread(target=listen, args=(Driver(out), stop), daemon=True).start()
    sys.argv = [module, *sys.argv[4:]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
