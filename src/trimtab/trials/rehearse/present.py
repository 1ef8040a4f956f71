"""A live cluster as it stands and a plan → rehearsed on the load of now → whether it is safe."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.files.fields import FieldError
from trimtab.files.version import __version__
from trimtab.lab.rehearsal.measures import Bar, measures
from trimtab.lab.rehearsal.plan import Rehearsal
from trimtab.lab.rehearsal.present import rehearsed_now
from trimtab.lab.restarts.snapshot import ClusterNow, standing_world
from trimtab.lab.simulate.balancer import Balancer
from trimtab.trials.rehearse.bar import bar_of
from trimtab.trials.rehearse.command import (
    REHEARSAL,
    Question,
    Rehearsed,
    courses_run,
    plan_part,
)
from trimtab.trials.rehearse.document import PLANNED, UNDISTURBED
from trimtab.trials.rehearse.remedies import remedies_now
from trimtab.trials.rehearse.resolve import Names, iso, resolved
from trimtab.trials.rehearse.work import tasks_of
from trimtab.trials.sweep.pipeline import Start
from trimtab.trials.sweep.task import Ran, Task
from trimtab.trials.trial import Result, written

#: What is taken for granted of a cluster that was looked at once.
ASSUMED = (
    "traffic stays as it is now, but for its noise and for what is planned",
    "all machines are equal, and a bundle costs elsewhere what it costs where it is",
    "usage is taken for CPU, whichever resource it is",
    "a process that begins is warm at once: what it takes to compile itself is not simulated",
    "a strategy, a release and settings hold from the first event on, on all brokers at once",
)
# No replay can be held against what happened: what stands in the place of its rules.
_FIDELITY: Mapping[str, Any] = {
    "is_trusted": None,
    "checks": [
        {
            "name": "replay",
            "is_met": None,
            "found": "none, as the cluster was looked at once",
            "rule": "only a recording shows whether a replay is true",
        }
    ],
}


@dataclass(frozen=True, slots=True)
class Present:
    """A live cluster, looked at once."""

    cluster: str
    release: str
    #: s from 1970.
    made_s: float
    now: ClusterNow
    balancer: Balancer


@dataclass(frozen=True, slots=True)
class PresentCourses:
    """Runs the courses of a rehearsal of the present by their names; travels to the workers."""

    now: ClusterNow
    duration_s: float
    plans: Mapping[str, Rehearsal]
    bar: Bar

    def __call__(self, task: Task) -> Ran:
        """Rehearse it, and measure what came of it."""
        run = rehearsed_now(self.now, self.plans[task.scenario], self.duration_s, task.seed)
        return Ran({}, run.is_cut, measures(run, self.bar))

    def tasks(self, name: str, seeds: Iterable[int]) -> frozenset[Task]:
        """Return the runs of one course."""
        return tasks_of(self.plans, name, seeds)

    def basis(self) -> dict[str, str]:
        """Return digests of all that the rows rest on besides their tasks."""
        parts = {"present": (self.now, self.duration_s), "plans": (self.plans, self.bar)}
        return {
            name: hashlib.blake2b(repr(part).encode(), digest_size=16).hexdigest()
            for name, part in parts.items()
        }


def rehearsed_present(
    start: Start, present: Present, question: Question, output: Path, *, anew: bool
) -> Result:
    """Return whether what is planned for a cluster as it stands is safe, written into a folder.

    Raises:
        FieldError: the plan names what is not there, contradicts itself or ends too late.
        TrimtabError: as `what_if`.
    """
    whole = prepared(present, question)
    head = {"trimtab": __version__, "command": question.command(output)}
    with start() as spark:
        outcome = courses_run(spark, whole, output, anew=anew)
    return written({**head, **outcome}, REHEARSAL, output)


def prepared(present: Present, question: Question) -> Rehearsed:
    """Return a plan for a cluster as it stands, before anything is run.

    Raises:
        FieldError: the plan names what is not there, contradicts itself or ends too late.
    """
    planned, duration_s = question.planned(), question.duration_s
    world = standing_world(present.now, (), duration_s, 0)
    if not world.bundles.names:
        raise FieldError("--admin", "no bundle with traffic", "one at least, to be rehearsed")
    names = Names(
        brokers=world.machines.names,
        bundles=world.bundles.names,
        from_s=present.made_s,
        duration_s=duration_s,
        events=(),
        is_up=tuple(world.machines.is_up.tolist()),
        racks=planned.racks,
        what="stretch of --for",
    )
    plan = resolved(planned, names, present.balancer)
    bar = bar_of(question.limits, planned.bar, plan.balancer)
    changed = remedies_now(plan, world)
    plans = {UNDISTURBED: Rehearsal(plan.from_s, present.balancer), PLANNED: plan}
    plans |= {each.title: each.plan for each in changed}
    head = {
        "recording": f"{present.cluster}, as it stands",
        "release": present.release,
        "from": iso(present.made_s),
        "to": iso(present.made_s + duration_s),
        "hours": duration_s / 3600.0,
        "brokers": len(world.machines.names),
        "bundles": len(world.bundles.names),
        "fidelity": _FIDELITY,
        "costs": None,
        "untold": [],
        **plan_part(planned, plan, bar, present.made_s, ASSUMED),
        "seeds": question.n_seeds,
    }
    courses = PresentCourses(present.now, duration_s, plans, bar)
    return Rehearsed(head, courses, changed, question.n_seeds, question.time_limit_s)
