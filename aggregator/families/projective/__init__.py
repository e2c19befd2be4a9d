"""Projective geometry response: its recipe and its decoder."""
