"""Estimates from a tally of reports: distributions, intervals, queries, differences."""
