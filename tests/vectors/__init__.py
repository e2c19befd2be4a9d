"""Test vectors of the wire protocol: one file for each topic, with named cases; refused cases state the stage.

Bytes are hexadecimal. Integers that a double cannot represent are decimal strings. ``generate`` writes the files; they
are committed, and a test checks that they are its output. The second decoders in tests/families are written from SPEC
alone, without the protocol's code; a test checks that they decode the same channels.
"""
