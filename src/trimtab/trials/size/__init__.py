"""A recording → how many brokers carry its load, its peak and the loss of any one."""
