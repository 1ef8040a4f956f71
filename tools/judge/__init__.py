"""Balancers judged in the laboratory by measures that doing nothing does not win."""
