"""The page of a survey in a real browser: from the link to the sent report, in every state that a person may meet."""

from __future__ import annotations

import base64
import datetime
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from protocol.campaign import open_campaign
from protocol.closing import seal_closing
from protocol.envelope import Kind, read_batch
from tests.altered import flipped
from tests.edge_sdk.conftest import AUTHOR
from tests.web import campaigns
from tests.web.chromium import CHROMIUM, Chromium
from tests.web.pages import Visitor, document

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")

PRINT = base64.urlsafe_b64encode(hashlib.sha256(AUTHOR.public).digest()[:16]).decode().rstrip("=")
PHONE = {"width": 390, "height": 844}
DAY = 86_400


@pytest.fixture
def visitor(browser: Chromium) -> Iterator[Visitor]:
    """A person in a new private window; after the test, the page must have reported no error and sent no request to
    another host."""
    browser.study.received.clear()
    browser.study.faults = []
    with browser.private() as within:
        page = within.new_page()
        page.set_viewport_size(PHONE)
        someone = Visitor(browser, page)
        yield someone
        assert someone.faults == []
        assert someone.foreign == []


FULL = """() => {
  window.put = IDBObjectStore.prototype.put;
  IDBObjectStore.prototype.put = () => { throw new DOMException('', 'QuotaExceededError') };
}"""
"""The storage of the browser is full."""


def answering(visitor: Visitor, data: bytes = campaigns.EDUCATION, fragment: str = "") -> None:
    """Go through the page as far as the preview."""
    visitor.open(document(data), fragment)
    visitor.touch("I agree")
    visitor.page.wait_for_selector(".stay")
    visitor.touch("bachelor")
    visitor.touch("Review before sending")
    visitor.heading("Review before sending")


def test_a_report_is_sent_with_four_touches(visitor: Visitor) -> None:
    """A person gets from the link to the sent report with four touches: agree, choose, review, send. Before the first
    touch the page shows organisation, purpose, promise, cost and its limits; after the last one it shows the spent
    amount and the date of the next question."""
    visitor.open(document(campaigns.WEEKLY), f"#k={PRINT}")
    for words in (
        "Town library asks", "Purpose: Plan evening classes.", "at most 2.8 times as likely", "new answer: at most 1",
        "privacy@library.example", "deleted after one year", "127.0.0.1", "Clearing site data deletes this count",
        "100 people with this answer, on average at most 36 send", "at least 12 also send", "36%",
    ):  # fmt: skip
        assert words in visitor.text
    visitor.touch("I agree")
    visitor.heading("What is the highest level")
    visitor.touch("bachelor")
    visitor.touch("Review before sending")
    visitor.heading("Review before sending")
    assert visitor.browser.study.received == []
    visitor.touch("Send it now")
    visitor.heading("Your report has arrived.")
    assert visitor.touches == 4
    assert len(visitor.browser.study.received) == 1
    assert "Units of your privacy budget spent so far: 1" in visitor.text
    assert "asks again on" in visitor.text


@pytest.mark.parametrize(
    ("data", "words", "others"),
    [
        (campaigns.EDUCATION, "costs nothing", "same answer as before"),
        (campaigns.TRANSCRIPT, "same answer as before", "costs nothing"),
    ],
    ids=["memo", "transcript"],
)
def test_the_terms_say_whether_the_same_answer_costs_again(
    visitor: Visitor, data: bytes, words: str, others: str
) -> None:
    """With transcripts every report is charged, so the terms do not say that the same answer costs nothing."""
    visitor.open(document(data))
    visitor.heading("Town library asks")
    assert words in visitor.text
    assert others not in visitor.text


def test_the_terms_state_the_shares_that_the_promise_assumes(visitor: Visitor) -> None:
    """The terms state the shares of the answers for which the promise holds, and no shares if it holds for all."""
    visitor.open(document(campaigns.TRANSCRIPT))
    visitor.heading("Town library asks")
    assert "The survey assumes these shares of the answers: none 16.7%, primary 16.7%, " in visitor.text
    visitor.open(document(campaigns.EDUCATION))
    visitor.heading("Town library asks")
    assert "The survey assumes" not in visitor.text


