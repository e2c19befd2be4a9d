"""The screens: each can be read and touched completely, in every size, palette and language; and navigation."""

from __future__ import annotations

import re
import socket
import time
from fractions import Fraction
from pathlib import Path

import pytest

from demo_app import texts
from demo_app.settings import FILE
from edge_sdk import BudgetPolicy, Device
from edge_sdk.store.sqlite import DATABASE_FILE
from protocol.campaign import open_campaign
from protocol.closing import seal_closing
from protocol.domain import Buckets, Grid, Items, NumberRange, Values
from protocol.keys import public_line
from protocol.views import Coarse
from tests.demo_app.screen import DESKTOP, PATIENCE, PHONE, SHOTS, Screen, ScreenError, display
from tests.demo_app.test_session import tap
from tests.edge_sdk.conftest import AUTHOR, WEEK, campaign
from tests.edge_sdk.test_forms import FORM, form_campaign, in_german
from tests.edge_sdk.test_roles import NAMES, of_classes, of_declared
from tests.edge_sdk.test_send import FakeResponse, UploadNetwork
from tests.edge_sdk.test_transcript import made as of_transcripts
from tests.edge_sdk.test_views import dice_of

MICRO = 10**6
LINK = f"halftruth://umfrage.stadtbuecherei.example:8443/s/{'0f' * 16}#k=ajmGIn8kqBCj46DY3utQvw"
DAY = 86_400
MANY = tuple(f"Occupation number {number}" for number in range(500))
ASKED = {
    "Where": {"domain": Grid(45 * MICRO, 56 * MICRO, 5 * MICRO, 16 * MICRO, MICRO)},
    "Hours": {"domain": Buckets.of([0, 10, 20, 40, 60])},
    "Shopping": {"domain": Items(2, ("tea", "coffee", "milk", "bread", "soap", "newspaper"))},
    "Occupation": {"domain": Values(MANY)},
    "Education": {},
}
SHAPES = {
    "phone-light-en": (PHONE, "en", (), 1.0),
    "desktop-dark-de": (DESKTOP, "de", ("--dark",), 1.0),
    "phone-dark-de": (PHONE, "de", ("--dark",), 1.0),
    "desktop-light-en": (DESKTOP, "en", (), 1.0),
    "large-light-en": (PHONE, "en", (), 1.6),
}


@pytest.fixture(scope="module")
def number():
    """Yield a display that all of these tests share."""
    with display() as made:
        yield made


def now() -> int:
    return int(time.time())


def one(title: str, **options: object) -> bytes:
    """Return a campaign that opened a day ago, by default with two periods of a week."""
    return campaign(title, **{"opens": now() - DAY, "periods": 2, "period_seconds": WEEK} | options)


@pytest.fixture
def folder(tmp_path) -> Path:
    """Return the folder of a device that agreed to ``ASKED``, answered one of these campaigns, and read the terms of
    another."""
    place = tmp_path / "phone"
    with Device.open(place, [AUTHOR.public], BudgetPolicy(lifetime=24.0)) as device:
        ids = {
            title: device.join(one(title, **options), "https://study.example").campaign_id
            for title, options in ASKED.items()
        }
        for campaign_id in ids.values():
            device.consent(campaign_id)
        device.answer(ids["Education"], "bachelor")
        device.join(one("Not yet", maps=(Coarse(2), Coarse(3))))
    (tmp_path / "classes.campaign").write_bytes(of_classes(opens=now() - DAY, closes=now() + 9 * DAY))
    (tmp_path / "analyst.pub").write_text(public_line(AUTHOR.public), encoding="utf-8")
    return place


def fits(screen: Screen) -> None:
    """Assert that no visible widget is cut or too small to touch."""
    assert screen.cut() == []
    assert screen.small() == []


