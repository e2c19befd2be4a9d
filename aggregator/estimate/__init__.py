"""Estimates from a tally of reports: distributions, intervals, queries, differences.

In this package and in ``aggregator.families`` a report is one output: a signed report with several outputs counts as
several. ``aggregator.campaign_facts.counted_noun`` is the word for it in the texts that people read.
"""
