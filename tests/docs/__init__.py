"""The computed parts of the docs, and the tests that check that they are current."""