def test_an_enrolment_is_saved_from_the_place_that_the_terms_name(visitor: Visitor) -> None:
    """In a campaign for enrolled devices the terms name the page that saves the enrolment, and there it is saved."""
    visitor.open(document(campaigns.ENROLLED))
    visitor.heading("Town library asks")
    assert "save this device's enrolment as a file, under “History and budget”," in visitor.text
    visitor.touch("I agree")
    visitor.touch("History and budget")
    visitor.page.get_by_role("heading", name="Privacy budget").wait_for()
    assert "Give the file to Town library, which accepts reports only from enrolled devices." in visitor.text
    with visitor.page.expect_download() as saving:
        visitor.page.get_by_role("link", name="Save this device's enrolment as a file").click()
    [envelope] = read_batch(Path(saving.value.path()).read_bytes())
    assert envelope.kind is Kind.ENROLMENT


def test_the_bytes_that_are_shown_are_the_bytes_that_leave(visitor: Visitor) -> None:
    """On request the report is made, and every byte is shown before it is sent, including the enrolment of the
    device."""
    answering(visitor)
    visitor.touch("Make the report and show me every byte")
    visitor.page.get_by_role("heading", name="bytes that are sent").wait_for()
    assert visitor.browser.study.received == []
    shown = bytes.fromhex("".join(visitor.page.locator("p.code").all_inner_texts()))
    assert "budget that were spent:\N{NO-BREAK SPACE}1" in visitor.text
    visitor.touch("Send it now")
    visitor.heading("Your report has arrived.")
    assert visitor.browser.study.received == [shown]


@pytest.mark.parametrize(
    ("form", "touches"),
    [pytest.param(campaigns.FEW, 6, marks=pytest.mark.long), (campaigns.FORM_CLASSES, 7)],
    ids=["form", "classes"],
)
def test_a_form_is_answered_page_by_page(visitor: Visitor, form: bytes, touches: int) -> None:
    """The page shows this device's questions after the consent is stored, one question a page.

    Two questions take six touches in all, and the choice of a class takes one more.
    The short test uses the form with classes, which includes the other form.
    """
    visitor.open(document(form))
    assert "Then you see the one or two questions that this device is asked." in visitor.text
    assert "questions are for you" not in visitor.text
    if form == campaigns.FORM_CLASSES:
        visitor.touch("open (units of your privacy budget: at most 2)")
    visitor.touch("I agree")
    visitor.page.get_by_text("2 of the 3 questions are for you").wait_for()
    assert "no answer changes the selection" in visitor.text
    for _ in range(2):
        field = visitor.page.locator("input[inputmode=decimal]")
        if field.count():
            visitor.touches += 1
            field.fill("20")
        else:
            visitor.touch("yes")
        onwards(visitor.page)
        visitor.touches += 1
    visitor.heading("Review before sending")
    visitor.touch("Send it now")
    visitor.heading("Your report has arrived.")
    assert visitor.touches == touches
    visitor.touch("History and budget")
    visitor.heading("A form")
    assert any(words in visitor.text for words in ("Did you vote? yes", "Were you late? yes"))


def typed(selector: str, text: str) -> Callable[[Visitor], None]:
    return lambda visitor: visitor.page.locator(selector).fill(text)


def key(*names: str) -> Callable[[Visitor], None]:
    def press(visitor: Visitor) -> None:
        for name in names:
            visitor.page.locator("svg.map").press(name)

    return press


def search(visitor: Visitor) -> None:
    visitor.page.get_by_role("searchbox").fill("number 399")
    assert visitor.page.get_by_role("radio").count() == 1
    visitor.page.get_by_role("radio").press("Space")


def position(visitor: Visitor) -> None:
    visitor.page.locator("input[type=text]").fill("52.23, 21.01")
    visitor.page.locator("input[type=text]").press("Enter")


FORMS: dict[str, tuple[bytes, Callable[[Visitor], None], str]] = {
    "search": (campaigns.TOWNS, search, "Town number 399"),
    "number": (campaigns.AGE, typed("input[inputmode=decimal]", "37"), "35 years"),
    "slider": (campaigns.AGE, lambda visitor: visitor.page.get_by_role("slider").press("End"), "90 years"),
    "day": (campaigns.DAY, typed("input[type=date]", "2026-05-05"), "30 April 2026"),
    "keys": (campaigns.HOME, key("ArrowUp", "ArrowUp", "ArrowLeft"), "52.15° north, 20.95° east"),
    "position": (campaigns.HOME, position, "52.25° north, 21.05° east"),
    "touch": (campaigns.HOME, lambda visitor: visitor.page.locator("svg.map").click(), "52.05° north, 21.05° east"),
    "set": (campaigns.APPS, lambda visitor: visitor.touch("mail"), ""),
    "class": (campaigns.CLASSES, lambda visitor: visitor.touch("master"), "master"),
    "own": (campaigns.OWN, lambda visitor: visitor.touch("master"), "master"),
}


