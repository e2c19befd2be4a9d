"""The outbox, uploads and downloads."""
