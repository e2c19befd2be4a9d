"""The invitation: a link that devices accept, a QR code that a camera reads, and a poster in every format."""

from __future__ import annotations

import datetime
import html
import io
import json
import re
import time
from dataclasses import replace

import numpy as np
import pypdfium2
import pytest
import resvg_py
import zxingcpp
from matplotlib.textpath import text_to_path
from PIL import Image

from aggregator.invite.content import LISTED, PosterContent
from aggregator.invite.invitation import NoInvitation, invite
from aggregator.invite.layout import COLUMN, EDGE, PAGE_HEIGHT, PAGE_WIDTH, TextsTooLong, page_of
from aggregator.invite.poster import draw_poster, undrawn
from aggregator.invite.qr import QUIET, as_text, modules_of, runs
from protocol import keys
from protocol.campaign import open_campaign, seal_campaign
from protocol.errors import CampaignError
from protocol.link import Link
from protocol.notions import Promise
from protocol.texts import MAX_TEXT, Texts
from tests.aggregator import fleet
from tests.aggregator.command import run
from tests.aggregator.fleet import AUTHOR
from tests.altered import flipped
from tests.edge_sdk.conftest import AUTHOR as AUTHOR_OF_FORM
from tests.edge_sdk.conftest import campaign
from tests.edge_sdk.test_forms import FORM, MAPS

DAY = 86_400
HERE = "https://study.example"


def signed_campaign(**changes):
    """A campaign that is open now, with all its texts in English and German."""
    now = int(time.time())
    german = Texts("de", "Abschlüsse", "Welchen Abschluss haben Sie?", "Kurse planen.", "Stadtbücherei")
    texts = {
        "title": "Highest education",
        "purpose": "Plan evening classes.",
        "organisation": "Town library",
        "addresses": (HERE, "https://other.example"),
        "contact": "survey@library.example",
        "retention": "until the classes begin",
        "notice": "https://library.example/legal",
        "language": "en",
        "translations": (german,),
    }
    campaign = replace(fleet.campaign(5).campaign, opens=now - DAY, closes=now + 13 * DAY, **texts | changes)
    return open_campaign(seal_campaign(campaign, AUTHOR), [AUTHOR.public])


SIGNED = signed_campaign()
NOW = int(time.time())
LINK = invite(SIGNED, NOW)


def read_codes(picture):
    """Return the texts of the QR codes in a picture."""
    return [found.text for found in zxingcpp.read_barcodes(picture)]


def test_a_link_leads_to_the_first_signed_address():
    """The link contains the first address of the study, the campaign and the author's key, and a device parses it."""
    assert Link.parse(str(LINK)) == Link(HERE, SIGNED.id, keys.fingerprint(AUTHOR.public)) == LINK
    assert invite(SIGNED, NOW, "https://other.example/").address == "https://other.example"


@pytest.mark.parametrize(
    ("changes", "address", "error", "why"),
    [
        ({"addresses": ()}, None, NoInvitation, "names no address"),
        ({"addresses": ()}, "http://study.example", CampaignError, "plain http"),
        ({"addresses": ()}, "study.example", CampaignError, "must begin with https"),
        ({}, "https://elsewhere.example", CampaignError, "elsewhere.example is not an address of the signed campaign"),
    ],
)
def test_no_link_leads_to_an_address_that_devices_refuse(changes, address, error, why):
    """A link to an address that devices refuse is an error."""
    with pytest.raises(error, match=why):
        invite(signed_campaign(**changes), NOW, address)


def test_no_link_is_made_after_the_end():
    """After the campaign's end, or an earlier closing by its author, a link is refused. A poster shows the earlier
    end."""
    for now, closes in ((SIGNED.campaign.closes, None), (NOW, NOW)):
        with pytest.raises(NoInvitation, match="is over: devices"):
            invite(SIGNED, now, closes=closes)
    tomorrow = NOW // DAY * DAY + 2 * DAY
    when = PosterContent.of(SIGNED, invite(SIGNED, NOW, closes=tomorrow), closes=tomorrow).when
    last = datetime.datetime.fromtimestamp(tomorrow - 1, datetime.UTC)
    assert when.endswith(f"to {last.day} {last:%B} {last.year}")


@pytest.mark.parametrize("length", [60, 100, 300])
def test_a_code_is_read_from_the_terminal(length):
    """The half blocks on a terminal are the QR code, with a quiet zone of four modules."""
    text = (str(LINK) + "x" * length)[:length]
    lines = as_text(modules_of(text)).splitlines()
    halves = {" ": (255, 255), "▀": (0, 255), "▄": (255, 0), "█": (0, 0)}
    pixels = np.array([[halves[sign] for sign in line] for line in lines], np.uint8).transpose(0, 2, 1)
    picture = pixels.reshape(2 * len(lines), -1)
    assert (picture[:QUIET] == 255).all()
    assert (picture[:, :QUIET] == 255).all()
    assert read_codes(np.kron(picture, np.ones((4, 4), np.uint8))) == [text]


