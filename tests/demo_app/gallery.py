"""A gallery of every widget of the app with sample data, for tests and for viewing.

The widgets need no device and no campaign; their events are recorded.

python -m tests.demo_app.gallery
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from kivy.app import App
from kivy.core.window import Window
from kivy.uix.boxlayout import BoxLayout

from demo_app import theme
from demo_app.texts import use_language
from demo_app.widgets.actions import Action, Entry, Symbol
from demo_app.widgets.bars import Destinations, TopBar
from demo_app.widgets.boxes import Card, Gap, Loading, Page, Row, Rule
from demo_app.widgets.chances import BeforeAfter, Chances
from demo_app.widgets.choice import ChoiceList, ItemSet
from demo_app.widgets.dayfield import DayField
from demo_app.widgets.dialogs import ask, show_notice
from demo_app.widgets.field import Field
from demo_app.widgets.gauge import Gauge
from demo_app.widgets.gridmap import GridMap
from demo_app.widgets.palette import palette
from demo_app.widgets.slider import NumberSlider
from demo_app.widgets.words import Mono, Words
from edge_sdk.presentation import AnswerChoices
from protocol.domain import Dates, NumberRange

DESTINATIONS = [("campaigns", "Surveys", "campaigns"), ("budget", "Budget", "budget"),
                ("history", "History", "history"), ("settings", "Settings", "settings")]  # fmt: skip
LEVELS = ["none", "primary", "secondary", "bachelor", "master", "doctorate"]
OCCUPATIONS = [f"occupation number {number}" for number in range(1, 500)] + [
    "manager in the wholesale of agricultural raw materials, live animals, textiles and semi-finished goods"
]
POLAND = {"south": 49_000_000, "north": 54_900_000, "west": 14_100_000, "east": 24_200_000, "step": 100_000}


class Gallery(App):
    """An app that shows one part of the widgets at a time."""

    def build(self) -> Any:
        Window.clearcolor = palette.ground
        palette.bind(ground=lambda *_: setattr(Window, "clearcolor", palette.ground))
        self.events: list[Any] = []
        self.root_box = BoxLayout(orientation="horizontal")
        self.show("texts")
        return self.root_box

    def note(self, *event: Any) -> None:
        """Record an event of a widget, without the widget itself."""
        self.events.append(list(event))

    def dark(self, on: bool) -> None:
        palette.use(theme.DARK if on else theme.LIGHT)

    def use_language(self, language: str) -> None:
        use_language(language)

    def ask(self, grave: bool = False) -> None:
        ask(
            "Agree to this survey?",
            "Up to 2 of your budget are set aside, so that you can answer each week until March.",
            "Agree",
            lambda: self.note("agreed"),
            grave=grave,
        )

    def show_notice(self, text: str, kind: str = "plain") -> None:
        show_notice(text, kind)

    def show(self, part: str) -> None:
        """Show one part between the top and the bottom bar."""
        self.events.clear()
        self.root_box.clear_widgets()
        body = BoxLayout(orientation="vertical")
        wide = Window.width >= theme.BROAD_WINDOW * palette.touch / theme.TOUCH
        places = Destinations(places=DESTINATIONS, chosen="campaigns", upright=wide, name="places")
        places.bind(on_choice=lambda bar, name: (setattr(bar, "chosen", name), self.note("place", name)))
        if wide:
            self.root_box.add_widget(places)
        bar = TopBar(title=part.capitalize(), back=part != "texts", name="top")
        bar.bind(on_back=lambda *_: self.note("back"))
        body.add_widget(bar)
        body.add_widget(getattr(self, f"part_{part}")())
        if not wide:
            body.add_widget(places)
        self.root_box.add_widget(body)

    def part_texts(self) -> Any:
        page = Page()
        card = Card()
        for role in ("display", "headline", "title", "body", "small"):
            card.add_widget(Words(text=f"This text has the role {role} and wraps at the end of its line.", role=role))
        card.add_widget(Rule())
        card.add_widget(Words(text="Muted text, read second.", colour="muted"))
        card.add_widget(Words(text="Something is wrong.", colour="alert"))
        card.add_widget(Mono(text="95 01 c4 10 f0 9f 12 aa", role="small"))
        page.add_widget(card)
        for tone in ("tint", "good_tint", "alert_tint"):
            card = Card(tone=tone)
            card.add_widget(Words(text=f"A card of tone {tone}.", role="title"))
            card.add_widget(Words(text="A card has a background of its own.", colour="muted"))
            page.add_widget(card)
        page.add_widget(Loading(active=True))
        return page

    def part_actions(self) -> Any:
        page = Page()
        entry = Entry(title="Highest education", below="Town library. Answer by 1 March", name="entry")
        entry.bind(on_release=lambda *_: self.note("entry"))
        page.add_widget(entry)
        for kind in ("filled", "outlined", "plain", "alert"):
            action = Action(text=f"Do the {kind} thing", kind=kind, name=kind)
            action.bind(on_release=lambda pressed: self.note(pressed.name))
            page.add_widget(action)
        page.add_widget(Action(text="Not possible now", disabled=True, name="disabled"))
        row = Row()
        for sign in ("plus", "minus", "whole", "warning", "close"):
            symbol = Symbol(sign=sign, name=sign, raised=sign in ("plus", "minus", "whole"))
            symbol.bind(on_release=lambda pressed: self.note(pressed.name))
            row.add_widget(symbol)
        page.add_widget(row)
        field = Field(label="Web address", hint="https://study.example", name="address")
        field.bind(on_enter=lambda field: self.note("address", field.text))
        page.add_widget(field)
        page.add_widget(Field(label="A key", text="nonsense", error="This is not the line of a key.", name="key"))
        return page

    def _question(self, words: str, widget: Any) -> Any:
        box = BoxLayout(orientation="vertical", padding=palette.space, spacing=palette.space)
        box.add_widget(Words(text=words, role="title"))
        box.add_widget(widget)
        return box

    def part_choice(self) -> Any:
        options = ChoiceList(values=LEVELS, name="levels")
        options.bind(on_choice=lambda _, index: self.note(index))
        return self._question("What is the highest level of education you have completed?", options)

    def part_many(self) -> Any:
        options = ChoiceList(values=OCCUPATIONS, name="jobs")
        options.bind(on_choice=lambda _, index: self.note(index))
        return self._question("What do you do for a living?", options)

    def part_items(self) -> Any:
        options = ItemSet(values=[f"allergy {number}" for number in range(1, 31)], name="items")
        options.bind(on_set=lambda _, indexes: self.note(indexes))
        return self._question("Which of these do you have?", options)

    def part_number(self) -> Any:
        page = Page()
        card = Card()
        card.add_widget(Words(text="How many hours did you sleep last night?", role="title"))
        card.add_widget(Gap())
        number = NumberSlider(low=0, high=24, places=1, unit="h", name="hours")
        number.bind(on_answer=lambda _, text: self.note(text))
        card.add_widget(number)
        page.add_widget(card)
        line = NumberRange.of(0, 40, 5, clamps=True)
        round_answer = AnswerChoices(line.kind, line.size, line=line).counts_as
        card = Card()
        card.add_widget(NumberSlider(low=0, high=40, step=5, round_answer=round_answer, unit="km", name="way"))
        page.add_widget(card)
        days = Dates.of("2026-01-01", "2026-12-31", 7)
        card = Card()
        day = DayField(
            name="day",
            low="2026-01-01",
            high="2026-12-31",
            round_answer=AnswerChoices(days.kind, days.size, line=days).counts_as,
        )
        day.bind(on_answer=lambda _, text: self.note(text))
        card.add_widget(day)
        page.add_widget(card)
        return page

    def part_map(self) -> Any:
        grid = GridMap(name="map", **POLAND)
        grid.bind(on_cell=lambda _, row, column: self.note(row, column))
        return self._question("Where do you live?", grid)

    def part_world(self) -> Any:
        grid = GridMap(name="map", step=10_000_000)
        grid.bind(on_cell=lambda _, row, column: self.note(row, column))
        return self._question("Where were you born?", grid)

    def part_pictures(self) -> Any:
        page = Page()
        for title, picture in (
            ("Your budget", Gauge(spent=1.5, reserved=2.25, cap=8.0)),
            (
                "What your report says",
                Chances(fits_true=Fraction(621, 1000), fits_other=Fraction(289, 1000), name="chances"),
            ),
            ("What could be believed", BeforeAfter(before=Fraction(1, 4), after=Fraction(471, 1000))),
        ):
            card = Card()
            card.add_widget(Words(text=title, role="title"))
            card.add_widget(Gap())
            card.add_widget(picture)
            page.add_widget(card)
        return page


if __name__ == "__main__":
    Gallery().run()
