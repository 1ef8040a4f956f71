"""A task → the recorded load under its strategy, measured; runs wherever Spark runs it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from trimtab.lab.outcomes import outcomes, trajectory
from trimtab.lab.outcomes.aftermath import aftermath
from trimtab.lab.outcomes.balance import above_min
from trimtab.lab.outcomes.moves import unloads
from trimtab.lab.outcomes.service import disconnected_topics, unavailability_s
from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.reconstruct.cost_uncertainty import Recosted
from trimtab.lab.reconstruct.costs import Costs
from trimtab.lab.reconstruct.leadership import continuation
from trimtab.lab.simulate.world import Run
from trimtab.pulsar.model import Floats
from trimtab.trials.sweep.simulation import balancer_of
from trimtab.trials.sweep.task import NOBODY, Ran, Task

_DAY_S = 86_400.0
# A strategy that is asked about sheds, whether or not the cluster did.
_SHEDS = {"loadBalancerEnabled": "true", "loadBalancerSheddingEnabled": "true"}


@dataclass(frozen=True, slots=True)
class MatrixMeasure:
    """A measure of the matrix; all are better when smaller."""

    title: str
    unit: str
    meaning: str


#: Name → measure, in the order of the columns.
MATRIX_MEASURES: Mapping[str, MatrixMeasure] = {
    "unloads_a_day": MatrixMeasure(
        "unloads a day", "", "Bundles that rounds moved, for each 24 hours."
    ),
    "p95_spread_points": MatrixMeasure(
        "95th percentile of spread",
        "points",
        "Points between the fullest and the emptiest broker: 95 percent of the time it is less.",
    ),
    "above_percent": MatrixMeasure(
        "time above the band",
        "%",
        "Percent of the time with a spread of more than 15 points above the best possible.",
    ),
    "disconnected_a_day": MatrixMeasure(
        "topics disconnected a day",
        "",
        "Topics whose clients had to reconnect, for each 24 hours; all moves count, whoever "
        "asked for them.",
    ),
    "unavailability_s_a_day": MatrixMeasure(
        "unavailability a day",
        "s",
        "Seconds for which the whole traffic would have to stop to interrupt as much, for each "
        "24 hours.",
    ),
}


@dataclass(frozen=True, slots=True)
class Replay:
    """Replays a recording under the balancer of a task; travels to the workers."""

    rebuilt: Rebuilt
    #: The recording's settings, from which those of a task depart.
    conf: Mapping[str, str]
    #: What traffic costs, for each seed: all strategies meet the same.
    costs: tuple[Costs, ...]
    #: The recording at the costs of a seed, which all strategies share.
    nights: Recosted = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Be ready to work out what a seed's runs share."""
        object.__setattr__(self, "nights", Recosted(self.rebuilt, self.costs))

    def __call__(self, task: Task) -> Ran:
        """Replay it from the beginning, and measure what came of it."""
        sheds = {} if task.shedder == NOBODY else _SHEDS
        balancer = balancer_of(task, {**self.conf, **sheds})
        run = continuation(self.nights.at(task.seed), balancer, 0.0, task.seed).run
        return Ran(outcomes(run), run.is_cut, numbers(run))


def digest(replay: Replay) -> str:
    """Return a digest of a recorded load, which differs from every other's."""
    hashed = hashlib.blake2b(digest_size=16)
    rebuilt, traffic = replay.rebuilt, replay.rebuilt.surroundings.traffic
    arrays = (traffic.rate_in, traffic.rate_out, traffic.message_bytes, rebuilt.owner)
    drawn = [array for each in replay.costs for array in (each.shared, each.quick, each.own)]
    for array in (*arrays, rebuilt.used.usage, *drawn):
        hashed.update(np.ascontiguousarray(array).tobytes())
    names = (rebuilt.world.bundles.names, rebuilt.world.machines.names, rebuilt.world.events)
    wires = [each.overhead for each in replay.costs]
    hashed.update(repr((*names, sorted(replay.conf.items()), wires)).encode())
    return hashed.hexdigest()


def numbers(run: Run) -> dict[str, float]:
    """Return every measure of `MATRIX_MEASURES`; NaN where one cannot be taken."""
    if run.is_cut:
        return dict.fromkeys(MATRIX_MEASURES, np.nan)
    since = aftermath(trajectory(run))
    observed_s = len(since.spread) * since.step_s
    days = observed_s / _DAY_S if observed_s else np.nan
    # Where nobody sheds there are no rounds, and no unloads.
    n_unloads = unloads(since) if len(since.round_s) else 0.0
    return {
        "unloads_a_day": n_unloads / days,
        "p95_spread_points": p95(since.spread),
        "above_percent": 100.0 * above_min(since) * 60.0 / observed_s if observed_s else np.nan,
        "disconnected_a_day": disconnected_topics(since) / days,
        "unavailability_s_a_day": unavailability_s(since) / days,
    }


def p95(spread: Floats) -> float:
    """Return what a spread is below for 95 percent of the time; NaN if none is known."""
    known = spread[~np.isnan(spread)]
    return float(np.quantile(known, 0.95)) if known.size else np.nan
