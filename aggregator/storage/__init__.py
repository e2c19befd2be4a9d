"""Where a study is kept: Delta tables, in a folder or a bucket."""
