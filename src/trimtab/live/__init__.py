"""Beside a live cluster: a recording gathered, tables that follow it, a watch, the few moves."""
