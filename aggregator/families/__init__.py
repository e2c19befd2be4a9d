"""Families of channels on the aggregator.

A recipe computes the integers of a channel, and a decoder estimates shares from its reports.
"""
