"""Windows over a circle of rare inputs (SPEC 5.9)."""
