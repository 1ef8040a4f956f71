"""Logs that something else has collected, shipped or exported → the lines that brokers wrote."""
