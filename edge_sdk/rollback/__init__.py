"""Detection of old copies of a store: checkpoints, the host's identity, key stores, recovery."""
