"""What a published picture shows of a run besides its outcomes: a number for each thing read off.

Each number is a function of its own, whose docstring says what is read; `NUMBERS` names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.outcomes import MEASURES, trajectory
from trimtab.lab.outcomes.aftermath import Aftermath, aftermath
from trimtab.lab.simulate.world import Run
from trimtab.pulsar.model import Floats, Ints

#: s at the end of a run over which its last state is averaged.
_END_S = 600.0
#: s since the event within which the hottest broker of the start is looked for: a level knows
#: the traffic that has just begun.
_START_S = 300.0
#: s after the first trigger, from and to, over which what it did is averaged: reports are a
#: minute old, and the figure is read when they are in.
_AFTER_S = (180.0, 360.0)
#: Share of the sources that have to have given something up; a hundred never all do.
_NEARLY_ALL = 0.95


@dataclass(frozen=True, slots=True)
class Number:
    """One number that a picture shows."""

    #: In words, for a table that people read.
    title: str
    unit: str
    take: Callable[[Aftermath, Run], float]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a number is, whoever takes it."""

    title: str
    #: `min`, `%`, `points`, `1/h` and so on; empty for a count.
    unit: str


def unloads_per_hour(aftermath: Aftermath, run: Run) -> float:
    """Unloads in an hour, on average since the event."""
    return len(aftermath.counted) * 3600 / (run.world.duration_s - run.world.event_s)


def first_trigger_unloads(aftermath: Aftermath, run: Run) -> float:
    """Bundles that the first round that moved something moved; NaN if none did."""
    del run
    moved = aftermath.round_moved[aftermath.round_moved > 0]
    return float(moved[0]) if len(moved) else np.nan


def waves(aftermath: Aftermath, run: Run) -> float:
    """Waves of unloads: a new one begins where another broker gives bundles up."""
    del run
    return float(len(_waves(aftermath)))


def first_wave_unloads(aftermath: Aftermath, run: Run) -> float:
    """Unloads of the first wave; 0 if there is none."""
    return _wave(aftermath, 0, run)


def second_wave_unloads(aftermath: Aftermath, run: Run) -> float:
    """Unloads of the second wave; 0 if there is none."""
    return _wave(aftermath, 1, run)


def random_placements(aftermath: Aftermath, run: Run) -> float:
    """Unloads that were placed at random, as nobody was below the placer's bar."""
    del run
    return float(aftermath.shed.is_fallback[aftermath.counted].sum())


def random_streak(aftermath: Aftermath, run: Run) -> float:
    """Unloads in a row that were placed at random, at most."""
    del run
    longest = streak = 0
    for is_random in aftermath.shed.is_fallback[aftermath.counted].tolist():
        streak = streak + 1 if is_random else 0
        longest = max(longest, streak)
    return float(longest)


def hottest_percent(aftermath: Aftermath, run: Run) -> float:
    """Highest level of the first five minutes."""
    del run
    return float(np.nanmax(_first(aftermath)))


def hottest_falls_to_percent(aftermath: Aftermath, run: Run) -> float:
    """Lowest level that the broker that was hottest at first comes to from there."""
    del run
    top, broker = _hottest(aftermath)
    return float(np.nanmin(aftermath.levels[top:, broker]))


def strong_percent(aftermath: Aftermath, run: Run) -> float:
    """Level of the strongest machine in the last ten minutes."""
    return float(_end(aftermath)[_strongest(run)].mean())


def weak_percent(aftermath: Aftermath, run: Run) -> float:
    """Mean level of all machines but the strongest in the last ten minutes; NaN if all are."""
    weak = _end(aftermath)[~_strongest(run)]
    return float(weak.mean()) if len(weak) else np.nan


def coldest_percent(aftermath: Aftermath, run: Run) -> float:
    """Lowest level of a broker in the last ten minutes."""
    del run
    return float(np.nanmin(_end(aftermath)))


