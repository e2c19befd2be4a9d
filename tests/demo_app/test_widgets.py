"""The widgets on a screen: their events, their sizes, and texts that are not cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.demo_app.screen import DESKTOP, PHONE, Screen, ScreenError, display

PARTS = ("texts", "actions", "choice", "many", "items", "number", "map", "world", "pictures")
GALLERY = "tests.demo_app.gallery"
FRAME = 0.5
"""Maximum seconds of processor time of one frame: many times the usual amount."""


@pytest.fixture(scope="module")
def number() -> Iterator[str]:
    with display() as number:
        yield number


@pytest.fixture(scope="module")
def gallery(number: str) -> Iterator[Screen]:
    with Screen(number, GALLERY, size=PHONE) as screen:
        yield screen


def show(screen: Screen, part: str) -> None:
    screen.call(f"app.show({part!r})")


def events(screen: Screen) -> list[Any]:
    return list(screen.call("app.events"))


def check_parts(screen: Screen, shots: str, parts: tuple[str, ...] = PARTS) -> None:
    """Check that no touch target is too small and no text is cut in any part; keep a picture of each part."""
    for part in parts:
        show(screen, part)
        assert screen.small() == [], part
        assert screen.cut() == [], part
        screen.shot(f"gallery-{shots}-{part}")


def test_on_a_phone_nothing_is_too_small_or_cut(gallery: Screen) -> None:
    """On a phone, no touch target is smaller than 48 dp and no text is cut; pictures are kept."""
    check_parts(gallery, "phone")


@pytest.mark.long
def test_dark_and_on_a_desktop_nothing_is_too_small_or_cut(number: str) -> None:
    """In dark colours, on a screen with two pixels per dp and in a desktop's window, nothing is too small or cut."""
    for size, density, name in ((PHONE, 2.0, "phone-sharp"), (DESKTOP, 1.0, "desktop")):
        with Screen(number, GALLERY, size=size, density=density) as screen:
            check_parts(screen, name)
            screen.call("app.dark(True)")
            check_parts(screen, f"{name}-dark")


def test_with_large_texts_nothing_is_cut(number: str) -> None:
    """With texts twice as large, in German, no text is cut and nothing too small."""
    with Screen(number, GALLERY, size=PHONE, font_scale=2.0) as screen:
        screen.call("app.use_language('de')")
        check_parts(screen, "large", ("actions", "items", "number", "map", "pictures"))


def test_a_pressed_button_raises_one_event(gallery: Screen) -> None:
    """A touch on a button, an icon button or a card raises one event each; a disabled button raises none."""
    show(gallery, "actions")
    for name in ("entry", "filled", "outlined", "plain", "alert", "minus"):
        gallery.tap(name)
    gallery.tap("disabled")
    assert events(gallery) == [["entry"], ["filled"], ["outlined"], ["plain"], ["alert"], ["minus"]]


def test_widgets_are_reached_and_pressed_by_keys(gallery: Screen) -> None:
    """Tab moves the focus to the next widget, and Enter and the space bar press the widget."""
    show(gallery, "actions")
    gallery.call("setattr(next(w for w in app.root.walk() if getattr(w, 'name', '') == 'entry'), 'focus', True)")
    gallery.key("enter")
    gallery.key("tab")
    gallery.key("spacebar")
    assert events(gallery) == [["entry"], ["filled"]]


def test_a_field_contains_the_typed_text(gallery: Screen) -> None:
    """Typed text is the field's text, and Enter raises an event."""
    show(gallery, "actions")
    gallery.fill("address", "https://study.example")
    gallery.key("enter")
    assert events(gallery) == [["address", "https://study.example"]]


def test_a_touch_of_a_label_focuses_its_field(gallery: Screen) -> None:
    """After a touch of the label above a field, typed text is the field's text."""
    show(gallery, "actions")
    gallery.tap("address", (0.1, 0.95))
    assert gallery.read("address", "focused")
    gallery.type("https")
    assert gallery.read("address", "text") == "https"


def test_the_bars_raise_navigation_events(gallery: Screen) -> None:
    """A destination and the arrow back raise events."""
    show(gallery, "actions")
    gallery.tap("budget")
    gallery.tap("back")
    assert events(gallery) == [["place", "budget"], ["back"]]
    assert gallery.read("budget", "current")
    assert not gallery.read("campaigns", "current")


