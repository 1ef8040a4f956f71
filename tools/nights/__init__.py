"""Nights of clusters by a second hand, apart from tools.precision: played, written and judged.

It has its own physics, its own leader and its own files; of the package it only asks the exact
strategies what Pulsar decides, and the public door what it makes of a night.
"""
