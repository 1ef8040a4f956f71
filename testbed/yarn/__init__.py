"""Hadoop's own small YARN cluster, on which the same bytes must come out as on this machine."""
