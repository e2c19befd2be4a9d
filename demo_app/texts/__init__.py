"""The app's own texts, by key, in the person's language.

A key names a place ("consent.agree"). Each language has TOML files, sorted by screen: edge_sdk/texts contains the texts
that the app shares with the browser page, and this package the others. A missing key, or a placeholder without a value,
is an error, never an empty label.

Numbers and days are written in the style of the language. The screens choose the texts.
"""

from __future__ import annotations

import time
from typing import Any

DEFAULT = "en"
LANGUAGES = {"en": "English", "de": "Deutsch"}
NANONATS = 10**9

_current: dict[str, Any] = {}


def use_language(locale: str) -> None:
    """Load the texts of a language for every later ``say``.

    Args:
        locale: one of ``LANGUAGES``, or a locale that begins with one of them, such as "de_AT.UTF-8"; any other value
            means English.
    """
    import tomllib
    from pathlib import Path

    from edge_sdk.texts import texts_in

    chosen = locale[:2].lower()
    chosen = chosen if chosen in LANGUAGES else DEFAULT
    words = tomllib.loads((Path(__file__).parent / f"{chosen}.toml").read_text(encoding="utf-8"))
    _current.clear()
    _current.update(texts_in(chosen), language=chosen)
    _add(_current, words)


def _add(known: dict[str, Any], more: dict[str, Any]) -> None:
    """Add texts to ``known``. Both may have texts of one section or group, such as a notice's title and its body."""
    for key, text in more.items():
        if isinstance(text, dict) and key in known:
            _add(known[key], text)
        else:
            known[key] = text


def spaced_fingerprint(code: str) -> str:
    """Return a key's fingerprint in groups of four characters, for comparison by eye."""
    return " ".join(code[start : start + 4] for start in range(0, len(code), 4))


def language() -> str:
    """Return the current language, one of ``LANGUAGES``."""
    return str(_words()["language"])


def say(key: str, /, **values: object) -> str:
    """Return the text of a key, with the values of its placeholders.

    If the text has a singular and a plural, the value ``count`` selects one of them. ``number`` formats the numbers
    among the values.

    Raises:
        KeyError: there is no such key, or a placeholder has no value.
    """
    text: Any = _words()
    for part in key.split("."):
        if not isinstance(text, dict) or part not in text:
            raise KeyError(f"no text is called {key!r} in {language()}")
        text = text[part]
    if isinstance(text, dict):
        if "other" not in text:
            raise KeyError(f"{key!r} names a group of texts, not a text")
        text = text["one" if values.get("count") == 1 else "other"]
    shown = {name: number(value) if isinstance(value, int | float) else value for name, value in values.items()}
    return str(text).format_map(shown)


def number(value: float, digits: int = 3) -> str:
    """Return a number in the style of the language, with its decimals rounded to ``digits`` significant digits (12.3456
    -> 12.3, 1234.5 -> 1234), or below 1 to ``digits`` decimals."""
    marks = _words()["number"]
    if isinstance(value, int) or (value.is_integer() and abs(value) < 10**15):
        integer = f"{int(value):,}" if abs(value) >= 10**4 else str(int(value))
        return integer.replace(",", str(marks["group"]))
    places = max(0, digits - len(str(int(abs(value))))) if abs(value) >= 1 else digits
    text = f"{value:.{places}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return localised_decimal("0" if text == "-0" else text)


def span(seconds: int) -> str:
    """Return a length of time in words, in its largest whole unit."""
    for unit, length in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds % length == 0:
            return say(f"span.{unit}", count=seconds // length)
    return say("span.seconds", count=seconds)


def nats_rounded_up(nats: float) -> str:
    """Return nats that are spent, reserved or possibly revealed, in the style of ``number``, rounded up.

    Args:
        nats: an amount in nats, rounded to whole nanonats.
    """
    return _decimal(-_thousandths(-round(nats * NANONATS)))


def nats_rounded_down(nats: float) -> str:
    """Return remaining nats in the style of ``number``, rounded down."""
    return _decimal(_thousandths(round(nats * NANONATS)))


def _thousandths(nanonats: int) -> int:
    """Return nanonats in thousandths of a nat, rounded down: below 1 nat to a thousandth, below 100 nats to three
    significant digits, else to a whole nat."""
    nats = abs(nanonats) // NANONATS
    unit = 10 ** min(3, len(str(nats))) if nats else 1
    return nanonats // (unit * NANONATS // 1000) * unit


def _decimal(thousandths: int) -> str:
    """Return a number of thousandths in the style of the language."""
    marks = _words()["number"]
    integer, rest = divmod(abs(thousandths), 1000)
    text = (f"{integer:,}" if integer >= 10**4 else str(integer)).replace(",", str(marks["group"]))
    if rest:
        text += str(marks["point"]) + f"{rest:03}".rstrip("0")
    return f"\N{MINUS SIGN}{text}" if thousandths < 0 else text


def factor_text(nats: float) -> str:
    """Return e^nats in the style of the language, with few digits, rounded up.

    Args:
        nats: an amount in nats, rounded to whole nanonats.
    """
    from edge_sdk.budget.policy import factor

    marks = _words()["number"]
    return factor(round(nats * NANONATS), str(marks["point"]), str(marks["group"]))


def localised_decimal(decimal: str) -> str:
    """Return a decimal fraction, given as digits with a point, in the style of the language."""
    return decimal.replace(".", str(_words()["number"]["point"])).replace("-", "\N{MINUS SIGN}")


def day(seconds: int) -> str:
    """Return the day of UTC seconds in the person's time zone, in the style of the language."""
    return _day_text(time.localtime(seconds))


def date_of(text: str) -> str:
    """Return a day, given as YYYY-MM-DD, in the style of the language.

    Raises:
        ValueError: the text has another form, or is not a day of the calendar.
    """
    moment = time.strptime(text, "%Y-%m-%d")
    if time.strftime("%Y-%m-%d", moment) != text:
        raise ValueError("this is not a day: write it as YYYY-MM-DD")
    return _day_text(moment)


def _day_text(moment: time.struct_time) -> str:
    words = _words()["day"]
    return str(words["form"]).format(day=moment.tm_mday, month=words["months"][moment.tm_mon - 1], year=moment.tm_year)


def clock(seconds: int) -> str:
    """Return the time of day of UTC seconds in the person's time zone, such as 17:05."""
    return time.strftime("%H:%M", time.localtime(seconds))


def _words() -> dict[str, Any]:
    if not _current:
        use_language(DEFAULT)
    return _current
