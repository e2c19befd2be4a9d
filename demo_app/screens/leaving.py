"""The screen of the messages for an answer: the probabilities before a report is made, its bytes afterwards.

Nothing is drawn or charged before the screen has shown the information that the report could reveal. Nothing is sent
before the screen has shown its bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kivy.metrics import dp
from kivy.uix.widget import Widget

from demo_app.content.answer import Leaving
from demo_app.content.campaign import CampaignCard
from demo_app.screens.spelling import answered
from demo_app.screens.view import PageView, action, card, words
from demo_app.texts import above, say, spoken
from demo_app.widgets.boxes import Rule
from demo_app.widgets.chances import Belief, Chances
from demo_app.widgets.look import look
from demo_app.widgets.words import Mono

if TYPE_CHECKING:  # imported at run time only with the first campaign
    from edge_sdk.disclosure.envelopes import Outgoing, OutputMeaning

WIDE_ROWS = 560
"""dp: from this width on, a row shows 16 bytes."""

MOST_SHOWN = 8
"""Maximum number of envelopes shown byte by byte; the screen shows the number of the others."""

PARTS = ("output", "place", "public", "declared", "campaign", "key", "signature", "form")
"""The parts of an envelope, in the order in which they are shown."""


class LeavingView(PageView):
    """The screen of one answer, before and after its report is made."""

    def come(self, leaving: Leaving) -> None:
        self.show(leaving)

    def show(self, leaving: Leaving) -> None:
        """Fill the page."""
        self.fill(self._parts(leaving))

    def _parts(self, leaving: Leaving) -> Iterator[Widget]:
        made = leaving.report is not None
        answers = answered(leaving.kind, leaving.value, leaving.card)
        yield card(
            *(
                part
                for asked, answer in answers
                for part in (
                    words(asked or say("leaving.answer"), "small", "muted"),
                    words(answer or say("leaving.empty"), "title", name="answer"),
                )
            ),
            words(say("leaving.stay" if len(answers) > 1 else "leaving.stays"), "small", "muted"),
        )
        if made:
            yield self._bytes(leaving)
        yield card(
            words(say("leaving.chances"), "title"),
            words(say("leaving.together"), "small", "muted", name="together") if len(answers) > 1 else None,
            Chances(fits_true=leaving.fits_true, fits_other=leaving.fits_other),
        )
        yield card(
            Belief(before=leaving.before, after=leaving.after),
            words(leaving.terms.promise.text(spoken()), "small", "muted"),
        )
        yield card(
            words(say("leaving.price"), "title"),
            words(self._cost(leaving), name="cost"),
            words(say("leaving.spent", spent=above(leaving.after_cost)), "small", "muted"),
        )
        if not made:
            more = leaving.total - leaving.size
            yield card(
                words(say("leaving.size", count=leaving.size)),
                words(say("leaving.with", count=more, total=leaving.total), name="with") if more > 0 else None,
                words(say("leaving.chance"), "small", "muted"),
            )
        yield from self._actions(leaving)

    def _cost(self, leaving: Leaving) -> str:
        if not leaving.cost:
            return say("leaving.free")
        key = "leaving.costs" if leaving.report is None else "leaving.cost_now"
        return say(key, cost=above(leaving.cost))

    def _bytes(self, leaving: Leaving) -> Widget:
        """Yield the bytes of every envelope for this campaign, with the meaning of each part."""
        made = card(
            words(say("leaving.bytes", count=leaving.total), "title", name="total"),
            words(say("leaving.bytes_how"), "small", "muted"),
        )
        # The new report is shown first, whatever the order of sending.
        envelopes = sorted(leaving.envelopes, key=lambda one: one.data != leaving.report)
        for place, one in enumerate(envelopes[:MOST_SHOWN]):
            for part in self._envelope(leaving, place, one):
                made.add_widget(part)
        rest = envelopes[MOST_SHOWN:]
        if rest:
            made.add_widget(Rule())
            size = sum(len(one.data) for one in rest)
            made.add_widget(words(say("leaving.more", count=len(rest), size=size), "small", "muted"))
        if leaving.report not in [one.data for one in envelopes]:
            made.add_widget(words(say("leaving.gone"), "small", "muted", name="gone"))
        count, size = leaving.beside
        if count:
            made.add_widget(Rule())
            made.add_widget(words(say("leaving.beside", count=count, size=size), "small", "muted", name="beside"))
        return made

    def _envelope(self, leaving: Leaving, place: int, one: Outgoing) -> Iterator[Widget]:
        red, green, blue, _ = look.accent
        strong = f"{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"
        marked = []
        for part in one.parts:
            for byte in part.data:
                code = f"{byte:02x}"
                drawn = part.name == "output"
                marked.append(f"[u][color={strong}]{code}[/color][/u]" if drawn else code)
        across = 16 if self.width > dp(WIDE_ROWS) else 8
        rows = [" ".join(marked[start : start + across]) for start in range(0, len(marked), across)]
        mine = one.data == leaving.report
        yield Rule()
        yield words(say(f"leaving.{one.kind}", count=len(one.data)), "body", name=f"envelope:{place}")
        if mine and len(leaving.said) == 1:
            yield words(says(leaving.said_kind, leaving.said[0], leaving.card), "body", name="says")
        yield Mono(text="\n".join(rows), role="small", markup=True, name="bytes" if mine else f"bytes:{place}")
        sizes: dict[str, int] = {}
        for part in one.parts:
            sizes[part.name] = sizes.get(part.name, 0) + len(part.data)
        for name in PARTS:
            if name in sizes:
                label = say(f"part.{name}", count=sizes[name])
                yield words(label, "small", "accent" if name == "output" else "muted", name=f"part:{place}:{name}")

    def _actions(self, leaving: Leaving) -> Iterator[Widget]:
        if leaving.report is None:
            yield action("make", say("leaving.make"), lambda: self._make(leaving))
            yield action("change", say("leaving.change"), self.app.back, "plain")
        else:
            yield action("send", say("leaving.send"), self.app.send)
            yield action("later", say("leaving.later"), self.app.home, "plain")

    def _make(self, leaving: Leaving) -> None:
        campaign_id, value = leaving.card.campaign_id, leaving.value
        self.app.do(lambda model: model.answer(campaign_id, value), self._made)

    def _made(self, leaving: Leaving) -> None:
        # The question is answered, so ``fresh`` removes it from the way back.
        self.app.go("leaving", leaving, fresh=True)


def says(kind: str, said: OutputMeaning, card: CampaignCard) -> str:
    """Return the meaning of a report in words: the answers that it fits, or their number."""
    if not said.fits:
        return say("says.none")
    if not said.labels:
        return say("says.many", fits=said.fits, size=said.size)
    named = [_named(kind, label, card) if label else say("history.none") for label in said.labels]
    return say("says.answers", answers=say("says.or").join(named))


def _named(kind: str, label: str, card: CampaignCard) -> str:
    """Return one answer as text; an answer to several questions is put in brackets."""
    named = [answer for _, answer in answered(kind, label, card)]
    return named[0] if len(named) == 1 else f"({', '.join(named)})"
