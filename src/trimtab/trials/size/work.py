"""A task → the brokers that one seed's night needs; runs wherever Spark runs it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.reconstruct.cost_uncertainty import recosted
from trimtab.lab.reconstruct.costs import Costs
from trimtab.lab.rehearsal.measures import Bar, measures
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw_scale import loads
from trimtab.lab.sizing.need import need
from trimtab.lab.sizing.sized import Size, alike, sized_run
from trimtab.trials.sweep.task import NOBODY, Ran, Task, settings_text
from trimtab.trials.what_if.replay import Replay, digest

#: Brokers that are tried at most; more than there are bundles, and one that is lost, never help.
BROKERS_MAX = 1000


@dataclass(frozen=True, slots=True)
class Sizes:
    """Finds how many brokers a seed's night needs; travels to the workers."""

    rebuilt: Rebuilt
    balancer: Balancer
    #: What traffic costs, for each seed.
    costs: tuple[Costs, ...]
    bar: Bar

    def __call__(self, task: Task) -> Ran:
        """Try numbers of brokers on a seed's night with a growth of its traffic."""
        return Ran({}, False, {"need": self.need(float(task.scenario), task.seed)})

    def need(self, growth: float, seed: int) -> float:
        """Return the least number of brokers that keeps to the bar if any one is lost.

        Infinity: none does, though each bundle had a broker.
        """
        again, costs = self.again(seed), self.costs[seed]
        most = min(BROKERS_MAX, len(self.rebuilt.world.bundles.names) + 1)

        def keeps(count: int) -> bool:
            run = sized_run(again, self.balancer, costs, Size(count, growth), seed)
            return self.bar.is_met(measures(run, self.bar))

        work = again.surroundings.traffic.work
        guess = growth * float(work.sum(axis=1).max()) / self.room(again, costs)
        first = int(np.clip(np.ceil(guess) + 1, 2, most))
        least = need(keeps, first, least=2, most=most)
        return float(least) if least <= most else np.inf

    def again(self, seed: int) -> Rebuilt:
        """Return the cluster at a seed's costs."""
        return recosted(self.rebuilt, self.costs[seed])

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
        replay = Replay(self.rebuilt, self.balancer.conf, self.costs)
        return {"recording": digest(replay), "bar": bar}
