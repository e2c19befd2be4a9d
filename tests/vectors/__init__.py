"""Test vectors of the wire protocol: one file a topic, named cases, the negative ones with the stage that must fail.

Bytes are hexadecimal. Integers that a double cannot hold are decimal strings. ``generate`` writes the files; they are
committed, and a test checks that they are its output. ``reader`` knows the text of the protocol and not its code; its
channels must be the same.
"""
