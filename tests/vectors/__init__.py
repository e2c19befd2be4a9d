"""Test vectors of the wire protocol: one file for each topic, with named cases; refused cases state the stage.

Bytes are hexadecimal. Integers that a double cannot represent are decimal strings. ``generate`` writes the files; they
are committed, and a test checks that they are its output. ``reader`` implements the text of the protocol and does not
use its code; its channels must be the same.
"""
