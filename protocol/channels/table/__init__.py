"""Explicit tables of weights (SPEC 5.1)."""
