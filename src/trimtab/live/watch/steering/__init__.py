"""A live cluster as a strategy of trimtab's own is shown it, its turns, and how right it was."""
