"""What the app and the page in a browser both say to people, and what only the page says, in the language they read.

Every text is in one TOML file for each language, by the same keys. Promises: protocol.notions.sentences.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from protocol.notions.sentences import SENTENCES

LANGUAGES = ("en", "de")


def catalogue(language: str) -> dict[str, Any]:
    """Return the texts of a language.

    Args:
        language: one of ``LANGUAGES``.
    Returns:
        Tables of texts by section and key. A text with a form for one and a form for several is a table of both,
        "one" and "other".
    """
    import tomllib

    return tomllib.loads((Path(__file__).parent / f"{language}.toml").read_text(encoding="utf-8"))


def texts_of_page(kinds: set[str]) -> dict[str, dict[str, Any]]:
    """Return what a page says in every language: the catalogue and, as ``promise``, the sentences of the notions named.

    Args:
        kinds: names of the notions of a campaign, those of its classes among them.
    Returns:
        Texts by language, as the page's script reads them.
    """
    beside = {"class", "ball", "everybody"} | ({"pairwise"} if kinds & {"minid", "avgid"} else set())
    wanted = kinds | beside
    return {
        language: catalogue(language)
        | {"promise": {key: text for key, text in SENTENCES[language].items() if key.split(".")[0] in wanted}}
        for language in LANGUAGES
    }
