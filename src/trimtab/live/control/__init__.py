"""Moving bundles on a live cluster: a plan, what is seen, what is remembered → the next act.

`step` decides one act at a time out of these three and of nothing else.  What it remembers
is a fold over the journal, so a run that was killed goes on from the file alone.
"""
