"""The app's texts are complete, exist in both languages, and are all used."""

from __future__ import annotations

import re
import string
import time
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from demo_app import texts

ROOT = Path(__file__).parent.parent.parent
FOLDERS = [ROOT / package / "texts" for package in ("edge_sdk", "demo_app")]
WEB = ROOT / "edge_sdk" / "web" / "page"
MARKS = {"number.point", "number.group", "day.form", "day.months"}
"""Forms of numbers and days; used by the texts themselves."""


def flat(words: dict[str, Any], above: str = "") -> dict[str, Any]:
    """Return the texts by key; a text with a singular and a plural form is one dictionary."""
    found: dict[str, Any] = {}
    for name, value in words.items():
        if isinstance(value, dict) and "other" not in value:
            found |= flat(value, f"{above}{name}.")
        else:
            found[above + name] = value
    return found


def written(language: str) -> list[dict[str, Any]]:
    """Return the texts that page and app share, and those of the app only."""
    return [flat(tomllib.loads((folder / f"{language}.toml").read_text(encoding="utf-8"))) for folder in FOLDERS]


@cache
def texts_in(language: str) -> dict[str, Any]:
    shared, own = written(language)
    return shared | own


def placeholders(text: Any) -> set[str]:
    forms = text.values() if isinstance(text, dict) else text if isinstance(text, list) else [text]
    return {name for form in forms for _, name, _, _ in string.Formatter().parse(form) if name}


@pytest.fixture(autouse=True)
def _english() -> None:
    texts.use_language("en")


def sources() -> str:
    """Return all code of the app, including its kv files and the page's scripts."""
    paths = sorted([*(ROOT / "demo_app").rglob("*.py"), *(ROOT / "demo_app").rglob("*.kv"), *WEB.glob("*.js")])
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@cache
def named_keys() -> tuple[set[str], set[str]]:
    """Return the keys that the code names in full, and patterns of the keys that it composes, such as
    ``notice.*.title``."""
    named = set(re.findall(r'\bsay\(\s*"([a-z_.]+)"', sources()))
    named |= set(re.findall(r'\bsay\(\s*"[a-z_.]+" if .*? else "([a-z_.]+)"', sources()))
    named |= {key for key in re.findall(r'"([a-z_]+\.[a-z_.]+)"', sources()) if key in texts_in("en")}
    patterns = {
        re.sub(r"\{[^}]*\}", "*", key)
        for key in re.findall(r"""(?:f["']|say\(`)([a-z_]*[a-z_.{}A-Za-z]*\.[^"' ]*)["']""", sources())
    }
    return named, {pattern for pattern in patterns if "*" in pattern}


