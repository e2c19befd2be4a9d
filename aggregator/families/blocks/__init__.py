"""Channels in blocks: their recipes and their decoder."""
