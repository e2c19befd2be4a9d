"""The owner's caps, the person's consents, and the ledger."""
