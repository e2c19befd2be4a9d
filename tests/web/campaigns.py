"""Campaigns with every kind of question, open now, for tests of the page."""

from __future__ import annotations

import time
from dataclasses import replace

from protocol import codec, envelope, exact, personal
from protocol.campaign import Campaign, open_campaign, seal_campaign
from protocol.channels import Blocks
from protocol.closing import seal_closing
from protocol.domain import Dates, Domain, Form, FormQuestion, Grid, Items, NumberRange, Values
from protocol.notions import Classes, DeclaredPrior, Ldp, TranscriptPrior
from protocol.texts import Texts
from protocol.views import Coarse, Districts, QuestionsMap, View, plain_views
from tests.edge_sdk.conftest import AUTHOR, LABELS, WEEK, response

NOW = int(time.time())
NOTION = 5
"""The place of a campaign's notion on the wire."""
NAT = exact.NANONATS
GERMAN = Texts(
    "de", "Höchster Abschluss", "Was ist Ihr höchster Bildungsabschluss?", "Abendkurse planen.", "Stadtbücherei",
    labels=("keiner", "Grundschule", "Sekundarschule", "Bachelor", "Master", "Doktorat"),
)  # fmt: skip


def campaign(**changes: object) -> bytes:
    """Return a signed campaign of randomised response that opened recently, by default with one period of ten weeks."""
    domain = changes.setdefault("domain", Values(LABELS))
    assert isinstance(domain, Domain)
    fields = {
        "title": "Highest education", "question": "What is the highest level of education you have completed?",
        "purpose": "Plan evening classes.", "organisation": "Town library", "notion": Ldp(NAT), "mechanism": "k-rr",
        "opens": NOW - 1000, "closes": NOW - 1000 + 10 * WEEK, "period_seconds": 10 * WEEK, "answers_per_period": 1,
        "minimum_devices": 1, "enrolment": "open", "language": "en", "contact": "privacy@library.example",
        "retention": "Reports are deleted after one year.", "notice": "https://library.example/privacy",
    }  # fmt: skip
    if "views" not in changes:
        changes.setdefault("views", plain_views(response(domain.size, NAT)))
    return seal_campaign(Campaign(**{**fields, **changes}), AUTHOR)  # type: ignore[arg-type]  # fields of many types


