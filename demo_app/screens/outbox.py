"""The screen of the outbox: the waiting envelopes, and buttons to send them or to save them in a file.

An envelope waits unchanged until the study accepts it, or the person saves it in a file or forgets its campaign.
The screen also saves this device's enrolment in a file, for campaigns that accept enrolled devices only.
"""

from __future__ import annotations

from collections.abc import Iterator

from kivy.uix.widget import Widget

from demo_app.content.post import OutboxContent, WaitingUpload
from demo_app.screens.screen import PageScreen, action, card, words
from demo_app.texts import clock, day, say
from demo_app.widgets.boxes import Card
from demo_app.widgets.dialogs import ask, show_notice
from demo_app.widgets.field import Field


class OutboxScreen(PageScreen):
    destination = "outbox"

    def open(self) -> None:
        self.app.do(lambda model: model.outbox(), self.show)

    def show(self, outbox: OutboxContent) -> None:
        """Fill the screen with the waiting envelopes."""
        self._file = Field(name="file", label=say("outbox.file"))
        self._enrolment = Field(name="enrolment file", label=say("outbox.file"))
        self.fill(self._parts(outbox))

    def _parts(self, outbox: OutboxContent) -> Iterator[Widget]:
        if outbox.envelopes:
            yield from self._waiting(outbox)
        else:
            empty = words(say("notice.nothing.title"), "title", name="empty")
            yield card(empty, words(say("outbox.empty_how"), colour="muted"))
        if outbox.enrolments:
            how = words(say("outbox.enrolments_how"), colour="muted")
            saves = [self._enrolling(campaign_id, title) for campaign_id, title in outbox.enrolments]
            yield card(words(say("outbox.enrolments"), "title"), how, self._enrolment, *saves)

    def _waiting(self, outbox: OutboxContent) -> Iterator[Widget]:
        for upload in outbox.uploads:
            yield self._card(upload)
        due = any(upload.addresses and not upload.refused and not upload.next_attempt for upload in outbox.uploads)
        yield card(
            words(say("outbox.seen"), "small", "muted"),
            action("send", say("outbox.send"), self.app.send, disabled=not due),
        )
        exports = [self._exporting(upload) for upload in outbox.uploads]
        how = words(say("outbox.by_hand_how"), colour="muted", name="by hand")
        yield card(words(say("outbox.by_hand"), "title"), how, self._file, *exports)

    def _enrolling(self, campaign_id: bytes, title: str) -> Widget:
        text = say("outbox.enrol", title=title)
        return action(f"enrolment:{title}", text, lambda: self._save_enrolment(campaign_id), "outlined")

    def _exporting(self, upload: WaitingUpload) -> Widget:
        text = say("outbox.export", title=upload.title)
        return action(f"export:{upload.title}", text, lambda: self._ask_export(upload), "outlined")

    def _ask_export(self, upload: WaitingUpload) -> None:
        title, how = say("outbox.export", title=upload.title), say("outbox.by_hand_how")
        ask(title, how, say("outbox.export_do"), lambda: self._export(upload.campaign_id))

    def _card(self, upload: WaitingUpload) -> Card:
        upload_card = card(words(upload.title, "title"), *self._standing(upload))
        if upload.addressable:
            name = upload.title
            field = Field(
                name=f"address:{name}", label=say("outbox.address"), text=" ".join(upload.addresses), hint="https://"
            )
            upload_card.add_widget(field)
            upload_card.add_widget(
                action(f"keep:{name}", say("outbox.keep"), lambda: self._keep(upload.campaign_id, field.text), "plain")
            )
        return upload_card

    def _standing(self, upload: WaitingUpload) -> Iterator[Widget]:
        """Yield texts on the number of waiting envelopes, their destination, and the reason why they wait."""
        yield words(say("outbox.waits", count=upload.envelopes, size=upload.size))
        for kind, count, size in upload.kinds:
            yield words(say(f"outbox.{kind}", count=count, size=size), "small", "muted", name=f"waits:{kind}")
        if not upload.addresses:
            yield words(say("outbox.nowhere"), colour="alert")
            return
        yield words(say("outbox.to", address="\n".join(upload.addresses)), "small", "muted")
        if upload.refused:
            refusal = say("outbox.code_refused" if upload.code_refused else "outbox.refused")
            yield words(refusal, colour="alert", name="refusal")
            return
        if upload.unknown_campaign:
            yield words(say("outbox.unknown_campaign"), colour="alert")
        if upload.next_attempt is not None:
            yield words(
                say("delivered.again", day=day(upload.next_attempt), clock=clock(upload.next_attempt)), colour="muted"
            )
        else:
            yield words(say("outbox.ready"), colour="muted")

    def _keep(self, campaign_id: bytes, url: str) -> None:
        self.app.do(lambda model: model.set_address(campaign_id, url.strip()), self.show)

    def _export(self, campaign_id: bytes) -> None:
        path = self._file.text.strip()

        def exported(count: int) -> None:
            show_notice(say("outbox.exported", count=count), "good")
            self.open()

        self.app.do(lambda model: model.export(path, campaign_id), exported)

    def _save_enrolment(self, campaign_id: bytes) -> None:
        path = self._enrolment.text.strip()

        def saved(_: None) -> None:
            show_notice(say("outbox.enrolled"), "good")

        self.app.do(lambda model: model.save_enrolment(path, campaign_id), saved)
