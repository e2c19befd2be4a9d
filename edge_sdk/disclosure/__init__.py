"""Bounds on the knowledge of an observer of the reports: preview, exposure, posterior."""
