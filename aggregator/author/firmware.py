"""The entry ``families`` of ``[mechanism]``: the families of channels that the devices' firmware supports.

Sensors may support only a few families, and refuse campaigns with any other. With this entry, ``auto`` chooses among
the listed families, and a draft that needs another family is refused before it is signed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aggregator.author.toml_section import DraftError, shown
from aggregator.families.mechanism import Question
from protocol.channels import FAMILIES
from protocol.spelling import suggestion
from protocol.views import View

FAMILIES_ENTRY = 'a list of names of families, such as ["response", "subset"]'


def families_of(document: dict[str, Any]) -> frozenset[str]:
    """Return the families that a draft lists; empty without the entry, because devices are then assumed to support all
    families.

    Raises:
        DraftError: an empty list, or an unknown family.
    """
    mechanism = document.get("mechanism")
    listed = mechanism.get("families") if isinstance(mechanism, dict) else None
    if listed is None:
        return frozenset()
    if not isinstance(listed, list) or not listed:
        raise DraftError(f"[mechanism] families must be {FAMILIES_ENTRY}, not {shown(listed)}")
    for name in listed:
        if not isinstance(name, str) or name.strip().lower() not in FAMILIES:
            meant = suggestion(name, FAMILIES) if isinstance(name, str) else ""
            raise DraftError(
                f"[mechanism] families: each must be one of {', '.join(FAMILIES)}, not {shown(name)}{meant}"
            )
    return frozenset(name.strip().lower() for name in listed)


def require_families(question: Question, views: Sequence[View]) -> None:
    """Refuse views whose channels belong to families that the draft does not list.

    Raises:
        DraftError
    """
    missing = sorted({name for view in views for name in question.missing(view.channel)})
    if missing:
        had = ", ".join(sorted(question.families))
        raise DraftError(
            f"[mechanism] families lists {had}, but the channel needs {' and '.join(missing)}: extend the list, or "
            "choose another mechanism or notion"
        )