QUICK = ("search", "keys", "forged", "wrong link", "early")


def quick(names: Iterable[str]) -> list[Any]:
    """Return the parameters of a test; all except the quick ones are marked as long."""
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in names]


@pytest.mark.parametrize("form", quick(FORMS))
def test_each_kind_of_question_is_answered(visitor: Visitor, form: str) -> None:
    """Each kind of question is answered by a search, a field, a slider, the keyboard or a touch; the history shows the
    counted value.

    The short test has the two kinds that need most of the page's own code; ``test_a_form_is_answered_page_by_page``
    covers a field and buttons.
    """
    data, answer, counted = FORMS[form]
    visitor.open(document(data))
    if form == "class":
        visitor.touch("open (units of your privacy budget: at most 2)")
    visitor.touch("I agree")
    visitor.page.wait_for_selector(".stay")
    answer(visitor)
    visitor.touch("Review before sending")
    visitor.heading("Review before sending")
    visitor.touch("Send it now")
    visitor.heading("Your report has arrived.")
    visitor.touch("History and budget")
    visitor.page.get_by_text("Privacy ledger").wait_for()
    assert f"{counted} (1\N{MULTIPLICATION SIGN})".lstrip() in visitor.text


def both(visitor: Visitor) -> None:
    visitor.touch("yes")
    visitor.touch("Next question")
    typed("input[inputmode=decimal]", "25.4")(visitor)


NUMBER, DATE = r"Your number counts as (.*)\.", r"Your day counts as (.*)\."
ITEM = r"The report and its risk depend only on this answer: (.*)\."
INPUTS: dict[str, tuple[bytes, Callable[[Visitor], Any], str, str]] = {
    "rounded at random": (campaigns.ROUNDED, typed("input[inputmode=decimal]", "64.5"), NUMBER, "[67]0 years"),
    "day": (campaigns.DAY, typed("input[type=date]", "2026-05-05"), DATE, "30 April 2026"),
    "set": (campaigns.APPS, lambda visitor: [*map(visitor.touch, ("mail", "chess"))], ITEM, "mail|chess"),
    "empty set": (campaigns.APPS, lambda _: None, ITEM, r"None \(this device picked none of your chosen answers\)"),
    "form": (campaigns.BOTH, both, NUMBER, "25 years"),
}


@pytest.mark.parametrize("kind", INPUTS)
def test_the_review_names_the_input_that_its_figures_are_about(visitor: Visitor, kind: str) -> None:
    """If a report is about one item of a set, or about a rounded number or day, the screen before sending names this
    item, number or day, and the history has it too."""
    data, answer, words, inputs = INPUTS[kind]
    visitor.open(document(data))
    visitor.touch("I agree")
    visitor.page.wait_for_selector(".stay")
    answer(visitor)
    visitor.touch("Review before sending")
    visitor.heading("Review before sending")
    found = re.search(words, visitor.text)
    assert found, visitor.text
    assert re.fullmatch(inputs, found[1])
    visitor.touch("Send it now")
    visitor.heading("Your report has arrived.")
    visitor.touch("History and budget")
    visitor.page.get_by_text("Privacy ledger").wait_for()
    assert f"{found[1]} (1\N{MULTIPLICATION SIGN})" in visitor.text


@pytest.mark.parametrize("number", ["35.0", "035"])
def test_an_input_that_is_typed_otherwise_is_not_named(visitor: Visitor, number: str) -> None:
    """A typed number that is an input, in other digits than its label, does not count as another number."""
    visitor.open(document(campaigns.AGE))
    visitor.touch("I agree")
    visitor.page.wait_for_selector(".stay")
    typed("input[inputmode=decimal]", number)(visitor)
    visitor.touch("Review before sending")
    visitor.heading("Review before sending")
    assert f"{number} years" in visitor.text
    assert "counts as" not in visitor.text


