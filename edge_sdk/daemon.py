"""The unit that answers by itself: reads a source when it is time, collects, bundles, and lets it leave on a schedule.

One idea: everything has its moment, and no moment depends on a reading. A reading is numbered by the clock,
floor((now - start of the period) / every); a bundle is made when its period is full or over; what is sealed leaves
every so many seconds from a phase that is drawn once. A moment that was missed is missed: nothing is made up for, so an
outage is not followed by a burst. What a reading decides is only what the device draws.

A clock that shows a time which is known to be past is not set yet: nothing is answered until it is. Each step ends
with everything on the disk, so a unit may be killed at any moment and goes on where it was.

What leaves is sent by a child process, so that what TLS needs in memory does not stay. Logs never say a value, a
spend or a prior.

How a source is read: source. What the owner wrote down: config. What an answer costs: device.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from types import TracebackType
from typing import TYPE_CHECKING, Self

from edge_sdk.config import DEFAULT_TIMEOUT, Configuration, ConfigurationRefused, Source, load
from edge_sdk.device import Device
from edge_sdk.errors import ConsentMissing, QuotaReached, StoreDamaged, StoreError, StoreRestored, UnknownCampaign
from edge_sdk.source import NOTHING, Child, Reader, Stopped, answer_of
from protocol.errors import BadData, HalftruthError, OutsideSchedule

if TYPE_CHECKING:
    from protocol.campaign import Campaign
    from protocol.domain import Answer

CLOCK_SECONDS = 5
"""Between two looks at a clock that is not set yet."""
OPENING_SECONDS = 60
"""Between two looks before the campaign opens."""
MOST_PAUSE = 3600
"""A clock that is set while the unit sleeps is noticed after so many seconds, if no moment comes before."""
SETTLE_SECONDS = 0.25
"""For a reading to be on the disk."""
SEND_SECONDS = 600
"""After which an upload is given up."""
EXIT_SECONDS = 5
"""For an upload to end itself, once it said what became of it."""
PHASE_BYTES = 8
NOTICE, WARNING, ERROR = 6, 4, 3
"""Levels of the journal."""

Say = Callable[[int, str], None]
"""Writes one line of a level to the log."""


class Unit:
    """One configuration at work. Use it in a ``with`` statement, or ``close`` it.

    Attributes:
        campaign_id: of the campaign it answers.
    """

    def __init__(
        self,
        configuration: Configuration,
        read: Callable[[float], tuple[str, str]],
        say: Say,
        *,
        clock: Callable[[], float] = time.time,
        urandom: Callable[[int], bytes] = os.urandom,
        past: float = 0,
    ) -> None:
        """Open the store; nothing is joined before the first ``step``.

        Args:
            read: gives a reading as text, or why there is none, within so many seconds.
            past: a time that is known to be past, seconds since 1970.
        Raises:
            ConfigurationRefused: the campaign and the configuration do not fit each other.
            BadData: the campaign or a key is none.
            StoreError
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
        self._data = campaign_file(configuration)
        self.campaign_id = campaign_id(self._data)
        self._terms: Campaign | None = None
        self._instead: Answer | None = None
        self._number = self._every = self._phase = 0
        self._timeout, self._begun = 0.0, -inf
        self._tried: tuple[int, int] | None = None
        self._turn: int | None = None
        self._sending: Child | None = None
        self._said: dict[str, str] = {}
        # One moment for a whole step: a period that ends in between would else give a reading to the wrong one.
        self._device = Device.open(
            configuration.store, trusted(configuration), configuration.budget, clock=lambda: self._now, urandom=urandom
        )

    def close(self) -> None:
        """Stop an upload on its way, and close the store; nothing else is pending."""
        if self._sending is not None:
            self._sending.end()
            self._sending = None
        self._device.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def waits_for(self) -> list[int]:
        """Descriptors: once one is readable, it is time for the next step."""
        return [] if self._sending is None else [self._sending.fileno()]

    def step(self) -> float | None:
        """Do what is due now.

        Returns:
            seconds until something is due again, at most ``MOST_PAUSE``; None when the campaign is over and all has
            left, or it was forgotten.
        Raises:
            HalftruthError: the campaign cannot be joined or agreed to.
            StoreError: the store is damaged, or not the one it was.
        """
        self._now = self._clock()
        self._finish_sending()
        if self._now < self._past:
            self._warn("clock", "the clock shows a time before the configuration was written: waiting until it is set")
            return CLOCK_SECONDS
        terms = self._terms or self._agree()
        try:
            if self._now < self._known_past(terms):
                self._warn("clock", "the clock shows a time before the latest reading: waiting until it is set")
                return CLOCK_SECONDS
            self._well("clock", "the clock is set")
            if self._now < terms.opens:
                self._warn("opening", f"{terms.title!r} has not opened yet", NOTICE)
                return min(terms.opens - self._now, OPENING_SECONDS)
            self._bundle(terms)
            self._leave()
            self._read_what_is_due(terms)
            self._bundle(terms)
        except (UnknownCampaign, ConsentMissing):
            self._say(WARNING, "the campaign was forgotten: nothing more is answered; take it out of the configuration")
            return None
        if self._is_over(terms):
            return None
        return max(0.0, min(self._moments(terms)) - self._clock())

    # Agreeing

    def _agree(self) -> Campaign:
        """Join and consent, where this was not done before; the campaign."""
        device, campaign_id = self._device, self.campaign_id
        try:
            device.join(self._data)
            device.consent(campaign_id)
        except OutsideSchedule:
            # Over; what waits of it may still leave.
            if campaign_id not in device.campaigns or not device.consented(campaign_id):
                raise
        terms = device._joined(campaign_id).campaign
        self._every, self._timeout, self._instead = fit(self._configuration, terms)
        self._number = device._number(campaign_id)
        self._phase = self._drawn_phase()
        self._say(NOTICE, f"answering {terms.title!r}: a reading every {self._every} seconds")
        self._terms = terms
        return terms

    def _known_past(self, terms: Campaign) -> int:
        """A time that is past: that of the consent, and that at which the period of the latest reading began."""
        row = self._device._store.row("SELECT time FROM consent WHERE campaign = ?", self._number)
        if row is None:
            raise UnknownCampaign("the campaign is not agreed to any more")
        period, reading = self._latest()
        return max(int(row[0]), terms.opens + period * terms.period_seconds if reading >= 0 else 0)

    def _drawn_phase(self) -> int:
        """Seconds after each multiple of the sending interval; drawn once in the life of a store."""
        store, query = self._device._store, "SELECT value FROM setting WHERE name = 'phase'"
        row = store.row(query)
        if row is None:
            with store.transaction():
                store.execute("INSERT OR IGNORE INTO setting VALUES ('phase', ?)", self._urandom(PHASE_BYTES))
                row = store.row(query)
        return int.from_bytes(row[0] if row else b"", "big") * self._configuration.send_every >> 8 * PHASE_BYTES

    # Readings

    def _latest(self) -> tuple[int, int]:
        """(period, reading) of the latest reading that is used up; (0, -1) before the first."""
        query = "SELECT period, slots FROM used WHERE campaign = ? ORDER BY period DESC LIMIT 1"
        row = self._device._store.row(query, self._number)
        return (0, -1) if row is None else (int(row[0]), int(row[1]) - 1)

    def _place(self, terms: Campaign) -> tuple[int, int] | None:
        """(period, reading) that it is time for; None where the period takes no more, or the campaign is over."""
        if self._now >= terms.closes:
            return None
        period, into = divmod(int(self._now) - terms.opens, terms.period_seconds)
        reading = into // self._every
        return (period, reading) if reading < terms.answers_per_period else None

    def _read_what_is_due(self, terms: Campaign) -> None:
        place = self._place(terms)
        if place is None or place == self._tried or place <= self._latest():
            return
        # How long a source takes may tell what it reads. So the reading is of the moment at which it was begun, and
        # nothing leaves before the latest moment at which it could end.
        self._tried, self._begun = place, self._now
        source = self._configuration.source
        text, reason = self._read(self._timeout)
        answer = None if reason else answer_of(terms.domain, text, source)
        if answer is None:
            answer = self._instead  # and not a word: the log would tell what was answered
        if answer is None:
            self._warn("source", f"{reason or NOTHING}: the reading is skipped")
            return
        self._well("source", "the source gives readings again")
        give = self._device.answer if terms.transcript else self._device.collect
        try:
            give(self.campaign_id, answer, place[1])
        except (UnknownCampaign, ConsentMissing, StoreRestored, StoreDamaged):
            raise
        except QuotaReached:
            pass  # somebody else gave it
        except HalftruthError as error:
            self._warn("store", str(error))
        else:
            self._well("store", "the store takes readings again")

    def _bundle(self, terms: Campaign) -> None:
        """Seal what was collected, once its period is over, or has had its last reading."""
        if not self._device.collected(self.campaign_id):
            return
        period, reading = self._latest()
        over = self._now >= min(terms.closes, terms.opens + (period + 1) * terms.period_seconds)
        if not over and reading + 1 < terms.answers_per_period:
            return
        try:
            self._device.bundle(self.campaign_id)
        except (UnknownCampaign, StoreRestored, StoreDamaged):
            raise
        except HalftruthError as error:
            self._warn("bundle", str(error))
        else:
            self._well("bundle", "what was collected is sealed")

    # Leaving

    def _leave(self) -> None:
        """Send or export what is sealed, if its moment has come since the last step."""
        if self._begun <= self._now < self._settled:
            return
        to, turn = self._configuration, (int(self._now) - self._phase) // self._configuration.send_every
        due = self._turn is not None and turn > self._turn
        self._turn = turn
        if not due or self._sending is not None or not len(self._device.outbox):
            return
        try:
            if to.url is not None:
                command = ("-m", "edge_sdk", "--store", str(to.store), "outbox", "send", to.url)
                self._sending = Child([sys.executable, *command], errors=True)
            elif to.export is not None:
                to.export.mkdir(parents=True, exist_ok=True)
                name = time.strftime("%Y%m%dT%H%M%SZ.htr", time.gmtime(self._now))
                count = self._device.outbox.export(to.export / name)
                self._well("leaving", "")
                self._say(NOTICE, f"{count} envelopes written to {to.export / name}")
        except HalftruthError as error:
            self._warn("leaving", str(error))
        except OSError as error:
            self._warn("leaving", f"nothing left: {error.strerror or type(error).__name__}")

    def _finish_sending(self) -> None:
        """Say what became of an upload, if it has ended or takes too long."""
        child = self._sending
        if child is None:
            return
        more = child.read()
        if more and time.monotonic() < child.begun + SEND_SECONDS:
            return
        self._sending = None
        code = child.end(0 if more else time.monotonic() + EXIT_SECONDS)
        lines = child.printed.decode(errors="replace").split("\n")
        said = ", ".join(line.removeprefix("edge_sdk: ") for line in lines if line) or f"exit code {code}"
        if more:
            self._warn("leaving", f"the upload was given up after {SEND_SECONDS} seconds")
        elif code:
            self._warn("leaving", f"not everything was sent: {said}")
        else:
            self._well("leaving", "")
            self._say(NOTICE, said)

    # Moments

    @property
    def _settled(self) -> float:
        """When the latest reading is over, however long it took."""
        return self._begun + self._timeout + SETTLE_SECONDS

    def _moments(self, terms: Campaign) -> list[float]:
        """Times at which something is due after now."""
        moments = [self._now + MOST_PAUSE]
        if self._now < terms.closes:
            period, into = divmod(int(self._now) - terms.opens, terms.period_seconds)
            begins, reading = terms.opens + period * terms.period_seconds, into // self._every + 1
            following = begins + terms.period_seconds
            if reading < terms.answers_per_period:
                following = min(following, begins + reading * self._every)
            moments.append(min(terms.closes, following))
        if self._leaves:
            turn = (int(self._now) - self._phase) // self._configuration.send_every
            following = self._phase + (turn + 1) * self._configuration.send_every
            moments.append(following if turn == self._turn else self._settled)
        return moments

    @property
    def _leaves(self) -> bool:
        return self._configuration.url is not None or self._configuration.export is not None

    def _is_over(self, terms: Campaign) -> bool:
        if self._now < terms.closes or self._sending is not None or self._device.collected(self.campaign_id):
            return False
        if self._leaves and self._number in self._device.outbox.campaigns():
            return False
        self._say(NOTICE, f"{terms.title!r} is over")
        return True

    # The log

    def _warn(self, about: str, text: str, level: int = WARNING) -> None:
        """Say what keeps something from going on; once, until it goes on or another thing does."""
        if self._said.get(about) != text:
            self._said[about] = text
            self._say(level, text)

    def _well(self, about: str, text: str) -> None:
        """Something goes on; said where it did not before."""
        if self._said.pop(about, None) is not None and text:
            self._say(NOTICE, text)


