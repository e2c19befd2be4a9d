"""Windows over a circle: their recipe and their decoder."""
