"""On disk: the schema of every table, files that appear whole, values checked as they are read."""
