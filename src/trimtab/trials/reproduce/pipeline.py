"""`trimtab reproduce` from end to end: definitions → a sweep → verdicts → JSON and pages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.outcomes import trajectory
from trimtab.pulsar.model import Floats
from trimtab.report.contenders import figure
from trimtab.report.reproduction_picture import picture_alone
from trimtab.report.reproductions import render_reproductions, reproductions_text
from trimtab.trials.charts import visible_value
from trimtab.trials.reproduce.definition import Arm, Definition, arms, scenarios_of
from trimtab.trials.reproduce.numbers import MEANINGS, numbers, value_of
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
from trimtab.trials.sweep.simulation import Simulation, simulation_plan
from trimtab.trials.sweep.task import Row, Status, Task, failures, json_number, plain_numbers
from trimtab.trials.trial import Document, Form, Trial

#: Minutes before the event that are shown.
_BEFORE_MIN = 5.0
#: Samples of a line; there are no more pixels to tell them apart.
_SAMPLES_MAX = 240
#: Brokers that have a line each; of more, five quantiles.
_LINES_MAX = 11
_QUANTILES: Mapping[str, float] = {
    "highest": 1.0,
    "3 of 4 below": 0.75,
    "median": 0.5,
    "1 of 4 below": 0.25,
    "lowest": 0.0,
}
#: Numbers that are times since the event, so that they have a place in the picture.
_TIMES = ("first_trigger_min", "last_unload_min", "sources_touched_min")


def planned(definitions: Sequence[Definition], n_seeds: int, command: str) -> Trial:
    """Return the runs of experiments, and what is made of them.

    Raises:
        DefinitionError: a definition names what is not there, or changes a scenario into one
            that cannot be.
    """
    arms_by_definition = [arms(each) for each in definitions]
    every = list(chain.from_iterable(arms_by_definition))
    seeds = range(n_seeds)
    tasks = (arm.task(seed) for arm in every for seed in seeds)
    return Trial(
        plan=simulation_plan(tasks, Simulation(scenarios_of(every), numbers)),
        command=command,
        form=REPRODUCTIONS,
        document=partial(_document, definitions, arms_by_definition, seeds),
    )


def lines(document: Document) -> Iterator[str]:
    """Return what comes out and what does not, then each experiment's verdict, a line each."""
    if len(document["experiments"]) > 1:
        yield _answer(document)
    for each in document["experiments"]:
        yield f"{each['title']}: {each['verdict']['sentence']}"


def _answer(document: Document) -> str:
    """Return which experiments come out, which under a condition, and which do not."""
    names: dict[str, list[str]] = {outcome: [] for outcome in Outcome}
    for each in document["experiments"]:
        names[each["verdict"]["outcome"]].append(each["name"])
    words = {
        Outcome.COMES_OUT: "comes out as published",
        Outcome.ONLY_IF: "comes out under a condition",
        Outcome.DOES_NOT: "does not come out",
    }
    parts = [f"{words[it]}: {', '.join(names[it]) or 'none'}" for it in Outcome]
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _is_good(document: Document) -> bool:
    """Return whether a run came to its end."""
    return any(arm["runs"] for each in document["experiments"] for arm in each["arms"])


def _pictures(document: Document) -> dict[str, str]:
    pictures = {f"{each['name']}.svg": picture_alone(each) for each in document["experiments"]}
    return {name: svg for name, svg in pictures.items() if svg is not None}


REPRODUCTIONS = Form(
    "reproductions", render_reproductions, lines, _is_good, reproductions_text, _pictures
)


def _document(
    definitions: Sequence[Definition],
    arms_by_definition: Sequence[Sequence[Arm]],
    seeds: range,
    rows: Sequence[Row],
) -> dict[str, Any]:
    """Return what came of all experiments, with the picture of one run each."""
    by_task = {Task.of(row): row for row in rows}
    pairs = zip(definitions, arms_by_definition, strict=True)
    experiments = [judged(of, each, by_task, seeds) for of, each in pairs]
    answer = document(experiments, len(seeds))
    for each, one in zip(answer["experiments"], experiments, strict=True):
        seed = one.typical_seed
        if seed is not None:
            each["picture"] = picture(one.shown, seed, one.definition.published)
    return answer


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
    def decisive(self) -> ArmVerdict:
        """Return what the runs of the arm come to on which the verdict rests."""
        return self.arm_verdicts[self.verdict.arm]

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
    """Return what came of all experiments, as JSON has it, without their pictures."""
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
            _arm(*of)
            for of in zip(experiment.arms, experiment.rows, experiment.arm_verdicts, strict=True)
        ],
        "picture": None,
    }


