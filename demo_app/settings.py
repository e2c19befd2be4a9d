"""What the app remembers beside the device's store: how things look.

One small JSON file, written aside and renamed, and a file that cannot be read is as none. Nothing in it is a
secret, and nothing in it says what anybody answered.

What was answered and spent, where each study is, and whom the person trusts: the device's store.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

FILE = "settings.json"
LOOKS = ("system", "light", "dark")
LOCKS = ("off", "screen")


@dataclass(frozen=True)
class Settings:
    """Choices of the person.

    Attributes:
        language: a catalogue's name; empty for the system's.
        look: one of ``LOOKS``; "system" goes with the phone's night mode.
        lock: one of ``LOCKS``; "screen" asks for what unlocks the phone before anything is shown.
    """

    language: str = ""
    look: str = "system"
    lock: str = "off"

    @classmethod
    def load(cls, folder: Path) -> Settings:
        """What was saved in ``folder``; the defaults for whatever was not, or is not of its form."""
        try:
            saved = json.loads((folder / FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            saved = None
        return cls() if not isinstance(saved, dict) else cls()._with(saved)

    def _with(self, saved: dict[str, Any]) -> Settings:
        found: dict[str, Any] = {}
        allowed = {"look": LOOKS, "lock": LOCKS}
        for field in fields(self):
            value = saved.get(field.name)
            if isinstance(value, str) and value in allowed.get(field.name, (value,)):
                found[field.name] = value
        return replace(self, **found)

    def save(self, folder: Path) -> None:
        """Keep them.

        Raises:
            OSError: the folder cannot be written; what was saved before is still there.
        """
        folder.mkdir(parents=True, exist_ok=True)
        aside = folder / f"{FILE}.new"
        aside.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        aside.replace(folder / FILE)