def score_ratio(aftermath: Aftermath, run: Run) -> float:
    """Highest score by lowest in the last ten minutes, the median of its rounds.

    UniformLoadShedder's scores are messages/s.
    """
    del aftermath
    rounds = run.rounds
    scores = rounds.scores[rounds.time_s > run.world.duration_s - _END_S].astype(np.float64)
    if not scores.size or np.isnan(scores).all():
        return np.nan
    with np.errstate(divide="ignore"):
        return float(np.nanmedian(np.nanmax(scores, axis=1) / np.nanmin(scores, axis=1)))


def coldest_after_percent(aftermath: Aftermath, run: Run) -> float:
    """Usage of the coldest broker in the fourth to sixth minute after the first trigger."""
    del run
    after = _after_first(aftermath)
    return float(after.min()) if len(after) else np.nan


def others_after_percent(aftermath: Aftermath, run: Run) -> float:
    """Mean usage of all brokers but the coldest in those minutes."""
    del run
    after = np.sort(_after_first(aftermath))
    return float(after[1:].mean()) if len(after) > 1 else np.nan


def sources_touched_min(aftermath: Aftermath, run: Run) -> float:
    """Minutes until 95 of 100 brokers that were there have given a bundle up; or infinite."""
    were_up = ~np.isnan(run.usage[max(0, int(run.world.event_s / run.tick_s) - 1)])
    enough = int(np.ceil(_NEARLY_ALL * were_up.sum()))
    sources, first = np.unique(aftermath.shed.source[aftermath.counted], return_index=True)
    times = np.sort(aftermath.shed_s[aftermath.counted][first[were_up[sources]]])
    return float(times[enough - 1] / 60) if len(times) >= enough else np.inf


def after_first_percent(aftermath: Aftermath, run: Run) -> float:
    """Usage of the first broker that gave bundles up, when that round was over."""
    del run
    return _source_end(aftermath, 0)


def after_second_percent(aftermath: Aftermath, run: Run) -> float:
    """Usage of the first broker that gave bundles up after the second round that moved some.

    NaN if there is none, or if another broker gave them up.
    """
    del run
    return _source_end(aftermath, 1)


def next_score_percent(aftermath: Aftermath, run: Run) -> float:
    """Score of the first broker that gave bundles up, one round later.

    Of strategies whose scores are fractions, such as ThresholdShedder.
    """
    return _later_score(aftermath, run, 1)


def second_score_percent(aftermath: Aftermath, run: Run) -> float:
    """Score of the first broker that gave bundles up, two rounds later; of such strategies."""
    return _later_score(aftermath, run, 2)


#: Name → number, besides `MEASURES`.
NUMBERS: Mapping[str, Number] = {
    number.take.__name__: number
    for number in (
        Number("unloads an hour", "1/h", unloads_per_hour),
        Number("bundles of the first trigger", "", first_trigger_unloads),
        Number("waves", "", waves),
        Number("unloads of the first wave", "", first_wave_unloads),
        Number("unloads of the second wave", "", second_wave_unloads),
        Number("random placements", "", random_placements),
        Number("random placements in a row", "", random_streak),
        Number("hottest broker at first", "%", hottest_percent),
        Number("the same at its lowest", "%", hottest_falls_to_percent),
        Number("strong machine at the end", "%", strong_percent),
        Number("weak machines at the end", "%", weak_percent),
        Number("coldest broker at the end", "%", coldest_percent),
        Number("highest rate by lowest at the end", "times", score_ratio),
        Number("coldest broker after the first trigger", "%", coldest_after_percent),
        Number("the others then", "%", others_after_percent),
        Number("95 of 100 sources touched", "min", sources_touched_min),
        Number("source after the first unloads", "%", after_first_percent),
        Number("source after the second unloads", "%", after_second_percent),
        Number("its score a round later", "%", next_score_percent),
        Number("its score two rounds later", "%", second_score_percent),
    )
}

