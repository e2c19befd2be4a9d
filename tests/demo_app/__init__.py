"""Tests of the phone app on a virtual screen, read and touched as by a person."""
