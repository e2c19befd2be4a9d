"""The questions, one a page, each with the widget for its domain: a list, a number, a day, a map, or a set.

A form has one page for each question that this device is asked. The answers stay on this screen and the next one as
text that the device parses, and are stored nowhere else.
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

from demo_app.content.campaign import QuestionContent
from demo_app.screens.screen import AppScreen, action, words
from demo_app.screens.spelling import ITEMS_BETWEEN, SKIPPED, form_text
from demo_app.texts import say
from demo_app.theme import READABLE
from demo_app.widgets.boxes import Column
from demo_app.widgets.choice import ChoiceList, ItemSet
from demo_app.widgets.dayfield import DayField
from demo_app.widgets.gridmap import GridMap
from demo_app.widgets.slider import NumberSlider

if TYPE_CHECKING:  # imported at run time only with the first campaign
    from edge_sdk.presentation import AnswerChoices

SHORT = 40
"""A question with more characters is shown in a smaller size, to leave room for the answer."""


class QuestionScreen(AppScreen):
    """The screen that shows the questions of a campaign one by one.

    Attributes:
        filled: True once all widgets of the page exist.
    """

    filled = BooleanProperty(True)

    def __init__(self, app: Any, **properties: Any) -> None:
        super().__init__(app, **properties)
        self._content: QuestionContent | None = None
        self._place = 0
        self._more = Clock.create_trigger(self._continue, 0)
        self._box = BoxLayout(orientation="vertical", spacing=dp(12))
        self._above = ScrollView(size_hint_y=None, do_scroll_x=False, bar_width=dp(4))
        self._box.bind(size=self._fit)
        self.add_widget(self._box)

    def _fit(self, *_: object) -> None:
        """Centre the column of text, and limit the height of the question."""
        side = max(dp(16), (self._box.width - dp(READABLE)) / 2)
        self._box.padding = [side, dp(8), side, dp(16)]
        self._above.height = min(sum(text.height for text in self._above.children), self._box.height * 0.3)

    def reopen(self, campaign_id: bytes, content: QuestionContent | None = None, place: int = 0) -> None:
        """Show a page again with the answers chosen so far; for another campaign or other content, open its page."""
        known = self._content
        if known is None or known.summary.campaign_id != campaign_id or (content is not None and content is not known):
            self.open(campaign_id, content, place)
        elif place != self._place:
            self._page(known, place)

    def open(self, campaign_id: bytes, content: QuestionContent | None = None, place: int = 0) -> None:
        """Show a page of the loaded content, with the chosen answers, or the first page of other content.

        Without content, load it first.
        """
        self._more.cancel()
        self._box.clear_widgets()
        if content is None:
            self.app.do(lambda model: model.question(campaign_id), self.show)
        elif content is self._content:
            self._page(content, place)
        else:
            self.show(content)

    def show(self, content: QuestionContent) -> None:
        """Show the first question, with nothing chosen."""
        self._content = content
        self._widgets: dict[int, Widget] = {}
        self._values: dict[int, str] = {}
        self._skipped: set[int] = set()
        self._page(content, 0)

    def _page(self, content: QuestionContent, place: int) -> None:
        """Show a question; its widget is made at the first visit."""
        self._place = place
        questions = content.questions
        key = "question.next" if place + 1 == len(questions) else "question.on"
        self._next = action("next", say(key), partial(self._on, content, False), disabled=place not in self._values)
        question = words(
            questions[place].text, "headline" if len(questions[place].text) <= SHORT else "title", name="asked"
        )
        above = Column(spacing=dp(4))
        if len(questions) > 1:
            above.add_widget(
                words(say("question.place", place=place + 1, count=len(questions)), "small", "muted", "page")
            )
        above.add_widget(question)
        above.bind(height=self._fit)
        self._above.clear_widgets()
        self._above.add_widget(above)
        self._above.scroll_y = 1
        self._box.clear_widgets()
        self._box.add_widget(self._above)
        self._fit()
        self.filled = False
        self._more()

    def _continue(self, *_: object) -> None:
        """Add the widget and the buttons, one frame after the question."""
        if self._content is not None:
            place, question = self._place, self._content.questions[self._place]
            if place not in self._widgets:
                self._widgets[place] = self._widget(question)
            self._box.add_widget(self._widgets[place])
            if question.skippable:
                key = "question.skipped" if place in self._skipped else "question.skip"
                self._box.add_widget(action("skip", say(key), partial(self._on, self._content, True), "outlined"))
            self._box.add_widget(self._next)
        self.filled = True

    def _widget(self, question: AnswerChoices) -> Widget:
        if question.kind == "grid":
            grid_map = GridMap(
                name="map",
                south=question.south,
                north=question.north,
                west=question.west,
                east=question.east,
                step=question.step,
            )
            grid_map.bind(on_cell=lambda _, row, column: self._choose(question.cell(row, column)))
            return grid_map
        if question.low:
            return self._day(question) if question.kind == "date" else self._number(question)
        # The lists get their final width now, so that a long list measures its texts only once.
        width = self._box.width - self._box.padding[0] - self._box.padding[2]
        if question.kind == "items":
            several = ItemSet(name="items", values=question.shown, width=width)
            several.bind(on_set=lambda _, chosen: self._choose(ITEMS_BETWEEN.join(question.labels[x] for x in chosen)))
            self._choose("")  # the empty set is an answer too
            return several
        choice_list = ChoiceList(name="choice", values=question.shown, width=width)
        choice_list.bind(on_choice=lambda _, x: self._choose(question.labels[x]))
        return choice_list

    def _number(self, question: AnswerChoices) -> Widget:
        slider = NumberSlider(
            name="number",
            low=float(question.low),
            high=float(question.high),
            places=question.places,
            step=float(question.spacing or 0),
            round_answer=question.counts_as,
            unit=question.unit,
        )
        slider.bind(on_answer=lambda _, text: self._choose(text, bool(text)))
        return self._scrolled(slider)

    def _day(self, question: AnswerChoices) -> Widget:
        day_field = DayField(name="day", low=question.low, high=question.high, round_answer=question.counts_as)
        day_field.bind(on_answer=lambda _, text: self._choose(text, bool(text)))
        return self._scrolled(day_field)

    def _scrolled(self, widget: Widget) -> Widget:
        scroll = ScrollView(do_scroll_x=False, bar_width=dp(4))
        scroll.add_widget(widget)
        return scroll

    def _choose(self, value: str, named: bool = True) -> None:
        self._values.pop(self._place, None)
        if named:
            self._values[self._place] = value
        self._next.disabled = not named

    def _on(self, content: QuestionContent, skip: bool) -> None:
        """Open the next question or, after the last one, the screen of the envelopes."""
        campaign_id, place = content.summary.campaign_id, self._place
        (self._skipped.add if skip else self._skipped.discard)(place)
        if place + 1 < len(content.questions):
            self.app.go("question", campaign_id, content, place + 1)
            return
        value = self._text(content)
        self.app.do(lambda model: model.review(campaign_id, value), lambda review: self.app.go("review", review))

    def _text(self, content: QuestionContent) -> str:
        """Return the answers as text that the device parses."""
        if not content.summary.questions:
            return self._values[0]
        return form_text(
            {
                question.name: SKIPPED if place in self._skipped else self._values[place]
                for place, question in enumerate(content.questions)
            }
        )
