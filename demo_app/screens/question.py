"""The question, and the widget that suits what can be answered: a list, a number, a day, a map, or a set.

The answer stays on this screen and the next as text, as the device parses it; it is kept nowhere else.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kivy.clock import Clock
from kivy.metrics import dp
from kivy.properties import BooleanProperty
from kivy.uix.boxlayout import BoxLayout
from kivy.uix.scrollview import ScrollView
from kivy.uix.widget import Widget

from demo_app.content.study import QuestionContent
from demo_app.screens.spelling import ITEMS_BETWEEN
from demo_app.screens.view import ScreenView, action, words
from demo_app.texts import say
from demo_app.theme import READABLE
from demo_app.widgets.choice import ChoiceList, ItemSet
from demo_app.widgets.dayfield import DayField
from demo_app.widgets.gridmap import GridMap
from demo_app.widgets.slider import NumberSlider

if TYPE_CHECKING:  # loaded with the first campaign
    from edge_sdk.presentation import AnswerChoices

SHORT = 40
"""Letters: a longer question stands in smaller ones, and leaves more room for the answer."""


class QuestionView(ScreenView):
    """One campaign's question.

    Attributes:
        filled: whether all of it is there.
    """

    filled = BooleanProperty(True)

    def __init__(self, app: Any, **properties: Any) -> None:
        super().__init__(app, **properties)
        self._asked: QuestionContent | None = None
        self._more = Clock.create_trigger(self._continue, 0)
        self._box = BoxLayout(orientation="vertical", spacing=dp(12))
        self._above = ScrollView(size_hint_y=None, do_scroll_x=False, bar_width=dp(4))
        self._box.bind(size=self._fit)
        self.add_widget(self._box)

    def _fit(self, *_: object) -> None:
        """The column of text in the middle; of its height, the question takes a part at most."""
        side = max(dp(16), (self._box.width - dp(READABLE)) / 2)
        self._box.padding = [side, dp(8), side, dp(16)]
        self._above.height = min(sum(text.height for text in self._above.children), self._box.height * 0.3)

    def come_back(self, campaign_id: bytes) -> None:
        """What was chosen stays chosen."""
        if self._asked is None or self._asked.card.campaign_id != campaign_id:
            self.come(campaign_id)

    def come(self, campaign_id: bytes) -> None:
        self._more.cancel()
        self._box.clear_widgets()
        self.app.do(lambda model: model.asked(campaign_id), self.show)

    def show(self, asked: QuestionContent) -> None:
        """Show the question and its widget."""
        self._asked, self._value = asked, ""
        self._next = action("next", say("question.next"), partial(self._on, asked.card.campaign_id), disabled=True)
        text = words(asked.text, "headline" if len(asked.text) <= SHORT else "title", name="asked")
        text.bind(height=self._fit)
        self._above.clear_widgets()
        self._above.add_widget(text)
        self._above.scroll_y = 1
        self._box.clear_widgets()
        self._box.add_widget(self._above)
        self._fit()
        self.filled = False
        self._more()

    def _continue(self, *_: object) -> None:
        """The widget and the button, a frame after the question."""
        if self._asked is not None:
            self._box.add_widget(self._widget(self._asked))
            self._box.add_widget(self._next)
        self.filled = True

    def _widget(self, asked: QuestionContent) -> Widget:
        question = asked.question
        if question.kind == "grid":
            made = GridMap(
                name="map",
                south=question.south,
                north=question.north,
                west=question.west,
                east=question.east,
                step=question.step,
            )
            made.bind(on_cell=lambda _, row, column: self._choose(question.cell(row, column)))
            return made
        if question.low:
            return self._day(question) if question.kind == "date" else self._number(question)
        # The width it will have: a long list measures its texts once.
        width = self._box.width - self._box.padding[0] - self._box.padding[2]
        if question.kind == "items":
            several = ItemSet(name="items", values=question.shown, width=width)
            several.bind(on_set=lambda _, chosen: self._choose(ITEMS_BETWEEN.join(question.labels[x] for x in chosen)))
            self._next.disabled = False  # none is a set as well
            return several
        one = ChoiceList(name="choice", values=question.shown, width=width)
        one.bind(on_choice=lambda _, x: self._choose(question.labels[x]))
        return one

    def _number(self, question: AnswerChoices) -> Widget:
        made = NumberSlider(
            name="number",
            low=float(question.low),
            high=float(question.high),
            places=question.places,
            step=float(question.spacing or 0),
            counts=question.counts_as,
            unit=question.unit,
        )
        made.bind(on_number=lambda _, text: self._choose(text, bool(text)))
        return self._scrolled(made)

    def _day(self, question: AnswerChoices) -> Widget:
        made = DayField(name="day", low=question.low, high=question.high, counts=question.counts_as)
        made.bind(on_day=lambda _, text: self._choose(text, bool(text)))
        return self._scrolled(made)

    def _scrolled(self, made: Widget) -> Widget:
        scroll = ScrollView(do_scroll_x=False, bar_width=dp(4))
        scroll.add_widget(made)
        return scroll

    def _choose(self, value: str, named: bool = True) -> None:
        self._value = value
        self._next.disabled = not named

    def _on(self, campaign_id: bytes) -> None:
        value = self._value
        self.app.do(lambda model: model.leaving(campaign_id, value), lambda leaving: self.app.go("leaving", leaving))
