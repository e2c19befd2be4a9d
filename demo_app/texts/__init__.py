"""The texts: every word the app shows, by key, in the language the person reads.

A key names a place ("consent.agree"); what it says is in one TOML file for each language, sorted by screen: what a
page in a browser says as well in edge_sdk/texts, the rest here. A key that is missing, or a placeholder without its
value, is an error, never an empty label.

Numbers and days are written as the language writes them. What is said when is the screens' business.
"""

from __future__ import annotations

from typing import Any

DEFAULT = "en"
LANGUAGES = {"en": "English", "de": "Deutsch"}
NANONATS = 10**9

_spoken: dict[str, Any] = {}


def speak(language: str) -> None:
    """Read the texts of a language; every later ``say`` is in it.

    Args:
        language: one of ``LANGUAGES``, or a locale that begins with one, such as "de_AT.UTF-8"; for any other, the
            texts are English.
    """
    import tomllib
    from pathlib import Path

    from edge_sdk.texts import catalogue

    chosen = language[:2].lower()
    chosen = chosen if chosen in LANGUAGES else DEFAULT
    words = tomllib.loads((Path(__file__).parent / f"{chosen}.toml").read_text(encoding="utf-8"))
    _spoken.clear()
    _spoken.update(catalogue(chosen), language=chosen)
    for section, texts in words.items():
        _spoken[section] = _spoken.get(section, {}) | texts


def spaced(code: str) -> str:
    """A key's fingerprint in groups of four, to be compared by eye."""
    return " ".join(code[at : at + 4] for at in range(0, len(code), 4))


def spoken() -> str:
    """The language that is spoken now."""
    return str(_words()["language"])


def say(key: str, /, **values: object) -> str:
    """The text of a key, with the values of its placeholders.

    Where the text differs for one and for several, it is chosen by the value of ``count``. Whole numbers and decimal
    fractions among the values are written as ``number`` does.

    Raises:
        KeyError: no such key, or no value for one of its placeholders.
    """
    found: Any = _words()
    for part in key.split("."):
        if not isinstance(found, dict) or part not in found:
            raise KeyError(f"no text is called {key!r} in {spoken()}")
        found = found[part]
    if isinstance(found, dict):
        if "other" not in found:
            raise KeyError(f"{key!r} names a group of texts, not a text")
        found = found["one" if values.get("count") == 1 else "other"]
    shown = {name: number(value) if isinstance(value, int | float) else value for name, value in values.items()}
    return str(found).format_map(shown)


def number(value: float, digits: int = 3) -> str:
    """A number as the language writes it, with that many significant digits at most; whole numbers in full."""
    marks = _words()["number"]
    if isinstance(value, int) or (value.is_integer() and abs(value) < 10**15):
        whole = f"{int(value):,}" if abs(value) >= 10**4 else str(int(value))
        return whole.replace(",", str(marks["group"]))
    places = max(0, digits - len(str(int(abs(value))))) if abs(value) >= 1 else digits
    text = f"{value:.{places}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return written("0" if text == "-0" else text)


def above(nats: float) -> str:
    """Nats that are spent, reserved or may be revealed, as ``number`` writes them, rounded up.

    Args:
        nats: a whole number of nanonats, which a float this small tells exactly.
    """
    return _decimal(-_thousandths(-round(nats * NANONATS)))


def below(nats: float) -> str:
    """Nats that are left, as ``number`` writes them, rounded down."""
    return _decimal(_thousandths(round(nats * NANONATS)))


def _thousandths(nanonats: int) -> int:
    """Thousandths of a nat, rounded down to three significant digits, or to whole nats where these have more."""
    whole = abs(nanonats) // NANONATS
    unit = 10 ** min(3, len(str(whole))) if whole else 1
    return nanonats // (unit * NANONATS // 1000) * unit


def _decimal(thousandths: int) -> str:
    """A number of thousandths as the language writes it."""
    marks = _words()["number"]
    whole, rest = divmod(abs(thousandths), 1000)
    text = (f"{whole:,}" if whole >= 10**4 else str(whole)).replace(",", str(marks["group"]))
    if rest:
        text += str(marks["point"]) + f"{rest:03}".rstrip("0")
    return f"\N{MINUS SIGN}{text}" if thousandths < 0 else text


def times(nats: float) -> str:
    """e^nats as a person reads it, of few digits and rounded up.

    Args:
        nats: a whole number of nanonats, which a float this small tells exactly.
    """
    from edge_sdk.budget.policy import factor

    marks = _words()["number"]
    return factor(round(nats * NANONATS), str(marks["point"]), str(marks["group"]))


def written(decimal: str) -> str:
    """A decimal fraction, as digits with a point, as the language writes it."""
    return decimal.replace(".", str(_words()["number"]["point"])).replace("-", "\N{MINUS SIGN}")


def day(seconds: int) -> str:
    """A day as the language writes it, of UTC seconds, in the person's time zone."""
    import time

    moment = time.localtime(seconds)
    words = _words()["day"]
    return str(words["form"]).format(day=moment.tm_mday, month=words["months"][moment.tm_mon - 1], year=moment.tm_year)


def date_of(text: str) -> str:
    """A day that is written YYYY-MM-DD, as the language writes it.

    Raises:
        ValueError: another form, or no day of the calendar.
    """
    import time

    moment = time.strptime(text, "%Y-%m-%d")
    if time.strftime("%Y-%m-%d", moment) != text:
        raise ValueError("a day is written YYYY-MM-DD")
    words = _words()["day"]
    return str(words["form"]).format(day=moment.tm_mday, month=words["months"][moment.tm_mon - 1], year=moment.tm_year)


def clock(seconds: int) -> str:
    """A time of day, of UTC seconds, in the person's time zone: 17:05."""
    import time

    return time.strftime("%H:%M", time.localtime(seconds))


def _words() -> dict[str, Any]:
    if not _spoken:
        speak(DEFAULT)
    return _spoken