NO_ED25519 = """const own = SubtleCrypto.prototype.importKey;
SubtleCrypto.prototype.importKey = function (form, key, name, ...rest) {
  if (name === "Ed25519") return Promise.reject(new DOMException("", "NotSupportedError"));
  return own.call(this, form, key, name, ...rest);
};"""
STATES: dict[str, tuple[bytes, dict[str, Any], str]] = {
    "forged": (flipped(campaigns.EDUCATION), {}, "The signature is not valid."),
    "false promise": (campaigns.FALSE_PROMISE, {}, "This survey's promise is not confirmed."),
    "no campaign": (b"nothing", {}, "This survey cannot be used."),
    "wrong link": (campaigns.EDUCATION, {"fragment": f"#k={22 * 'A'}"}, "This is not the survey that your link names."),
    "mistyped code": (campaigns.ENROLLED, {"fragment": "#c=a%20b"}, "The code in your link is not valid."),
    "over": (campaigns.OVER, {}, "This survey is not open at this time."),
    "early": (campaigns.EDUCATION, {"closing": campaigns.EARLY}, "Highest education"),
    "too dear": (campaigns.DEAR, {}, "Your budget is too small for this survey."),
    "no signatures": (campaigns.EDUCATION, {"script": NO_ED25519}, "This browser cannot take part."),
    "no locks": (campaigns.EDUCATION, {"script": "delete Navigator.prototype.locks"}, "This browser cannot take part."),
    "no storage": (campaigns.EDUCATION, {"script": "indexedDB.open = () => { throw Error() }"}, "Storing or reading"),
}  # fmt: skip


@pytest.mark.parametrize("state", quick(STATES))
def test_each_refusal_shows_its_reason(visitor: Visitor, state: str) -> None:
    """In each state in which no answer is possible, the page shows the reason and no button to agree, and nothing is
    sent."""
    data, given, heading = STATES[state]
    if "script" in given:
        visitor.page.add_init_script(given["script"])
    visitor.open(document(data, closing=given.get("closing", b"")), given.get("fragment", ""))
    visitor.heading(heading)
    assert not visitor.page.get_by_role("button", name="I agree").count()
    if state == "early":
        assert "Closed early by the organisation" in visitor.text
    assert visitor.browser.study.received == []


def test_full_storage_is_not_charged(visitor: Visitor) -> None:
    """If the browser gives no space, the answer is not accepted and nothing is sent; once there is space the page asks
    again. test_browser tests a real quota."""
    answering(visitor)
    visitor.page.evaluate(FULL)
    visitor.touch("Send it now")
    visitor.heading("Storing or reading data failed.")
    assert "Nothing was spent and nothing was sent." in visitor.text
    visitor.page.evaluate("() => { IDBObjectStore.prototype.put = window.put }")
    visitor.touch("Try again")
    visitor.heading("What is the highest level")
    assert visitor.browser.study.received == []


def test_the_page_does_not_deny_a_charge_after_a_failure(visitor: Visitor) -> None:
    """A report is charged once it is made; if the browser fails after that, the page does not say that nothing was
    spent."""
    answering(visitor)
    visitor.touch("Make the report and show me every byte")
    visitor.page.get_by_role("heading", name="bytes that are sent").wait_for()
    visitor.page.evaluate(FULL)
    visitor.touch("Send it now")
    visitor.heading("Storing or reading data failed.")
    assert "Nothing was spent" not in visitor.text
    visitor.page.evaluate("() => { IDBObjectStore.prototype.put = window.put }")
    visitor.touch("Try again")
    visitor.heading("Highest education")
    assert "not confirmed yet that 2 messages have arrived" in visitor.text


def test_the_page_does_not_deny_an_upload_after_a_failure(visitor: Visitor) -> None:
    """If the browser fails after an upload of earlier reports, the page does not say that nothing was sent."""
    visitor.browser.study.faults = ["500"]
    answering(visitor)
    visitor.touch("Send it now")
    visitor.heading("Your report waits on this device")
    visitor.page.add_init_script("const later = Date.now() + 1e8; Date.now = () => later")
    visitor.page.reload()
    visitor.heading("Highest education")
    visitor.page.evaluate(
        "() => { const own = window.fetch; window.fetch = async (...given) => { const response = await own(...given);"
        "IDBObjectStore.prototype.put = () => { throw new DOMException('', 'QuotaExceededError') };"
        "return response; } }"
    )
    visitor.touch("Send it now")
    visitor.heading("Storing or reading data failed.")
    assert len(visitor.browser.study.received) == 2
    assert "Nothing was spent" not in visitor.text
    assert visitor.faults.pop().startswith("Failed to load resource")


