"""The configuration of a unit: one TOML file, written by the unit's owner.

    store = "/var/lib/halftruth"            # the device's own folder, created if missing
    trust = ["analyst.pub"]                 # public keys of the authors that the owner trusts
    campaign = "load.campaign"              # joined and consented to at the first start
    consent = true                          # the owner read its terms (run CONFIG --check) and agrees
    follow = false                          # true: also agree to the study's next campaign (see succession)

    [budget]                                # caps; once stored, they can only be lowered
    lifetime = 8.0                          # nats (see docs/GLOSSARY.md)
    per_campaign = 4.0                      # nats
    window = [86400, 1.0]                   # cap for any interval: seconds, nats

    [source]                                # see ``Source``; a form has one table [source.QUESTION] for each question
    command = ["cat", "/proc/loadavg"]
    field = 0                               # the first word of the last line

    [schedule]
    every = 900                             # seconds; default: period_seconds / answers_per_period

    [send]                                  # without any address, reports wait for the command 'outbox export'
    url = "https://study.example"           # only if the signed campaign names no address; or: export = "folder"
    every = 3600                            # seconds

A file with an unknown entry is refused, because a misspelt cap would otherwise have no effect. The error names the
entry and the expected value. Paths are relative to the file.

The module dry_run returns the plan of a unit with this configuration; budget/policy compares a campaign with the caps.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from edge_sdk.budget.policy import BudgetPolicy
from edge_sdk.errors import AddressRefused
from edge_sdk.transport.address import address
from protocol import exact
from protocol.errors import HalftruthError
from protocol.spelling import suggestion

MAX_SECONDS = 2**31
"""The longest time between two readings or two uploads: 68 years."""
MAX_TIMEOUT = 3600
"""Maximum of ``timeout``, in seconds."""
DEFAULT_TIMEOUT, DEFAULT_SEND = 10, 3600
"""Defaults of ``timeout`` and of ``[send] every``, in seconds."""
CLAMP, SKIP = "clamp", "skip"


class ConfigurationRefused(HalftruthError):
    """An invalid configuration. The text names the entry and the expected value."""


@dataclass(frozen=True)
class Source:
    """The source of readings; exactly one of ``command``, ``file`` and ``stdin`` is set.

    Attributes:
        command: a program and its arguments, run for each reading; its standard output is read, its standard error is
            dropped.
        file: a file whose last line is read.
        stdin: whether the next line of standard input is read.
        timeout: seconds to wait for a program or a line; None for ``DEFAULT_TIMEOUT`` or half of the time between two
            readings, whichever is less. For a form, this default is divided by the largest number of questions that a
            device is asked.
        field: the place of the reading in the last line. A number is the index of a word; -1 is the last word. A string
            is a path in a JSON value (the whole output, or its last line): names separated by dots. None means the
            whole line.
        separator: the separator of words; None for blanks.
        scale: the factor by which numbers are multiplied, in a campaign that asks for a number.
        outside: the treatment of a number, day or position outside the question's range. "clamp" replaces it by the
            nearest one inside; "skip" reports nothing, which reveals to an observer that the reading was outside.
        instead: the answer if the source gives no answer that the question allows; None to report nothing. For a
            question of a form that may be skipped, both this answer and a reading may be the text "skipped".
    """

    command: tuple[str, ...] = ()
    file: Path | None = None
    stdin: bool = False
    timeout: float | None = None
    field: int | str | None = None
    separator: str | None = None
    scale: Fraction | None = None
    outside: str = CLAMP
    instead: str | None = None


@dataclass(frozen=True)
class Configuration:
    """A unit's configuration.

    Attributes:
        file: the path of the configuration file.
        store, trust, campaign: the paths of the store's folder, of the authors' keys and of the campaign.
        budget: the owner's caps.
        sources: the source of each question of a form, by the question's name; in other campaigns the only source has
            the name "".
        every: seconds between two readings; None for the campaign's schedule.
        url, export: address or folder for envelopes; at most one of them is given. If both are None, the
            campaign's addresses are used; without any, envelopes wait for the command 'outbox export'.
        send_every: seconds between two uploads or exports.
        follow: whether the owner also agrees to the study's next campaign (see succession).
    """

    file: Path
    store: Path
    trust: tuple[Path, ...]
    campaign: Path
    budget: BudgetPolicy
    sources: Mapping[str, Source]
    every: int | None = None
    url: str | None = None
    export: Path | None = None
    send_every: int = DEFAULT_SEND
    follow: bool = False


def in_seconds(number: float) -> str:
    """Return a number of seconds with its unit: "1 second", "0.5 seconds"."""
    digits = str(number) if isinstance(number, int) else f"{number:g}"
    return f"{digits} {'second' if number == 1 else 'seconds'}"


def read_configuration(path: str | os.PathLike[str], checking: bool = False) -> Configuration:
    """Return the configuration in a file.

    Args:
        checking: accept a configuration whose owner has not agreed yet, to show the terms.
    Raises:
        ConfigurationRefused: the file is not TOML, an entry is not valid, or the owner has not agreed.
        OSError: the file cannot be read.
    """
    # Imported here, because most commands do not need it.
    import tomllib

    file = Path(path)
    try:
        with file.open("rb") as opened:
            entries = tomllib.load(opened)
    except UnicodeDecodeError:
        raise ConfigurationRefused(f"{file} is not UTF-8 text, as TOML must be: save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationRefused(f"{file} is not TOML: {error}. Correct it, or name a TOML file") from None
    try:
        return _configuration(file, _ConfigTable("", entries), checking)
    except ConfigurationRefused as error:
        raise ConfigurationRefused(f"{file}: {error}") from None


class _ConfigTable:
    """The entries of one table. Each entry is read once, and ``close`` refuses the entries that were not read.

    A method with an argument ``expected`` refuses any other value, and repeats the argument in the error. If the entry
    is missing, the result is None, (), False or an empty table.
    """

    def __init__(self, name: str, entries: dict[str, object]) -> None:
        self.name = name
        self._entries = dict(entries)

    def wrong(self, entry: str, expected: str, value: object = None) -> ConfigurationRefused:
        """Return the error for an entry, for the caller to raise; it describes ``value``, unless that is None."""
        description = "" if value is None else f"; the value is {_described(value)}"
        return ConfigurationRefused(f"{self._place(entry)} {expected}{description}")

    def _place(self, entry: str) -> str:
        return f"[{self.name}] {entry}" if self.name else entry

    @property
    def is_empty(self) -> bool:
        return not self._entries

    def text(self, entry: str, expected: str) -> str | None:
        value = self._entries.pop(entry, None)
        if value is not None and (not isinstance(value, str) or not value or "\0" in value):
            raise self.wrong(entry, expected, value)
        return value

    def texts(self, entry: str, expected: str) -> tuple[str, ...]:
        value = self._entries.pop(entry, [])
        if not isinstance(value, list) or not all(
            isinstance(text, str) and text and "\0" not in text for text in value
        ):
            raise self.wrong(entry, expected, value)
        return tuple(value)

    def boolean(self, entry: str, expected: str) -> bool:
        value = self._entries.pop(entry, False)
        if not isinstance(value, bool):
            raise self.wrong(entry, expected, value)
        return value

    def every(self, events: str) -> int | None:
        """Remove and return the entry ``every``, the seconds between two ``events``."""
        value = self._entries.pop("every", None)
        if value is not None and (type(value) is not int or not 1 <= value <= MAX_SECONDS):
            expected = f"must be a whole number of seconds between two {events}, from 1 to {MAX_SECONDS}"
            raise self.wrong("every", expected, value)
        return value

    def number(self, entry: str, expected: str) -> float | None:
        value = self._entries.pop(entry, None)
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.wrong(entry, expected, value)
        return value

    def pick(self, entry: str) -> object:
        """Remove an entry and return its value, which the caller checks; None if the entry is missing."""
        return self._entries.pop(entry, None)

    def table(self, entry: str) -> _ConfigTable:
        value = self._entries.pop(entry, {})
        if not isinstance(value, dict):
            raise self.wrong(entry, f"must be a table, [{entry}]", value)
        return _ConfigTable(entry, value)

    def tables(self) -> list[tuple[str, _ConfigTable]]:
        """Return (entry, table) for each entry whose value is a table."""
        tables = {entry: value for entry, value in self._entries.items() if isinstance(value, dict)}
        for entry in tables:
            del self._entries[entry]
        return [(entry, _ConfigTable(f"{self.name}.{entry}", value)) for entry, value in tables.items()]

    def close(self, known: str) -> None:
        for entry in self._entries:
            # The names of tables stand in brackets in the list, and would be less similar to the entry.
            hint = suggestion(entry, [name.strip("[]") for name in known.split(", ")])
            hint = hint or f"; the entries here are: {known}"
            raise ConfigurationRefused(f"unknown entry {self._place(entry)}{hint}")


def _described(value: object) -> str:
    """Return a description of a wrong value without its text, which may contain a secret of a command."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    kinds: dict[type, str] = {str: "a text", list: "a list", dict: "a table"}
    return kinds.get(type(value), "a time") if value else "empty"


