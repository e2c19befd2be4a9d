"""Families of channels on the aggregator: recipes that design their integers, and decoders that invert them."""