def settled(screen: Screen) -> None:
    """Wait until the app has loaded the parts of its screens and excluded long-lived objects from garbage
    collection."""
    until = time.monotonic() + 60
    while not screen.call("__import__('gc').get_freeze_count()"):
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize(
    "shape", [pytest.param(name, marks=() if name == "phone-dark-de" else pytest.mark.long) for name in SHAPES]
)
def test_every_screen_fits(number, folder, tmp_path, shape):
    """On a phone and a desktop, light and dark, English and German, and with large letters: no text is cut, except the
    path of the store, and no touch target is smaller than 48 dp; a picture of each screen is kept."""
    size, language, palette, letters = SHAPES[shape]
    options = ["--store", folder, "--language", language, *palette, "--trust", tmp_path / "analyst.pub"]
    with Screen(number, "demo_app", *options, size=size, font_scale=letters, shots=SHOTS / shape) as screen:

        def seen(name: str) -> None:
            fits(screen)
            screen.shot(name)

        screen.wait("campaigns:page")
        screen.idle()
        seen("campaigns")
        tap(screen, "campaign:Not yet")
        seen("terms")
        tap(screen, "join")
        seen("consent")
        for title, answer in {
            "Where": lambda: screen.tap("map", (0.5, 0.5)),
            "Hours": lambda: screen.tap("number:track", (0.6, 0.5)),
            "Shopping": lambda: [screen.tap("items:tea"), screen.tap("items:soap")],
            "Occupation": lambda: [
                screen.fill("choice:search", "number 77"),
                screen.tap("choice:Occupation number 77"),
            ],
        }.items():
            tap(screen, "place:campaigns")
            tap(screen, f"campaign:{title}")
            seen(f"question-{title.lower()}")
            answer()
            seen(f"answered-{title.lower()}")
            tap(screen, "next")
            seen(f"review-{title.lower()}")
        tap(screen, "make")
        seen("bytes")
        for name in ("history", "outbox", "budget", "settings"):
            tap(screen, f"place:{name}")
            seen(name)
            if name == "history":
                # Its report waits in the outbox, so the study cannot have counted it yet.
                assert not screen.seen("counted:Education")
                tap(screen, "exposure:Education")
                seen("exposure")
                tap(screen, "back")
        tap(screen, "authors")
        seen("authors")
        tap(screen, "back")
        # This screen shows the path of the store, which is one long word that may be cut.
        tap(screen, "device")
        assert screen.small() == []
        screen.shot("device")
        tap(screen, "back")
        tap(screen, "place:campaigns")
        tap(screen, "add")
        screen.fill("link", LINK)
        seen("add")
        tap(screen, "follow")
        screen.wait("question")
        seen("link")
        tap(screen, "refuse")
        screen.fill("file", str(tmp_path / "classes.campaign"))
        tap(screen, "read")
        seen("terms-classes")
        tap(screen, "join")
        seen("consent-classes")
        assert screen.read("agree", "disabled")
        tap(screen, "class:1")
        assert not screen.read("agree", "disabled")
        tap(screen, "fit:0")
        seen("consent-fit")
        assert "demo_app" not in screen.log()


@pytest.mark.parametrize(
    "shape", [pytest.param(name, marks=() if name == "large-light-en" else pytest.mark.long) for name in SHAPES]
)
def test_a_form_is_answered_page_by_page(number, tmp_path, shape):
    """A form is announced as a form. After consent its questions appear one on each page. Going back keeps typed
    answers and omissions, also past the page with the asked questions. All pages fit."""
    size, language, palette, letters = SHAPES[shape]
    data = form_campaign(opens=now() - DAY, periods=2)
    with Device.open(tmp_path / "phone", [AUTHOR.public], BudgetPolicy(lifetime=24.0), urandom=dice_of(data, 2)) as one:
        one.join(data, "https://study.example")
    options = ["--store", tmp_path / "phone", "--language", language, *palette]
    with Screen(number, "demo_app", *options, size=size, font_scale=letters, shots=SHOTS / shape) as screen:

        def seen(name: str) -> None:
            fits(screen)
            screen.shot(name)

        def current() -> str:
            return screen.call("app.root.ids.screens.current")

        def back() -> None:
            screen.key("escape")
            screen.idle()

        screen.wait("campaigns:page")
        screen.idle()
        assert "3" in screen.read("campaign:Highest education", "below")
        tap(screen, "campaign:Highest education")
        assert [screen.read(f"question:{one.name}", "text") for one in FORM.questions] == [
            one.text for one in FORM.questions
        ]
        seen("terms-form")
        tap(screen, "join")
        tap(screen, "agree")
        assert [screen.read(f"asked:{name}", "text") for name in ("age", "home")] == [
            "How old are you?",
            "Where do you live?",
        ]
        seen("selection")
        tap(screen, "begin")
        # The number is outside the range.
        screen.fill("number:typed", "170")
        assert screen.read("number:typed", "error")
        assert screen.read("next", "disabled")
        screen.fill("number:typed", "18")
        seen("form-number")
        tap(screen, "next")
        assert screen.read("asked", "text") == "Where do you live?"
        screen.tap("map", (0.3, 0.5))
        seen("form-map")
        cell = screen.read("map:caption", "text")
        for expected in ("question", "selection"):
            back()
            assert current() == expected
        tap(screen, "begin")
        assert screen.read("number:typed", "text") == "18"
        tap(screen, "skip")
        assert screen.read("map:caption", "text") == cell
        tap(screen, "next")
        seen("review-form")
        left_out = screen.texts()
        assert not any("18" in text for text in left_out)
        back()
        back()
        tap(screen, "next")
        tap(screen, "next")
        assert any("18" in text for text in screen.texts())
        assert len(screen.texts()) == len(left_out)
        assert "demo_app" not in screen.log()


