"""Words of independent bits: their recipes and their decoder."""
