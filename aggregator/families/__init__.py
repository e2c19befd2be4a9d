"""Families of channels, as the desk sees them: recipes that design their integers, decoders that invert them."""
