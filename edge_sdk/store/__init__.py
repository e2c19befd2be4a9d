"""The SQLite store: schema, files, transactions, hooks on commit and what its errors mean."""