def test_runs_are_the_dark_modules():
    """Runs contain each dark module once and no light module."""
    modules = modules_of("runs")
    found = [(row, first + at) for row, first, length in runs(modules) for at in range(length)]
    assert sorted(found) == [(y, x) for y, row in enumerate(modules) for x, dark in enumerate(row) if dark]


def test_a_poster_has_the_texts_of_the_campaign_and_the_app():
    """The poster has every text of the campaign, and the promise as the app states it, in the requested language."""
    campaign = SIGNED.campaign
    english, german = (PosterContent.of(SIGNED, LINK, language) for language in (None, "de_AT"))
    whole = "\n".join(english.texts)
    of_author = (
        campaign.title, campaign.question, campaign.purpose, campaign.organisation, campaign.contact,
        campaign.retention, campaign.notice,
    )  # fmt: skip
    for text in (*of_author, str(LINK), keys.fingerprint_text(LINK.fingerprint)):
        assert text in whole
    promise = Promise.of(campaign.notion, campaign.certificate, max_outputs=1)
    assert (english.promise, german.promise) == (promise.text("en"), promise.text("de"))
    assert (german.title, german.head, german.language) == ("Abschlüsse", "Stadtbücherei fragt", "de")
    assert PosterContent.of(SIGNED, LINK, "fr").language == "en"


def test_texts_of_a_poster_are_on_the_page_beside_the_code():
    """Texts of 1 character up to the longest stay on the page and do not overlap the code.

    A poster with illegibly small texts is refused, for at most one of four lengths.
    """
    refused = 0
    for length in (1, 200, 700, MAX_TEXT):
        words = ("word " * MAX_TEXT)[:length].strip() or "?"
        signed = signed_campaign(purpose=words, question=words, retention=words, translations=())
        content = PosterContent.of(signed, invite(signed, NOW))
        try:
            page = page_of(content)
        except TextsTooLong:
            refused += 1
            continue
        left, top, side = page.qr_position
        assert left >= EDGE
        for line in page.lines:
            wide = text_to_path.get_text_width_height_descent(line.text, line.style.font, False)[0] * 25.4 / 72
            assert wide <= COLUMN + 1e-6
            assert line.x + (0 if line.centred else wide) <= PAGE_WIDTH
            assert 0 < line.y < PAGE_HEIGHT
            below = line.y - line.style.size * 0.3 > top + side
            assert below or line.y < top or line.x > left + side, line.text
        assert 50 <= side <= 95
    assert refused < 2


def test_the_poster_of_a_form_lists_its_questions():
    """The poster of a form states its number of questions and lists them, if they are at most ``LISTED``."""
    data = campaign(domain=FORM, maps=MAPS, addresses=(HERE,), opens=NOW - DAY)
    signed = open_campaign(data, [AUTHOR_OF_FORM.public])
    lines = PosterContent.of(signed, invite(signed, NOW), "de").question.split("\n")
    assert lines == ["Jedes Gerät bekommt eine oder zwei von 3 Fragen.", *(one.text for one in FORM.questions)]
    assert len(FORM.questions) <= LISTED


@pytest.fixture(scope="module")
def posters(tmp_path_factory):
    """A poster in every format, in German."""
    folder = tmp_path_factory.mktemp("posters")
    content = PosterContent.of(SIGNED, LINK, "de")
    for form in ("svg", "pdf", "png", "html"):
        (folder / f"poster.{form}").write_bytes(draw_poster(content, form))
    return folder


def test_the_code_is_read_from_png_and_pdf(posters):
    """A QR decoder reads the link from the PNG, and from the PDF, one A4 page, at 72 dots per inch."""
    assert read_codes(Image.open(posters / "poster.png")) == [str(LINK)]
    pages = pypdfium2.PdfDocument(posters / "poster.pdf")
    assert [(round(page.get_width() * 25.4 / 72), round(page.get_height() * 25.4 / 72)) for page in pages] == [
        (210, 297)
    ]
    assert read_codes(pages[0].render(scale=1).to_pil()) == [str(LINK)]
    pages.close()


def test_the_code_is_read_from_svg_and_html(posters):
    """The decoder reads the link from the rendered SVG; the HTML page shows the same SVG, and loads no other file."""
    svg, page = ((posters / f"poster.{form}").read_text(encoding="utf-8") for form in ("svg", "html"))
    drawn = resvg_py.svg_to_bytes(svg_string=svg, dpi=96, background="#ffffff", skip_system_fonts=True)
    assert read_codes(Image.open(io.BytesIO(drawn))) == [str(LINK)]
    assert svg[svg.index("<svg") :].strip() in page
    assert "default-src 'none'" in html.unescape(page)
    assert not re.search(r"<(script|link|img|iframe)|@import|url\((?!#)", page)


