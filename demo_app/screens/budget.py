"""The screen of the budget: the spent, the reserved and the remaining part, and fields for caps.

A cap that was set can only be lowered, so somebody who uses the phone for a minute cannot weaken the owner's decision.
"""

from __future__ import annotations

from collections.abc import Iterator

from kivy.uix.widget import Widget

from demo_app.content.budget import DAY_SECONDS, BudgetContent
from demo_app.screens.screen import PageScreen, action, card, words
from demo_app.texts import factor_text, number, say, span
from demo_app.widgets.dialogs import ask, show_notice
from demo_app.widgets.field import Field
from demo_app.widgets.gauge import Gauge
from edge_sdk.budget.policy import MAX_NATS

MAX_DAYS = 36_500

ROUNDED = 1e-8
"""Nats; more than a cap can lose when it is rounded down to nanonats."""


class BudgetScreen(PageScreen):
    """The screen with the gauge and the caps."""

    destination = "budget"

    def open(self) -> None:
        self.app.do(lambda model: model.budget(), self.show)

    def show(self, budget: BudgetContent) -> None:
        """Fill the screen with the budget and the fields for caps."""
        self._lifetime = Field(name="lifetime", label=say("budget.lifetime", cap=budget.cap), number=True)
        campaign = say("budget.none") if budget.per_campaign is None else number(budget.per_campaign)
        self._campaign = Field(name="campaign", label=say("budget.campaign", cap=campaign), number=True)
        self._days = Field(name="days", label=say("budget.days"), number=True)
        self._window = Field(name="window", label=say("budget.window", cap=self._windowed(budget)), number=True)
        self.fill(self._parts(budget))

    def _parts(self, budget: BudgetContent) -> Iterator[Widget]:
        yield card(Gauge(spent=budget.spent, reserved=budget.reserved, cap=budget.cap))
        yield card(
            words(say("budget.what"), "title"),
            words(say("budget.nat", one=factor_text(1), two=factor_text(2), eight=factor_text(8)), colour="muted"),
        )
        yield card(
            words(say("budget.lower"), "title"),
            words(say("budget.lower_how"), colour="muted"),
            self._lifetime,
            self._campaign,
            self._window,
            self._days,
            action("lower", say("budget.lower_do"), self._lower, "outlined"),
        )

    def _windowed(self, budget: BudgetContent) -> str:
        caps = (say("budget.windowed", nats=nats, length=span(seconds)) for seconds, nats in budget.windows.items())
        return "; ".join(caps) or say("budget.none")

    def _lower(self) -> None:
        fields = (self._lifetime, self._campaign, self._window)
        caps = [self._cap(field) for field in fields]
        days = self._days_from(self._days) if self._window.text.strip() else None
        if any(field.error for field in (*fields, self._days)):
            return
        lifetime, campaign, nats = caps
        window = None if nats is None or days is None else (days * DAY_SECONDS, nats)
        if lifetime is None and campaign is None and window is None:
            self._lifetime.error = say("budget.empty")
            return
        ask(
            say("budget.sure"),
            say("budget.sure_how"),
            say("budget.lower_do"),
            lambda: self.app.do(
                lambda model: model.lower_caps(lifetime, campaign, window),
                lambda budget: self._lowered(budget, lifetime, campaign, window),
            ),
        )

    def _lowered(
        self,
        budget: BudgetContent,
        lifetime: float | None,
        per_campaign: float | None,
        window: tuple[int, float] | None,
    ) -> None:
        """Show the caps in force. If a typed cap is higher than the cap in force, show an error at its field."""
        self.show(budget)
        seconds, nats = window or (0, None)
        window_cap = budget.windows.get(seconds)
        typed = (self._lifetime, lifetime, budget.cap), (self._campaign, per_campaign, budget.per_campaign)
        for field, typed_nats, cap in (*typed, (self._window, nats, window_cap)):
            if typed_nats is not None and cap is not None and typed_nats - cap > ROUNDED:
                field.error = say("budget.kept", cap=cap)
        if not any(field.error for field in (self._lifetime, self._campaign, self._window)):
            show_notice(say("budget.lowered"), "good")

    def _cap(self, field: Field) -> float | None:
        text = field.text.strip().replace(",", ".")
        field.error = ""
        if not text:
            return None
        try:
            nats = float(text)
        except ValueError:
            nats = -1.0
        if not 0 <= nats <= MAX_NATS:
            field.error = say("budget.not_a_cap")
            return None
        return nats

    def _days_from(self, field: Field) -> int | None:
        text = field.text.strip()
        field.error = "" if text.isascii() and text.isdigit() and 1 <= int(text) <= MAX_DAYS else say("budget.not_days")
        return None if field.error else int(text)