def _configuration(file: Path, top: _ConfigTable, checking: bool) -> Configuration:
    folder = file.absolute().parent
    store = top.text("store", "must be a path: the folder of the device")
    trust = top.texts("trust", "must be a list of public key files, such as the analyst's")
    campaign = top.text("campaign", "must be a path: the file of the signed campaign")
    consent = top.boolean("consent", "must be true or false")
    follow = top.boolean(
        "follow",
        "must be true or false: whether you also agree to the study's next campaign if only its title, languages, "
        "schedule, minimum number of devices or mechanism differ, its promise is the same or stricter, and it costs no "
        "more",
    )
    budget, source = top.table("budget"), top.table("source")
    schedule, send = top.table("schedule"), top.table("send")
    top.close("store, trust, campaign, consent, follow, [budget], [source], [schedule], [send]")
    if store is None:
        raise top.wrong("store", "is missing: name the folder of the device")
    if not trust:
        raise top.wrong("trust", "is missing: list the public key files of the authors whose campaigns are answered")
    if campaign is None:
        raise top.wrong("campaign", "is missing: name the signed campaign's file")
    if not consent and not checking:
        raise top.wrong("consent", "must be true: read the terms (--check) and agree; a unit cannot ask a person")
    every = schedule.every("readings")
    schedule.close("every")
    url, export, send_every = _send(send)
    return Configuration(
        file,
        folder / store,
        tuple(folder / path for path in trust),
        folder / campaign,
        _budget(budget),
        _sources(source, folder),
        every,
        url,
        None if export is None else folder / export,
        send_every,
        follow,
    )