def test_the_page_says_what_another_tab_did(visitor: Visitor) -> None:
    """If the person has answered in another tab, or has forgotten the survey there, the page says so, with a button to
    try again."""
    answering(visitor)
    other = Visitor(visitor.browser, visitor.page.context.new_page()).open(document(campaigns.EDUCATION))
    for words in ("master", "Review before sending", "Send it now"):
        other.touch(words)
    other.heading("Your report has arrived.")
    visitor.touch("Send it now")
    visitor.heading("You have answered already.")
    assert "Nothing was spent" not in visitor.text
    visitor.touch("Try again")
    visitor.heading("Highest education")
    other.touch("History and budget")
    other.touch("Forget “Highest education”?")
    other.touch("Forget")
    other.heading("This survey was forgotten")
    visitor.touch("Terms")
    visitor.heading("This survey was forgotten")
    assert "Spent units stay spent." in visitor.text
    assert "Nothing was spent" not in visitor.text
    visitor.touch("Try again")
    visitor.heading("Town library asks")


def test_only_the_messages_that_are_left_are_called_waiting(visitor: Visitor) -> None:
    """If the server accepts a part of an upload, the page counts the other messages only."""
    visitor.browser.study.faults = ["partly"]
    answering(visitor)
    visitor.touch("Send it now")
    visitor.heading("Your report waits on this device")
    assert "not confirmed yet that 1 message has arrived" in visitor.text


def test_a_survey_that_has_not_opened_is_agreed_to_and_waits(visitor: Visitor) -> None:
    """A person can agree to a survey before it opens; then the page shows the date of the opening, and no button to
    answer. If the survey is closed before it opens, the page says so, and names neither days nor answers."""
    visitor.open(document(campaigns.UPCOMING))
    assert "Opens on" in visitor.text
    visitor.touch("I agree")
    visitor.heading("Upcoming")
    assert "Opens on" in visitor.text
    assert not visitor.page.get_by_role("button", name="Answer now").count()
    notice = seal_closing(open_campaign(campaigns.UPCOMING, [AUTHOR.public]), campaigns.NOW + DAY, AUTHOR)
    visitor.open(document(campaigns.UPCOMING, closing=notice), path="/s/closed")
    visitor.heading("Upcoming")
    assert "Cancelled by the organisation" in visitor.text
    visitor.touch("Terms")
    visitor.heading("Town library asks")
    assert "Cancelled by the organisation" in visitor.text
    assert "answers in all" not in visitor.text


def test_an_end_is_named_by_its_last_day(visitor: Visitor) -> None:
    """The terms name the last day on which the survey, and its period, takes an answer, as a poster does."""
    opens = campaigns.NOW - campaigns.NOW % DAY
    visitor.open(document(campaigns.campaign(opens=opens, closes=opens + 10 * DAY, period_seconds=5 * DAY)))
    period, survey = (datetime.datetime.fromtimestamp(opens + days * DAY - 1).astimezone() for days in (5, 10))
    assert f"until {period.day} {period:%B %Y}" in visitor.text
    assert f" to {survey.day} {survey:%B %Y}." in visitor.text


def test_the_terms_of_a_survey_that_closes_early_end_at_the_closing(visitor: Visitor) -> None:
    """Before the consent, the terms name the last day before an early closing, and count the answers until then."""
    opens = campaigns.NOW - campaigns.NOW % DAY
    data = campaigns.campaign(opens=opens, closes=opens + 20 * DAY, period_seconds=5 * DAY)
    notice = seal_closing(open_campaign(data, [AUTHOR.public]), opens + 8 * DAY, AUTHOR)
    visitor.open(document(data, closing=notice))
    visitor.heading("Town library asks")
    last = datetime.datetime.fromtimestamp(opens + 8 * DAY - 1).astimezone()
    assert f" to {last.day} {last:%B %Y}." in visitor.text
    assert "Up to 2 answers in all." in visitor.text


