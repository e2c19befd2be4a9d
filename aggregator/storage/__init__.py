"""Storage of a study: Delta tables in a folder or a bucket."""
