"""A grid of scenarios × strategies × settings × seeds → one row of outcomes a run, on Spark.

Nothing is imported here: what a worker needs is `worker` and what it runs, and not the
terminal's progress bar.
"""
