"""One experiment from end to end: a scenario and strategies in, its history and outcomes out."""

from trimtab.trials.simulate.command import simulate
from trimtab.trials.simulate.question import Experiment, Question, posed
from trimtab.trials.simulate.result import Result, document, result
from trimtab.trials.simulate.simulation import tell

__all__ = [
    "Experiment",
    "Question",
    "Result",
    "document",
    "posed",
    "result",
    "simulate",
    "tell",
]
