"""Graded projective response (SPEC 5.12)."""
