"""The commands of ``python -m edge_sdk`` and how they print."""
