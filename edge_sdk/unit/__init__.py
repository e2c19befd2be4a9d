"""A unit that answers automatically: configuration, sensor, dry run, daemon."""