def test_a_form_is_read_and_answered_in_the_persons_language(number, tmp_path):
    """In German, the terms, the questions and the preview of the report have the form's German labels and unit."""
    data = in_german(opens=now() - DAY, periods=2)
    with Device.open(tmp_path / "phone", [AUTHOR.public], BudgetPolicy(lifetime=24.0), urandom=dice_of(data, 1)) as one:
        one.join(data, "https://study.example")
    options = ["--store", tmp_path / "phone", "--language", "de"]
    with Screen(number, "demo_app", *options, size=PHONE, shots=SHOTS / "german") as screen:

        def seen(name: str, *words: str) -> None:
            fits(screen)
            screen.shot(name)
            for word in words:
                assert any(word in text for text in screen.texts()), word

        screen.wait("campaigns:page")
        tap(screen, "campaign:Stadt")
        seen("terms", "Haben Sie gewählt?", "nein, ja")
        assert screen.read("answers:age", "text") == "Eine Zahl: 17 bis 19 Jahre."
        tap(screen, "join")
        tap(screen, "agree")
        tap(screen, "begin")
        seen("choice", "nein", "ja")
        tap(screen, "choice:ja")
        tap(screen, "next")
        screen.fill("number:typed", "18")
        seen("number", "18 Jahre")
        assert screen.read("number:typed", "label").endswith("17 bis 19 Jahre")
        tap(screen, "next")
        seen("review", "ja", "18 Jahre")
        tap(screen, "make")
        seen("made")
        tap(screen, "later")
        tap(screen, "place:history")
        seen("history", "ja", "18 Jahre")
        assert not {"yes", "no"} & set(screen.texts())


def test_the_terms_state_the_shares_that_the_promise_assumes(number, tmp_path):
    """Below the promise, the terms state the shares of the answers for which the promise holds."""
    data = of_transcripts(opens=now() - DAY, closes=now() + 9 * DAY)
    with Device.open(tmp_path / "phone", [AUTHOR.public], BudgetPolicy(lifetime=24.0)) as device:
        title = device.join(data, "https://study.example").title
    with Screen(number, "demo_app", "--store", tmp_path / "phone", "--language", "de") as screen:
        screen.wait("campaigns:page")
        tap(screen, f"campaign:{title}")
        said = screen.read("assumed", "text")
        assert said.startswith("Die Umfrage nimmt diese Anteile der Antworten an: ")
        assert "%" in said


def test_the_review_names_the_group_that_the_figures_are_for(number, folder):
    """If this device's view asks for a group of answers, the screen of a report says that the figures are for this
    group, and names it."""
    with Screen(number, "demo_app", "--store", folder, "--language", "en") as screen:
        screen.wait("campaigns:page")
        tap(screen, "campaign:Not yet")
        tap(screen, "join")
        tap(screen, "agree")
        tap(screen, "choice:none")
        tap(screen, "next")
        said = screen.read("group", "text")
        assert said.startswith("On this device, your answer counts as “none .. ")
        assert said.endswith("”, and the report is only about this group. “This answer” means this group.")


NAMED = {
    "en": {
        "Age": ("64.5", "Your number counts as (.*)\\.", "[67]0 years"),
        "Shopping": ("tea soap", "The report and its risk depend only on this answer: (.*)\\.", "tea|soap"),
        "Where": ("", "counts as “(.*?)”", "49.5° north, 9.5° east .. 52.5° north, 12.5° east"),
    },
    "de": {
        "Age": ("64,5", "Ihre Zahl zählt als (.*)\\.", "[67]0 years"),
        "Shopping": ("tea soap", "Der Bericht und sein Risiko hängen nur von dieser Antwort ab: (.*)\\.", "tea|soap"),
        "Where": ("", "zählt Ihre Antwort als „(.*?)“", "49,5° Nord, 9,5° Ost .. 52,5° Nord, 12,5° Ost"),
    },
}