def trusted(configuration: Configuration) -> list[bytes]:
    """The public keys of the authors that the owner trusts.

    Raises:
        KeyRefused, OSError
    """
    from protocol.keys import public_from_line

    return [public_from_line(path.read_bytes()[:1024].decode("ascii", "replace")) for path in configuration.trust]


def campaign_file(configuration: Configuration) -> bytes:
    """The bytes of the campaign's file.

    Raises:
        OSError
    """
    from protocol.envelope import MAX_PAYLOAD, Kind

    with configuration.campaign.open("rb") as file:
        return file.read(MAX_PAYLOAD[Kind.CAMPAIGN] + 1024)


def fit(configuration: Configuration, terms: Campaign) -> tuple[int, float, Answer | None]:
    """Seconds between two readings, seconds that one may take, and what is answered in place of none.

    Raises:
        ConfigurationRefused: a key that means nothing in this campaign.
    """
    from protocol.domain import Buckets

    source = configuration.source
    every = configuration.every or max(1, terms.period_seconds // terms.answers_per_period)
    if every > terms.period_seconds:
        raise ConfigurationRefused(
            f"[schedule] every is at most a period, which has {terms.period_seconds} seconds in this campaign"
        )
    timeout = min(DEFAULT_TIMEOUT, every / 2) if source.timeout is None else source.timeout
    if timeout + SETTLE_SECONDS >= every:
        raise ConfigurationRefused(f"[source] timeout is below the {every} seconds between two readings")
    if source.scale is not None and not isinstance(terms.domain, Buckets):
        raise ConfigurationRefused("[source] scale is for numbers, and this campaign does not ask for one")
    instead = None
    if source.instead is not None:
        instead = answer_of(terms.domain, source.instead, Source(outside="skip"))
        if instead is None:
            raise ConfigurationRefused("[source] instead is an answer that the campaign's question allows")
    return every, 0 if source.file else timeout, instead


def plan(configuration: Configuration) -> dict[str, object]:
    """What a unit would do; nothing is joined, opened or read.

    Raises:
        ConfigurationRefused, BadData, AddressRefused, OSError
        BudgetRefused: the caps leave no room for the campaign, even in a new store.
    """
    from edge_sdk.budget import MOST_NATS, BudgetPolicy
    from edge_sdk.send import address
    from edge_sdk.store import DATABASE_FILE, MEMORY

    # What an existing store allows is known to that store alone.
    exists = (configuration.store / DATABASE_FILE).exists()
    budget = BudgetPolicy(lifetime=MOST_NATS) if exists else configuration.budget
    with Device.open(MEMORY, trusted(configuration), budget, clock=lambda: 0) as device:
        terms = device.join(campaign_file(configuration))
        every, _, _ = fit(configuration, device._joined(terms.campaign_id).campaign)
    if configuration.url is not None:
        address(configuration.url)
    readings = min(terms.answers_per_period, -(-terms.period_seconds // every))
    to = configuration.url or configuration.export
    return {
        "campaign": terms.campaign_id.hex(),
        "title": terms.title,
        "question": terms.question,
        "purpose": terms.purpose,
        "organisation": terms.organisation,
        "opens": terms.opens,
        "closes": terms.closes,
        "cost": terms.cost,
        "worst_case": terms.worst_case,
        "notion": terms.notion,
        "answers": terms.answers,
        "store": str(configuration.store),
        "readings": f"one every {every} seconds, {readings} in a period of {terms.period_seconds} seconds",
        "leaves": f"{to}, every {configuration.send_every} seconds"
        if to
        else "when somebody fetches it: outbox export",
    }


def tried(configuration: Configuration) -> str:
    """What the source gives right now, without saying what it is; standard input is not read.

    Raises:
        BadData, OSError
    """
    if configuration.source.stdin:
        return "standard input, not read now"
    from protocol.campaign import open_campaign

    terms = open_campaign(campaign_file(configuration), trusted(configuration)).terms
    never, other = os.pipe()
    try:
        text, reason = Reader(configuration.source, never).read(configuration.source.timeout or DEFAULT_TIMEOUT)
    finally:
        os.close(never)
        os.close(other)
    if not reason and answer_of(terms.domain, text, configuration.source) is None:
        reason = NOTHING
    return reason or "gives a reading that the question allows"


def run(configuration: Configuration, say: Say) -> None:
    """Be the unit of a configuration until its campaign is over, standard input ends, or SIGTERM or SIGINT comes.

    Raises:
        HalftruthError, OSError: it cannot begin, or the store is lost.
    """
    stop, wake = os.pipe()
    for end in (stop, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)  # the descriptor above tells; nothing is interrupted
    reader = Reader(configuration.source, stop)
    past = max(path.stat().st_mtime for path in (configuration.file, configuration.campaign))
    with (
        Unit(configuration, reader.read, say, past=past) as unit,
        _alone(configuration, unit.campaign_id),
        suppress(Stopped),
    ):
        while (pause := unit.step()) is not None:
            if reader.ended:
                say(NOTICE, "standard input has ended: what was collected leaves when the unit runs again")
                return
            ready, _, _ = select.select([stop, *unit.waits_for], [], [], pause)
            if stop in ready:
                raise Stopped
        return
    say(NOTICE, "stopped")


@contextmanager
def _alone(configuration: Configuration, campaign_id: bytes) -> Iterator[None]:
    """Hold a campaign of a store, so that one unit answers it; the system lets go of it when the process ends.

    Raises:
        StoreError: another process holds it.
    """
    import fcntl

    path = configuration.store / f"unit-{campaign_id.hex()}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError("another process answers this campaign with this store: stop it first") from None
        yield
    finally:
        os.close(descriptor)


def main(arguments: Sequence[str] | None = None) -> int:
    """``python -m edge_sdk.daemon CONFIG``: the unit, in a process that loaded nothing but what it needs.

    Returns:
        the exit code: 0 done or stopped, 1 refused or failed, 2 usage, 65 bad data.
    """
    say = _log()
    [path] = sys.argv[1:] if arguments is None else arguments
    try:
        run(load(path), say)
    except ConfigurationRefused as error:
        say(ERROR, str(error))
        return 2
    except BadData as error:
        say(ERROR, str(error))
        return 65
    except HalftruthError as error:
        say(ERROR, str(error))
        return 1
    except OSError as error:
        say(ERROR, f"{error.filename}: {error.strerror}" if error.filename else str(error))
        return 1
    return 0


def _log() -> Say:
    """One line each to standard error; with its level where that is the journal."""
    journal = False
    with suppress(OSError):  # nobody listens at all
        known = os.fstat(2)
        journal = os.environ.get("JOURNAL_STREAM") == f"{known.st_dev}:{known.st_ino}"

    def say(level: int, text: str) -> None:
        line = " ".join(text.split())
        with suppress(OSError):  # a full disk under a log file stops nothing
            print(f"<{level}>{line}" if journal else f"edge_sdk: {line}", file=sys.stderr, flush=True)

    return say


def _spare_memory() -> None:
    """Take Python's own digests in place of OpenSSL's: ``cryptography`` brings an OpenSSL of its own, and one is
    enough (3 MB). The digests are the same."""
    from importlib.util import find_spec

    own = ("_md5", "_sha1", "_sha3", "_blake2", *(("_sha2",) if find_spec("_sha2") else ("_sha256", "_sha512")))
    if "hashlib" not in sys.modules and all(map(find_spec, own)):
        sys.modules["_hashlib"] = None  # type: ignore[assignment]  # an import of it fails, as hashlib expects


if __name__ == "__main__":
    _spare_memory()
    sys.exit(main())
