"""A rebuilt cluster → how many brokers of its kind carry its load, and the loss of one."""
