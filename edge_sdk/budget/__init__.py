"""What the owner allows, what was agreed to and what was spent."""
