"""A recording and strategies → fidelity first, then a sweep over the recorded load, then a page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from trimtab.files.version import __version__
from trimtab.files.whole_files import write_whole
from trimtab.ingest import Recording
from trimtab.lab.reconstruct.cost_uncertainty import drawn_costs, usage_error
from trimtab.lab.simulate.balancer import Balancer
from trimtab.report.what_if import render_what_if
from trimtab.trials.compare.comparison import CONFIDENCE, StrategyKey
from trimtab.trials.recorded_cluster import Recorded
from trimtab.trials.rerun.command import reconstructed, simulated_again
from trimtab.trials.rerun.question import Question as Rerun
from trimtab.trials.sweep.grid import TIME_LIMIT_S
from trimtab.trials.sweep.pipeline import Plan, sweep
from trimtab.trials.sweep.strategies import Strategy
from trimtab.trials.sweep.task import Task, settings_text
from trimtab.trials.what_if.changes import changes
from trimtab.trials.what_if.costs_told import costs_told
from trimtab.trials.what_if.fidelity import fidelity
from trimtab.trials.what_if.lines import lines
from trimtab.trials.what_if.matrix import matrix
from trimtab.trials.what_if.measures import SHOWN
from trimtab.trials.what_if.replay import Replay, digest
from trimtab.trials.what_if.variants import NOT_COVERED, real, refuse_unknown, variants

# Draws of the costs from which their intervals are taken; the first ones are those of the seeds.
_DRAWS = 200


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a recording."""

    #: Pairs such as `AvgShedder+AvgShedder`; none stands for the usual ones.
    strategies: tuple[str, ...] = ()
    #: `key=value` each; none stands for what is tried of each strategy.
    settings: tuple[str, ...] = ()
    #: None stands for the recording's.
    release: str | None = None
    n_seeds: int = 10
    time_limit_s: float = TIME_LIMIT_S
    #: Says how to ask the same again.
    command: str = ""

    def __post_init__(self) -> None:
        """Check what can be checked before the time for all else is spent.

        Raises:
            FieldError: there is no such strategy or key, or it cannot be replayed.
        """
        refuse_unknown(self.strategies, self.settings)


@dataclass(frozen=True, slots=True)
class Posed:
    """A question to a cluster that has been rebuilt: how well it is replayed, and what to run."""

    #: What is known before anything is run.
    head: Mapping[str, Any]
    #: The real one first.
    strategies: tuple[StrategyKey, ...]
    plan: Plan


@dataclass(frozen=True, slots=True)
class Answered:
    """What was written, and what it says."""

    page: Path
    comparison: Path
    document: Mapping[str, Any]

    @property
    def is_trusted(self) -> bool:
        """Say whether the replay reproduced what happened, so that anything may be ranked."""
        return bool(self.document["fidelity"]["is_trusted"])

    @property
    def has_failed(self) -> bool:
        """Return whether nothing may be ranked."""
        return not self.is_trusted

    @property
    def has_runs(self) -> bool:
        """Say whether a run came to its end."""
        return any(each["runs"] for each in self.document["strategies"])

    def lines(self) -> Iterator[str]:
        """Tell it."""
        yield from lines(self.document)


def what_if(
    spark: SparkContext, recording: Recording, question: Question, output: Path, *, anew: bool
) -> Answered:
    """Replay a recording under other strategies.

    Writes `comparison.html`, `comparison.json` and the tables of a sweep into the output
    folder; runs that an earlier start has done are not done again.  Where the replay does
    not reproduce what really happened, it says so and runs nothing.

    Args:
        spark: of `trimtab.spark.session.started`.
        recording: an open recording.
        question: what is asked of it.
        output: folder to write into; made if need be.
        anew: throw away what the folder holds of an earlier sweep.

    Raises:
        FieldError: there is no such strategy, release or key.
        NothingToSimulateError: the recording does not tell enough.
        IngestError: tables cannot be written.
        SweepError: the folder cannot be used.
        SparkError: Spark failed.
    """
    cluster, document = reconstructed(spark, recording)
    answer = answered(spark, posed(cluster, document, question), output, anew=anew)
    output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(answer, indent=1, allow_nan=False, ensure_ascii=False)
    return Answered(
        page=write_whole(output / "comparison.html", render_what_if(answer)),
        comparison=write_whole(output / "comparison.json", text + "\n"),
        document=answer,
    )


def posed(cluster: Recorded, document: Mapping[str, Any], question: Question) -> Posed:
    """Hold the replay against what happened, and plan what is to be run.

    Args:
        cluster: from a recording.
        document: findings.json of it.
        question: what is asked.

    Raises:
        FieldError: there is no such strategy, release or key.
        NothingToSimulateError: who led is not known.
    """
    balancer = _balancer(cluster)
    steered = real(balancer)
    chosen = variants(balancer, question.strategies, question.settings, question.release)
    again = simulated_again(cluster, document, Rerun(n_seeds=question.n_seeds)).document
    drawn = drawn_costs(cluster.rebuilt, max(_DRAWS, question.n_seeds))
    rebuilt = cluster.rebuilt
    head = {
        "trimtab": __version__,
        "command": question.command,
        "recording": document["recording"],
        "release": balancer.release,
        "from": again["from"],
        "to": again["to"],
        "hours": rebuilt.world.duration_s / 3600,
        "brokers": len(rebuilt.world.machines.names),
        "bundles": len(rebuilt.world.bundles.names),
        "fidelity": fidelity(again, usage_error(rebuilt), is_shedding=cluster.is_shedding),
        "costs": costs_told(rebuilt, drawn),
        "untold": list(rebuilt.untold),
        "not_covered": [{"strategy": name, "why": why} for name, why in NOT_COVERED.items()],
        "seeds": question.n_seeds,
        "confidence": CONFIDENCE,
        "measures": [{"name": name, **asdict(each)} for name, each in SHOWN.items()],
    }
    replay = Replay(rebuilt, balancer.conf, drawn[: question.n_seeds])
    keys = tuple(_key(each, balancer) for each in (steered, *chosen))
    return Posed(head, keys, _plan(str(document["recording"]), keys, replay, question))


def answered(
    spark: SparkContext, asked: Posed, output: Path, *, anew: bool = False
) -> dict[str, Any]:
    """Run what was planned, if the replay may be believed, and sum it up."""
    if not asked.head["fidelity"]["is_trusted"]:
        return {**asked.head, "strategies": [], "changes": []}
    swept = sweep(lambda: nullcontext(spark), asked.plan, output, anew=anew)
    found = matrix(swept.outcomes.to_pylist(), asked.strategies)
    return {**asked.head, "strategies": found, "changes": changes(found)}


def _balancer(cluster: Recorded) -> Balancer:
    """Say what really steered: nobody, where shedding was switched off."""
    ran = cluster.balancer
    shedder = ran.shedder if cluster.is_shedding else None
    return Balancer(shedder, ran.placer, ran.release, ran.conf)


def _key(strategy: Strategy, balancer: Balancer) -> StrategyKey:
    release = strategy.release or balancer.release
    return strategy.shedder, strategy.placement, release, settings_text(strategy.settings)


def _plan(name: str, keys: tuple[StrategyKey, ...], replay: Replay, question: Question) -> Plan:
    tasks = frozenset(Task(name, *key, seed) for key in keys for seed in range(question.n_seeds))
    return Plan(tasks, replay, {"recording": digest(replay)}, question.time_limit_s)
