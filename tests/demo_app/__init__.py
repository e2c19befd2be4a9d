"""The phone app, looked at and touched as a person would, on a screen that no one sees."""
