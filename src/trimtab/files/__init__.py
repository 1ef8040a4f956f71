"""Rows and values → files that appear whole, by the schema of every table; checked on the way."""