def test_without_a_network_the_report_waits_and_is_sent_by_itself(visitor: Visitor) -> None:
    """Offline the report waits and the page says so; once the network is back, the report is sent once, without a
    touch."""
    answering(visitor)
    visitor.page.context.set_offline(True)
    visitor.touch("Send it now")
    visitor.heading("Your report waits on this device")
    assert "There is no internet connection." in visitor.text
    assert "the page sends the messages by itself. If you come back later, choose “Send it now”." in visitor.text
    visitor.page.context.set_offline(False)
    visitor.heading("Your report has arrived.")
    assert len(visitor.browser.study.received) == 1


def test_reports_wait_while_the_server_fails(visitor: Visitor) -> None:
    """If the server fails, the same bytes wait, can be saved as a file, and are still there when the page is opened
    again.

    The page does not ask for a new answer. It shows the time of the next attempt, and then "Send it now", which sends
    them.
    """
    visitor.browser.study.faults = ["busy"]
    answering(visitor)
    visitor.touch("Send it now")
    visitor.heading("Your report waits on this device")
    assert "responded with status 503" in visitor.text
    assert not visitor.page.get_by_role("button", name="Try again").count()
    assert "Units of your privacy budget spent so far: 1" in visitor.text
    with visitor.page.expect_download() as saved:
        visitor.touch("Save the report as a file")
    path = saved.value.path()
    assert path.read_bytes() == visitor.browser.study.received[0]
    visitor.page.clock.install()
    visitor.page.reload()
    visitor.heading("Highest education")
    assert "not confirmed yet that 2 messages have arrived" in visitor.text
    assert visitor.faults.pop().startswith("Failed to load resource")
    assert "The next attempt is possible on" in visitor.text
    assert not visitor.page.get_by_role("button", name="Send it now").count()
    visitor.page.clock.fast_forward(7_300_000)
    visitor.touch("Send it now")
    visitor.heading("Your report has arrived.")


def test_a_refused_code_is_named(visitor: Visitor) -> None:
    """If the server refuses the messages of a device with a code, the page says that the code may be the reason."""
    visitor.browser.study.faults = ["refused"]
    answering(visitor, campaigns.ENROLLED, "#c=" + 22 * "a")
    visitor.touch("Send it now")
    visitor.heading("Your report waits on this device")
    assert "Perhaps the code in your link is the reason" in visitor.text
    assert "For somebody who helps you: 127.0.0.1" in visitor.text
    visitor.touch("History and budget")
    visitor.heading("Enrolled")
    assert "server refused" in visitor.text
    assert "not confirmed" not in visitor.text
    assert visitor.page.get_by_role("link", name="Save the report as a file").count()
    assert not visitor.page.get_by_role("button", name="Send it now").count()
    assert visitor.faults.pop().startswith("Failed to load resource")


def test_a_report_without_an_address_is_saved(visitor: Visitor) -> None:
    """If the survey names no address, the page says so and offers a file; it neither tries to send nor redraws the
    screen."""
    visitor.open(document(campaigns.EDUCATION, served=False))
    visitor.touch("I agree")
    visitor.page.wait_for_selector(".stay")
    visitor.touch("bachelor")
    visitor.touch("Review before sending")
    visitor.heading("Review before sending")
    visitor.touch("Send it now")
    visitor.heading("Your report waits on this device")
    assert "The survey names no address for reports." in visitor.text
    visitor.touch("The 240 bytes that are sent")
    visitor.page.wait_for_timeout(1500)
    assert visitor.page.locator("p.code").first.is_visible()
    assert not visitor.page.get_by_role("button", name="Try again").count()


def test_forgetting_keeps_the_cost(visitor: Visitor) -> None:
    """Forgetting deletes the answer and keeps its cost, and a person who opens the page again sees the terms."""
    answering(visitor, campaigns.WEEKLY)
    visitor.touch("Send it now")
    visitor.heading("Your report has arrived.")
    visitor.touch("History and budget")
    visitor.heading("Weekly")
    assert "Units reserved for surveys that you agreed to: 4" in visitor.text
    visitor.touch("Forget “Weekly”?")
    visitor.touch("Forget")
    visitor.heading("This survey was forgotten")
    visitor.touch("Terms")
    visitor.heading("Town library asks")
    assert "You have 7 left." in visitor.text


