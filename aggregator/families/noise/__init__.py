"""Noise on a lattice: its recipes and its decoder."""
