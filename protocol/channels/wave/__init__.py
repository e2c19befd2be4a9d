"""The wave channel for ordered numbers: outputs near the true number are more likely (SPEC 5.11)."""
