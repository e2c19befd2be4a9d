"""Square waves: outputs near the true number are more likely, on a line of ordered numbers (SPEC 5.11)."""
