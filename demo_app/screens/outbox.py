"""The outbox: what waits to leave, and sending it.

One idea: the same bytes wait until the study says that it has them; nothing that waits is ever dropped.
"""

from __future__ import annotations

from collections.abc import Iterator

from kivy.uix.widget import Widget

from demo_app.content.post import Queue, Upload
from demo_app.screens.view import PageView, action, card, words
from demo_app.texts import clock, day, say
from demo_app.widgets.boxes import Card
from demo_app.widgets.dialogs import tell
from demo_app.widgets.field import Field


class OutboxView(PageView):
    """What waits."""

    place = "outbox"

    def come(self) -> None:
        self.app.do(lambda model: model.queue(), self.show)

    def show(self, queue: Queue) -> None:
        """Fill the page."""
        self._server = Field(name="server", label=say("outbox.server"), text=queue.server, hint="https://")
        self._file = Field(name="file", label=say("outbox.file"))
        self.fill(self._parts(queue))

    def _parts(self, queue: Queue) -> Iterator[Widget]:
        if not queue.envelopes:
            empty = words(say("outbox.empty"), "title", name="empty")
            yield card(empty, words(say("outbox.empty_how"), colour="muted"))
            return
        for upload in queue.uploads:
            yield self._card(upload)
        yield card(
            self._server,
            words(say("outbox.seen"), "small", "muted"),
            action("send", say("outbox.send"), self._send),
        )
        export = action("export", say("outbox.export"), self._export, "outlined")
        yield card(words(say("outbox.by_hand"), "title"), self._file, export)

    def _card(self, upload: Upload) -> Card:
        told = say("outbox.waits", count=upload.envelopes, size=upload.size)
        if upload.refused:
            below = words(say("outbox.refused"), colour="alert")
        elif upload.again is not None:
            below = words(say("outbox.again", day=day(upload.again), clock=clock(upload.again)), colour="muted")
        else:
            below = words(say("outbox.ready"), colour="muted")
        return card(words(upload.title, "title"), words(told), below)

    def _send(self) -> None:
        self.app.serve(self._server.text.strip())
        self.app.send()

    def _export(self) -> None:
        path = self._file.text.strip()

        def told(count: int) -> None:
            tell(say("outbox.exported", count=count), "good")
            self.come()

        self.app.do(lambda model: model.export(path), told)
