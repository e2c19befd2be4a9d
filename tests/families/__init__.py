"""A file for each family of channels, with the material for the tests that all families share.

The files are found through the registry of ``protocol.channels``; a family without a file raises an error here.
"""

from __future__ import annotations

import importlib

from protocol.channels import FAMILIES, Channel
from tests.families.shapes import Shapes

SHAPES: dict[str, Shapes] = {name: importlib.import_module(f"{__name__}.{name}").SHAPES for name in FAMILIES}
CHANNELS: dict[str, Channel] = {name: channel for shapes in SHAPES.values() for name, channel in shapes.small.items()}
"""The small channels of the vectors."""
