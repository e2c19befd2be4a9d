"""Waves: an answer near the own number, on a line of ordered numbers (SPEC 5.11)."""
