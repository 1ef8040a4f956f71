"""What Pulsar decides, copied exactly: its nouns, settings, scores, strategies and leader."""
