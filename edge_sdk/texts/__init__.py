"""The texts of the browser page by language, some of them shared with the app.

Each language has one TOML file with the same keys. The module page selects the texts of a campaign's page;
protocol.notions.sentences contains the promises.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

LANGUAGES = ("en", "de")


def texts_in(language: str) -> dict[str, Any]:
    """Return the texts of a language.

    Args:
        language: one of ``LANGUAGES``.
    Returns:
        Tables of texts by section and key. A text with a singular and a plural is a table with the keys "one" and
        "other".
    """
    import tomllib

    return tomllib.loads((Path(__file__).parent / f"{language}.toml").read_text(encoding="utf-8"))
