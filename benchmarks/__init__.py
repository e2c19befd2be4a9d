"""Benchmarks of speed, size and accuracy. They are no tests: machines differ, so compare only ratios of one run."""