@pytest.mark.parametrize("language", ["de", pytest.param("en", marks=pytest.mark.long)])
def test_the_review_names_the_input_that_the_figures_are_for(number, tmp_path, language):
    """If a report is about a rounded number, one item of a set, or a group of places, the screen of the report names
    it, before and after the report is made, and the history has it too. All texts fit on a phone."""
    asked = {
        "Age": {"domain": NumberRange.of(20, 90, 10, clamps=True, rounds_randomly=True, unit="years")},
        "Shopping": {"domain": Items(1, ("tea", "coffee", "soap"))},
        "Where": {"domain": Grid(45 * MICRO, 56 * MICRO, 5 * MICRO, 16 * MICRO, MICRO), "maps": (Coarse(4),)},
    }
    with Device.open(tmp_path / "phone", [AUTHOR.public], BudgetPolicy(lifetime=24.0)) as device:
        for title, options in asked.items():
            device.consent(device.join(one(title, **options), "https://study.example").campaign_id)
    options = ["--store", tmp_path / "phone", "--language", language]
    with Screen(number, "demo_app", *options, size=PHONE, shots=SHOTS / f"inputs-{language}") as screen:
        screen.wait("campaigns:page")
        for title, (typed, sentence, named) in NAMED[language].items():
            tap(screen, "place:campaigns")
            tap(screen, f"campaign:{title}")
            if title == "Age":
                screen.fill("number:typed", typed)
            elif title == "Where":
                screen.tap("map", (0.5, 0.5))
            else:
                for item in typed.split():
                    screen.tap(f"items:{item}")
            for button in ("next", "make"):
                tap(screen, button)
                fits(screen)
                screen.shot(f"{button}-{title.lower()}")
                found = re.search(sentence, screen.read("group" if title == "Where" else "input", "text"))
                assert found
                assert re.fullmatch(named, found[1])
            tap(screen, "place:history")
            assert screen.read(found[1], "text") == found[1]
            fits(screen)


def test_an_offer_names_its_first_and_last_day(number, folder):
    """In the list of a study's campaigns, one that has not opened yet is not called open: the list names its first day
    and the last one before its end or early closing."""
    opens = now() + 30 * DAY
    ends = opens + WEEK
    offer_class = "__import__('edge_sdk.transport.download', fromlist=['Offer']).Offer"
    offer = f"{offer_class}(bytes(16), 'Soon', {opens}, {opens + 4 * WEEK}, 'open', {ends})"
    with Screen(number, "demo_app", "--store", folder, "--language", "en") as screen:
        screen.wait("campaigns:page")
        tap(screen, "add")
        screen.call(f"app.root.ids.screens.current_screen._offer('https://study.example', ({offer},))")
        screen.idle()
        first, last = texts.day(opens), texts.day(ends - 1)
        assert screen.read("offer:Soon", "below") == f"From {first} to {last}. Touch to read the terms."


def test_the_agreement_ends_at_an_early_closing(number, tmp_path):
    """The terms and the screen of consent name the last day before an early closing, and the answers until then. A
    campaign that closes before it opens is called cancelled, and no one can agree to it."""
    opens = now() - DAY
    data = one("Education", opens=opens, periods=4)
    with Device.open(tmp_path / "phone", [AUTHOR.public], BudgetPolicy(lifetime=24.0)) as device:
        campaign_id = device.join(data, "https://study.example").campaign_id
        device.close_early(seal_closing(open_campaign(data, [AUTHOR.public]), opens + WEEK + DAY, AUTHOR))
        signed_end = device.terms(campaign_id).closes
        later = one("Work", opens=now() + WEEK)
        device.join(later, "https://study.example")
        device.close_early(seal_closing(open_campaign(later, [AUTHOR.public]), now() + WEEK - DAY, AUTHOR))
    last, never = (texts.day(end - 1) for end in (opens + WEEK + DAY, signed_end))
    with Screen(number, "demo_app", "--store", tmp_path / "phone", "--language", "en") as screen:
        screen.wait("campaigns:page")
        tap(screen, "campaign:Education")
        assert "Up to 2 answers in all." in screen.texts()
        assert any(text.endswith(f" to {last}.") for text in screen.texts())
        tap(screen, "join")
        assert f"You may be asked up to 2 times until {last}. You need not answer." in screen.texts()
        assert not any(never in text for text in screen.texts())
        tap(screen, "back")
        tap(screen, "back")
        tap(screen, "campaign:Work")
        assert "Cancelled by the organisation; the survey asks nothing" in screen.texts()
        assert not any(text.startswith("Up to") for text in screen.texts())
        assert not screen.seen("join")


