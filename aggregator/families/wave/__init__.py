"""The wave channel: its recipe and its decoder."""