def _send(table: _ConfigTable) -> tuple[str | None, str | None, int]:
    """Return (url, export, send_every) of a ``Configuration``, with the folder as text."""
    url = table.text(
        "url",
        "must be the study's address, for a campaign that does not name one: https://HOST, or http:// on this machine",
    )
    export = table.text("export", "must be a path: the folder into which files for the study are written")
    every = table.every("uploads")
    table.close("url, export, every")
    if url is not None and export is not None:
        raise table.wrong("url", "and export are both given: name one of them")
    try:
        if url is not None:
            address(url)
    except AddressRefused as error:
        raise table.wrong("url", f"is refused: {error}") from None
    return url, export, DEFAULT_SEND if every is None else every


def _budget(table: _ConfigTable) -> BudgetPolicy:
    lifetime = table.number("lifetime", "must be a cap in nats (see docs/GLOSSARY.md), a number")
    per_campaign = table.number("per_campaign", "must be a cap in nats (see docs/GLOSSARY.md), a number")
    window, expected = table.pick("window"), "must be [seconds, nats], two numbers (nats: see docs/GLOSSARY.md)"
    table.close("lifetime, per_campaign, window")
    if window is not None and (
        not isinstance(window, list)
        or len(window) != 2
        or not all(isinstance(number, int | float) for number in window)
    ):
        raise table.wrong("window", expected, window)
    window_cap = None if window is None else (window[0], window[1])
    single_caps: dict[str, tuple[float | None, float | None, tuple[int, float] | None]] = {
        "lifetime": (lifetime, None, None),
        "per_campaign": (None, per_campaign, None),
        "window": (None, None, window_cap),
    }
    # Each cap is checked alone, so that the error names its entry.
    for entry, caps in single_caps.items():
        try:
            BudgetPolicy(*caps)
        except ValueError as error:
            raise table.wrong(entry, f"is not a cap: {error}") from None
    return BudgetPolicy(lifetime, per_campaign, window_cap)


