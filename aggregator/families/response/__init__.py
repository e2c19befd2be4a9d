"""Randomised response: its recipes and its decoder."""
