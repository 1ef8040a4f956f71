"""A scenario, or a recorded cluster → simulated runs → their outcomes."""
