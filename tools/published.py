"""The generated parts of docs/reproductions.md and docs/ratings.md: what is run, by which rules."""

from __future__ import annotations

import inspect

from tools.catalogue import code, first_line, table
from trimtab.lab.simulate.scenario_keys import NEEDED, described
from trimtab.trials.rate.definition import Case, Contender, Dimension, Statement, built_in_rating
from trimtab.trials.rate.statistics import STATISTICS
from trimtab.trials.reproduce import verdict
from trimtab.trials.reproduce.definition import Definition, chosen
from trimtab.trials.reproduce.numbers import MEANINGS, NUMBERS
from trimtab.trials.reproduce.published_number import RULES


def experiments() -> str:
    """Return the list of experiments, each with its numbers."""
    return "\n" + table(
        ("experiment", "what was done", "scenario", "strategy", "numbers", "variants"),
        map(_experiment, chosen(())),
    )


def rules() -> str:
    """Return how far from a number one may be, and how verdicts follow."""
    rows = ((unit or "a count", rule.says) for unit, rule in RULES.items())
    said = (inspect.getdoc(verdict) or "").partition("\n\n")[2]
    return f"\n{table(('unit', 'counts as reached'), rows)}\n{said}\n"


def numbers() -> str:
    """Return what is taken of a run besides its outcomes."""
    rows = ((code(name), number.unit, first_line(number.take)) for name, number in NUMBERS.items())
    return "\n" + table(("number", "unit", "is"), rows)


def keys() -> str:
    """Return the keys of the file of a rating."""
    parts = []
    for one in (Dimension, Contender, Case, Statement):
        name, _, meaning = first_line(one).partition(": ")
        rows = (
            (code(key), takes, default if default == NEEDED else code(default), means)
            for key, takes, default, means in described(one)
        )
        heading = f"\n### {name}\n\n{meaning[0].upper()}{meaning[1:]}\n\n"
        parts.append(heading + table(("key", "takes", "default", "meaning"), rows))
    return "".join(parts)


def dimensions() -> str:
    """Return the dimensions of the rating, with their thresholds."""
    return "\n" + table(
        ("dimension", "asks", "number", "taken as", "on", "good up to", "fair up to"),
        map(_dimension, built_in_rating().dimensions),
    )


def _experiment(of: Definition) -> tuple[str, ...]:
    return (
        code(of.name),
        of.head.title,
        code(of.head.scenario),
        code(of.head.strategy),
        "; ".join(f"{MEANINGS[each.number].title} {_span(each.value)}" for each in of.published),
        ", ".join(each.name for each in of.variants) or "none",
    )


def _dimension(of: Dimension) -> tuple[str, ...]:
    said = STATISTICS[of.statistic].definition
    return (
        of.name,
        of.asks,
        MEANINGS[of.number].title,
        said.rstrip("."),
        ", ".join(map(code, of.scenarios)),
        f"{of.good_to:g}",
        f"{of.fair_to:g}",
    )


def _span(value: tuple[float, float]) -> str:
    low, high = value
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