def test_a_poster_is_vector_graphics_without_a_date(posters):
    """SVG and PDF contain no pixel image, and the same campaign gives the same bytes."""
    svg, pdf = (posters / "poster.svg").read_bytes(), (posters / "poster.pdf").read_bytes()
    assert b"<image" not in svg
    assert b"/Subtype /Image" not in pdf
    content = PosterContent.of(SIGNED, LINK, "de")
    assert (draw_poster(content, "svg"), draw_poster(content, "pdf")) == (svg, pdf)


def test_markup_in_a_title_is_shown_as_text():
    signed = signed_campaign(title="<script>alert(1)</script> & $x^2$", translations=())
    drawn = draw_poster(PosterContent.of(signed, invite(signed, NOW)), "html").decode()
    assert "<script" not in drawn
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; $x^2$" in drawn


def test_letters_that_cannot_be_drawn_are_named():
    """Chinese characters, which the font lacks, and Hebrew, which is written from the right, are listed as letters not
    drawn."""
    signed = signed_campaign(title="Age 年齢 גיל", translations=())
    assert set("年齢גיל") == set(undrawn(PosterContent.of(signed, invite(signed, NOW))))
    assert undrawn(PosterContent.of(SIGNED, LINK, "de")) == []


def test_the_command_prints_the_link_and_draws_the_poster(tmp_path):
    """The command takes a study or a campaign's file; a missing author, a wrong address or file ending is an error.

    A language without texts causes a warning, and an existing poster is not overwritten.
    """
    study = tmp_path / "study"
    fleet.study(study, SIGNED, range(1))
    (tmp_path / "c.campaign").write_bytes(SIGNED.data)
    (tmp_path / "author.pub").write_text(keys.public_line(AUTHOR.public, "Town library"))
    printed = run("--study", study, "invite", "education")
    assert printed.stdout.splitlines()[-1] == str(LINK)
    assert "█" in printed.stdout
    of_file = ("invite", tmp_path / "c.campaign", "--trust", tmp_path / "author.pub")
    document = json.loads(run(*of_file, "--out", tmp_path / "p.svg", "--json").stdout)
    assert document["link"] == str(LINK)
    assert (tmp_path / "p.svg").read_bytes().startswith(b"<?xml")
    assert "not overwritten" in run(*of_file, "--out", tmp_path / "p.svg", code=1).output
    french = run(*of_file, "--language", "fr", "--out", tmp_path / "fr.svg").stderr
    assert "no texts in 'fr': 'en' is used" in french
    assert "only in en and de, not in 'fr'" in french
    assert "is used" not in run(*of_file, "--language", "de_AT", "--out", tmp_path / "de.svg").stderr
    assert "--language needs --out" in run(*of_file, "--language", "de", code=2).output
    assert "end in one of .svg" in run(*of_file, "--out", tmp_path / "p.gif", code=2).output
    assert "is not an address of the signed campaign" in run(*of_file, "--address", "https://x.example", code=65).output
    assert "--study" in run("invite", tmp_path / "c.campaign", code=2).output


def test_inspect_names_the_author_whose_signature_it_verified(tmp_path):
    """With the author's key inspect verifies the signature and prints the author's name; with only another key
    of that name it prints nothing and fails. An altered campaign is refused."""
    campaign_file, altered = tmp_path / "c.campaign", tmp_path / "altered.campaign"
    campaign_file.write_bytes(SIGNED.data)
    altered.write_bytes(flipped(SIGNED.data))
    run("keygen", tmp_path / "twin", "--name", "Town library")
    (tmp_path / "author.pub").write_text(keys.public_line(AUTHOR.public, "Town library"))
    named = json.loads(run("inspect", campaign_file, "--trust", tmp_path / "author.pub", "--json").stdout)
    assert (named["signed_by"], named["key"]) == ("Town library", keys.fingerprint_text(LINK.fingerprint))
    assert "signed by" in run("inspect", campaign_file, "--trust", tmp_path / "author.pub").stdout
    for form in ([], ["--json"]):
        twin = run("inspect", campaign_file, "--trust", tmp_path / "twin.pub", *form, code=65)
        assert ("no key of --trust signed this campaign" in twin.stderr, twin.stdout) == (True, "")
    run("inspect", campaign_file, "--trust", tmp_path / "twin.pub", "--trust", tmp_path / "author.pub")
    assert keys.AuthorKey.from_line((tmp_path / "twin.pub").read_text()).name == "Town library"
    assert f"{altered}: " in run("inspect", altered, "--trust", tmp_path / "author.pub", code=65).output
