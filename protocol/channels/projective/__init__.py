"""Projective geometry response (SPEC 5.4)."""
