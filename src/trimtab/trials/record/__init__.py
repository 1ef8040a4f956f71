"""A simulated cluster → the recording that a real one would have left, and the truth beside it."""

from trimtab.trials.record.recording import record
from trimtab.trials.record.scribe import Options

__all__ = ["Options", "record"]
