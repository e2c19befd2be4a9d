"""The texts shared by the app and the browser page, and those of the page only, by language.

Each language has one TOML file with the same keys. The texts of a campaign's page: page. Promises:
protocol.notions.sentences.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

LANGUAGES = ("en", "de")


def catalogue(language: str) -> dict[str, Any]:
    """Return the texts of a language.

    Args:
        language: one of ``LANGUAGES``.
    Returns:
        Tables of texts by section and key. A text with a singular and a plural form is a table of both, "one" and
        "other".
    """
    import tomllib

    return tomllib.loads((Path(__file__).parent / f"{language}.toml").read_text(encoding="utf-8"))
