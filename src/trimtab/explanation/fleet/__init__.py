"""Many recordings, of one cluster or of fifty → each explained, and a table with a row a night."""
