"""The unit that answers automatically: it reads its source, collects, bundles and sends on a schedule.

The clock and the schedule determine all times; no time depends on a reading. The slot of a reading is floor((now -
start of the period) / every). A bundle is made when its period is full or over. Sealed envelopes are sent at fixed
intervals, whose phase is drawn once. A missed slot is skipped, so no burst follows an outage. A sending time that was
missed while no unit ran is skipped too; one that was missed while the machine slept is used after the machine wakes. A
reading determines only the drawn output, or that its slot stays empty because the source gave no answer.

A clock that shows a time known to be past is not set yet, or was ahead before. Then the unit gives no answer until the
clock shows a later time. Each step ends with everything on the disk, so a unit can be killed at any time and continues
where it stopped.

A child process sends the envelopes, so that the memory for TLS is released. Logs never contain a value, a prior or the
cost of an answer.

The module sensor reads a source, config and dry_run handle the configuration, answers/answering charges an answer, and
daemon runs the unit's process.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING

from edge_sdk.answers.answering import latest_recorded_time
from edge_sdk.campaigns.files import campaign_file
from edge_sdk.campaigns.succession import followed_campaign_id
from edge_sdk.cli.exit_codes import NOT_YET
from edge_sdk.device import Device
from edge_sdk.errors import ConsentMissing, NotJoined, QuotaReached, StoreDamaged, StoreRestored
from edge_sdk.timestamps import utc_text
from edge_sdk.unit.config import Configuration, in_seconds
from edge_sdk.unit.dry_run import require_signed_address, trusted_authors
from edge_sdk.unit.questions import SETTLE_SECONDS, Read, SourcedQuestion, read_all, unit_schedule
from edge_sdk.unit.sensor import Child
from protocol.errors import HalftruthError, OutsideSchedule

if TYPE_CHECKING:
    from protocol.campaign import Campaign

CLOCK_SECONDS = 5
"""Seconds between two checks of a clock that is not set yet."""
OPENING_SECONDS = 60
"""Seconds between two checks before the campaign opens."""
MAX_PAUSE = 3600
"""Longest sleep in seconds, so that a change of the clock is noticed."""
SEND_SECONDS = 600
"""Seconds after which the unit's next step stops an upload."""
EXIT_SECONDS = 5
"""Seconds for an upload's process to end after it closed its output."""
PHASE_BYTES = 8
NOTICE, WARNING, ERROR = 6, 4, 3
"""Levels of the journal."""

Say = Callable[[int, str], None]
"""A function that writes one line with a level to the log."""


