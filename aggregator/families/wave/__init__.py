"""The square wave: its recipe and its decoder."""
