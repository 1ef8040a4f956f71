"""Change the code at its boundaries, a change at a time, and count what the tests let through."""
