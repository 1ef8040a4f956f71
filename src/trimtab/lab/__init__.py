"""A scenario or a recorded cluster → simulated runs → their outcomes.

`costs` learns what traffic costs, `simulate` is the cluster and its clocks, `reconstruct` makes
one of a recording, `outcomes` measures what became of it, `restarts` tries orders of restarting,
`scenarios` are the shipped experiments.
"""
