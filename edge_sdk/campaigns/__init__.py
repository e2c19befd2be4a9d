"""Campaigns on a device: verified terms, the person's role, consent and the audit."""
