"""What an author does: from a draft in TOML to the integers of a signed campaign."""
