"""The SQLite store: schema, files, transactions, hooks on commit and error messages."""
