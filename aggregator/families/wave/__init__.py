"""Waves at the desk: the recipe of the channel, and how its reports are read."""
