"""The ground that device and aggregator share: channels, certificates, the wire.

Pure: no files, no network, no clock, no numpy. Randomness and time are arguments. ``SPEC.md`` beside this
file is normative; where code and SPEC differ, the code is wrong.
"""