@pytest.mark.parametrize(
    ("status", "stage", "reason", "other"),
    [
        (400, "envelope", "refused these messages", "refused the code"),
        (403, "code", "refused the code", "refused these messages"),
    ],
)
def test_the_outbox_gives_the_reason_of_a_refusal(number, tmp_path, status, stage, reason, other):
    """If the study refused the messages, the outbox says so; if it refused the code, the outbox says this alone. The
    messages cannot be sent again."""
    with Device.open(tmp_path / "phone", [AUTHOR.public], BudgetPolicy(lifetime=24.0)) as device:
        joined = device.join(one("Work", enrolment="enrolled"), "https://study.example").campaign_id
        device.present_code(joined, "x7Kq")
        device.consent(joined)
        device.outbox.send(opener=UploadNetwork(FakeResponse(status, f'{{"stage": "{stage}"}}'.encode())))
    with Screen(number, "demo_app", "--store", tmp_path / "phone", "--language", "en") as screen:
        screen.wait("campaigns:page")
        tap(screen, "place:outbox")
        shown = screen.read("refusal", "text")
        assert reason in shown
        assert other not in shown
        assert screen.read("send", "disabled")


def test_a_class_is_named_or_chosen_by_touch(number, folder, tmp_path):
    """A named class and one chosen by the phone exclude each other on the screen; the chosen one is shown."""
    options = ["--store", folder, "--language", "en", "--trust", tmp_path / "analyst.pub"]
    with Screen(number, "demo_app", *options) as screen:
        screen.wait("campaigns:page")
        tap(screen, "add")
        screen.fill("file", str(tmp_path / "classes.campaign"))
        tap(screen, "read")
        tap(screen, "join")
        assert screen.read("agree", "disabled")
        for touched, other in (("class:1", "fit:1"), ("fit:1", "class:1"), ("class:2", "fit:1"), ("fit:2", "class:2")):
            tap(screen, touched)
            assert (screen.read(touched, "chosen"), screen.read(other, "chosen")) == (True, False)
        tap(screen, "agree")
        screen.wait("notice")
        assert screen.read("notice", "text").removeprefix("You answer as: ").removesuffix(".") in NAMES
        assert screen.call("app.root.ids.screens.current") == "question"


def test_a_typed_declaration_is_shown_before_it_is_made(number, folder, tmp_path):
    """Shares that cannot be declared are refused; valid shares are shown again with the resulting posterior, and are
    declared."""
    (tmp_path / "declared.campaign").write_bytes(of_declared(opens=now() - DAY, closes=now() + 9 * DAY))
    options = ["--store", folder, "--language", "de", "--trust", tmp_path / "analyst.pub"]
    with Screen(number, "demo_app", *options, shots=SHOTS / "statement") as screen:
        screen.wait("campaigns:page")
        tap(screen, "add")
        screen.fill("file", str(tmp_path / "declared.campaign"))
        tap(screen, "read")
        assert "einer anderen Angabe" in screen.read("stated worst", "text")
        fits(screen)
        tap(screen, "join")
        assert "16,7" in screen.read("stated", "text")
        tap(screen, "state")
        fits(screen)
        for typed, taken in (("100", False), ("viel", False), ("0", False), ("70", True)):
            screen.fill("share:none", typed)
            screen.idle()
            assert screen.read("use", "disabled") != taken
        tap(screen, "strict:1")
        fits(screen)
        tap(screen, "use")
        fits(screen)
        screen.shot("stated")
        assert "höchstens 1,65-mal" in screen.read("stated level", "text")
        assert screen.read("stated", "text") == "none: 70\N{NO-BREAK SPACE}%"
        assert "67,1 bis 81,9\N{NO-BREAK SPACE}%" in screen.read("believed", "text")
        tap(screen, "agree")
        assert screen.call("app.root.ids.screens.current") == "question"
    with Device.open(folder) as device:
        declared = device.declaration(device.campaigns[-1])
        assert (declared.declared_before, declared.level, declared.values[0].before) == (True, 0.5, Fraction(7, 10))


def test_escape_leads_to_the_first_screen_and_then_ends_the_app(number, folder):
    """Escape, like a phone's back button, goes back screen by screen and keeps the choice. From a main screen it goes
    to the first screen, and there it ends the app."""
    with Screen(number, "demo_app", "--store", folder, "--language", "en") as screen:
        screen.wait("campaigns:page")
        tap(screen, "campaign:Shopping")
        tap(screen, "items:tea")
        tap(screen, "next")
        screen.key("escape")
        screen.idle()
        assert screen.call("app.root.ids.screens.current") == "question"
        tap(screen, "next")
        assert screen.read("answer", "text") == "tea"
        for expected in ("question", "campaigns"):
            screen.key("escape")
            screen.idle()
            assert screen.call("app.root.ids.screens.current") == expected
        tap(screen, "place:budget")
        screen.key("escape")
        screen.idle()
        assert screen.call("app.root.ids.screens.current") == "campaigns"
        with pytest.raises(ScreenError, match="the program stopped responding"):
            screen.key("escape")
        assert screen.process.wait(PATIENCE) == 0


