"""The phone app's package: it may import ``edge_sdk``, and nothing may import it. No screen is written yet."""
