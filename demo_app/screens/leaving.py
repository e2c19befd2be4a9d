"""What will leave this phone: the picture of the chances before a report is made, its bytes after.

One idea: nothing is drawn or charged before the person has seen what it could tell; nothing leaves before they have
seen the bytes that will.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from kivy.metrics import dp
from kivy.uix.widget import Widget

from demo_app.content.answer import Leaving
from demo_app.screens.spelling import spelled
from demo_app.screens.view import PageView, action, card, words
from demo_app.texts import say
from demo_app.widgets.boxes import Rule
from demo_app.widgets.chances import Belief, Chances
from demo_app.widgets.gauge import times
from demo_app.widgets.look import look
from demo_app.widgets.words import Mono

WIDE_ROWS = 560
"""dp: from this width on, 16 bytes stand in a row."""


class LeavingView(PageView):
    """One answer, before and after its report is made."""

    def come(self, leaving: Leaving) -> None:
        self.show(leaving)

    def show(self, leaving: Leaving) -> None:
        """Fill the page."""
        self.fill(self._parts(leaving))

    def _parts(self, leaving: Leaving) -> Iterator[Widget]:
        made = leaving.report is not None
        yield card(
            words(say("leaving.answer"), "small", "muted"),
            words(spelled(leaving.kind, leaving.value) or say("leaving.empty"), "title", name="answer"),
            words(say("leaving.stays"), "small", "muted"),
        )
        if made:
            yield self._bytes(leaving)
        yield card(
            words(say("leaving.chances"), "title"),
            Chances(truth=leaving.truth),
        )
        yield card(
            Belief(before=leaving.before, after=leaving.after),
            words(say("leaving.most", factor=times_of(leaving.factor)), "small", "muted"),
        )
        yield card(
            words(say("leaving.price"), "title"),
            words(self._cost(leaving), name="cost"),
            words(say("leaving.spent", spent=leaving.after_cost), "small", "muted"),
        )
        if not made:
            yield card(words(say("leaving.size", count=leaving.size)), words(say("leaving.chance"), "small", "muted"))
        yield from self._actions(leaving)

    def _cost(self, leaving: Leaving) -> str:
        if not leaving.cost:
            return say("leaving.free")
        key = "leaving.costs" if leaving.report is None else "leaving.cost_now"
        return say(key, cost=leaving.cost, factor=times(leaving.cost))

    def _bytes(self, leaving: Leaving) -> Widget:
        """The report, byte by byte, and what each stretch of it is."""
        red, green, blue, _ = look.accent
        strong = f"{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"
        marked = []
        for part in leaving.parts:
            for byte in part.data:
                code = f"{byte:02x}"
                marked.append(f"[b][color={strong}]{code}[/color][/b]" if part.name == "output" else code)
        across = 16 if self.width > dp(WIDE_ROWS) else 8
        rows = [" ".join(marked[start : start + across]) for start in range(0, len(marked), across)]
        named = {part.name: part.data for part in leaving.parts}
        made = card(
            words(say("leaving.bytes", count=leaving.size), "title"),
            words(say("leaving.bytes_how"), "small", "muted"),
            Mono(text="\n".join(rows), role="small", markup=True, name="bytes"),
            Rule(),
        )
        for name in ("output", "place", "campaign", "key", "signature"):
            told = say(f"part.{name}", count=len(named[name]))
            made.add_widget(words(told, "small", "accent" if name == "output" else "muted"))
        return made

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
        # The way back leads past the question: it was answered.
        self.app.go("leaving", leaving, fresh=True)


def times_of(factor: float) -> str:
    """A factor as a person reads it."""
    return times(math.log(factor))
