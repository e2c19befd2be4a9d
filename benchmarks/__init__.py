"""Benchmarks of speed, size and accuracy. They are not tests.

Times depend on the machine, so compare only ratios of times within one run. Sizes and errors do not depend on its
speed. A benchmark whose work gives a wrong result ends with a RuntimeError.
"""
