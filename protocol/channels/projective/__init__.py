"""Projective response (SPEC 5.4)."""
