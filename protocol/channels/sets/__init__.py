"""Channels whose outputs are sets of inputs: subset selection and triples (SPEC 5.5, 5.10)."""
