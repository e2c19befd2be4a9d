"""Precomputed pictures of the app, with the scripts that made them."""
