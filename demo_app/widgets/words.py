"""Texts, wrapped to the available width, in the size that the person set in the system.

A text is as high as its lines, and the boxes around it grow with it, so nothing is cut off.
"""

from __future__ import annotations

from kivy.lang import Builder
from kivy.properties import OptionProperty, StringProperty
from kivy.uix.label import Label

from demo_app.theme import TEXT_SIZES

Builder.load_string("""
#:import palette demo_app.widgets.palette.palette

<Words>:
    size_hint_y: None
    text_size: self.width, None
    height: self.texture_size[1]
    font_size: palette.letters(self.role)
    line_height: 1.0 if self.role in ("display", "headline") else 1.15
    bold: self.role in ("display", "headline", "title")
    halign: "left"
    color:
        palette.text if self.colour == "text" else \
        palette.muted if self.colour == "muted" else \
        palette.accent if self.colour == "accent" else palette.alert
    disabled_color: palette.muted  # Kivy's default is white, which is invisible on a light background

<Mono>:
    font_name: "RobotoMono-Regular"
""")


class Words(Label):
    """A text that wraps.

    Attributes:
        role: the role that decides its size: display, headline, title, body or small.
        colour: the role of its colour: text, muted, accent or alert.
        name: the name by which tests find the text.
    """

    role = OptionProperty("body", options=list(TEXT_SIZES))
    colour = OptionProperty("text", options=["text", "muted", "accent", "alert"])
    name = StringProperty("")


class Mono(Words):
    """A text in a font of fixed width, for bytes and codes."""
