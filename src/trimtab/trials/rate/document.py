"""Rated cells → what is said of them: made of what JSON has."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trimtab.report.contenders import figure
from trimtab.trials.rate.definition import Case, Contender, Dimension, Rating
from trimtab.trials.rate.statistics import STATISTICS
from trimtab.trials.rate.words import Rated, Word
from trimtab.trials.reproduce.numbers import MEANINGS
from trimtab.trials.sweep.task import Task, json_number


@dataclass(frozen=True, slots=True)
class Basis:
    """One cell, and what it rests on."""

    rated: Rated
    of: Dimension | Case
    #: Runs that did not come to their end.
    n_failed: int
    #: One of its tasks: what its rows have in common.
    task: Task


def document(rating: Rating, cells: Mapping[tuple[str, str], Basis]) -> dict[str, Any]:
    """Return the whole rating, as JSON has it.

    Args:
        rating: what is rated, and by what.
        cells: name of a dimension and of a strategy → the cell.

    Returns:
        A number that is infinite is the text "Infinity", one that is not known null.
    """
    strategies: list[dict[str, Any]] = [
        {
            "name": contender.name,
            "cells": [
                _cell(rating, dimension, contender, cells[dimension.name, contender.name])
                for dimension in rating.dimensions
            ],
        }
        for contender in rating.strategies
    ]
    return {
        "dimensions": [_dimension(each) for each in rating.dimensions],
        "strategies": strategies,
        "disagreements": [
            _disagreement(strategy["name"], dimension, cell)
            for strategy in strategies
            for dimension, cell in zip(rating.dimensions, strategy["cells"], strict=True)
            if cell["published"] and cell["published"]["word"] != cell["word"]
        ],
    }


def _dimension(dimension: Dimension) -> dict[str, Any]:
    definition = inspect.getdoc(STATISTICS[dimension.statistic]) or ""
    return {
        "name": dimension.name,
        "asks": dimension.asks,
        "number": dimension.number,
        "title": MEANINGS[dimension.number].title,
        "unit": "" if dimension.statistic == "ratio to nobody" else MEANINGS[dimension.number].unit,
        "statistic": dimension.statistic,
        "definition": definition.partition("\n")[0],
        "scenarios": list(dimension.scenarios),
        "good_to": dimension.good_to,
        "fair_to": dimension.fair_to,
    }


def _cell(
    rating: Rating, dimension: Dimension, contender: Contender, basis: Basis
) -> dict[str, Any]:
    published, task = rating.word(dimension, contender), basis.task
    is_own = isinstance(basis.of, Case)
    return {
        "word": str(basis.rated.word),
        "is_sure": basis.rated.is_sure,
        "estimate": json_number(basis.rated.interval.estimate),
        "low": json_number(basis.rated.interval.low),
        "high": json_number(basis.rated.interval.high),
        "published": None
        if published is None
        else {"word": published.word, "says": published.says},
        "rows": {
            "scenarios": list(basis.of.scenarios),
            "shedder": task.shedder,
            "placement": task.placement,
            "release": task.release,
            "settings": json.loads(task.settings),
            "number": basis.of.number,
        },
        "because": basis.of.because if isinstance(basis.of, Case) else None,
        "is_own_number": is_own,
        "runs": basis.rated.n_runs - basis.n_failed,
        "never": basis.rated.n_never,
        "failed": basis.n_failed,
    }


def _disagreement(strategy: str, dimension: Dimension, cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return where a measured word is not the published one, and by how much."""
    published = cell["published"]
    number, low, high = (figure(cell[name]) for name in ("estimate", "low", "high"))
    ends = "" if low == high else f" ({low} to {high})"
    unsure = "" if cell["is_sure"] else ", which is not beyond doubt"
    bar = dimension.good_to if published["word"] == Word.GOOD else dimension.fair_to
    bound = f"more than {bar:g}" if published["word"] == Word.POOR else f"{bar:g} or less"
    measured = f"measured {cell['word']} with {number}{ends}{unsure}"
    return {
        "strategy": strategy,
        "dimension": dimension.name,
        "measured": cell["word"],
        "published": published["word"],
        "sentence": (
            f"{strategy} in {dimension.name}: published {published['word']}, "
            f"{measured}; {published['word']} would be {bound}."
        ),
    }
