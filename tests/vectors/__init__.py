"""Test vectors of the wire protocol: one file for each topic with named cases; refused ones state the stage.

Bytes are hexadecimal. Integers that a double cannot hold are decimal strings. ``generate`` writes the files; they are
committed, and a test checks that they are its output. ``reader`` is written from the text of the protocol and not from
its code; its channels must be the same.
"""