#: Name → meaning of everything that a published number can be held against.
MEANINGS: Mapping[str, Meaning] = {
    **{name: Meaning(of.title, of.unit) for name, of in MEASURES.items()},
    **{name: Meaning(of.title, of.unit) for name, of in NUMBERS.items()},
}


def numbers(run: Run) -> dict[str, float]:
    """Return every number of a run.

    Returns:
        A number for each of `NUMBERS`, in that order; NaN for all if the run was cut.
    """
    if run.is_cut:
        return dict.fromkeys(NUMBERS, np.nan)
    of_run = aftermath(trajectory(run))
    return {name: number.take(of_run, run) for name, number in NUMBERS.items()}


def value_of(row: Mapping[str, Any], name: str) -> float:
    """Return a number or an outcome of a row of the outcomes table; NaN if it is not there."""
    value = row[name] if name in row else dict(row["numbers"] or ()).get(name)
    return np.nan if value is None else float(value)


def _waves(aftermath: Aftermath) -> list[int]:
    """Return the count of unloads of each wave, in order of time."""
    sources: Ints = aftermath.shed.source[aftermath.counted]
    if not len(sources):
        return []
    edges = np.flatnonzero(np.diff(sources, prepend=-2, append=-2))
    return [int(length) for length in np.diff(edges)]


def _wave(aftermath: Aftermath, place: int, run: Run) -> float:
    del run
    lengths = _waves(aftermath)
    return float(lengths[place]) if place < len(lengths) else 0.0


def _first(aftermath: Aftermath) -> NDArray[np.float32]:
    return aftermath.levels[: max(1, round(_START_S / aftermath.step_s))]


def _hottest(aftermath: Aftermath) -> tuple[int, int]:
    """Return at which sample of the first five minutes the level was highest, and whose it was."""
    sample, broker = np.unravel_index(np.nanargmax(_first(aftermath)), _first(aftermath).shape)
    return int(sample), int(broker)


def _end(aftermath: Aftermath) -> Floats:
    """Return each broker's mean level over the last ten minutes; NaN if it was down."""
    last = aftermath.levels[-max(1, round(_END_S / aftermath.step_s)) :].astype(np.float64)
    return np.asarray(last.mean(axis=0))


def _strongest(run: Run) -> NDArray[np.bool_]:
    capacity = run.world.machines.capacity
    return np.asarray(capacity == capacity.max())


def _after_first(aftermath: Aftermath) -> Floats:
    """Return each broker's mean usage some minutes after the first trigger; empty without one."""
    triggers = aftermath.round_s[aftermath.round_moved > 0]
    if not len(triggers):
        return np.empty(0)
    begin, end = (int((triggers[0] + after) / aftermath.step_s) for after in _AFTER_S)
    usage = aftermath.usage[begin:end].astype(np.float64)
    known = usage[:, ~np.isnan(usage).any(axis=0)]
    return np.asarray(known.mean(axis=0)) if len(known) else np.empty(0)


def _source_end(aftermath: Aftermath, place: int) -> float:
    """Return the usage in which a round that moved something left the first source."""
    shed = aftermath.shed
    rounds = list(dict.fromkeys(shed.round[aftermath.counted].tolist()))
    if place >= len(rounds):
        return np.nan
    source = shed.source[aftermath.counted[0]]
    ends = [
        shed.source_end[i]
        for i in aftermath.counted.tolist()
        if shed.round[i] == rounds[place] and shed.source[i] == source
    ]
    return float(ends[0]) if ends else np.nan


def _later_score(aftermath: Aftermath, run: Run, rounds_later: int) -> float:
    """Return the first source's score some rounds after the one in which it was one."""
    if not len(aftermath.counted):
        return np.nan
    first = aftermath.counted[0]
    place = int(aftermath.shed.round[first]) + rounds_later
    if place >= len(run.rounds.scores):
        return np.nan
    return 100 * float(run.rounds.scores[place, aftermath.shed.source[first]])
