"""Bit vectors with independent bits: their recipes and their decoder."""
