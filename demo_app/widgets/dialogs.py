"""Dialogs: a dialog with two buttons in front of everything, and a notice that disappears by itself.

The buttons of a dialog name the consequences. Going back always means the button that changes nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import ClassVar

from kivy.animation import Animation
from kivy.clock import Clock
from kivy.core.window import Window
from kivy.lang import Builder
from kivy.metrics import dp
from kivy.properties import BooleanProperty, OptionProperty, StringProperty
from kivy.uix.modalview import ModalView

from demo_app.texts import say
from demo_app.widgets.actions import Action
from demo_app.widgets.boxes import Card

Builder.load_string("""
#:import palette demo_app.widgets.palette.palette
#:import dp kivy.metrics.dp

<AskDialog>:
    size_hint: None, None
    background: ""
    background_color: 0, 0, 0, 0
    overlay_color: 0, 0, 0, 0.5
    auto_dismiss: True
    ScrollView:
        id: scroll
        do_scroll_x: False
        Card:
            id: card
            padding: palette.wide
            spacing: palette.space
            Words:
                text: root.title
                role: "headline"
            Words:
                text: root.body
                colour: "muted"
            Gap:
            Action:
                name: "agree"
                text: root.agree
                kind: "alert" if root.grave else "filled"
                on_release: root.answered(True)
            Action:
                name: "refuse"
                text: root.refuse
                kind: "plain"
                on_release: root.answered(False)

<Notice>:
    size_hint: None, None
    orientation: "horizontal"
    tone: "card" if self.kind == "plain" else "good_tint" if self.kind == "good" else "alert_tint"
    padding: palette.space, palette.tight, palette.tight, palette.tight
    canvas.after:
        Color:
            rgba: palette.edge if self.kind == "plain" else palette.good if self.kind == "good" else palette.alert
        SmoothLine:
            rounded_rectangle: [self.x, self.y, self.width, self.height, palette.radius]
            width: dp(1)
    Words:
        text: root.text
        pos_hint: {"center_y": 0.5}
    Symbol:
        name: "dismiss"
        sign: "close"
        pos_hint: {"center_y": 0.5}
        on_release: root.dismiss()
""")

SHOWN, LETTERS_A_SECOND = 6.0, 15
"""The least number of seconds a notice stays unless it is dismissed, and the reading speed, in characters per
second, that gives a longer text more time."""


def close_dialogs() -> None:
    """Close every dialog, as if the person had refused, and every notice."""
    Notice.waiting.clear()
    for shown in list(Window.children):
        if isinstance(shown, AskDialog):
            shown.dismiss(animation=False)
        elif isinstance(shown, Notice):
            shown.dismiss()


class AskDialog(ModalView):
    """A dialog with two buttons in front of everything.

    Esc or a touch beside it means the button that changes nothing.
    """

    title = StringProperty("")
    body = StringProperty("")
    agree = StringProperty("")
    refuse = StringProperty("")
    grave = BooleanProperty(False)
    name = StringProperty("question")

    def __init__(self, on_agree: Callable[[], object], **properties: object) -> None:
        self._on_agree = on_agree
        super().__init__(**properties)
        self.ids.card.bind(height=self._fit)
        Window.bind(size=self._fit)
        self._fit()

    def _fit(self, *_: object) -> None:
        self.width = min(Window.width - dp(32), dp(440))
        self.height = min(self.ids.card.height, Window.height - dp(32))

    def answered(self, agreed: bool) -> None:
        """Close the dialog, and run its task if the person agreed."""
        self.dismiss()
        if agreed:
            self._on_agree()

    def on_dismiss(self) -> None:
        Window.unbind(size=self._fit)


def ask(
    title: str, body: str, agree: str, on_agree: Callable[[], object], refuse: str = "", grave: bool = False
) -> AskDialog:
    """Ask the person before a task runs.

    Args:
        agree: the text of the button that runs the task, which names the action.
        refuse: the text of the other button; by default "Cancel".
        grave: True if the action cannot be undone.
    """
    question = AskDialog(
        on_agree, title=title, body=body, agree=agree, refuse=refuse or say("dialog.cancel"), grave=grave
    )
    question.open()
    return question


class Notice(Card):
    """One notice at the bottom of the window."""

    text = StringProperty("")
    kind = OptionProperty("plain", options=["plain", "good", "alert"])
    waiting: ClassVar[deque[Notice]] = deque()

    def dismiss(self, *_: object) -> None:
        """Close the notice, and show the next one."""
        if self.parent is None:
            return
        Window.remove_widget(self)
        Window.unbind(size=self._fit)
        if Notice.waiting and Notice.waiting[0] is self:
            Notice.waiting.popleft()
        if Notice.waiting:
            Notice.waiting[0].show()

    def show(self) -> None:
        """Fade in at the bottom of the window, and close after enough time to read the text."""
        self.bind(height=self._fit)
        Window.bind(size=self._fit)
        self._fit()
        Window.add_widget(self)
        self.opacity = 0
        Animation(opacity=1, duration=0.15).start(self)
        Clock.schedule_once(self.dismiss, max(SHOWN, len(self.text) / LETTERS_A_SECOND))

    def _fit(self, *_: object) -> None:
        self.width = min(Window.width - dp(32), dp(480))
        self.x = (Window.width - self.width) / 2
        self.y = dp(88)


def show_notice(text: str, kind: str = "plain") -> None:
    """Show a notice at the bottom of the window for some seconds.

    Args:
        kind: plain, good or alert.
    """
    notice = Notice(text=text, kind=kind, name="notice")
    Notice.waiting.append(notice)
    if len(Notice.waiting) == 1:
        notice.show()


__all__ = ["Action", "AskDialog", "Notice", "ask", "show_notice"]
