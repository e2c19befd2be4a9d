"""Explicit tables: the searches that design them and their decoder."""
