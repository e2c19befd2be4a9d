"""The family with one channel for each block of inputs, and open inputs (SPEC 5.7)."""