class Unit:
    """A running unit, which must be closed.

    Attributes:
        campaign_id: id of the campaign that the unit answers now.
        agreed_to: id of the campaign that the configuration names.
    """

    def __init__(
        self,
        configuration: Configuration,
        read: Read,
        say: Say,
        *,
        clock: Callable[[], float] = time.time,
        urandom: Callable[[int], bytes] = os.urandom,
        past: float = 0,
    ) -> None:
        """Open the store; nothing is joined before the first ``step``.

        Args:
            configuration: the unit's configuration.
            read: function that reads the source of a question; called only for questions that the unit is asked.
            say: function that writes one line to the log.
            clock, urandom: the clock and the random source of the device.
            past: a time that is known to be past, seconds since 1970.
        Raises:
            BadData: the campaign or a key is malformed.
            StoreError: the store cannot be used.
            OSError: a file cannot be read.
        """
        from protocol.campaign import campaign_id

        self._configuration = configuration
        self._read = read
        self._say = say
        self._clock = clock
        self._urandom = urandom
        self._past = past
        self._now = clock()
        self._data = campaign_file(configuration.campaign)
        self.campaign_id = self.agreed_to = campaign_id(self._data)
        self._campaign: Campaign | None = None
        self._questions: tuple[SourcedQuestion, ...] = ()
        self._number = self._every = self._phase = 0
        self._has_destination = False
        self._timeout, self._begun = 0.0, -inf
        self._tried: tuple[int, int] | None = None
        self._checked_in: int | None = None
        """The sending interval in which the unit last checked for envelopes to send."""
        self._asked_in: int | None = None
        """The sending interval in which the study was asked for its next campaign."""
        self._asking: Child | None = None
        self._sending: Child | None = None
        self._logged: dict[str, str] = {}
        # The whole step uses one clock reading: if a period ends during the step, no reading may count for the wrong
        # period.
        self._device = Device.open(
            configuration.store,
            trusted_authors(configuration),
            configuration.budget,
            clock=lambda: self._now,
            urandom=urandom,
        )
        if configuration.follow:
            self._go_on()

    def close(self) -> None:
        """Stop a running upload, and close the store; no other work is pending between steps."""
        if self._sending is not None:
            self._sending.end()
            self._sending = None
        self._device.close()

    @property
    def waits_for(self) -> list[int]:
        """The file descriptor of a running upload's output: once it is readable, a step is due. Empty if none runs."""
        return [] if self._sending is None else [self._sending.fileno()]

    def step(self) -> float | None:
        """Do all work that is due now.

        Returns:
            Seconds until the next step is due, at most ``MAX_PAUSE``; None when the campaign was forgotten, or when it
            is over and no envelope with a destination waits. With ``follow``, a unit with a destination asks for the
            next campaign instead of ending.
        Raises:
            HalftruthError: the campaign cannot be joined or agreed to.
            StoreError: the store is damaged, or is an old copy.
        """
        self._now = self._clock()
        self._finish_sending()
        if self._now < self._past:
            before = "the clock shows a time before the configuration or the campaign file was written"
            self._warn("clock", f"{before}: waiting until the clock is set")
            return CLOCK_SECONDS
        campaign = self._campaign or self._agree()
        try:
            until = latest_recorded_time(self._device.records, self.campaign_id)
            if self._now < until:
                # The caps of windows assume that the clock never goes back, so the unit waits. Used slots prevent
                # double answers anyway.
                before = "the clock shows a time before the latest recorded time"
                self._warn("clock", f"{before}: waiting until {utc_text(until)}, or until the clock is set")
                return CLOCK_SECONDS
            self._solved("clock", "the clock is set")
            if self._now < campaign.opens:
                self._warn(
                    "opening", f"{campaign.title!r} opens at {utc_text(campaign.opens)}: waiting until then", NOTICE
                )
                return min(campaign.opens - self._now, OPENING_SECONDS)
            self._bundle(campaign)
            self._send_or_export()
            self._read_what_is_due(campaign)
            self._bundle(campaign)
        except (NotJoined, ConsentMissing):
            self._say(
                WARNING,
                "the campaign was forgotten, so the unit stops: name another campaign in the configuration before the "
                "next start, because the unit would join this one again",
            )
            return None
        if self._is_over(campaign):
            return self._follow() if self._configuration.follow and self._has_destination else None
        return max(0.0, min(self._moments(campaign)) - self._clock())

    # Joining and consent

    def _agree(self) -> Campaign:
        """Join and consent to the campaign if this was not done before; return the campaign."""
        device, campaign_id = self._device, self.campaign_id
        try:
            device.join(self._data)
            # The configuration must fit all questions, and this is checked before consent. So a refusal does not reveal
            # which questions this device is asked.
            schedule = unit_schedule(self._configuration, device.campaign(campaign_id))
            device.consent(campaign_id)
        except OutsideSchedule:
            # The campaign is over, but its waiting envelopes may still be sent.
            if campaign_id not in device.campaigns or not device.consented(campaign_id):
                raise
            schedule = unit_schedule(self._configuration, device.campaign(campaign_id))
        campaign = device.campaign(campaign_id)
        self._set_address(campaign.addresses)
        self._every, self._timeout = schedule.every, schedule.timeout
        self._questions = schedule.questions_of(device.records.campaigns.find(campaign_id).map, campaign.domain)
        self._number = device.records.campaigns.number(campaign_id)
        self._has_destination = self._configuration.export is not None or bool(device.addresses(campaign_id))
        self._phase = self._drawn_phase()
        self._say(NOTICE, f"answering {campaign.title!r}: a reading every {in_seconds(self._every)}")
        self._campaign = campaign
        return campaign

    def _go_on(self) -> bool:
        """Switch to the next campaign if the unit has agreed to one; return whether it has."""
        following = followed_campaign_id(self._device.records.store, self.campaign_id)
        if following == self.campaign_id:
            return False
        self.campaign_id = following
        self._data = self._device.records.campaigns.find(following).signed.data
        self._campaign = self._tried = None
        return True

    def _follow(self) -> float:
        """Switch to the next campaign, or ask the study for it once per sending interval.

        Returns:
            The seconds until the next step.
        """
        if self._go_on():
            return 0.0
        if self._asked_in != self._interval:
            self._asked_in = self._interval
            command = ("-m", "edge_sdk", "--store", str(self._configuration.store), "follow", self.campaign_id.hex())
            try:
                self._sending = self._asking = Child([sys.executable, *command], errors=True)
            except OSError as error:
                self._warn(
                    "sending",
                    f"the study was not asked for its next campaign: {error.strerror or type(error).__name__}",
                )
        return max(0.0, min(self._now + MAX_PAUSE, self._next_interval) - self._clock())

    def _set_address(self, addresses: Sequence[str]) -> None:
        """Store the configured address, if the campaign names none.

        Raises:
            ConfigurationRefused: the campaign names another address.
        """
        require_signed_address(self._configuration, addresses)
        if self._configuration.url is not None and not addresses:
            self._device.set_address(self.campaign_id, self._configuration.url)

    def _drawn_phase(self) -> int:
        """Return the delay in seconds after each multiple of the sending interval; the delay is drawn once per
        store."""
        phase = self._device.records.store.stored_random("phase", PHASE_BYTES, self._urandom)
        return int.from_bytes(phase, "big") * self._configuration.send_every >> 8 * PHASE_BYTES

    # Readings

    def _latest(self, campaign: Campaign) -> tuple[int, int]:
        """Return (period, slot) of the latest reading; (0, -1) before the first.

        Readings made in a later period, while the clock was ahead, do not count until that period has come.
        """
        period = (int(self._now) - campaign.opens) // campaign.period_seconds
        return self._device.records.slots.latest(self._number, period)

    def _closes(self, campaign: Campaign) -> int:
        """Return the time at which the campaign closes, in UTC seconds: its end, or the time of its early closing."""
        early = self._device.records.campaigns.closed_early(self.campaign_id)
        return campaign.closes if early is None else early

    def _slot_due(self, campaign: Campaign) -> tuple[int, int] | None:
        """Return the (period, slot) that is due; None after the last slot of a period or the end of the campaign."""
        if self._now >= self._closes(campaign):
            return None
        period, into = divmod(int(self._now) - campaign.opens, campaign.period_seconds)
        slot = into // self._every
        return (period, slot) if slot < campaign.answers_per_period else None

    def _read_what_is_due(self, campaign: Campaign) -> None:
        due = self._slot_due(campaign)
        if due is None or due == self._tried or due <= self._latest(campaign):
            return
        # The duration of a reading may depend on its value. So the time at which it began is its time, and nothing is
        # sent before the latest time at which it could end.
        self._tried, self._begun = due, self._now
        answer, reason = read_all(self._questions, self._read)
        # If an answer is configured for failed readings, the failure is not logged, because the log would reveal it.
        if answer is None:
            self._warn("source", f"{reason}: the reading is skipped")
            return
        self._solved("source", "the source gives readings again")
        give = self._device.answer if campaign.transcript else self._device.collect
        try:
            give(self.campaign_id, answer, due[1])
        except (NotJoined, ConsentMissing, StoreRestored, StoreDamaged):
            raise
        except QuotaReached:
            # Another process has filled this slot.
            pass
        except HalftruthError as error:
            self._warn("store", str(error))
        else:
            self._solved("store", "the store takes readings again")

    def _bundle(self, campaign: Campaign) -> None:
        """Bundle and sign the collected readings if their period is over or full."""
        if not self._device.collected(self.campaign_id):
            return
        period, slot = self._latest(campaign)
        over = self._now >= min(self._closes(campaign), campaign.opens + (period + 1) * campaign.period_seconds)
        if not over and slot + 1 < campaign.answers_per_period:
            return
        try:
            self._device.bundle(self.campaign_id)
        except (NotJoined, StoreRestored, StoreDamaged):
            raise
        except HalftruthError as error:
            self._warn("bundle", str(error))
        else:
            self._solved("bundle", "the collected readings are bundled and signed")

    # Sending and exporting

    def _send_or_export(self) -> None:
        """Send or export waiting envelopes, if a time for it has passed since the last step."""
        if self._begun <= self._now < self._settled:
            return
        to = self._configuration
        due = self._checked_in is not None and self._interval > self._checked_in
        self._checked_in = self._interval
        if not due or not self._has_destination or self._sending is not None or not self._waits:
            return
        # Only this campaign is sent: another unit with the same store has its own schedule and destination.
        named = self.campaign_id.hex()
        try:
            if to.export is None:
                command = ("-m", "edge_sdk", "--store", str(to.store), "outbox", "send", "--campaign", named)
                self._sending = Child([sys.executable, *command], errors=True)
            else:
                to.export.mkdir(parents=True, exist_ok=True)
                name = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self._now)) + f"-{named[:8]}.htr"
                count = self._device.outbox.export(to.export / name, self.campaign_id)
                self._solved("sending", "")
                self._say(NOTICE, f"{count} envelope{'s' * (count != 1)} written to {to.export / name}")
        except HalftruthError as error:
            self._warn("sending", str(error))
        except OSError as error:
            self._warn("sending", f"nothing was exported or sent: {error.strerror or type(error).__name__}")

    def _finish_sending(self) -> None:
        """Log the result of an upload, if it has ended or takes too long."""
        child = self._sending
        if child is None:
            return
        more = child.read()
        if more and time.monotonic() < child.begun + SEND_SECONDS:
            return
        self._sending = None
        code = child.end(0 if more else time.monotonic() + EXIT_SECONDS)
        lines = child.printed.decode(errors="replace").split("\n")
        output = ", ".join(line.removeprefix("edge_sdk: ") for line in lines if line) or f"exit code {code}"
        asking = child is self._asking
        if asking and not more and code == NOT_YET:
            self._warn("following", output, NOTICE)
        elif more:
            subject = "the request for the next campaign" if asking else "the upload"
            self._warn(
                "sending",
                f"{subject} was stopped after {SEND_SECONDS} seconds; it is tried again at the next sending time",
            )
        elif code:
            subject = "the next campaign was not joined" if asking else "not everything was sent"
            self._warn("sending", f"{subject}: {output}")
        else:
            self._solved("sending", "")
            self._say(NOTICE, output)

    # Times

    @property
    def _interval(self) -> int:
        """The number of the current sending interval."""
        return (int(self._now) - self._phase) // self._configuration.send_every

    @property
    def _next_interval(self) -> int:
        """The start of the next sending interval, UTC seconds."""
        return self._phase + (self._interval + 1) * self._configuration.send_every

    @property
    def _settled(self) -> float:
        """The time by which the latest reading must have ended, in UTC seconds."""
        return self._begun + self._timeout + SETTLE_SECONDS

    def _moments(self, campaign: Campaign) -> list[float]:
        """Return the next times, in UTC seconds, of a reading, a bundle, an upload and the end of the longest pause."""
        moments = [self._now + MAX_PAUSE]
        if self._now < self._closes(campaign):
            period, into = divmod(int(self._now) - campaign.opens, campaign.period_seconds)
            begins, slot = campaign.opens + period * campaign.period_seconds, into // self._every + 1
            following = begins + campaign.period_seconds
            if slot < campaign.answers_per_period:
                following = min(following, begins + slot * self._every)
            moments.append(min(self._closes(campaign), following))
        if self._has_destination:
            moments.append(self._next_interval if self._interval == self._checked_in else self._settled)
        return moments

    @property
    def _waits(self) -> bool:
        """True if envelopes of the campaign wait to be sent."""
        return bool(self._device.outbox.envelopes(self._number, 1))

    def _is_over(self, campaign: Campaign) -> bool:
        """Return whether the campaign is over and nothing of it is left to bundle or send; if so, log that it is
        over."""
        if self._now < self._closes(campaign) or self._sending is not None or self._device.collected(self.campaign_id):
            return False
        if self._has_destination and self._waits:
            return False
        early = " early, by its author" if self._now < campaign.closes else ""
        self._warn("over", f"{campaign.title!r} is over{early}", NOTICE)
        return True

    # The log

    def _warn(self, about: str, text: str, level: int = WARNING) -> None:
        """Log a problem, unless it is the one last logged about the same subject and not solved since."""
        if self._logged.get(about) != text:
            self._logged[about] = text
            self._say(level, text)

    def _solved(self, about: str, text: str) -> None:
        """Forget a problem; if it was logged, log ``text``, unless it is empty."""
        if self._logged.pop(about, None) is not None and text:
            self._say(NOTICE, text)