def test_garbage_is_collected_while_the_person_reads(number, folder):
    """While pages are opened, Python's full garbage collection never runs; it runs once nothing was touched for a
    while."""
    searches = "__import__('gc').get_stats()[2]['collections']"
    with Screen(number, "demo_app", "--store", folder, "--language", "en") as screen:
        screen.wait("campaigns:page")
        settled(screen)
        screen.call("setattr(app._collector._due, 'timeout', 3600)")
        before = screen.call(searches)
        for name in ("history", "outbox", "budget", "settings", "campaigns") * 3:
            tap(screen, f"place:{name}")
        assert screen.call(searches) == before
        screen.call("setattr(app._collector._due, 'timeout', 0.1)")
        tap(screen, "place:budget")
        until = time.monotonic() + 60
        while screen.call(searches) == before:
            assert time.monotonic() < until
            time.sleep(0.05)


def test_visited_screens_leave_no_widgets(number, folder):
    """After a second visit to each screen and a second answered dialog, the number of live widgets is the same as after
    the first."""
    widgets = (
        "(__import__('gc').collect(), sum(issubclass(type(one), __import__('kivy.uix.widget').uix.widget.Widget)"
        " for one in __import__('gc').get_objects()))[1]"
    )
    dialogs = "__import__('demo_app.widgets.dialogs').widgets.dialogs"
    with Device.open(folder, [AUTHOR.public]) as device:
        ids = {device.terms(campaign_id).title: campaign_id for campaign_id in device.campaigns}
        form = device.join(form_campaign(opens=now() - DAY, periods=2)).campaign_id
        device.consent(form)
    education = ids["Education"]
    ways = [f"app.visit('{name}')" for name in ("history", "outbox", "budget", "settings", "campaigns")]
    ways += [f"app.go('{name}')" for name in ("add", "authors", "device")]
    ways += [f"app.go('{name}', {education})" for name in ("terms", "exposure")]
    ways += [f"app.go('question', {ids[title]})" for title in ("Where", "Hours", "Shopping", "Occupation")]
    ways += [
        f"app.do(lambda model: model.terms({ids['Not yet']}), lambda terms: app.go('consent', terms))",
        f"app.do(lambda model: model.review({education}, 'bachelor'), lambda review: app.go('review', review))",
        f"app.go('selection', {form})",
        f"app.do(lambda model: model.question({form}), lambda content: app.go('question', {form}, content))",
    ]
    with Screen(number, "demo_app", "--store", folder, "--language", "en") as screen:
        screen.wait("campaigns:page")
        settled(screen)
        living = []
        for _ in range(2):
            for way in ways:
                screen.call(way)
                screen.idle()
            screen.call(f"{dialogs}.ask('Sure?', 'It is for good.', 'Yes', lambda: None)")
            screen.key("escape")
            screen.gone("agree")
            living.append(screen.call(widgets))
        # Objects that an animation still refers to are freed at its end.
        until = time.monotonic() + 60
        while living[0] != living[-1] and time.monotonic() < until:
            living.append(screen.call(widgets))
        assert living[0] == living[-1]


def test_unsent_envelopes_wait_and_the_screen_shows_the_next_attempt(number, folder):
    """An address without https is refused. Envelopes that could not be sent stay, and the screen shows the next
    attempt."""
    with socket.socket() as taken, Screen(number, "demo_app", "--store", folder, "--language", "en") as screen:
        # No server listens there.
        taken.bind(("127.0.0.1", 0))
        screen.wait("campaigns:page")
        tap(screen, "place:outbox")
        screen.fill("address:Education", "http://study.example")
        tap(screen, "keep:Education")
        screen.wait("notice")
        assert "https" in screen.read("notice", "text")
        tap(screen, "dismiss")
        for title in ASKED:
            screen.fill(f"address:{title}", f"http://127.0.0.1:{taken.getsockname()[1]}")
            tap(screen, f"keep:{title}")
        tap(screen, "send")
        screen.wait("outcome")
        assert screen.read("outcome", "text") == (
            "The organisation's server has not confirmed yet that 6 messages have arrived. "
            "The messages are kept on this device."
        )
        assert "or later" in screen.read("again", "text")
        tap(screen, "done")
        assert screen.read("waiting", "title") == "6 messages wait in the outbox"


