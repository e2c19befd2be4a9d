"""The contrast of the theme's colours, light and dark, in the combinations on the screen."""

from __future__ import annotations

import pytest

from demo_app import theme

PALETTES = {"light": theme.LIGHT, "dark": theme.DARK}
each_palette = pytest.mark.parametrize("palette", PALETTES.values(), ids=PALETTES)


@each_palette
def test_every_text_can_be_read(palette: theme.Palette) -> None:
    """Every text has a contrast of at least 4.5 to its background (WCAG 2.1, 1.4.3, AA)."""
    for text, behind in theme.READ:
        ratio = theme.contrast(getattr(palette, text), getattr(palette, behind))
        assert ratio >= theme.CONTRAST, (text, behind, ratio)


@each_palette
def test_every_mark_can_be_seen(palette: theme.Palette) -> None:
    """Every border, icon and bar with a meaning has a contrast of at least 3 to its surroundings (1.4.11)."""
    for mark, behind in theme.MARKED:
        ratio = theme.contrast(getattr(palette, mark), getattr(palette, behind))
        assert ratio >= theme.MARK_CONTRAST, (mark, behind, ratio)


def test_contrast_follows_the_standard() -> None:
    """The contrast is 21 for black and white, 1 for a colour and itself, and 4.48 for the grey #777777 on white."""
    assert theme.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert theme.contrast("#0b6b58", "#0b6b58") == 1
    assert theme.contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


def test_touch_targets_and_texts_are_large_enough() -> None:
    """A touch target is at least 48 dp, and no text is below 14 sp."""
    assert theme.TOUCH >= 48
    assert min(theme.TEXT_SIZES.values()) >= 14
