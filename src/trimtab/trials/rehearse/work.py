"""A task → one course of a rehearsal, measured; runs wherever Spark runs it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.reconstruct.cost_uncertainty import Recosted
from trimtab.lab.reconstruct.costs import Costs
from trimtab.lab.rehearsal.disturbed import rehearsed_at
from trimtab.lab.rehearsal.going_on import besides_of
from trimtab.lab.rehearsal.measures import Bar, measures
from trimtab.lab.rehearsal.plan import Rehearsal
from trimtab.lab.rehearsal.processes import Process
from trimtab.pulsar.model import MINUTE_S
from trimtab.pulsar.settings.reader import Reader
from trimtab.trials.sweep.task import NOBODY, Ran, Task, settings_text
from trimtab.trials.what_if.replay import Replay, digest


def tasks_of(plans: Mapping[str, Rehearsal], name: str, seeds: Iterable[int]) -> frozenset[Task]:
    """Return the runs of one course by its name."""
    by = plans[name].balancer
    key = (by.shedder or NOBODY, by.placer, by.release, settings_text(by.conf))
    return frozenset(Task(name, *key, seed) for seed in seeds)


@dataclass(frozen=True, slots=True)
class Courses:
    """Runs the courses of a rehearsal by their names; travels to the workers."""

    rebuilt: Rebuilt
    #: What traffic costs, for each seed: all courses meet the same.
    costs: tuple[Costs, ...]
    plans: Mapping[str, Rehearsal]
    bar: Bar
    #: Of what processes that begin take something is drawn; none: they are warm at once.
    like: tuple[Process, ...] = ()
    #: The night at the costs of a seed, which all its courses share.
    nights: Recosted = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Be ready to work out what a seed's courses share."""
        object.__setattr__(self, "nights", Recosted(self.rebuilt, self.costs))

    def __call__(self, task: Task) -> Ran:
        """Rehearse it, and measure what came of it."""
        plan = self.plans[task.scenario]
        reader = Reader(plan.balancer.conf, plan.balancer.release)
        host_s = reader.number("loadBalancerHostUsageCheckIntervalMinutes") * MINUTE_S
        besides = besides_of(self.rebuilt, plan.events, self.like, host_s)
        besides = replace(besides, seed=task.seed)
        night, costs = self.nights.at(task.seed), self.costs[task.seed]
        run = rehearsed_at(night, plan, costs, task.seed, besides)
        return Ran({}, run.is_cut, measures(run, self.bar))

    def tasks(self, name: str, seeds: Iterable[int]) -> frozenset[Task]:
        """Return the runs of one course."""
        return tasks_of(self.plans, name, seeds)

    def basis(self) -> dict[str, str]:
        """Return digests of all that the rows rest on besides their tasks."""
        conf = next(iter(self.plans.values())).balancer.conf
        plans = hashlib.blake2b(repr((self.plans, self.bar, self.like)).encode(), digest_size=16)
        replay = Replay(self.rebuilt, conf, self.costs)
        return {"recording": digest(replay), "plans": plans.hexdigest()}
