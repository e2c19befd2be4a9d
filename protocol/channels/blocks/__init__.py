"""One channel for each block of inputs, with open inputs (SPEC 5.7)."""
