"""Carrying a plan out on a live cluster: the files and calls around `control`."""
