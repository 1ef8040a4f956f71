"""One experiment from end to end: a scenario and strategies in, its history and outcomes out."""

from trimtab.trials.simulate.command import simulate, tell
from trimtab.trials.simulate.question import NOBODY, Experiment, Question, posed
from trimtab.trials.simulate.result import Result, document, result

__all__ = [
    "NOBODY",
    "Experiment",
    "Question",
    "Result",
    "document",
    "posed",
    "result",
    "simulate",
    "tell",
]
