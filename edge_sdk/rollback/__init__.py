"""How a device notices an old copy of its store: checkpoints, the host's identity, key stores, recovery."""
