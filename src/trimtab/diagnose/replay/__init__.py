"""One tenure of leadership, decided again from what the leader had been told."""
