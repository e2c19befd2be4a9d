"""The queue of reports, uploads and downloads."""
