"""Subset selection and triples: their recipes and their decoders."""
