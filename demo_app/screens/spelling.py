"""Spelling: an answer's text as a person reads it in their language.

The device's own text of an answer is exact and the same everywhere; here it is only ever shown.
"""

from __future__ import annotations

from collections.abc import Mapping

from demo_app.texts import say, written

ITEMS_BETWEEN = ";"
"""Between the items of a set, as the device reads them."""


def spelled(kind: str, value: str, names: Mapping[str, str]) -> str:
    """The text of an answer to a question of a kind; empty for a set of nothing.

    Args:
        names: what the study calls its values in the person's language, where it says.
    """
    if kind == "grid":
        latitude, longitude = value.split(",")
        return say(
            "answer.position",
            latitude=written(latitude.lstrip("-")),
            north=say("map.south" if latitude.startswith("-") else "map.north"),
            longitude=written(longitude.lstrip("-")),
            east=say("map.west" if longitude.startswith("-") else "map.east"),
        )
    if kind in ("buckets", "number"):
        return written(value)
    if kind == "items":
        return ", ".join(names.get(item, item) for item in value.split(ITEMS_BETWEEN))
    return names.get(value, value)
