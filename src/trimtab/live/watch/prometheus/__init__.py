"""Alert rules and a dashboard for the metrics of a watch; no code."""
