"""Tests of the phone app: its model and texts, and its screens, read and touched as by a person."""
