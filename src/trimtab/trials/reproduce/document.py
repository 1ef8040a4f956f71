"""Rows of outcomes and definitions → what is said: made of what JSON has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.lab.simulate.scenario_keys import Span
from trimtab.report.contenders import figure
from trimtab.trials.reproduce.arms import Arm
from trimtab.trials.reproduce.definition import Definition
from trimtab.trials.reproduce.numbers import value_of
from trimtab.trials.reproduce.published_number import RULES, PublishedNumber
from trimtab.trials.reproduce.verdict import (
    Agreement,
    NumberVerdict,
    Outcome,
    Verdict,
    typical,
    verdict,
)
from trimtab.trials.reproduce.verdict import Arm as ArmVerdict
from trimtab.trials.reproduce.verdict import arm as arm_verdict
from trimtab.trials.sweep.task import Row, Status, Task, failures, json_number


@dataclass(frozen=True, slots=True)
class Judged:
    """An experiment with all that its runs gave."""

    definition: Definition
    arms: tuple[Arm, ...]
    #: One of each arm: its rows by seed, and what they come to; None if no run ended well.
    rows: tuple[tuple[Row, ...], ...]
    arm_verdicts: tuple[ArmVerdict, ...]
    verdict: Verdict

    @property
    def shown(self) -> Arm:
        """Return the arm whose picture is drawn: that on which the verdict rests."""
        return self.arms[self.verdict.arm]

    @property
    def typical_seed(self) -> int | None:
        """Return the seed that lies nearest to that arm's medians; None if no run ended well."""
        fine = _fine(self.rows[self.verdict.arm])
        if not fine:
            return None
        values = [
            [value_of(row, each.number) for row in fine] for each in self.definition.published
        ]
        return int(fine[typical(values)]["seed"])


def judged(of: Definition, arms: Sequence[Arm], rows: Mapping[Task, Row], seeds: range) -> Judged:
    """Return an experiment with its rows held against what was published."""
    rows_by_arm = tuple(tuple(rows[each.task(seed)] for seed in seeds) for each in arms)
    bounds = [each.limits() for each in of.published]
    against = tuple(
        arm_verdict(
            [[value_of(row, each.number) for row in _fine(one)] for each in of.published], bounds
        )
        for one in rows_by_arm
    )
    return Judged(of, tuple(arms), rows_by_arm, against, verdict(against))


def document(experiments: Sequence[Judged], n_seeds: int) -> dict[str, Any]:
    """Return what came of all experiments, without their pictures.

    Returns:
        A number that is infinite is the text "Infinity", one that is not known null.
    """
    return {
        "seeds": n_seeds,
        "rules": [
            {"unit": unit or "count", "says": rule.says}
            for unit, rule in RULES.items()
            if unit not in ("1/h", "points")
        ],
        "experiments": [_experiment(each) for each in experiments],
    }


def _experiment(experiment: Judged) -> dict[str, Any]:
    head, first = experiment.definition.head, experiment.arms[0]
    task = first.task(0)
    return {
        "name": experiment.definition.name,
        "title": head.title,
        "source": head.source,
        "remark": head.remark,
        "scenario": head.scenario,
        "strategy": first.strategy.key(task.release).label,
        "release": task.release,
        "settings": dict(first.strategy.settings),
        "verdict": {
            "outcome": str(experiment.verdict.outcome),
            "sentence": _sentence(experiment),
            "arm": experiment.shown.name,
        },
        "published": [_published(each) for each in experiment.definition.published],
        "arms": [
            _arm(of, rows, against)
            for of, rows, against in zip(
                experiment.arms, experiment.rows, experiment.arm_verdicts, strict=True
            )
        ],
        "picture": None,
    }


def _published(number: PublishedNumber) -> dict[str, Any]:
    return {
        "number": number.number,
        "title": number.title,
        "unit": number.unit,
        "value": list(number.value),
        "or_more": number.or_more,
        "says": number.says,
        "accepted": [json_number(end) for end in _from_zero(number.limits())],
        "because": number.because or None,
    }


def _arm(of: Arm, rows: Sequence[Row], against: ArmVerdict) -> dict[str, Any]:
    task = of.task(0)
    return {
        "name": of.name,
        "condition": of.condition,
        "scenario": of.scenario_name,
        "shedder": task.shedder,
        "placement": task.placement,
        "release": task.release,
        "settings": dict(of.strategy.settings),
        "comes_out": against.comes_out,
        "runs": against.n_runs,
        "at_once": against.n_at_once,
        "failures": failures(rows),
        "numbers": [_number(each) for each in against.numbers],
    }


def _number(number: NumberVerdict) -> dict[str, Any]:
    return {
        "median": json_number(number.summary.median),
        "p10": json_number(number.summary.p10),
        "p90": json_number(number.summary.p90),
        "count": number.summary.count,
        "within": number.n_within,
        "agreement": str(number.agreement),
    }


def _sentence(experiment: Judged) -> str:
    """Return the verdict in words, with the numbers that decide it."""
    outcome = experiment.verdict.outcome
    if outcome is Outcome.COMES_OUT:
        return f"comes out: all at once in {_share(experiment)}"
    if outcome is Outcome.ONLY_IF:
        also = [experiment.arms[place].name for place in experiment.verdict.also]
        others = f"; also with: {', '.join(also)}" if also else ""
        share = _share(experiment)
        return f"comes out only if {experiment.shown.condition}: all at once in {share}{others}"
    against = experiment.arm_verdicts[experiment.verdict.arm]
    pairs = list(zip(experiment.definition.published, against.numbers, strict=True))
    wrong = [pair for pair in pairs if pair[1].agreement is Agreement.MISSED]
    wrong = wrong or [pair for pair in pairs if pair[1].agreement is Agreement.WITHIN_RANGE]
    numbers = "; ".join(_instead(*pair) for pair in wrong)
    nearest = (
        ""
        if not experiment.verdict.arm
        else f" where it comes nearest, with {experiment.shown.name},"
    )
    return f"does not come out because{nearest} {numbers}"


def _instead(published: PublishedNumber, number: NumberVerdict) -> str:
    low, high = (figure(json_number(end)) for end in published.value)
    expected = low if low == high else f"{low} to {high}"
    more = " or more" if published.or_more else ""
    if not number.summary.count:
        return f"{published.title} is not there to be measured, and {expected}{more} was published"
    ours, *ends = (
        figure(json_number(each))
        for each in (number.summary.median, number.summary.p10, number.summary.p90)
    )
    return f"{published.title} is {ours} ({' to '.join(ends)}) and not {expected}{more}"


def _share(experiment: Judged) -> str:
    against = experiment.arm_verdicts[experiment.verdict.arm]
    return f"{against.n_at_once} of {against.n_runs} runs"


def _fine(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["status"] == Status.OK]


def _from_zero(limits: Span) -> Span:
    """Return a span cut at 0: nothing that was published can be below."""
    return max(0.0, limits[0]), limits[1]
