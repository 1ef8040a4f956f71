"""One page in a browser: what a watch sees, as it happens, and a plan to approve."""
