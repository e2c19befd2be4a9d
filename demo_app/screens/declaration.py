"""The screen for typing the person's public statement on how likely each of their possible answers is.

Nothing is declared on this screen: the typed shares are passed to the consent screen, which shows their effect and
cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kivy.uix.widget import Widget

from demo_app.content.campaign import TermsContent
from demo_app.content.declaration import Statement, TypedShares, shares_of, weights_of
from demo_app.screens.screen import Choice, PageScreen, action, card, words
from demo_app.texts import factor_text, localised_decimal, say
from demo_app.widgets.field import Field

STRICTER = (2, 4)
"""The campaign's level divided by these numbers gives the personal levels to choose from."""


class DeclarationScreen(PageScreen):
    """The screen with a field for each answer, and the sum of the shares."""

    def open(self, content: TermsContent) -> None:
        self._content = content
        terms = content.terms
        self._fields = {
            label: Field(label=name, name=f"share:{label}", hint=say("declaration.hint"), number=True)
            for label, name in zip(terms.values, terms.shown, strict=True)
        }
        self._level: float | None = None
        self._sum = words("", name="sum")
        self._use = action("use", say("declaration.use"), self._do)
        for field in self._fields.values():
            field.bind(text=lambda *_: self._add())
        self._add()
        self.fill(self._parts())

    def reopen(self, content: TermsContent) -> None:
        """Show the screen again: keep the typed shares if the content is the same, otherwise start empty."""
        if content is not self._content:
            self.open(content)

    def _parts(self) -> Iterator[Widget]:
        yield words(self._content.terms.title, "headline")
        yield card(words(say("declaration.how")), words(say("declaration.careful"), colour="muted"), tone="tint")
        yield card(*self._fields.values())
        yield self._sum
        yield card(
            words(say("declaration.strict"), "title"),
            words(say("declaration.strict_how"), colour="muted"),
            Choice("strict", self._levels(), 0, self._strict),
        )
        yield self._use
        yield action("back", say("declaration.back"), self.app.back, "plain")

    def _levels(self) -> list[str]:
        """Return the levels of protection to choose from, the campaign's level first."""
        level = self._content.terms.level
        more = (say("declaration.strict_own", factor=factor_text(level / part)) for part in STRICTER)
        return [say("declaration.strict_asked", factor=factor_text(level)), *more]

    def _strict(self, place: int) -> None:
        self._level = self._content.terms.level / STRICTER[place - 1] if place else None

    def _typed(self) -> dict[str, str]:
        return {label: field.text for label, field in self._fields.items()}

    def _add(self) -> None:
        shares = shares_of(self._typed())
        self._sum.text = sum_text(shares)
        self._sum.colour = "alert" if shares.wrong else "text"
        self._use.disabled = bool(shares.wrong)

    def _do(self) -> None:
        campaign_id, weights, level = self._content.summary.campaign_id, weights_of(self._typed()), self._level
        self.app.do(lambda model: model.statement(campaign_id, weights, level), self._stated)

    def _stated(self, statement: Statement) -> None:
        self.app.go("consent", replace(self._content, statement=statement))


def sum_text(shares: TypedShares) -> str:
    """Return a sentence on the sum of the typed shares and on the share of the empty answers."""
    if shares.wrong:
        return say(f"declaration.{shares.wrong}", total=_percent(shares))
    if not shares.free:
        return say("declaration.whole")
    return say(
        "declaration.rest",
        total=_percent(shares),
        count=shares.free,
        each=localised_decimal(f"{float(shares.blank_share):.4g}"),
    )


def _percent(shares: TypedShares) -> str:
    return localised_decimal(f"{float(shares.total):g}")
