"""A rolling restart, as pure functions: its plan, what is seen and remembered, the next act."""
