"""Published experiments, run again over many seeds and held against what was published."""
