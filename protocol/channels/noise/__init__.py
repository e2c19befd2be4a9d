"""Noise on a lattice (SPEC 5.8)."""
