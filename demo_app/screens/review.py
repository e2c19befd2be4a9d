"""The screen of the envelopes for an answer: the probabilities before a report is made, its bytes afterwards.

Nothing is drawn or charged before the screen has shown the information that the report could reveal. No report is sent
before the screen has shown its bytes. Other messages may be sent with a report; the screen shows the number and size of
those whose bytes it does not show.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kivy.metrics import dp
from kivy.uix.widget import Widget

from demo_app.content.answer import Review
from demo_app.content.campaign import CampaignSummary
from demo_app.screens.screen import PageScreen, action, card, words
from demo_app.screens.spelling import answered, input_sentences
from demo_app.texts import language, nats_rounded_up, say
from demo_app.widgets.boxes import Rule
from demo_app.widgets.chances import BeforeAfter, Chances
from demo_app.widgets.palette import palette
from demo_app.widgets.words import Mono

if TYPE_CHECKING:  # imported at run time only with the first campaign
    from edge_sdk.disclosure.envelopes import OutputMeaning, WaitingEnvelope

WIDE_ROWS = 560
"""dp: on a wider screen, a row shows 16 bytes instead of 8."""

MAX_SHOWN = 8
"""Maximum number of envelopes shown byte by byte; the screen shows the number of the others."""

PARTS = ("output", "slot", "public", "declared", "campaign", "key", "signature", "format")
"""The parts of an envelope, in the order in which they are shown."""


class ReviewScreen(PageScreen):
    """The screen of one answer, before and after its report is made."""

    def open(self, review: Review) -> None:
        self.show(review)

    def show(self, review: Review) -> None:
        """Fill the screen with the answer and, once the report is made, the bytes of the envelopes."""
        self.fill(self._parts(review))

    def _parts(self, review: Review) -> Iterator[Widget]:
        is_drawn = review.report is not None
        answers = answered(review.kind, review.value, review.summary)
        group = answered(review.kept_kind, review.group, review.summary)[0][1] if review.group else ""
        named = [""] if group else input_sentences(review.kind, review.value, review.input, review.summary)
        yield card(
            *(
                part
                for (question, answer), sentence in zip(answers, named, strict=True)
                for part in (
                    words(question or say("review.answer"), "small", "muted"),
                    words(answer or say("review.empty"), "title", name="answer"),
                    words(sentence, name="input") if sentence else None,
                )
            ),
            words(say("review.stay" if len(answers) > 1 else "review.stays"), "small", "muted"),
        )
        if is_drawn:
            yield self._bytes(review)
        yield card(
            words(say("review.chances"), "title"),
            words(say("review.together"), "small", "muted", name="together") if len(answers) > 1 else None,
            words(say("review.group", group=group), "small", "muted", name="group") if group else None,
            Chances(fits_true=review.fits_true, fits_other=review.fits_other),
        )
        yield card(
            BeforeAfter(before=review.before, after=review.after),
            words(review.terms.promise.text(language()), "small", "muted"),
        )
        yield card(
            words(say("review.price"), "title"),
            words(self._cost(review), name="cost"),
            words(say("review.spent", spent=nats_rounded_up(review.after_cost)), "small", "muted"),
        )
        if not is_drawn:
            more = review.total - review.size
            yield card(
                words(say("review.size", count=review.size)),
                words(say("review.with", count=more, total=review.total), name="with") if more > 0 else None,
                words(say("review.chance"), "small", "muted"),
            )
        yield from self._actions(review)

    def _cost(self, review: Review) -> str:
        if not review.cost:
            return say("review.free")
        key = "review.costs" if review.report is None else "review.cost_now"
        return say(key, cost=nats_rounded_up(review.cost))

    def _bytes(self, review: Review) -> Widget:
        """Return a card with the bytes of at most ``MAX_SHOWN`` envelopes, and the meaning of each part."""
        bytes_card = card(
            words(say("review.bytes", count=review.total), "title", name="total"),
            words(say("review.bytes_how"), "small", "muted"),
        )
        # The new report is shown first, whatever the order of sending.
        envelopes = sorted(review.envelopes, key=lambda envelope: envelope.data != review.report)
        for place, envelope in enumerate(envelopes[:MAX_SHOWN]):
            for part in self._envelope(review, place, envelope):
                bytes_card.add_widget(part)
        rest = envelopes[MAX_SHOWN:]
        if rest:
            bytes_card.add_widget(Rule())
            size = sum(len(envelope.data) for envelope in rest)
            bytes_card.add_widget(words(say("review.more", count=len(rest), size=size), "small", "muted"))
        if review.report not in [envelope.data for envelope in envelopes]:
            bytes_card.add_widget(words(say("review.gone"), "small", "muted", name="gone"))
        count, size = review.beside
        if count:
            bytes_card.add_widget(Rule())
            bytes_card.add_widget(words(say("review.beside", count=count, size=size), "small", "muted", name="beside"))
        return bytes_card

    def _envelope(self, review: Review, place: int, envelope: WaitingEnvelope) -> Iterator[Widget]:
        red, green, blue, _ = palette.accent
        strong = f"{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"
        marked = []
        for part in envelope.parts:
            for byte in part.data:
                code = f"{byte:02x}"
                drawn = part.name == "output"
                marked.append(f"[u][color={strong}]{code}[/color][/u]" if drawn else code)
        across = 16 if self.width > dp(WIDE_ROWS) else 8
        rows = [" ".join(marked[start : start + across]) for start in range(0, len(marked), across)]
        mine = envelope.data == review.report
        yield Rule()
        yield words(say(f"review.{envelope.kind}", count=len(envelope.data)), "body", name=f"envelope:{place}")
        if mine and len(review.meanings) == 1:
            yield words(meaning(review.kept_kind, review.meanings[0], review.summary), "body", name="meaning")
        yield Mono(text="\n".join(rows), role="small", markup=True, name="bytes" if mine else f"bytes:{place}")
        sizes: dict[str, int] = {}
        for part in envelope.parts:
            sizes[part.name] = sizes.get(part.name, 0) + len(part.data)
        for name in PARTS:
            if name in sizes:
                label = say(f"part.{name}", count=sizes[name])
                yield words(label, "small", "accent" if name == "output" else "muted", name=f"part:{place}:{name}")

    def _actions(self, review: Review) -> Iterator[Widget]:
        if review.report is None:
            yield action("make", say("review.make"), lambda: self._make(review))
            yield action("change", say("review.change"), self.app.back, "plain")
        else:
            yield action("send", say("review.send"), self.app.send)
            yield action("later", say("review.later"), self.app.home, "plain")

    def _make(self, review: Review) -> None:
        campaign_id, value = review.summary.campaign_id, review.value
        self.app.do(lambda model: model.answer(campaign_id, value), self._show_drawn)

    def _show_drawn(self, review: Review) -> None:
        # With ``fresh``, going back does not open the answered question again.
        self.app.go("review", review, fresh=True)


def meaning(kind: str, output: OutputMeaning, summary: CampaignSummary) -> str:
    """Return the meaning of a report in words: the answers that it fits, or their number."""
    if not output.fits:
        return say("meaning.none")
    if not output.labels:
        return say("meaning.many", fits=output.fits, size=output.size)
    named = [_named(kind, label, summary) if label else say("meaning.nothing") for label in output.labels]
    return say("meaning.answers", answers=say("meaning.or").join(named))


def _named(kind: str, label: str, summary: CampaignSummary) -> str:
    """Return one answer as text in quotation marks; an answer to several questions is put in brackets."""
    named = [say("meaning.answer", answer=answer) for _, answer in answered(kind, label, summary)]
    return named[0] if len(named) == 1 else f"({', '.join(named)})"
