"""The model: it carries out the person's actions, and returns the content of the screens.

Every method is one call from a worker's thread. Most methods return a frozen dataclass for one screen, with numbers and
keys of texts; its only sentences come from the campaign or the SDK. So the whole app can be tested without a window.

The device decides about answers, draws and costs; the model repeats none of these decisions. The package content
defines the content of a screen, screens its layout, and the module error_messages the texts after a refusal.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from demo_app.content.authors import Author, LinkContent
from demo_app.content.budget import BudgetContent
from demo_app.content.campaign import Overview, QuestionContent, TermsContent
from demo_app.content.declaration import Statement
from demo_app.error_messages import NotAFile, NotTrusted
from demo_app.texts import spaced_fingerprint
from edge_sdk import BudgetPolicy, Device
from edge_sdk.campaigns.files import MAX_CAMPAIGN_BYTES

if TYPE_CHECKING:  # imported at run time only when they are first shown
    from demo_app.content.answer import CampaignAnswers, History, Review
    from demo_app.content.exposure import ExposureSummary
    from demo_app.content.post import Delivery, OutboxContent
    from edge_sdk.campaigns.invitation import Invitation
    from edge_sdk.presentation import AuthorKey
    from edge_sdk.transport.download import Offer
    from edge_sdk.transport.exchange import Opener


class Model:
    """The device of one person. Call ``open`` in the thread that uses it.

    A method also raises the errors of the SDK's functions that it calls; most have the name of a method of ``Device``.

    Args:
        folder: the device's folder.
        bundled: key lines of authors that are delivered with the app.
        clock, urandom, opener: passed to the SDK.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        bundled: Iterable[str] = (),
        *,
        clock: Callable[[], float] = time.time,
        urandom: Callable[[int], bytes] = os.urandom,
        opener: Opener | None = None,
    ) -> None:
        self._folder = folder
        self._bundled = tuple(dict.fromkeys(line.strip() for line in bundled))
        self._clock = clock
        self._urandom = urandom
        self._opener = opener
        self._opened: Device | None = None

    # The store

    def open(self) -> None:
        """Open the device's store.

        Raises:
            StoreRestored, StoreDamaged: ``adopt`` continues with the store, if the amount spent is known.
        """
        self.close()
        self._opened = Device.open(self._folder, self._keys(), clock=self._clock, urandom=self._urandom)

    def adopt(self) -> None:
        """Continue with a store that was restored, copied or damaged; all reserved budget then counts as spent."""
        self.close()
        self._opened = Device.adopt(self._folder, self._keys(), clock=self._clock, urandom=self._urandom)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @property
    def is_open(self) -> bool:
        """True if the store is open."""
        return self._opened is not None

    @property
    def _device(self) -> Device:
        if self._opened is None:
            raise ValueError("the model is not open: open it first, in the thread that uses it")
        return self._opened

    def _now(self) -> int:
        return int(self._clock())

    # Authors

    def _keys(self) -> list[AuthorKey]:
        if not self._bundled:
            # Return early, so that the first start need not import the parser of keys.
            return []
        from edge_sdk.presentation import AuthorKey

        return [AuthorKey.from_line(line) for line in self._bundled]

    def authors(self) -> tuple[Author, ...]:
        """Return the trusted authors; those delivered with the app come first."""
        return Author.all_of(self._device, self._keys())

    def trust(self, line: str) -> tuple[Author, ...]:
        """Trust the key in ``line``, and return all trusted authors."""
        from edge_sdk.presentation import AuthorKey

        self._device.trust_author(AuthorKey.from_line(line))
        return self.authors()

    def trust_author_of(self, campaign_id: bytes, name: str) -> TermsContent:
        """Trust the author of a joined campaign for all campaigns, and return the terms of this campaign.

        Args:
            name: the name that the person chose for the author.
        """
        from edge_sdk.presentation import named_author

        self._device.trust_author(named_author(self._device, campaign_id, name))
        return self.terms(campaign_id)

    def distrust(self, public: bytes) -> tuple[Author, ...]:
        """Stop trusting an author, and return the trusted authors. Campaigns joined before stay joined."""
        self._device.distrust_author(public)
        return self.authors()

    # Campaigns

    def overview(self) -> Overview:
        """Return the content of the first screen."""
        return Overview.of(self._device, self._now())

    def offers(self, url: str) -> tuple[Offer, ...]:
        """Return the campaigns that the study at an address offers, except those that are over or already joined.

        The list is not signed and does not affect the destination of reports.
        """
        from edge_sdk.transport import download

        joined, now = set(self._device.campaigns), self._clock()
        offered = download.fetch_offers(url, self._opener)
        return tuple(
            offer for offer in offered if max(now, offer.opens) < offer.ends and offer.campaign_id not in joined
        )

    def fetch(self, url: str, campaign_id: bytes) -> bytes:
        """Return the signed bytes of a campaign that the study at an address offers; only the network is used."""
        from edge_sdk.transport import download

        return download.fetch_campaign(url, campaign_id, self._opener)

    def read(self, path: str | os.PathLike[str]) -> TermsContent:
        """Join the campaign in a file, and return its terms.

        Raises:
            NotAFile: the file cannot be read.
            NotTrusted: as for ``join``.
        """
        try:
            with _file(path).open("rb") as file:
                data = file.read(MAX_CAMPAIGN_BYTES)
        except OSError as error:
            raise NotAFile(f"{path}: {error.strerror or error}") from None
        except ValueError:
            raise NotAFile("the text is not the name of a file") from None
        return self.join(data)

    def join(self, data: bytes, url: str | None = None) -> TermsContent:
        """Join a signed campaign, and return its terms.

        Args:
            url: the address from which the campaign was fetched; its reports go there if the campaign names no address.
        Raises:
            NotTrusted: the person does not trust the author who signed it.
        """
        from edge_sdk.presentation import claimed_signer

        signed_by = claimed_signer(data)
        if not any(author.fingerprint_text.startswith(signed_by) for author in self._device.trusted):
            raise NotTrusted(spaced_fingerprint(signed_by))
        return self.terms(self._device.join(data, url).campaign_id)

    def link(self, text: str) -> LinkContent:
        """Return the content of a link that the person pasted or opened; nothing is sent."""
        return LinkContent.of(self._device, text)

    def follow(self, text: str) -> Invitation:
        """Fetch a link's campaign from the study, and return the response. Call this method after the person agreed."""
        from edge_sdk.presentation import Link
        from edge_sdk.transport import download

        return download.fetch_invited(Link.parse(text), self._opener)

    def accept(self, invitation: Invitation) -> TermsContent:
        """Join the campaign of a link, trust its author for this campaign only, and return its terms."""
        return self.terms(self._device.accept(invitation).campaign_id)

    def set_address(self, campaign_id: bytes, url: str) -> OutboxContent:
        """Set the address for the reports of a campaign that names none, and return the outbox."""
        self._device.set_address(campaign_id, url)
        return self.outbox()

    def terms(self, campaign_id: bytes) -> TermsContent:
        """Return the terms of a joined campaign."""
        return TermsContent.of(self._device, campaign_id, self._now())

    def statement(self, campaign_id: bytes, prior: Mapping[str, int], level: float | None = None) -> Statement:
        """Return the statement that these weights and a personal level would declare, with its posteriors and cost."""
        return Statement.of(self._device, campaign_id, prior, level)

    def consent(
        self,
        campaign_id: bytes,
        as_class: str | None = None,
        prior: Mapping[str, int] | None = None,
        level: float | None = None,
    ) -> QuestionContent:
        """Record the person's consent, and return the question.

        Args:
            as_class: the person's class, if the campaign has classes.
            prior: the person's statement on how likely each answer is, if the campaign asks for it; None if it was
                declared before.
            level: a personal level in nats, declared with the prior; None for the campaign's level.
        """
        self._device.consent(campaign_id, as_class=as_class, prior=prior, level=level)
        return self.question(campaign_id)

    def choose(self, campaign_id: bytes, level: float) -> QuestionContent:
        """Consent with the class or statement that the device chooses at random from earlier answers; return the
        question.

        Args:
            level: nats that the choice may reveal.
        """
        if self._device.terms(campaign_id).declares_prior:
            self._device.choose_prior(campaign_id, level)
        else:
            self._device.choose_class(campaign_id, level)
        return self.question(campaign_id)

    def forget(self, campaign_id: bytes | None = None) -> Overview:
        """Delete the answers, history, outbox and consent of one campaign or of all. Their cost stays spent, and
        repeated answers are charged too (see ``Device.forget``).
        """
        self._device.forget(campaign_id)
        return self.overview()

    # Answers

    def question(self, campaign_id: bytes) -> QuestionContent:
        """Return the question of a joined campaign."""
        return QuestionContent.of(self._device, campaign_id, self._now())

    def review(self, campaign_id: bytes, value: str) -> Review:
        """Return the envelopes for an answer and the information that they could reveal; nothing is drawn or charged.

        Args:
            value: the text of the answer: a label, a number, a day (YYYY-MM-DD), "latitude,longitude", items separated
                by semicolons, or the answers to a form (name=answer; name=answer).
        """
        from demo_app.content.answer import Review

        preview = self._device.preview(campaign_id, self._device.parse(campaign_id, value))
        return Review.of(self._device, campaign_id, self._now(), value, preview)

    def answer(self, campaign_id: bytes, value: str) -> Review:
        """Draw, charge, sign and queue a report of the answer; return the envelopes."""
        from demo_app.content.answer import Review

        answer = self._device.parse(campaign_id, value)
        before = self._device.preview(campaign_id, answer)
        receipt = self._device.answer(campaign_id, answer)
        return Review.of(self._device, campaign_id, self._now(), value, before, receipt)

    # The budget

    def budget(self) -> BudgetContent:
        return BudgetContent.of(self._device)

    def lower_caps(
        self, lifetime: float | None = None, per_campaign: float | None = None, window: tuple[int, float] | None = None
    ) -> BudgetContent:
        """Lower the caps, as ``Device.lower_caps`` does."""
        self._device.lower_caps(BudgetPolicy(lifetime, per_campaign, window))
        return self.budget()

    # History, exposure and outbox

    def history(self) -> History:
        """Return the answers given and the ledger."""
        from demo_app.content.answer import History

        return History.of(self._device, self._now())

    def exposure(self, campaign_id: bytes) -> ExposureSummary:
        """Return the joint exposure by all reports about the values of a joined campaign. It may take some seconds."""
        from demo_app.content.exposure import ExposureSummary

        return ExposureSummary.of(self._device, campaign_id)

    def counted(self, answers: CampaignAnswers) -> CampaignAnswers:
        """Return ``answers``, with the study's response on whether it counted the latest report of each value.

        A report that waits in the outbox is not part of the request, because the request would send it. The study's
        addresses are tried in order until one responds; without an address, ``answers`` is returned as it is. This
        method uses only the network, and no store.

        Raises:
            NoResponse: no address gave a valid response.
        """
        from edge_sdk.transport import download

        reports = [value.report for value in answers.values if not value.waits]
        silent: download.NoResponse | None = None
        for url in answers.addresses:
            try:
                verdicts = iter(download.fetch_counted(url, reports, self._opener))
            except download.NoResponse as error:
                silent = silent or error
            else:
                return replace(answers, counted=tuple(not value.waits and next(verdicts) for value in answers.values))
        if silent is not None:
            raise silent
        return answers

    def outbox(self) -> OutboxContent:
        from demo_app.content.post import OutboxContent

        return OutboxContent.of(self._device, self._clock())

    def send(self) -> Delivery:
        """Send all due envelopes to their studies; then ask for closing notices for the campaigns whose envelopes were
        sent.
        """
        from demo_app.content.post import Delivery
        from edge_sdk.transport import download
        from edge_sdk.transport.upload import Outcome

        sent = self._device.outbox.send(opener=self._opener)
        received = dict.fromkeys(attempt.campaign_id for attempt in sent.of(Outcome.SENT))
        download.learn_closings(self._device, received, self._opener)
        return Delivery.of(sent, len(self._device.outbox))

    def export(self, path: str | os.PathLike[str], campaign_id: bytes) -> int:
        """Write a campaign's waiting envelopes to a new file and remove them from the outbox; return their number."""
        return self._device.outbox.export(_file(path), campaign_id)

    def save_enrolment(self, path: str | os.PathLike[str], campaign_id: bytes) -> None:
        """Write this device's enrolment in a campaign to a new file."""
        from edge_sdk.store.files import write_new

        write_new(_file(path), self._device.enrolment(campaign_id))

    def doctor(self) -> dict[str, str | int]:
        """Return technical information about the store."""
        return self._device.doctor()


def _file(path: str | os.PathLike[str]) -> Path:
    """Return a typed path; a ``~`` at its start means the home folder, if there is one."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  # Path.expanduser raises if there is no such folder
