"""Projective response: its recipe and its decoder."""
