"""The form of a case in a vector file: numbers that JSON can represent, and wire values that a person can read.

A value has one written form, so files differ only where their content differs.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgpack

from protocol import codec

Case = dict[str, Any]


def number(value: int) -> int | str:
    """Return an integer in a form that is exact in JSON: a number if a double is exact, else a decimal string."""
    return value if abs(value) <= 2**53 else str(value)


def plain(value: codec.Value) -> Any:
    """Return a wire value as JSON: byte strings as {"bytes": hex}, large integers as {"integer": digits}."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, int) and abs(value) > 2**53:
        return {"integer": str(value)}
    return value


def wire(value: Any) -> str:
    """Return the hexadecimal msgpack encoding of a value, which need not be valid in this protocol."""
    packed: bytes = msgpack.packb(value, use_bin_type=True)
    return packed.hex()


def _table(value: Any) -> Any:
    """Return a value read from TOML, in which tables that describe a byte string or a repetition are replaced by the
    described value."""
    if isinstance(value, list):
        return [_table(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"bytes"}:
        return bytes.fromhex(value["bytes"])
    if value.keys() == {"of", "times"}:
        return _table(value["of"]) * value["times"]
    return {name: _table(item) for name, item in value.items()}


def _file(name: str) -> dict[str, Any]:
    found: dict[str, Any] = _table(tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8")))
    return found


REFUSED = _file("refused.toml")
"""Inputs that must be refused, by topic and by name of the case."""

ANSWERS = _file("answers.toml")
"""Answers with their inputs, and refused answers, by the name of the domain."""
