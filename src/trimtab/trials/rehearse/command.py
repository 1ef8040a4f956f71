"""A recording and a plan → rehearsed on the recorded load → whether it is safe, on one page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from trimtab.files.fields import Field, FieldError
from trimtab.files.version import __version__
from trimtab.files.whole_files import read_text
from trimtab.ingest.recording import open_recording
from trimtab.lab.reconstruct.cost_uncertainty import drawn_costs
from trimtab.lab.rehearsal.beginnings import beginnings
from trimtab.lab.rehearsal.measures import Bar
from trimtab.lab.rehearsal.plan import Rehearsal
from trimtab.lab.rehearsal.processes import processes
from trimtab.report.rehearsal import render_rehearsal
from trimtab.spark.runner import Cluster
from trimtab.trials.recorded_cluster import RecordedCluster
from trimtab.trials.rehearse.answer import ASSUMED, answer, lines
from trimtab.trials.rehearse.bar import Limits, bar_of, bar_text, strategy_of
from trimtab.trials.rehearse.document import (
    PLANNED,
    UNDISTURBED,
    course_document,
    holding,
    main_document,
)
from trimtab.trials.rehearse.language import (
    PlanError,
    Planned,
    plan_file,
    rack,
    statement,
)
from trimtab.trials.rehearse.remedies import Remedy, remedies
from trimtab.trials.rehearse.resolve import Names, iso, resolved
from trimtab.trials.rehearse.verdict import CONFIDENCE, WANTED, Verdict
from trimtab.trials.rehearse.work import Courses
from trimtab.trials.rerun.command import reconstructed
from trimtab.trials.sweep.pipeline import Plan, Start, sweep
from trimtab.trials.sweep.task import Ran, Row, Task, by_seed
from trimtab.trials.trial import Form, Result, spelt, written
from trimtab.trials.what_if.command import replayed, steered_by

# Seeds on which a remedy is tried first; only those that keep to the bar on all go on.
_FIRST_SEEDS = 5


class Runs(Protocol):
    """Runs the courses of a rehearsal by their names; travels to the workers."""

    @property
    def bar(self) -> Bar:
        """Return what each is held against."""

    def __call__(self, task: Task) -> Ran:
        """Run one, and measure what came of it."""

    def tasks(self, name: str, seeds: Iterable[int]) -> frozenset[Task]:
        """Return the runs of one course."""

    def basis(self) -> dict[str, str]:
        """Return digests of all that the rows rest on besides their tasks."""


REHEARSAL = Form(
    "rehearsal", render_rehearsal, lines, lambda document: document["verdict"] == Verdict.SAFE
)


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be rehearsed, as the options have it."""

    recording: str
    #: One text each.
    events: tuple[str, ...] = ()
    #: A file of more; blank for none.
    plan: str = ""
    #: `NAME=BROKER,BROKER` each.
    racks: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    n_seeds: int = 20
    #: Where a live cluster is; blank for a recording, and for how many s it is followed.
    admin: str = ""
    duration_s: float = 3600.0
    time_limit_s: float = 600.0

    def command(self, output: Path) -> str:
        """Return the command that rehearses the same again, on however many cores."""
        options = {
            **({"--admin": self.admin, "--for": f"{self.duration_s:g}s"} if self.admin else {}),
            "--plan": self.plan,
            "--rack": self.racks,
            **self.limits.options(),
            "--seeds": self.n_seeds,
        }
        return spelt(
            "rehearse", options, output, arguments=(*filter(None, (self.recording,)), *self.events)
        )

    def planned(self) -> Planned:
        """Return what the command line and the file plan together.

        Raises:
            FieldError: an event or a rack is none, or there is no event at all.
            PlanError: the file is no plan.
        """
        file = Planned(())
        if self.plan:
            file = plan_file(read_text(Path(self.plan), PlanError), self.plan)
        events = tuple(statement(Field(text)) for text in self.events)
        if not (events or file.statements):
            raise FieldError("EVENT", "nothing", 'an event such as "lose broker-3"')
        racks = {**file.racks, **dict(rack(text) for text in self.racks)}
        return Planned((*file.statements, *events), racks, file.bar)


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What is to be run: nothing of it has been."""

    head: Mapping[str, Any]
    courses: Runs
    remedies: tuple[Remedy, ...]
    n_seeds: int
    time_limit_s: float


def rehearsed_by(start: Start, question: Question, output: Path, *, anew: bool) -> Result:
    """Return whether what is planned is safe, which is written into a folder.

    Raises:
        FieldError: the plan names what is not there, or contradicts itself or the recording.
        TrimtabError: as `what_if`.
    """
    # Before the time for all else is spent.
    planned = question.planned()
    with open_recording(Path(question.recording)) as recording, start() as spark:
        cluster, document = reconstructed(spark, recording)
        whole = prepared(spark, (cluster, document), planned, question)
        head = {"trimtab": __version__, "command": question.command(output)}
        outcome = courses_run(spark, whole, output, anew=anew)
    return written({**head, **outcome}, REHEARSAL, output)


def prepared(
    spark: Cluster,
    night: tuple[RecordedCluster, Mapping[str, Any]],
    planned: Planned,
    question: Question,
) -> Rehearsed:
    """Return a plan for a recorded cluster, and the replay held against what happened.

    Args:
        spark: runs the replay.
        night: the cluster, and what was diagnosed of it.
        planned: what is.
        question: how it is asked.

    Raises:
        FieldError: the plan names what is not there, or contradicts itself or the recording.
        NothingToSimulateError: who led is not known.
    """
    cluster, document = night
    rebuilt, balancer = cluster.rebuilt, steered_by(cluster)
    names = Names.of(cluster, planned.racks)
    plan = resolved(planned, names, balancer)
    bar = bar_of(question.limits, planned.bar, plan.balancer)
    costs = drawn_costs(rebuilt, question.n_seeds)
    changed = remedies(plan, rebuilt)
    undisturbed = Rehearsal(plan.from_s, balancer)
    plans = {UNDISTURBED: undisturbed, PLANNED: plan}
    plans |= {each.title: each.plan for each in changed}
    head = {
        **replayed(cluster, document, question.n_seeds, spark),
        **plan_part(planned, plan, bar, rebuilt.grid.from_s, ASSUMED),
        "seeds": question.n_seeds,
    }
    like = (*processes(rebuilt), *beginnings())
    courses = Courses(rebuilt, costs, plans, bar, like)
    return Rehearsed(head, courses, changed, question.n_seeds, question.time_limit_s)


def plan_part(
    planned: Planned, plan: Rehearsal, bar: Bar, begin_s: float, assumed: Sequence[str]
) -> dict[str, Any]:
    """Return what a document says of a plan that begins in a night or a stretch, and of its bar.

    Args:
        planned: as it was said.
        plan: that it came to.
        bar: by which it is judged.
        begin_s: of the night, s since 1970.
        assumed: what is taken for granted.
    """
    return {
        "events": [each.text for each in planned.statements],
        "from_s": plan.from_s,
        "event_time": iso(begin_s + plan.from_s),
        "strategy": strategy_of(plan.balancer),
        "bar": asdict(bar),
        "bar_text": bar_text(bar),
        "assumed": list(assumed),
        "wanted_share": WANTED,
        "confidence": CONFIDENCE,
    }


def courses_run(
    spark: Cluster, whole: Rehearsed, output: Path, *, anew: bool = False
) -> dict[str, Any]:
    """Return what a rehearsal says, and what would help; a replay that is not true runs nothing."""
    head = whole.head
    if head["fidelity"]["is_trusted"] is False:
        document = {**head, "verdict": Verdict.NOT_DECIDABLE, "courses": None, "remedies": []}
        return {"answer": answer(document), **document}
    done = _Done(spark, whole, output)
    rows = done.rows((UNDISTURBED, PLANNED), range(whole.n_seeds), anew=anew)
    main = main_document(rows, whole.courses.bar)
    tried = [] if main["verdict"] == Verdict.SAFE else _tried(done)
    document = {**head, **main, "remedies": tried}
    return {"answer": answer(document), **document}


class _Done:
    """The runs of a rehearsal, each done once."""

    def __init__(self, spark: Cluster, whole: Rehearsed, output: Path) -> None:
        self.whole, self._spark, self._output = whole, spark, output
        self._basis = whole.courses.basis()
        self._tasks: frozenset[Task] = frozenset()

    def rows(self, names: Iterable[str], seeds: Iterable[int], *, anew: bool = False) -> list[Row]:
        """Return the rows of all courses so far, and of these on some seeds."""
        courses, numbers = self.whole.courses, tuple(seeds)
        self._tasks |= {task for name in names for task in courses.tasks(name, numbers)}
        plan = Plan(self._tasks, courses, courses.basis(), self.whole.time_limit_s, order=by_seed)
        swept = sweep(lambda: nullcontext(self._spark), plan, self._output, anew=anew)
        rows: list[Row] = swept.outcomes.to_pylist()
        return rows


def _tried(done: _Done) -> list[dict[str, Any]]:
    """Return what each remedy comes to, the best first; most are given up after a few seeds."""
    whole = done.whole
    bar, n_first = whole.courses.bar, min(_FIRST_SEEDS, whole.n_seeds)
    titles = [each.title for each in whole.remedies]
    rows = done.rows(titles, range(n_first))
    good = [title for title in titles if holding(rows, title, bar).kept == n_first]
    rows = done.rows(good, range(whole.n_seeds))
    tried = [
        {"title": each.title, "event": each.event, **course_document(rows, each.title, bar)}
        for each in whole.remedies
    ]
    return sorted(tried, key=lambda it: (-it["kept"] / max(1, it["count"]), -it["count"]))
