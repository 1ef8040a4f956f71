"""What a recording tells, as arrays → a cluster that can be simulated under any balancer.

`rebuilt` makes it of what was told, and `led` runs it.  Its resolution is `Rebuilt.grid`, and
what had to be assumed stands in `Rebuilt.untold`.
"""
