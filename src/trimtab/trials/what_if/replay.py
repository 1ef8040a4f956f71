"""A task → the recorded load under its strategy, measured; runs wherever Spark runs it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trimtab.lab.outcomes import outcomes
from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.reconstruct.cost_uncertainty import Costs, recosted
from trimtab.lab.reconstruct.leadership import led
from trimtab.trials.sweep.simulation import balancer_of
from trimtab.trials.sweep.task import NOBODY, Ran, Task
from trimtab.trials.what_if.measures import numbers

# A strategy that is asked about sheds, whether or not the cluster did.
_SHEDS = {"loadBalancerEnabled": "true", "loadBalancerSheddingEnabled": "true"}


@dataclass(frozen=True, slots=True)
class Replay:
    """Replays a recording under the balancer of a task; travels to the workers."""

    rebuilt: Rebuilt
    #: The recording's settings, from which those of a task depart.
    conf: Mapping[str, str]
    #: What traffic costs, for each seed: all strategies meet the same.
    costs: tuple[Costs, ...]

    def __call__(self, task: Task) -> Ran:
        """Replay it from the beginning, and measure what came of it."""
        sheds = {} if task.shedder == NOBODY else _SHEDS
        balancer = balancer_of(task, {**self.conf, **sheds})
        again = recosted(self.rebuilt, self.costs[task.seed])
        run = led(again, balancer, 0.0, task.seed).run
        return Ran(outcomes(run), run.is_cut, numbers(run))


def digest(replay: Replay) -> str:
    """Return a digest of a recorded load, which differs from every other's."""
    hashed = hashlib.blake2b(digest_size=16)
    rebuilt, traffic = replay.rebuilt, replay.rebuilt.surroundings.traffic
    arrays = (traffic.rate_in, traffic.rate_out, traffic.message_bytes, rebuilt.owner)
    for array in (*arrays, rebuilt.used.usage):
        hashed.update(np.ascontiguousarray(array).tobytes())
    names = (rebuilt.world.bundles.names, rebuilt.world.machines.names, rebuilt.world.events)
    hashed.update(repr((*names, sorted(replay.conf.items()), replay.costs)).encode())
    return hashed.hexdigest()
