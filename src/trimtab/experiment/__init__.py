"""One experiment from end to end: a scenario and strategies in, its history and outcomes out."""

from trimtab.experiment.command import UserError, simulate, tell
from trimtab.experiment.question import NOBODY, Experiment, Question, posed
from trimtab.experiment.result import Result, document, result

__all__ = [
    "NOBODY",
    "Experiment",
    "Question",
    "Result",
    "UserError",
    "document",
    "posed",
    "result",
    "simulate",
    "tell",
]
