"""The settings of the app that are not in the device's store: language, palette and lock.

They are one small JSON file, replaced by renaming; an unreadable file counts as missing. The file contains no secret
and no answer.

Answers, costs, addresses of studies and trusted authors are in the device's store.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

FILE = "settings.json"
PALETTES = ("system", "light", "dark")
LOCKS = ("off", "screen")


@dataclass(frozen=True)
class Settings:
    """The person's choices.

    Attributes:
        language: one of the app's languages; "" for the system's language.
        palette: one of ``PALETTES``; "system" follows the phone's night mode.
        lock: one of ``LOCKS``; "screen" asks the person to unlock the phone before anything is shown.
    """

    language: str = ""
    palette: str = "system"
    lock: str = "off"

    @classmethod
    def load(cls, folder: Path) -> Settings:
        """Return the settings saved in ``folder``, with defaults for missing and invalid ones."""
        try:
            saved = json.loads((folder / FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            saved = None
        return cls() if not isinstance(saved, dict) else cls()._with(saved)

    def _with(self, saved: dict[str, Any]) -> Settings:
        values: dict[str, Any] = {}
        allowed = {"palette": PALETTES, "lock": LOCKS}
        for field in fields(self):
            value = saved.get(field.name)
            if isinstance(value, str) and value in allowed.get(field.name, (value,)):
                values[field.name] = value
        return replace(self, **values)

    def save(self, folder: Path) -> None:
        """Save the settings.

        Raises:
            OSError: the folder cannot be written; the saved settings are unchanged.
        """
        folder.mkdir(parents=True, exist_ok=True)
        aside = folder / f"{FILE}.new"
        aside.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        aside.replace(folder / FILE)
