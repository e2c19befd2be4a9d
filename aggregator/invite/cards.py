"""Cards with single-use codes, eight on an A4 page to be cut apart.

``aggregator.receive.codes`` makes the codes, and ``protocol.link`` defines links.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.patches import PathPatch

from aggregator.invite.layout import ACCENT, INK, MUTED, PAGE_HEIGHT, PAGE_WIDTH, DrawnLine, LetterStyle, block
from aggregator.invite.poster import blank_page, draw_lines, outline
from aggregator.invite.qr import QUIET, modules_of
from aggregator.invite.wording import WORDINGS
from protocol.campaign import SignedCampaign
from protocol.link import Link
from protocol.texts import best_tag

COLUMNS, ROWS = 2, 4
EDGE, SIDE = 6.0, 44.0
"""Margin of a card and side of its QR code, in millimetres."""


@dataclass(frozen=True)
class CardTexts:
    """The texts that are the same on every card of a campaign."""

    head: str
    title: str
    below: str

    @classmethod
    def of(cls, signed: SignedCampaign, language: str | None = None, closes: int | None = None) -> CardTexts:
        """Return the texts in one language.

        Args:
            language: the reader's language, such as "de"; None for the campaign's own language.
            closes: time of an early closing, UTC seconds; None if the campaign is not closed early.
        """
        campaign = signed.campaign
        last = (campaign.closes if closes is None else closes) - 1
        texts = campaign.texts(language)
        wording = WORDINGS[best_tag(language or texts.language, list(WORDINGS)) or "en"]
        head = wording.asks.format(organisation=texts.organisation) if texts.organisation else ""
        return cls(head, texts.title, wording.card.format(closes=wording.date(last)))


def draw_cards(texts: CardTexts, links: Sequence[tuple[Link, str]], progress: Callable[[int], None]) -> bytes:
    """Return the cards as the bytes of a PDF file; the same cards give the same bytes.

    Args:
        links: the link and the printed code of each card.
        progress: called with the number of cards drawn since the last call.
    """
    file = io.BytesIO()
    per_page = COLUMNS * ROWS
    with rc_context({"pdf.fonttype": 42}), PdfPages(file, metadata={"Title": texts.title, "CreationDate": None}) as pdf:
        for first in range(0, len(links), per_page):
            figure, axes = blank_page()
            for place, (link, code) in enumerate(links[first : first + per_page]):
                row, column = divmod(place, COLUMNS)
                _draw_card(axes, texts, link, code, column * PAGE_WIDTH / COLUMNS, row * PAGE_HEIGHT / ROWS)
            for column in range(1, COLUMNS):
                axes.axvline(column * PAGE_WIDTH / COLUMNS, color=MUTED, linewidth=0.3, linestyle=(0, (4, 4)))
            for row in range(1, ROWS):
                axes.axhline(row * PAGE_HEIGHT / ROWS, color=MUTED, linewidth=0.3, linestyle=(0, (4, 4)))
            pdf.savefig(figure)
            progress(len(links[first : first + per_page]))
    return file.getvalue()


def _draw_card(axes: Axes, texts: CardTexts, link: Link, code: str, left: float, top: float) -> None:
    wide = PAGE_WIDTH / COLUMNS - 2 * EDGE
    quiet = QUIET * SIDE / len(modules_of(str(link)))
    beside = left + EDGE + SIDE + quiet
    lines: list[DrawnLine] = []
    y = top + EDGE
    for text, style in (
        (texts.head, LetterStyle(7.5, "bold", ACCENT)),
        (texts.title, LetterStyle(10, "bold", leading=1.2)),
    ):
        if text:
            block_lines, y = block(text, style, left + EDGE, wide, y)
            lines += block_lines[:2]
            y = min(y, top + EDGE + 15.0)
    y += 2.0
    axes.add_patch(PathPatch(outline(str(link), left + EDGE, y, SIDE), facecolor=INK, linewidth=0))
    room = left + PAGE_WIDTH / COLUMNS - EDGE / 2 - beside
    block_lines, below = block("\n".join(code.split("-")), LetterStyle(12, "bold", mono=True), beside, room, y)
    lines += block_lines
    block_lines, _ = block(texts.below, LetterStyle(6.6, colour=MUTED), beside, room, below + 2.0)
    lines += block_lines
    block_lines, _ = block(
        f"{link.address}/s/", LetterStyle(5.5, colour=MUTED, mono=True), left + EDGE, wide, y + SIDE + 2.0
    )
    lines += block_lines[:1]
    draw_lines(axes, lines)
