"""Benchmarks of speed, size and accuracy. They are not tests: machines differ, so compare only ratios of one run."""