def test_an_answer_is_chosen_from_a_short_list(gallery: Screen) -> None:
    """A short list has no search field; a touch chooses its row and no other."""
    show(gallery, "choice")
    assert not gallery.seen("levels:search")
    gallery.tap("levels:bachelor")
    gallery.tap("levels:none")
    assert events(gallery) == [[3], [0]]
    assert gallery.read("levels:none", "chosen")
    assert not gallery.read("levels:bachelor", "chosen")
    gallery.shot("gallery-phone-chosen")


def test_a_long_list_is_searched(gallery: Screen) -> None:
    """Typed words filter a long list, in any order; the reported index is that in the whole list."""
    show(gallery, "many")
    gallery.fill("jobs:search", "437 occ")
    gallery.tap("jobs:occupation number 437")
    assert events(gallery) == [[436]]
    gallery.fill("jobs:search", "no such thing")
    assert not gallery.seen("jobs:occupation number 437")
    assert "No answer contains these words." in gallery.texts()
    gallery.fill("jobs:search", "manager")
    assert gallery.cut() == []
    assert gallery.box(next(text for text in gallery.texts() if text.startswith("manager")))[3] > 40


def test_five_hundred_rows_scroll_smoothly(gallery: Screen) -> None:
    """No frame of dragging through 500 rows takes more processor time than the limit, and the visible rows change."""
    show(gallery, "many")
    before = gallery.texts()
    with gallery.drawn():
        gallery.busiest_frame()
        for _ in range(3):
            gallery.drag("jobs", (0.5, 0.2), (0.5, 0.9))
        assert gallery.busiest_frame() < FRAME
    assert gallery.texts() != before


def test_items_are_selected(gallery: Screen) -> None:
    """A touch selects an item, and a second touch removes it; the number of selected items is shown, also during a
    search."""
    show(gallery, "items")
    gallery.tap("items:allergy 3")
    gallery.tap("items:allergy 1")
    gallery.tap("items:allergy 3")
    assert events(gallery) == [[[2]], [[0, 2]], [[0]]]
    caption = (
        "1 of 30 chosen. This device picks at most one of them at random; the report and its risk depend only on that "
        "one."
    )
    assert caption in gallery.texts()
    gallery.shot("gallery-phone-items-chosen")
    gallery.fill("items:search", "27")
    assert caption in gallery.texts()
    gallery.tap("items:allergy 27")
    assert events(gallery)[-1] == [[0, 26]]


def test_a_number_is_dragged(gallery: Screen) -> None:
    """No number is shown until the track is touched; a touch in its middle gives the number in the middle of the range,
    and dragging changes it, up to the end of the range at the end of the track."""
    show(gallery, "number")
    assert gallery.read("hours", "text") == ""
    gallery.tap("hours:track")
    assert gallery.read("hours", "text") == "12"
    gallery.drag("hours:track", (0.5, 0.5), (0.9, 0.5), held=True)
    assert 20 < float(gallery.read("hours", "text")) < 24
    gallery.shot("gallery-phone-number-named")
    gallery.drag("hours:track", (0.9, 0.5), (1.0, 0.5), held=True)
    assert gallery.read("hours", "text") == "24"


def test_a_number_is_typed(gallery: Screen) -> None:
    """A typed number, with a decimal comma or point, is not rounded; an invalid text is reported, and there is no
    number."""
    show(gallery, "number")
    gallery.fill("hours:typed", "7.25")
    assert events(gallery)[-1] == ["7.25"]
    assert gallery.read("hours:caption", "text") == "7.25 h"
    gallery.fill("hours:typed", "6,5")
    assert events(gallery)[-1] == ["6.5"]
    gallery.fill("hours:typed", "25")
    assert events(gallery)[-1] == [""]
    assert gallery.read("hours", "error") == "Enter a number from 0 to 24."
    gallery.fill("hours:typed", "much")
    assert gallery.read("hours", "error") == "This is not a number."
    assert gallery.cut() == []
    gallery.tap("hours:track")
    assert gallery.read("hours", "error") == ""


def test_a_number_keeps_the_campaigns_steps(gallery: Screen) -> None:
    """The track stops at steps; a typed number between steps, or outside a range that clamps, is shown with the number
    as which it counts."""
    show(gallery, "number")
    gallery.drag("way:track", (0.2, 0.5), (0.58, 0.5), held=True)
    assert gallery.read("way", "text") in ("20", "25")
    assert gallery.read("way:note", "text") == ""
    for typed, counts in (("12.5", "15"), ("12", "10"), ("41", "40"), ("20", "")):
        gallery.fill("way:typed", typed)
        assert gallery.read("way", "text") == typed
        assert gallery.read("way:note", "text") == (f"Your number counts as {counts} km." if counts else "")
    gallery.fill("way:typed", "nan")
    assert (gallery.read("way", "text"), gallery.read("way", "error")) == ("", "This is not a number.")


