"""Privacy notions: the claim of a campaign, and the audit that proves it (SPEC 6).

``notion`` defines the base class and the certificate, ``promise`` and ``sentences`` explain a notion to people, and
each other module defines one or several notions. Only ``decode`` depends on all of them.
"""

from __future__ import annotations

from collections.abc import Callable

from protocol import codec
from protocol.errors import NotionError
from protocol.notions.classes import Classes
from protocol.notions.declared_prior import DeclaredPrior
from protocol.notions.geo import Geo
from protocol.notions.graded import AvgId, Graded, MinId
from protocol.notions.information import Lip
from protocol.notions.leakage import MutualInformation
from protocol.notions.notion import Certificate, Notion, certify, require_level
from protocol.notions.pairwise import UNBOUNDED, Block, HighLow, Ldp, Matrix, Pairwise
from protocol.notions.promise import Promise
from protocol.notions.transcript import TranscriptPrior

__all__ = [
    "UNBOUNDED",
    "AvgId",
    "Block",
    "Certificate",
    "Classes",
    "DeclaredPrior",
    "Geo",
    "Graded",
    "HighLow",
    "Ldp",
    "Lip",
    "Matrix",
    "MinId",
    "MutualInformation",
    "Notion",
    "Pairwise",
    "Promise",
    "TranscriptPrior",
    "certify",
    "decode",
    "require_level",
]  # fmt: skip

_KINDS = (
    Ldp, HighLow, Block, Matrix, Geo, MinId, AvgId, Lip, DeclaredPrior, TranscriptPrior, MutualInformation,
)  # fmt: skip
_FROM_WIRE: dict[str, Callable[[codec.Value], Notion]] = {kind.name: kind.from_wire for kind in _KINDS}


def decode(value: codec.Value) -> Notion:
    """Return the notion of a wire form (SPEC 6).

    Raises:
        NotionError: unknown name, wrong fields, or an invalid notion.
    """
    name = codec.tag(value, "a notion", "name", NotionError)
    if name == Classes.name:
        return Classes.from_wire(value, decode)
    if name not in _FROM_WIRE:
        raise NotionError(f"a notion must be one of {', '.join([*_FROM_WIRE, Classes.name])}, not {name[:40]!r}")
    return _FROM_WIRE[name](value)