def forged_promise() -> bytes:
    """Return a signed campaign whose channel exceeds the level that the campaign promises."""
    fields = codec.decode(envelope.decode(EDUCATION).unverified, limit=2**16)
    assert isinstance(fields, list)
    fields[NOTION] = Ldp(NAT // 2).encode()
    return envelope.seal(envelope.Kind.CAMPAIGN, AUTHOR, codec.encode(fields))


EDUCATION = campaign(translations=(GERMAN,))
IN_GROUPS = campaign(
    translations=(replace(GERMAN, labels=(*GERMAN.labels, "Schule", "Hochschule")),),
    views=(
        View(1, Coarse(2), response(3, NAT)),
        View(1, Districts(((0, 3), (1, 3)), ("school", "college")), response(2, NAT)),
    ),
)  # fmt: skip
TOWNS = campaign(
    title="Towns", question="Where did you grow up?", domain=Values(tuple(f"Town number {i}" for i in range(400)))
)
YESNO = campaign(title="Vote", question="Did you vote in the last election?", domain=Values(("yes", "no")))
AGE = campaign(title="Age", question="How old are you?", domain=NumberRange.of(20, 90, 5, clamps=True, unit="years"))
ROUNDED = campaign(
    title="Rounded age", question="How old are you?",
    domain=NumberRange.of(20, 90, 10, clamps=True, rounds_randomly=True, unit="years"),
)  # fmt: skip
DAY = campaign(
    title="Diagnosis", question="When were you diagnosed?", domain=Dates.of("2026-01-01", "2026-12-31", 7, clamps=True)
)
MAP = Grid(51_000_000, 53_000_000, 20_000_000, 22_000_000, 100_000)
HOME = campaign(title="Home", question="Where do you live?", domain=MAP)
SQUARES, DECADES, MONTHS = (
    campaign(title=title, question=question, domain=domain, views=(View(1, Coarse(factor), response(size, NAT)),))
    for title, question, domain, factor, size in (
        ("Squares", "Where do you live?", MAP, 5, 16),
        ("Decades", "How old are you?", NumberRange.of(20, 90, "2.5", clamps=True, unit="years"), 4, 8),
        ("Months", "When were you diagnosed?", Dates.of("2026-01-01", "2026-12-31", 7, clamps=True), 4, 14),
    )
)
APPS = campaign(
    title="Apps", question="Which of these do you use?", domain=Items(2, ("mail", "maps", "music", "games", "chess"))
)
FORM = Form((
    FormQuestion("vote", "Did you vote?", Values(("no", "yes"))),
    FormQuestion("age", "How old are you?", NumberRange.of(17, 30, unit="years"), skippable=True),
))  # fmt: skip
BOTH = campaign(
    title="Both", question="Both", language="", domain=FORM, views=(View(1, QuestionsMap((0, 1)), response(30, NAT)),)
)
FORM_IN_GERMAN = Texts(
    "de", "Ein Formular", "Haben Sie gewählt?\nWie alt sind Sie?\nWaren Sie zu spät?",
    labels=("nein", "ja", "Jahre", "nein", "ja"),
)  # fmt: skip
FEW = campaign(
    title="A form", question="A form", translations=(FORM_IN_GERMAN,),
    domain=Form((*FORM.questions, FormQuestion("late", "Were you late?", Values(("no", "yes"))))),
    views=(
        View(1, QuestionsMap((0, 1)), response(30, NAT)),
        View(1, QuestionsMap((0, 2)), response(4, NAT)),
        View(1, QuestionsMap((1, 2)), response(30, NAT)),
    ),
)  # fmt: skip
FORM_CLASSES = campaign(
    title="A form by class", question="A form", language="",
    domain=Form((*FORM.questions, FormQuestion("late", "Were you late?", Values(("no", "yes"))))),
    notion=Classes.of((Ldp(NAT), Ldp(2 * NAT))), classes=("careful", "open"),
    views=tuple(
        View(1, QuestionsMap(asked), Blocks(0, ((1, k), (2, k)), (response(k, NAT), response(k, 2 * NAT))))
        for asked, k in (((0, 1), 30), ((0, 2), 4), ((1, 2), 30))
    ),
)  # fmt: skip
CLASSES = campaign(
    title="By class", notion=Classes.of((Ldp(NAT), Ldp(2 * NAT))), classes=("careful", "open"),
    views=plain_views(Blocks(
        0, ((1, 6), (2, 6)), (personal.choice_channel(6, NAT), personal.choice_channel(6, 2 * NAT)),
    )),
)  # fmt: skip
OWN = campaign(
    title="Own prior",
    notion=DeclaredPrior(NAT, 6),
    views=plain_views(DeclaredPrior(NAT, 6).channel_of(DeclaredPrior(NAT, 6).uniform)),
)
MOOD = TranscriptPrior(NAT, (1,) * 6)
TRANSCRIPT = campaign(
    title="Mood", notion=MOOD, mechanism="lip-response", views=plain_views(MOOD.channel_of(MOOD.prior)),
    period_seconds=WEEK, closes=NOW - 1000 + 5 * WEEK,
)  # fmt: skip
WEEKLY = campaign(title="Weekly", period_seconds=WEEK, closes=NOW - 1000 + 5 * WEEK)
ENROLLED = campaign(title="Enrolled", enrolment="enrolled")
UPCOMING = campaign(title="Upcoming", opens=NOW + WEEK, closes=NOW + 3 * WEEK)
OVER = campaign(title="Over", opens=NOW - 2 * WEEK, closes=NOW - WEEK)
DEAR = campaign(title="Dear", notion=Ldp(9 * NAT), views=plain_views(response(6, 9 * NAT)))
FALSE_PROMISE = forged_promise()
EARLY = seal_closing(open_campaign(EDUCATION, [AUTHOR.public]), NOW - 10, AUTHOR)