def test_caps_are_lowered_by_touch(number, folder):
    """A cap is typed, confirmed, and holds. A word is refused with a message; a cap above one that was set changes
    nothing, and the field says so. The first lifetime cap may be above the default."""
    with Screen(number, "demo_app", "--store", folder, "--language", "en") as screen:
        screen.wait("campaigns:page")
        tap(screen, "place:budget")
        screen.fill("lifetime", "much")
        tap(screen, "lower")
        assert screen.read("lifetime", "error")
        screen.fill("lifetime", "23,5")
        tap(screen, "lower")
        tap(screen, "agree")
        assert screen.read("lifetime", "label") == "For all surveys together; now 23.5"
        for caps in ({"campaign": "3", "window": "2", "days": "7"}, {"lifetime": "24", "campaign": "4"}):
            tap(screen, "dismiss")
            for name, cap in caps.items():
                screen.fill(name, cap)
            tap(screen, "lower")
            tap(screen, "agree")
        kept = "This limit stays {}: a limit that you have set cannot be raised."
        assert screen.read("lifetime", "error") == kept.format("23.5")
        assert screen.read("campaign", "error") == kept.format("3")
        assert screen.read("window", "error") == ""
        assert screen.read("window", "label").endswith("; now 2 within any 7 days")
        for window, error in (("5", ""), ("6", kept.format("5"))):
            if error:
                tap(screen, "dismiss")
            screen.fill("window", window)
            screen.fill("days", "30")
            tap(screen, "lower")
            tap(screen, "agree")
            assert screen.read("window", "error") == error
        assert screen.read("window", "label").endswith("; now 2 within any 7 days; 5 within any 30 days")


def test_the_gauge_bounds_what_was_spent_before_a_cap_was_lowered(number, folder):
    """The factor for the whole budget covers the amount spent, also if a cap below this amount was set later."""
    with Device.open(folder, [AUTHOR.public], BudgetPolicy(lifetime=0.5)) as device:
        assert device.budget.spent > 0.5
        texts.use_language("en")
        factor = texts.factor_text(device.budget.spent)
    with Screen(number, "demo_app", "--store", folder, "--language", "en") as screen:
        screen.wait("campaigns:page")
        tap(screen, "place:budget")
        assert f"at most {factor} times as likely" in screen.read("gauge", "most_text")


def test_language_and_palette_change_at_once_and_are_kept(number, folder):
    """German and the dark palette are applied as soon as they are touched, and also at the next start."""
    with Screen(number, "demo_app", "--store", folder, "--language", "en") as screen:
        screen.wait("campaigns:page")
        tap(screen, "place:settings")
        tap(screen, "language:1")
        tap(screen, "palette:2")
        assert "Verlauf" in screen.texts()
        assert screen.call("__import__('demo_app.widgets.palette').widgets.palette.palette.dark")
        assert screen.close() == 0
    with Screen(number, "demo_app", "--store", folder) as screen:
        screen.wait("campaigns:page")
        assert "Verlauf" in screen.texts()
        assert screen.call("__import__('demo_app.widgets.palette').widgets.palette.palette.dark")


def test_settings_that_cannot_be_saved_are_reported(number, folder):
    """If the settings cannot be written, the choice still applies, and the app shows the reason."""
    (folder / f"{FILE}.new").mkdir()
    with Screen(number, "demo_app", "--store", folder, "--language", "en") as screen:
        screen.wait("campaigns:page")
        tap(screen, "place:settings")
        tap(screen, "language:1")
        assert "Verlauf" in screen.texts()
        assert any("the settings were not saved: Is a directory" in text for text in screen.texts())


