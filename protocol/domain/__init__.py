"""Domains: the possible answers, numbered as inputs 0 .. k - 1 (SPEC 4).

``domain`` defines the base class, lists of labels and grids, ``numbers`` numbers and days, ``items`` sets, and ``form``
several questions. Only ``decode`` depends on all of these modules.
"""

from __future__ import annotations

from collections.abc import Callable

from protocol import codec
from protocol.domain.domain import (
    DITHER_BYTES,
    MAX_VALUES,
    MICRODEGREES,
    Answer,
    Domain,
    Grid,
    Number,
    OrderedValues,
    SingleAnswer,
    Values,
    require_label,
)
from protocol.domain.form import Form, FormQuestion
from protocol.domain.items import Items
from protocol.domain.numbers import Buckets, Dates, Line, NumberRange
from protocol.errors import DomainError

__all__ = [
    "DITHER_BYTES",
    "MAX_VALUES",
    "MICRODEGREES",
    "Answer",
    "Buckets",
    "Dates",
    "Domain",
    "Form",
    "FormQuestion",
    "Grid",
    "Items",
    "Line",
    "Number",
    "NumberRange",
    "OrderedValues",
    "SingleAnswer",
    "Values",
    "decode",
    "require_label",
]  # fmt: skip

_FROM_WIRE: dict[str, Callable[[codec.Value], Domain]] = {
    kind.kind: kind.from_wire for kind in (Values, OrderedValues, Grid, Buckets, NumberRange, Dates, Items, Form)
}


def decode(value: codec.Value) -> Domain:
    """Return the domain of a wire form (SPEC 4).

    Raises:
        DomainError: unknown kind, wrong fields, or an invalid domain.
    """
    kind = codec.tag(value, "a domain", "kind", DomainError)
    if kind not in _FROM_WIRE:
        raise DomainError(f"a domain's kind must be one of {', '.join(_FROM_WIRE)}, not {kind[:40]!r}")
    return _FROM_WIRE[kind](value)
