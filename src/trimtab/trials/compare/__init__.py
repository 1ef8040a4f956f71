"""Strategies side by side on scenarios: a sweep, what it says, and the page."""