def test_a_day_is_typed(gallery: Screen) -> None:
    """A day of the calendar between the ends is the answer; any other text is reported as invalid, and is not used as
    an answer."""
    show(gallery, "number")
    assert gallery.read("day:caption", "text") == "Choose a day"
    gallery.fill("day:typed", "2026-03-05")
    assert events(gallery)[-1] == ["2026-03-05"]
    assert gallery.read("day:caption", "text") == "5 March 2026"
    gallery.shot("gallery-phone-day-named")
    gallery.fill("day:typed", "2026-03-06")
    assert gallery.read("day:note", "text") == "Your day counts as 5 March 2026."
    for typed, error in (
        ("2026-02-30", "Write the day in this form: 2026-01-01."),
        ("5 March 2026", "Write the day in this form: 2026-01-01."),
        ("2025-12-31", "Enter a day from 1 January 2026 to 31 December 2026."),
    ):
        gallery.fill("day:typed", typed)
        assert events(gallery)[-1] == [""]
        assert gallery.read("day", "error") == error
    assert gallery.cut() == []


def test_a_cell_is_touched(gallery: Screen) -> None:
    """A touch in the middle of the map selects the middle cell; a touch outside the grid selects nothing."""
    show(gallery, "world")
    gallery.tap("map", (0.5, 0.9))
    assert events(gallery) == []
    gallery.tap("map", (0.51, 0.505))
    assert events(gallery) == [[9, 18]]
    assert gallery.read("map:caption", "text") == "5° north, 5° east, somewhere in a square 10° wide."
    gallery.shot("gallery-phone-world-chosen")


def test_a_map_is_zoomed_and_moved(gallery: Screen) -> None:
    """Buttons, two fingers and the wheel zoom; one finger moves the map and selects nothing; zooming out shows the
    whole map again."""
    show(gallery, "map")
    whole = gallery.read("map", "scale")
    gallery.tap("map:nearer")
    assert gallery.read("map", "scale") == pytest.approx(2 * whole)
    gallery.pinch("map", 2.0)
    assert gallery.read("map", "scale") == pytest.approx(4 * whole, rel=0.1)
    gallery.wheel("map", 2)
    assert gallery.read("map", "scale") > 5 * whole
    longitude = gallery.read("map", "longitude")
    with gallery.drawn():
        gallery.busiest_frame()
        gallery.drag("map", (0.6, 0.5), (0.2, 0.5))
        assert gallery.busiest_frame() < FRAME
    assert gallery.read("map", "longitude") > longitude
    assert events(gallery) == []
    gallery.tap("map", (0.4, 0.6))
    assert len(events(gallery)) == 1
    gallery.shot("gallery-phone-map-near")
    gallery.tap("map:farther")
    gallery.tap("map:whole")
    assert gallery.read("map", "scale") == pytest.approx(whole)
    gallery.shot("gallery-phone-map-chosen")


def test_a_typed_position_selects_its_cell(gallery: Screen) -> None:
    """A typed position selects the cell that contains it, counted from the south-west, also in the last row and
    column."""
    show(gallery, "map")
    for typed, cell in {
        "52.23, 21.01": [32, 69],
        "52.299, 21.099": [32, 69],
        "52,23; 21,01": [32, 69],
        "49 14.1": [0, 0],
        "54.9,24.2": [58, 100],
        "49.1, 14.2": [1, 1],
    }.items():
        gallery.fill("map:typed", typed)
        assert events(gallery)[-1] == cell, typed
    gallery.fill("map:typed", "40, 21")
    assert gallery.read("map:typed", "error") == "This place is outside the survey's map."
    gallery.fill("map:typed", "here")
    assert gallery.read("map:typed", "error") == "Type two numbers, such as 52.23, 21.01."
    gallery.tap("map", (0.5, 0.5))
    assert gallery.read("map:typed", "error") == "", "a place that was touched is an answer"