def test_a_locked_app_shows_nothing_until_the_phone_is_unlocked(number, folder):
    """With the phone's lock, after a minute in the background no survey is visible, also not in a notice, and no screen
    reachable. If unlocking fails, this stays so; after unlocking, the app shows the same screen as before. The
    reminder of an answered survey names no survey."""
    app = "__import__('kivy.app').app.App.get_running_app()"
    lock = "__import__('demo_app.app').app"
    with Screen(number, "demo_app", "--store", folder, "--language", "en") as screen:
        screen.wait("campaigns:page")
        settled(screen)
        screen.call(f"setattr({lock}, 'has_lock', lambda: True)")
        screen.call(f"setattr({lock}, 'unlock', lambda why, done: done(False))")
        screen.call(f"setattr({app}, 'settings', type({app}.settings)('en', 'light', 'screen'))")
        screen.call(f"{app}.on_pause() and {app}.on_resume()")
        # The phone was unlocked a moment ago.
        assert not screen.seen("unlock")
        tap(screen, "campaign:Education")
        tap(screen, "remind")
        for _ in range(2):
            screen.call("__import__('demo_app.widgets.dialogs').widgets.dialogs.show_notice('Education')")
        screen.call(f"setattr({app}, '_paused_at', -1000.0)")
        screen.call(f"{app}.on_resume()")
        screen.wait("unlock")
        screen.idle()
        fits(screen)
        screen.shot("locked")
        assert not any("Education" in text or "calendar" in text for text in screen.texts())
        tap(screen, "unlock")
        tap(screen, "place:history")
        assert screen.seen("unlock")
        screen.call(f"setattr({lock}, 'unlock', lambda why, done: done(True))")
        tap(screen, "unlock")
        screen.wait("terms:page")
        tap(screen, "remind")
        tap(screen, "agree")
        screen.idle()
        [file] = Path(screen.call("str(__import__('pathlib').Path.home())")).glob("*.ics")
        assert "Education" not in file.read_text(encoding="utf-8")
        file.unlink()


@pytest.mark.parametrize("language", ["en", pytest.param("de", marks=pytest.mark.long)])
def test_messages_and_an_enrolment_are_saved_as_files(number, tmp_path, language):
    """The consent screen says where the enrolment is saved, and the outbox saves it. Messages are saved only after a
    question which says that the app then does not send them."""
    place, saved = tmp_path / "phone", tmp_path / "saved.htr"
    with Device.open(place, [AUTHOR.public], BudgetPolicy(lifetime=24.0)) as device:
        open_id = device.join(one("Everybody"), "https://study.example").campaign_id
        device.consent(open_id)
        device.join(one("Members", enrolment="enrolled"))
    how = {"en": "does not send saved messages", "de": "sendet diese App nicht mehr"}[language]
    with Screen(number, "demo_app", "--store", place, "--language", language, size=PHONE, shots=SHOTS) as screen:
        screen.wait("campaigns:page")
        tap(screen, "campaign:Members")
        fits(screen)
        screen.shot(f"terms-enrolled-{language}")
        tap(screen, "join")
        assert screen.read("place:outbox", "text") in screen.read("enrolment", "text")
        fits(screen)
        screen.shot(f"consent-enrolled-{language}")
        tap(screen, "agree")
        tap(screen, "place:outbox")
        assert how in screen.read("by hand", "text")
        screen.shot(f"outbox-waiting-{language}")
        screen.fill("file", str(saved))
        tap(screen, "export:Everybody")
        assert any(how in text for text in screen.texts())
        screen.shot(f"outbox-ask-{language}")
        tap(screen, "refuse")
        assert not saved.exists()
        tap(screen, "export:Everybody")
        tap(screen, "agree")
        screen.wait("empty")
        assert saved.stat().st_size
        tap(screen, "dismiss")
        screen.fill("enrolment file", str(tmp_path / "device.enrolment"))
        fits(screen)
        screen.shot(f"outbox-enrolment-{language}")
        tap(screen, "enrolment:Members")
        assert (tmp_path / "device.enrolment").stat().st_size
        assert "demo_app" not in screen.log()


def test_a_damaged_store_is_replaced_only_after_confirmation(number, folder):
    """For a damaged store the app shows the problem below the names of the screens; trying again changes nothing;
    continuing requires a confirmation and begins with an empty store."""
    for path in folder.glob(f"{DATABASE_FILE}*"):
        path.write_bytes(b"not a database" * 1000)
    with Screen(number, "demo_app", "--store", folder, "--language", "en", shots=SHOTS) as screen:
        screen.wait("trouble:damaged")
        screen.idle()
        assert screen.small() == []
        # The names of the screens cannot be touched, but must be readable: they have the app's muted colour and not
        # Kivy's pale grey.
        muted = screen.call("__import__('demo_app.widgets.palette').widgets.palette.palette.muted")
        assert screen.read("History", "disabled")
        assert screen.read("History", "disabled_color") == muted
        screen.shot("trouble")
        tap(screen, "retry")
        # A thread opens the store again, and the screen is built again.
        while screen.read("loading", "active"):
            time.sleep(0.02)
        screen.idle()
        assert screen.seen("trouble:damaged")
        # As on a phone, a touch is lost while the screen is replaced.
        for _ in range(10):
            tap(screen, "adopt")
            if screen.seen("agree"):
                break
        tap(screen, "agree")
        screen.wait("campaigns:page")
        screen.idle()
        assert screen.seen("add")
        assert not screen.seen("campaign:Education")
