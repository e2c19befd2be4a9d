"""Hadamard response (SPEC 5.3)."""
