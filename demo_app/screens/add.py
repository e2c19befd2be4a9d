"""Adding a campaign: from a link, from the address of a study, or from a file.

A list from the network is not verified. The person can agree only to terms signed by the author that their link names,
or by an author that they trust.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from kivy.uix.widget import Widget

from demo_app.content.campaign import TermsContent
from demo_app.screens.screen import PageScreen, action, card, entry, words
from demo_app.texts import day, say
from demo_app.widgets.boxes import Column
from demo_app.widgets.field import Field
from demo_app.widgets.palette import palette
from edge_sdk.transport.download import Offer

if TYPE_CHECKING:
    from demo_app.app import HalftruthApp


class AddScreen(PageScreen):
    """The screen for adding a campaign."""

    def __init__(self, app: HalftruthApp, **properties: Any) -> None:
        super().__init__(app, **properties)
        self._offers = Column(spacing=palette.space)

    def open(self) -> None:
        self._link = Field(name="link", label=say("add.link_label"), hint="https://")
        self._link.bind(on_enter=lambda _: self._follow())
        self._address = Field(name="address", label=say("add.address"), text=self.app.address, hint="https://")
        self._address.bind(on_enter=lambda _: self._ask())
        self._file = Field(name="file", label=say("add.file_label"))
        self._file.bind(on_enter=lambda _: self._read())
        self._offers = Column(spacing=palette.space)
        self.fill(self._parts())

    def reopen(self) -> None:
        """Show the screen again with the list of campaigns, so that a person who added a key need not fetch the list
        again."""
        if not self._offers.children:
            self.open()

    def _parts(self) -> Iterator[Widget]:
        yield card(
            words(say("add.link"), "title"),
            words(say("add.link_how"), colour="muted"),
            self._link,
            action("follow", say("link.follow"), self._follow),
        )
        yield card(
            words(say("add.online"), "title"),
            words(say("add.online_how"), colour="muted"),
            self._address,
            action("show", say("add.show"), self._ask, "outlined"),
        )
        yield self._offers
        read = action("read", say("add.read"), self._read, "outlined")
        yield card(words(say("add.file"), "title"), self._file, read)
        yield entry("authors", say("authors.title"), say("add.authors_below"), lambda: self.app.go("authors"))

    def _follow(self) -> None:
        self.app.follow(self._link.text)

    def _ask(self) -> None:
        self.app.address = url = self._address.text.strip()
        self.app.online(lambda model: model.offers(url), lambda offers: self._offer(url, offers))

    def _offer(self, url: str, offers: tuple[Offer, ...]) -> None:
        self._offers.clear_widgets()
        if not offers:
            self._offers.add_widget(words(say("add.nothing"), name="nothing"))
        for offer in offers:
            below = say("add.offered", opens=day(offer.opens), closes=day(offer.ends - 1))
            take = partial(self._take, url, offer.campaign_id)
            self._offers.add_widget(entry(f"offer:{offer.title}", offer.title, below, take))

    def _take(self, url: str, campaign_id: bytes) -> None:
        self.app.online(
            lambda model: model.fetch(url, campaign_id),
            lambda data: self.app.do(lambda model: model.join(data, url), self._joined),
        )

    def _read(self) -> None:
        path = self._file.text.strip()
        self.app.do(lambda model: model.read(path), self._joined)

    def _joined(self, content: TermsContent) -> None:
        self.app.go("terms", content.summary.campaign_id, fresh=True)