def matches(key: str, pattern: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", "[a-z_-]+"), key) is not None


def test_every_language_has_every_text() -> None:
    """Every key exists in every language, with a text that is not empty."""
    english = texts_in("en")
    for language in texts.LANGUAGES:
        other = texts_in(language)
        assert set(other) == set(english), language
        assert all(text for text in other.values()), language


@pytest.mark.parametrize("language", [code for code in texts.LANGUAGES if code != "en"])
def test_both_languages_have_the_same_placeholders(language: str) -> None:
    """A text has the same placeholders in every language."""
    english, other = texts_in("en"), texts_in(language)
    different = {key for key in english if key in other and placeholders(english[key]) != placeholders(other[key])}
    assert not different - MARKS


@pytest.mark.parametrize("language", [code for code in texts.LANGUAGES if code != "en"])
def test_every_sentence_is_translated(language: str) -> None:
    """Every sentence differs between the languages, so each is translated."""
    english, other = texts_in("en"), texts_in(language)
    words = {key for key in english if re.search(r"[a-z]{2,} [a-z]{2,}", str(english[key]))}
    assert len(words) > 100
    assert not {key for key in words if english[key] == other[key]}


def test_every_used_text_exists() -> None:
    named, _ = named_keys()
    assert named <= set(texts_in("en"))
    assert len(named) > 20


@pytest.mark.parametrize("language", texts.LANGUAGES)
def test_the_app_finds_the_texts_of_both_packages(language: str) -> None:
    """``say`` finds every text, also if both packages have texts of one group, such as a notice's title and body."""
    texts.use_language(language)
    for key, text in texts_in(language).items():
        if not isinstance(text, list):
            assert texts.say(key, **dict.fromkeys(placeholders(text) | {"count"}, 1)), key


def test_every_text_is_written_once() -> None:
    """No text of the app has the key of a text that page and app share."""
    for language in texts.LANGUAGES:
        shared, own = written(language)
        assert not set(shared) & set(own)


def test_the_scripts_of_a_page_use_every_text() -> None:
    """The page's scripts use every text that the page contains; ``terms.rounded`` is on a page as ``terms.number``."""
    said = "\n".join(path.read_text(encoding="utf-8") for path in WEB.glob("*.js"))
    put_together = {f"{section}." for section in re.findall(r"`([a-z]+)\.\$\{", said)}
    handed = {key for key in written("en")[0] if not key.startswith(tuple(put_together))}
    assert {key for key in handed if f'"{key}"' not in said} == {"terms.rounded"}


def test_every_text_is_used() -> None:
    """Every text is used, in the app or on a page."""
    named, patterns = named_keys()
    left = {key for key in texts_in("en") if key not in named | MARKS}
    assert not {key for key in left if not any(matches(key, pattern) for pattern in patterns)}


def test_a_missing_text_or_value_is_an_error() -> None:
    """An unknown key, a group of texts, and a placeholder without its value are errors, not empty labels."""
    for key in ("nothing.of.this.name", "dialog", "dialog.cancel.more"):
        with pytest.raises(KeyError):
            texts.say(key)
    with pytest.raises(KeyError):
        texts.say("gauge.remaining", nats=1)


def test_a_locale_chooses_its_language() -> None:
    """A locale selects its language; a locale without a translation selects English."""
    for locale, language in {"de_AT.UTF-8": "de", "DE": "de", "en_GB": "en", "fr": "en", "": "en"}.items():
        texts.use_language(locale)
        assert texts.language() == language


def test_numbers_are_written_as_the_language_writes_them() -> None:
    """Numbers have at most three digits, or all digits before the decimal separator, no trailing zeros, the language's
    separators, and are never "-0"."""
    cases = {0.5: "0.5", 2.25: "2.25", 1.0: "1", 12.3456: "12.3", 1234.5: "1234", 0.0004: "0", -0.0001: "0", 7: "7",
             1234567: "1,234,567", 2980: "2980", -1.5: "\N{MINUS SIGN}1.5"}  # fmt: skip
    for value, text in cases.items():
        assert texts.number(value) == text
    texts.use_language("de")
    assert texts.number(2.25) == "2,25"
    assert texts.number(1234567) == "1.234.567"
    assert texts.localised_decimal("-0.50") == "\N{MINUS SIGN}0,50"


def test_spent_nats_are_rounded_up_and_remaining_nats_down() -> None:
    """Spent or possibly revealed amounts are rounded up to three significant digits, or to whole nats above 999, also
    if only a nanonat exceeds them; remaining amounts are rounded down. They have the language's decimal separator."""
    cases = {1.0: ("1", "1"), 1.000000001: ("1.01", "1"), 2.2599: ("2.26", "2.25"), 0.0004: ("0.001", "0"),
             0.5: ("0.5", "0.5"), 12.34: ("12.4", "12.3"), 99.99: ("100", "99.9"), 1234.5: ("1235", "1234"),
             12345.5: ("12,346", "12,345"), 0.0: ("0", "0"), -1.267: ("-1.26", "-1.27")}  # fmt: skip
    for value, expected in cases.items():
        assert (texts.nats_rounded_up(value), texts.nats_rounded_down(value)) == tuple(
            text.replace("-", "\N{MINUS SIGN}") for text in expected
        )
    texts.use_language("de")
    assert texts.nats_rounded_up(2.2599) == "2,26"


def test_a_count_of_one_uses_the_singular() -> None:
    """A count of one uses the singular form, and other counts the plural form."""
    assert texts.say("chances.truth", count=1) != texts.say("chances.truth", count=2).replace("2", "1")


def test_days_are_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A day is written with the name of its month, in the person's time zone."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    try:
        assert texts.day(1_796_083_200) == "1 December 2026"
        assert texts.clock(1_796_083_200 + 61_500) == "17:05"
        texts.use_language("de")
        assert texts.day(1_796_083_200) == "1. Dezember 2026"
    finally:
        monkeypatch.undo()
        time.tzset()