def _published(number: PublishedNumber) -> dict[str, Any]:
    meaning, (low, high) = MEANINGS[number.number], number.limits()
    return {
        "number": number.number,
        "title": meaning.title,
        "unit": meaning.unit,
        "value": list(number.value),
        "or_more": number.or_more,
        "says": number.says,
        # Nothing that was published can be below 0.
        "accepted": [json_number(max(0.0, low)), json_number(high)],
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
        "numbers": [
            plain_numbers(each.summary)
            | {"within": each.n_within, "agreement": str(each.agreement)}
            for each in against.numbers
        ],
    }


def _sentence(experiment: Judged) -> str:
    """Return the verdict in words, with the numbers that decide it."""
    outcome, against, shown = experiment.verdict.outcome, experiment.decisive, experiment.shown
    share = f"all at once in {against.n_at_once} of {against.n_runs} runs"
    if outcome is Outcome.COMES_OUT:
        return f"comes out: {share}"
    if outcome is Outcome.ONLY_IF:
        also = [experiment.arms[place].name for place in experiment.verdict.also]
        others = f"; also with: {', '.join(also)}" if also else ""
        return f"comes out only if {shown.condition}: {share}{others}"
    pairs = list(zip(experiment.definition.published, against.numbers, strict=True))
    wrong = [pair for pair in pairs if pair[1].agreement is Agreement.MISSED]
    wrong = wrong or [pair for pair in pairs if pair[1].agreement is Agreement.WITHIN_RANGE]
    numbers = "; ".join(_instead(*pair) for pair in wrong)
    nearest = f" where it comes nearest, with {shown.name}," if experiment.verdict.arm else ""
    return f"does not come out because{nearest} {numbers}"


def _instead(published: PublishedNumber, number: NumberVerdict) -> str:
    title = MEANINGS[published.number].title
    low, high = (figure(json_number(end)) for end in published.value)
    expected = low if low == high else f"{low} to {high}"
    more = " or more" if published.or_more else ""
    if not number.summary.count:
        return f"{title} is not there to be measured, and {expected}{more} was published"
    ours, p10, p90, _ = map(figure, plain_numbers(number.summary).values())
    return f"{title} is {ours} ({p10} to {p90}) and not {expected}{more}"


def _fine(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["status"] == Status.OK]


def picture(arm: Arm, seed: int, published: Iterable[PublishedNumber]) -> dict[str, Any]:
    """Return what the picture of a run shows, which is simulated again.

    Returns:
        Usage over time of each broker (or quantiles of all), unloads by round, and the times
        that were published; minutes are since the event.
    """
    run = Simulation({arm.scenario_name: arm.scenario}).run(arm.task(seed))
    usage, rounds, event_s = trajectory(run), run.rounds, run.world.event_s
    minutes = (np.arange(len(usage.usage)) + 1) * usage.step_s / 60 - event_s / 60
    shown = np.flatnonzero(minutes >= -_BEFORE_MIN)
    shown = shown[:: max(1, math.ceil(len(shown) / _SAMPLES_MAX))]
    return {
        "arm": arm.name,
        "seed": seed,
        "minutes": [round(minute, 2) for minute in minutes[shown].tolist()],
        "series": [
            {"name": name, "usage": [visible_value(value) for value in values.tolist()]}
            for name, values in _series(usage.brokers, usage.usage[shown])
        ],
        "unloads": [
            {"minute": round((time_s - event_s) / 60, 2), "count": int(moved)}
            for time_s, moved in zip(rounds.time_s.tolist(), rounds.moved.tolist(), strict=True)
            if moved and time_s >= event_s
        ],
        "published": [
            {"title": MEANINGS[each.number].title, "minute": each.value[0]}
            for each in published
            if each.number in _TIMES
        ],
    }


def _series(
    brokers: tuple[str, ...], usage: NDArray[np.float32]
) -> Iterable[tuple[str, NDArray[np.float32] | Floats]]:
    if len(brokers) <= _LINES_MAX:
        return [(name.partition(":")[0], usage[:, i]) for i, name in enumerate(brokers)]
    return [(name, np.nanquantile(usage, share, axis=1)) for name, share in _QUANTILES.items()]