def test_a_language_is_the_readers(browser: Chromium) -> None:
    """In a German browser the page and the campaign's texts are German; switching the language stays on the same
    screen."""
    with browser.private(locale="de-AT") as within:
        visitor = Visitor(browser, within.new_page()).open(document(campaigns.EDUCATION))
        assert visitor.page.locator("html").get_attribute("lang") == "de"
        percent = "36\N{NO-BREAK SPACE}%"
        for words in ("Stadtbücherei fragt", "Abendkurse planen", "höchstens 2,8-mal", "Sekundarschule", percent):
            assert words in visitor.text
        visitor.touch("Ich stimme zu")
        visitor.heading("Was ist Ihr höchster Bildungsabschluss?")
        assert visitor.page.locator("h1").get_attribute("lang") == "de"
        visitor.touch("English")
        visitor.heading("What is the highest level")
        assert visitor.faults == []


def test_a_form_is_read_and_answered_in_the_readers_language(browser: Chromium) -> None:
    """In German the terms, the questions, the preview of the report and the history have the form's German labels
    and unit."""
    with browser.private(locale="de-AT", viewport=PHONE) as within:
        visitor = Visitor(browser, within.new_page()).open(document(campaigns.FEW))
        for words in ("Waren Sie zu spät?", "nein, ja", "30 Jahre"):
            assert words in visitor.text
        visitor.touch("Ich stimme zu")
        visitor.page.wait_for_selector(".stay")
        said = []
        for _ in range(2):
            if visitor.page.locator("input[inputmode=decimal]").count():
                assert "Jahre" in visitor.text
                said.append("25 Jahre")
                fill(visitor.page)
            else:
                said.append("ja")
                visitor.touch("ja")
            onwards(visitor.page)
        visitor.heading("Vor dem Senden prüfen")
        assert visitor.page.locator("p.asked").all_inner_texts() == said
        visitor.touch("Jetzt senden")
        visitor.heading("Ihr Bericht ist angekommen.")
        visitor.page.locator(".foot button").nth(1).click()
        visitor.heading("Ein Formular")
        assert all(f"? {one}" in visitor.text for one in said)
        assert visitor.faults == []


def test_a_group_of_values_is_named_in_the_readers_language(browser: Chromium) -> None:
    """If the device's view asks for a group of values or a district, the terms say so, and the screen before
    sending and the history show its translated name."""
    with browser.private(locale="de-AT") as within:
        visitor = Visitor(browser, within.new_page()).open(document(campaigns.IN_GROUPS))
        asked = "Frage an dieses Gerät\n\nDieses Gerät wird "
        # The device's key, which is random, decides between the two views.
        assert any(
            asked + words in visitor.text
            for words in ("nach der Gruppe von höchstens 2 ", "gefragt, in welcher von 2 ")
        )
        visitor.touch("Ich stimme zu")
        visitor.page.wait_for_selector(".stay")
        visitor.touch("keiner")
        onwards(visitor.page)
        visitor.heading("Vor dem Senden prüfen")
        said = "Auf diesem Gerät zählt Ihre Antwort als „{}“, und der Bericht handelt nur von dieser Gruppe."
        assert any(said.format(group) in visitor.text for group in ("keiner .. Grundschule", "Schule"))
        visitor.touch("Jetzt senden")
        visitor.heading("Ihr Bericht ist angekommen.")
        visitor.page.locator(".foot button").nth(1).click()
        visitor.heading("Höchster Abschluss")
        assert any(kept in visitor.text for kept in ("keiner .. Grundschule (", "Schule ("))


GROUPS: dict[str, tuple[bytes, Callable[[Visitor], None], str]] = {
    "squares": (campaigns.SQUARES, key("ArrowUp"), "52,05° Nord, 21,05° Ost .. 52,45° Nord, 21,45° Ost"),
    "numbers": (campaigns.DECADES, typed("input[inputmode=decimal]", "33"), "30 years .. 37,5 years"),
    "days": (campaigns.MONTHS, typed("input[type=date]", "2026-02-10"), "29. Januar 2026 .. 19. Februar 2026"),
}


