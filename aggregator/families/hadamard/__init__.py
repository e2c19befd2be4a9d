"""Hadamard response: its recipe and its decoder."""
