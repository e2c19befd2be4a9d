"""The commands of ``python -m edge_sdk`` and the format of their output.

A command raises ``Usage`` if its options do not fit, and the errors of the methods that it calls.
"""