def _sources(table: _ConfigTable, folder: Path) -> dict[str, Source]:
    """Return the source of each question of a form, by its name, or the only source with the name ""."""
    parts = table.tables()
    if not parts:
        return {"": _source(table, folder)}
    if not table.is_empty:
        raise ConfigurationRefused(
            f"[source] has both entries and the table [{parts[0][1].name}]: for a form give one table for each "
            "question and no entries, for any other campaign give entries and no tables"
        )
    sources = {name: _source(part, folder) for name, part in parts}
    if len(lines := [name for name, source in sources.items() if source.stdin]) > 1:
        raise ConfigurationRefused(
            f"[source.{lines[1]}] stdin is true, but only one source can read standard input, and [source.{lines[0]}] "
            "reads it: give this source a command or a file"
        )
    return sources


def _source(table: _ConfigTable, folder: Path) -> Source:
    command = table.texts("command", "must be a list of texts: a program, then its arguments")
    file = table.text("file", "must be a path: the file whose last line is read")
    stdin = table.boolean("stdin", "must be true or false")
    timeout = table.number("timeout", f"must be a number of seconds above 0, at most {MAX_TIMEOUT}")
    field = table.pick("field")
    separator = table.text("separator", "must be the text between two words of a line; leave it out for blanks")
    scale = table.number("scale", "must be the number by which each reading is multiplied: finite and not 0")
    outside = table.text("outside", f'must be "{CLAMP}" or "{SKIP}"')
    instead = table.text("instead", "must be the answer to give if the source gives none, a text")
    table.close("command, file, stdin, timeout, field, separator, scale, outside, instead")
    if (command != ()) + (file is not None) + stdin != 1:
        raise ConfigurationRefused(
            f"[{table.name}] must name exactly one of command, file and stdin, and it names "
            f"{(command != ()) + (file is not None) + stdin}"
        )
    if timeout is not None and file is not None:
        raise table.wrong("timeout", "is given for a file, which has no timeout: leave it out")
    if timeout is not None and not 0 < timeout <= MAX_TIMEOUT:
        raise table.wrong("timeout", f"must be a number of seconds above 0, at most {MAX_TIMEOUT}", timeout)
    if field is not None and (isinstance(field, bool) or not isinstance(field, int | str) or field == ""):
        raise table.wrong(
            "field", "must be a whole number (a word of the line, from 0) or a text (names in a JSON value)", field
        )
    if separator is not None and not isinstance(field, int):
        raise table.wrong(
            "separator", "is given, but field is not a number: leave it out, or give field the number of a word"
        )
    if outside not in (None, CLAMP, SKIP):
        raise table.wrong("outside", f'must be "{CLAMP}" or "{SKIP}", not {outside!r}')
    try:
        factor = None if scale is None else exact.rational(scale)
    except ValueError:
        factor = Fraction(0)
    if factor == 0:
        raise table.wrong("scale", "must be the number by which each reading is multiplied: finite and not 0", scale)
    if command and "/" in command[0]:
        command = (str(folder / command[0]), *command[1:])
    return Source(
        command,
        None if file is None else folder / file,
        stdin,
        timeout,
        field if isinstance(field, int | str) else None,
        separator,
        factor,
        outside or CLAMP,
        instead,
    )