def test_the_chosen_cell_is_moved_by_keys(gallery: Screen) -> None:
    """Arrow keys move the chosen cell by one, and not beyond the grid."""
    show(gallery, "map")
    gallery.fill("map:typed", "49 14.1")
    gallery.call("setattr(next(w for w in app.root.walk() if type(w).__name__ == 'Surface'), 'focus', True)")
    for key in ("up", "right", "right", "down", "down"):
        gallery.key(key)
    assert events(gallery)[-5:] == [[1, 0], [1, 1], [1, 2], [0, 2], [0, 2]]


def test_pictures_have_a_text_alternative(gallery: Screen) -> None:
    """The gauge, the chances and the posteriors are also given in words."""
    show(gallery, "pictures")
    gallery.wait("chances:truth")
    texts = gallery.texts()
    assert {
        "Units of your privacy budget spent so far: 1.5",
        "Units reserved for surveys that you agreed to: 2.25",
        "Units left: 4.25 of 8",
    } <= set(texts)
    # The first number is rounded up from 62.1, and the second one down from 28.9.
    assert "Of 100 people with this answer, on average at most 63 send a report that fits this answer." in texts
    wrong = (
        "For every other answer: of 100 people with that answer, on average at least 28 also send a report that fits "
        "this answer."
    )
    assert gallery.read("chances:wrong", "text") == wrong
    assert gallery.read("posterior:before", "caption") == "25%"
    assert gallery.read("posterior:after", "caption") == "48%"


def test_a_small_probability_is_shown_as_fewer_than_one(gallery: Screen) -> None:
    """A small probability is shown as "fewer than 1" with a dot; certainty and near certainty are shown as 100."""
    show(gallery, "pictures")
    chances = "next(w for w in app.root.walk() if type(w).__name__ == 'Chances')"
    for truth, filled, words in (
        (0.001, 1, "on average fewer than 1"),
        (0.999, 100, "on average at most 100 send"),
        (1.0, 100, "on average at most 100 send"),
    ):
        gallery.call(f"setattr({chances}, 'fits_true', {truth})")
        assert gallery.read("chances", "truth_dots") == filled
        assert gallery.read("chances:truth", "text").startswith(f"Of 100 people with this answer, {words}")


def test_a_dialog_is_answered(gallery: Screen) -> None:
    """A dialog reports only agreement; Esc and its other button decline; the widgets below cannot be touched."""
    show(gallery, "actions")
    gallery.call("app.ask()")
    gallery.wait("agree")
    gallery.shot("gallery-phone-question")
    with pytest.raises(ScreenError):
        gallery.tap("filled")
    gallery.tap("refuse")
    gallery.gone("agree")
    gallery.call("app.ask(grave=True)")
    gallery.key("escape")
    gallery.gone("agree")
    assert events(gallery) == []
    gallery.call("app.ask(grave=True)")
    assert gallery.small() == []
    gallery.tap("agree")
    gallery.gone("agree")
    assert events(gallery) == [["agreed"]]


def test_notices_are_shown_one_at_a_time(gallery: Screen) -> None:
    """A notice is shown until it is dismissed; the next one waits for it."""
    show(gallery, "actions")
    gallery.call("app.show_notice('It is saved.', 'good')")
    gallery.call("app.show_notice('It could not be sent.', 'alert')")
    assert gallery.seen("It is saved.")
    assert not gallery.seen("It could not be sent.")
    gallery.shot("gallery-phone-notice")
    gallery.tap("dismiss")
    gallery.wait("It could not be sent.")
    gallery.tap("dismiss")
    gallery.gone("It could not be sent.")


def test_a_notice_closes_after_the_time_to_read_it(gallery: Screen) -> None:
    """A notice closes by itself after six seconds, or one second for every 15 letters if that is longer; then the next
    one is shown."""
    show(gallery, "actions")
    short, long = "It is saved.", 30 * "Word " + "end."
    both = f"[app.show_notice({short!r}), app.show_notice({long!r})]"
    # A notice is timed from the beginning of its frame, which on a busy machine may be a little earlier.
    assert gallery.lasts(both, short) > 5.5
    assert gallery.seen(long)
    gallery.tap("dismiss")
    assert gallery.lasts(f"app.show_notice({long!r})", long) > 9.5


def test_a_failed_step_names_its_cause(number: str) -> None:
    """A missing widget, and a program that cannot start, each fail a test with a message that names the cause."""
    with (
        Screen(number, GALLERY) as screen,
        pytest.raises(ScreenError, match="no visible widget has the name or the text 'missing'"),
    ):
        screen.tap("missing")
    with pytest.raises(ScreenError, match="No module named"), Screen(number, "tests.demo_app.nothing"):
        pass
