"""A unit without a person in front of it: configuration, sensor, dry run, daemon."""
