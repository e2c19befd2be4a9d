"""Words for item sets that every table and page needs."""

from __future__ import annotations

from protocol.domain import Domain, Items


def numbering(domain: Domain) -> str:
    """How items without names are numbered, in words; empty for every other domain."""
    return f"numbered 1 to {domain.count:,}" if isinstance(domain, Items) and isinstance(domain.labels, int) else ""
