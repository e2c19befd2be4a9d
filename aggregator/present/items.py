"""Texts about item sets that all tables and pages use."""

from __future__ import annotations

from protocol.domain import Domain, Items


def numbering(domain: Domain) -> str:
    """Return a phrase with the numbers of items without names, such as "numbered 1 to 40"; "" for items with names and
    for other domains."""
    return (
        f"numbered 1 to {domain.item_count:,}" if isinstance(domain, Items) and isinstance(domain.labels, int) else ""
    )
