"""The first screen: the joined campaigns, the remaining budget, and the number of waiting envelopes.

Campaigns that ask for an answer come first.
"""

from __future__ import annotations

from collections.abc import Iterator

from kivy.uix.widget import Widget

from demo_app.content.campaign import ANSWERED, NEW, OPEN, OVER, CampaignSummary, Overview
from demo_app.screens.screen import PageScreen, action, card, entry, words
from demo_app.texts import day, nats_rounded_down, say


class CampaignsScreen(PageScreen):
    """The first screen, with the joined campaigns."""

    def open(self) -> None:
        self.app.do(lambda model: model.overview(), self.show)

    def show(self, overview: Overview) -> None:
        """Fill the screen with the joined campaigns; the app can then be used."""
        self.fill(self._parts(overview))
        self.app.ready()

    def _parts(self, overview: Overview) -> Iterator[Widget]:
        if not overview.campaigns:
            how = words(say("campaigns.welcome_how"), colour="muted")
            yield card(words(say("campaigns.welcome"), "title"), how, tone="tint")
        if overview.waiting:
            label = say("campaigns.waiting", count=overview.waiting)
            yield entry("waiting", label, say("campaigns.waiting_below"), lambda: self.app.visit("outbox"), tone="tint")
        for campaign in overview.campaigns:
            yield self._entry(campaign)
        kind = "outlined" if overview.campaigns else "filled"
        yield action("add", say("add.title"), lambda: self.app.go("add"), kind)
        left = say(
            "campaigns.budget_below", remaining=nats_rounded_down(overview.budget.remaining), cap=overview.budget.cap
        )
        yield entry("budget", say("budget.title"), left, lambda: self.app.visit("budget"))

    def _entry(self, campaign: CampaignSummary) -> Widget:
        leads = answering(campaign) if campaign.state == OPEN else "terms"
        form = [say("campaigns.form", count=len(campaign.questions))] if campaign.questions else []
        below = "\n".join([campaign.organisation, *form, state(campaign)])
        return entry(
            f"campaign:{campaign.title}", campaign.title, below, lambda: self.app.go(leads, campaign.campaign_id)
        )


def answering(campaign: CampaignSummary) -> str:
    """Return the name of the screen on which the person begins to answer."""
    return "selection" if campaign.questions else "question"


def state(campaign: CampaignSummary) -> str:
    """Return the state of a campaign in words; an end is shown as the last open day, as on a poster."""
    if campaign.state == NEW:
        return say("state.new")
    if campaign.state == OPEN:
        return say("state.open", day=day((campaign.next_period or campaign.closes) - 1))
    if campaign.state == ANSWERED:
        return (
            say("state.last") if campaign.next_period is None else say("state.answered", day=day(campaign.next_period))
        )
    if campaign.closes <= campaign.opens:
        return say("state.cancelled")
    if campaign.state == OVER:
        return say("state.early" if campaign.early else "state.over", day=day(campaign.closes - 1))
    return say("state.upcoming", day=day(campaign.opens))