@pytest.mark.parametrize("kind", GROUPS)
def test_the_ends_of_a_group_are_written_in_the_readers_language(browser: Chromium, kind: str) -> None:
    """If the device's view asks for a group of places, numbers or days, the screen before sending and the history show
    the ends of the group as other screens show answers."""
    data, answer, group = GROUPS[kind]
    with browser.private(locale="de", viewport=PHONE) as within:
        visitor = Visitor(browser, within.new_page()).open(document(data))
        visitor.touch("Ich stimme zu")
        visitor.page.wait_for_selector(".stay")
        answer(visitor)
        onwards(visitor.page)
        assert f"zählt Ihre Antwort als „{group}“" in visitor.text
        visitor.touch("Jetzt senden")
        visitor.heading("Ihr Bericht ist angekommen.")
        visitor.touch("Verlauf und Budget")
        visitor.page.get_by_text(f"{group} (1\N{MULTIPLICATION SIGN})").wait_for()
        assert visitor.faults == []


def test_a_report_can_be_sent_by_keyboard(visitor: Visitor) -> None:
    """Tab, space and Enter are sufficient from the terms to the sent report; each screen moves the focus to its
    heading."""
    visitor.open(document(campaigns.YESNO))
    keys = visitor.page.keyboard

    def press(words: str) -> None:
        for _ in range(40):
            keys.press("Tab")
            if visitor.page.evaluate("document.activeElement.textContent") == words:
                return keys.press("Enter")
        raise AssertionError(f"40 times Tab did not reach the button {words!r}")

    def heading(words: str) -> None:
        visitor.heading(words)
        assert visitor.page.evaluate("document.activeElement.tagName") == "H1", words

    press("I agree")
    heading("Did you vote")
    keys.press("Tab")
    keys.press("Space")
    press("Review before sending")
    heading("Review before sending")
    press("Send it now")
    heading("Your report has arrived.")


LOOKS: dict[str, dict[str, Any]] = {
    "small dark": {"viewport": {"width": 320, "height": 640}, "color_scheme": "dark"},
    "phone": {"viewport": PHONE},
    "wide": {"viewport": {"width": 1280, "height": 800}, "locale": "de-DE"},
}
SHORT = "small dark"
LOOKED = [pytest.param(name, marks=() if name == SHORT else pytest.mark.long) for name in LOOKS]
DOUBLED = "addEventListener('DOMContentLoaded', () => { document.documentElement.style.fontSize = '200%' })"


@pytest.mark.parametrize("look", LOOKED)
def test_the_page_is_accessible(browser: Chromium, look: str) -> None:
    """On the terms, the questions, the preview and the last screens, axe reports no problem and no element is wider
    than the window.

    The short test has two campaigns at 320 px, in dark colours and with text of twice the size.
    """
    for data in (campaigns.EDUCATION, campaigns.HOME) if look == SHORT else ALL:
        with browser.private(**LOOKS[look]) as within:
            page = within.new_page()
            if look == SHORT:
                page.add_init_script(DOUBLED)
            visitor = Visitor(browser, page).open(document(data))
            readable(page)
            choice = page.locator("input[type=radio]")
            if choice.count():
                choice.first.click()
            page.locator("main button").first.click()
            page.wait_for_selector(".stay")
            while page.locator(".stay").count() and not page.locator(".strong").count():
                readable(page)
                fill(page)
                onwards(page)
            readable(page)
            page.locator(".stay button").click()
            page.wait_for_selector(".good")
            readable(page)
            page.locator(".foot button").nth(1).click()
            page.wait_for_selector("details")
            readable(page)
            assert visitor.faults == []


ALL = (
    campaigns.EDUCATION, campaigns.TOWNS, campaigns.AGE, campaigns.DAY, campaigns.HOME, campaigns.APPS, campaigns.FEW,
    campaigns.CLASSES, campaigns.OWN, campaigns.ENROLLED,
)  # fmt: skip


def onwards(page: Page) -> None:
    """Go to the next screen, which has a different title."""
    before = page.title()
    page.locator(".stay button").click()
    page.wait_for_function("(before) => document.title !== before", arg=before)


def readable(page: Page) -> None:
    """Assert that no element is wider than the window, and that axe finds no problem."""
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    found = Axe().run(page).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []


def fill(page: Page) -> None:
    """Answer each question of the page."""
    if page.locator("svg.map").count():
        page.locator("svg.map").press("ArrowUp")
    elif page.locator("input[type=date]").count():
        page.locator("input[type=date]").fill("2026-05-05")
    elif page.locator("input[inputmode=decimal]").count():
        page.locator("input[inputmode=decimal]").fill("25")
    else:
        page.locator(".choice input").first.click()
