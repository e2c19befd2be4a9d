"""Graded projective response: its recipe and its decoder."""
