"""A rolling restart of a live cluster: the files, calls and commands around `control.rollout`."""
