"""The computed parts of the docs, and the tests that hold them current."""
