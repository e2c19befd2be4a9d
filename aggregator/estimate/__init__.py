"""From a tally to a distribution: decoders, estimators, intervals, queries."""
