"""The contrast of the theme's colours, light and dark, in the combinations on the screen."""

from __future__ import annotations

import pytest

from demo_app import theme

READ = (
    ("text", "ground"), ("text", "card"), ("text", "well"), ("text", "tint"), ("text", "alert_tint"),
    ("text", "good_tint"), ("muted", "ground"), ("muted", "card"), ("muted", "well"), ("muted", "tint"),
    ("accent", "ground"), ("accent", "card"), ("accent", "tint"), ("alert", "ground"), ("alert", "card"),
    ("alert", "alert_tint"), ("good", "card"), ("good", "good_tint"), ("accent_ink", "accent"), ("alert_ink", "alert"),
)  # fmt: skip
"""(text, background): every pair that occurs."""

MARKED = (
    ("edge", "ground"), ("edge", "card"), ("edge", "well"), ("accent", "card"), ("accent", "well"), ("accent", "land"),
    ("alert", "card"),
)  # fmt: skip
"""(mark, background): every pair of a mark without text that occurs."""

PALETTES = {"light": theme.LIGHT, "dark": theme.DARK}
each_palette = pytest.mark.parametrize("palette", PALETTES.values(), ids=PALETTES)


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two colours, 1 to 21.

    Source: WCAG 2.1, "contrast ratio" and "relative luminance".
    """
    bright, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    linear = [
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in theme.rgba(colour)[:3]
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@each_palette
def test_every_text_can_be_read(palette: theme.Palette) -> None:
    """Every text has a contrast of at least 4.5 to its background (WCAG 2.1, 1.4.3, AA)."""
    for text, behind in READ:
        ratio = contrast(getattr(palette, text), getattr(palette, behind))
        assert ratio >= 4.5, (text, behind, ratio)


@each_palette
def test_every_mark_can_be_seen(palette: theme.Palette) -> None:
    """Every border, icon and bar with a meaning has a contrast of at least 3 to its surroundings (1.4.11)."""
    for mark, behind in MARKED:
        ratio = contrast(getattr(palette, mark), getattr(palette, behind))
        assert ratio >= 3, (mark, behind, ratio)


def test_contrast_follows_the_standard() -> None:
    """The contrast is 21 for black and white, 1 for a colour and itself, and 4.48 for the grey #777777 on white."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#0b6b58", "#0b6b58") == 1
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


def test_touch_targets_and_texts_are_large_enough() -> None:
    """A touch target is at least 48 dp, and no text is below 14 sp."""
    assert theme.TOUCH >= 48
    assert min(theme.TEXT_SIZES.values()) >= 14
