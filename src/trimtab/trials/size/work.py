"""A task → the brokers that one seed's night needs; runs wherever Spark runs it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.reconstruct.cost_uncertainty import recosted
from trimtab.lab.reconstruct.costs import Costs
from trimtab.lab.rehearsal.measures import Bar
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw_scale import loads
from trimtab.lab.sizing.bundles import giants
from trimtab.lab.sizing.kept import keeps
from trimtab.lab.sizing.need import FURTHER, FURTHER_BY_GIANTS, Need, need
from trimtab.lab.sizing.sized import Size, alike, likely_need, sized
from trimtab.trials.sweep.task import NOBODY, Ran, Task, settings_text
from trimtab.trials.what_if.replay import Replay, digest

#: Brokers that are tried at most; more than there are bundles, and one that is lost, never help.
BROKERS_MAX = 1000


@dataclass(frozen=True, slots=True)
class Sizes:
    """Finds how many brokers a seed's night needs; travels to the workers."""

    #: The recorded nights, which seeds take in turn.
    nights: tuple[Rebuilt, ...]
    balancer: Balancer
    #: What traffic costs, for each night and seed.
    costs: tuple[tuple[Costs, ...], ...]
    bar: Bar

    def __call__(self, task: Task) -> Ran:
        """Try numbers of brokers on a seed's night with a growth of its traffic."""
        return Ran({}, False, self.need(float(task.scenario), task.seed).numbers())

    def need(self, growth: float, seed: int) -> Need:
        """Return which numbers of brokers keep to the bar if any one is lost.

        None does if none does though each bundle had a broker.
        """
        night = seed % len(self.nights)
        costs = self.costs[night][seed]
        again = recosted(self.nights[night], costs)
        most = min(BROKERS_MAX, len(again.world.bundles.names) + 1)

        def is_kept(count: int) -> bool:
            return keeps(sized(again, self.balancer, costs, Size(count, growth), seed), self.bar)

        work, room = again.surroundings.traffic.work, self.room(again, costs) / growth
        first = likely_need(work, again.grid.tick_s, room, most)
        further = FURTHER_BY_GIANTS if giants(work, room) else FURTHER
        return replace(need(is_kept, first, 2, most, further), night=night)

    def room(self, again: Rebuilt, costs: Costs) -> float:
        """Return the work that a broker may carry by the bar and some costs."""
        machine = alike(again.world.machines, 1)
        percent = max(1.0, self.bar.peak_percent - float(np.median(costs.rest)))
        return float(loads(np.array([percent]), machine, again.parameters.physics)[0])

    def tasks(self, growths: Sequence[float], n_seeds: int) -> frozenset[Task]:
        """Return what is run: every growth of the traffic on every seed."""
        by = self.balancer
        key = (by.shedder or NOBODY, by.placer, by.release, settings_text(by.conf))
        return frozenset(
            Task(f"{growth:g}", *key, seed) for growth in growths for seed in range(n_seeds)
        )

    def basis(self) -> dict[str, str]:
        """Return digests of all that the rows rest on besides their tasks."""
        bar = hashlib.blake2b(repr(self.bar).encode(), digest_size=16).hexdigest()
        replays = (
            digest(Replay(night, self.balancer.conf, costs))
            for night, costs in zip(self.nights, self.costs, strict=True)
        )
        return {"recording": " ".join(replays), "bar": bar}
