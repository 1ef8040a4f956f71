"""A live cluster → a recording, tables that grow with it, a watch, and the few moves.

`gather` records a cluster, `follow` makes tables that grow with a recording, `control` is the
pure core of whoever acts, `apply` carries a plan out, `watch` looks on round by round.
"""
