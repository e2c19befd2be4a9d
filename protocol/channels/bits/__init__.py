"""Words of independent bits: RAPPOR, OUE, IDUE and their relatives (SPEC 5.6)."""
