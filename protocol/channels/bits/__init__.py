"""The family of vectors of independent bits: RAPPOR, OUE, IDUE and others (SPEC 5.6)."""
