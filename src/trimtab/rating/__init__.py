"""Outcomes of many runs → a word for each strategy in each dimension, by thresholds.

Pure: what is run, and where it is written, is the business of `trimtab.rate`.
"""
