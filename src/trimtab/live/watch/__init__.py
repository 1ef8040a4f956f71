"""Runs beside a live cluster: decides each round again, and what another strategy would do."""
