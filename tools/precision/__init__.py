"""Is the diagnosis right?  Recordings with planted faults, judged by what was planted."""
