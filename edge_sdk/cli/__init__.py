"""The commands of ``python -m edge_sdk`` and the format of their output."""
