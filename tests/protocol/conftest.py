"""Hypothesis without a deadline: the laws are about values, and a busy machine is no counterexample."""

from hypothesis import settings

settings.register_profile("halftruth", deadline=None)
settings.load_profile("halftruth")
