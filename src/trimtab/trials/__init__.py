"""Many runs → verdicts: strategies compared, rated, replayed, held against what was published.

`sweep` runs a grid wherever Spark is, and `recorded_cluster` makes a recording a cluster that
can be run; on these stand `simulate`, `record`, `rerun`, `compare`, `reproduce`, `rate` and
`what_if`, and `decide` for single rounds.
"""
