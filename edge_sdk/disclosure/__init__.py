"""Bounds on an observer's inference from the reports: preview, exposure, posterior."""
