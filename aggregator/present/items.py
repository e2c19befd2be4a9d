"""Texts about item sets that all tables and pages use."""

from __future__ import annotations

from protocol.domain import Domain, Items


def numbering(domain: Domain) -> str:
    """Return a sentence that explains how items without names are numbered; empty for every other domain."""
    return f"numbered 1 to {domain.count:,}" if isinstance(domain, Items) and isinstance(domain.labels, int) else ""
