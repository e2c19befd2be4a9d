"""Randomised response (SPEC 5.2)."""
