"""A recording and strategies → fidelity first, then a sweep over the recorded load, then a page.

`compared_by` takes scenarios as well, as `trimtab compare` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from trimtab.files.fields import FieldError
from trimtab.files.version import __version__
from trimtab.ingest.archives import ARCHIVES
from trimtab.ingest.recording import Recording, open_recording
from trimtab.lab.reconstruct.cluster import NothingToSimulateError
from trimtab.lab.reconstruct.cost_uncertainty import drawn_costs, usage_error
from trimtab.lab.simulate.balancer import Balancer
from trimtab.report.what_if import render_what_if
from trimtab.spark.runner import Cluster, Runner
from trimtab.trials.compare import compare
from trimtab.trials.compare.compare import Contest
from trimtab.trials.compare.comparison import CONFIDENCE
from trimtab.trials.compare.contenders import Compared, contenders
from trimtab.trials.recorded_cluster import RecordedCluster, recorded
from trimtab.trials.rerun.command import Question as Rerun
from trimtab.trials.rerun.command import reconstructed, simulated_again
from trimtab.trials.sweep.pipeline import Plan, Start, sweep
from trimtab.trials.sweep.task import StrategyKey, Task, by_seed
from trimtab.trials.trial import Document, Form, Result, run, written
from trimtab.trials.what_if.answer import answer
from trimtab.trials.what_if.fidelity import cost_document, fidelity
from trimtab.trials.what_if.lines import lines
from trimtab.trials.what_if.matrix import alternatives, changes, matrix
from trimtab.trials.what_if.replay import MATRIX_MEASURES, Replay, digest
from trimtab.trials.what_if.variants import NOT_COVERED, real, refuse_unknown, variants


@dataclass(frozen=True, slots=True)
class Replays:
    """A rebuilt cluster under several strategies: how well it is replayed, and what to run."""

    #: What is known before anything is run.
    head: Mapping[str, Any]
    #: The real one first.
    strategies: tuple[StrategyKey, ...]
    plan: Plan


def _is_good(document: Document) -> bool:
    """Return whether the replay reproduced what happened, and a run came to its end."""
    has_runs = any(each["runs"] for each in document["strategies"])
    return bool(document["fidelity"]["is_trusted"]) and has_runs


WHAT_IF = Form("comparison", render_what_if, lines, _is_good)


def what_if(
    spark: Cluster, recording: Recording, contest: Contest, output: Path, *, anew: bool
) -> Result:
    """Return what a recording's load comes to under other strategies.

    Writes `comparison.html`, `comparison.json` and the tables of a sweep into the output
    folder; runs that an earlier start has done are not done again.  Where the replay does
    not reproduce what really happened, it says so and runs nothing.

    Raises:
        FieldError: there is no such strategy, release or key.
        NothingToSimulateError: the recording does not tell enough.
        IngestError: tables cannot be written.
        SweepError: the folder cannot be used.
        SparkError: Spark failed.
    """
    cluster, document = reconstructed(spark, recording)
    replays = planned(spark, cluster, document, contest)
    head = {"trimtab": __version__, "command": contest.command(output)}
    return written({**head, **ranked(spark, replays, output, anew=anew)}, WHAT_IF, output)


def planned(
    spark: Cluster, cluster: RecordedCluster, document: Mapping[str, Any], contest: Contest
) -> Replays:
    """Return the replay held against what happened (findings.json), and what is to be run.

    Raises:
        FieldError: there is no such strategy, release or key.
        NothingToSimulateError: who led is not known.
    """
    rebuilt, balancer = cluster.rebuilt, steered_by(cluster)
    chosen = variants(balancer, contest.pairs, contest.settings, contest.release)
    costs = drawn_costs(rebuilt, contest.n_seeds)
    head = {
        **replayed(cluster, document, contest.n_seeds, spark),
        "not_covered": [{"strategy": name, "why": why} for name, why in NOT_COVERED.items()],
        "seeds": contest.n_seeds,
        "confidence": CONFIDENCE,
        "measures": [{"name": name, **asdict(each)} for name, each in MATRIX_MEASURES.items()],
    }
    replay = Replay(rebuilt, balancer.conf, costs)
    keys = tuple(each.key(balancer.release) for each in (real(balancer), *chosen))
    name, seeds = str(document["recording"]), range(contest.n_seeds)
    tasks = frozenset(Task(name, *key, seed) for key in keys for seed in seeds)
    basis = {"recording": digest(replay)}
    return Replays(head, keys, Plan(tasks, replay, basis, contest.time_limit_s, order=by_seed))


def steered_by(cluster: RecordedCluster) -> Balancer:
    """Return what really steered; where shedding was switched off, nobody shed."""
    shedder = cluster.balancer.shedder if cluster.is_shedding else None
    return replace(cluster.balancer, shedder=shedder)


def replayed(
    cluster: RecordedCluster,
    document: Mapping[str, Any],
    n_seeds: int,
    runner: Runner | None = None,
) -> dict[str, Any]:
    """Return what a replay rests on, and how well that of what really steered does.

    Args:
        cluster: what is replayed.
        document: what was diagnosed of it.
        n_seeds: of replays.
        runner: runs them; None: this process.

    Raises:
        NothingToSimulateError: who led is not known.
    """
    rebuilt = cluster.rebuilt
    again = simulated_again(cluster, document, Rerun(n_seeds=n_seeds), runner).document
    return {
        "recording": document["recording"],
        "release": cluster.balancer.release,
        "from": again["from"],
        "to": again["to"],
        "hours": rebuilt.world.duration_s / 3600,
        "brokers": len(rebuilt.world.machines.names),
        "bundles": len(rebuilt.world.bundles.names),
        "fidelity": fidelity(again, usage_error(rebuilt), is_shedding=cluster.is_shedding),
        "costs": cost_document(rebuilt),
        "untold": list(rebuilt.untold),
    }


def ranked(spark: Cluster, replays: Replays, output: Path, *, anew: bool = False) -> dict[str, Any]:
    """Return what was planned, run and summed up if the replay may be believed."""
    strategies: list[dict[str, Any]] = []
    if replays.head["fidelity"]["is_trusted"]:
        swept = sweep(lambda: nullcontext(spark), replays.plan, output, anew=anew)
        strategies = matrix(swept.outcomes.to_pylist(), replays.strategies)
    document = {
        **replays.head,
        "strategies": strategies,
        "changes": changes(strategies) if strategies else [],
    }
    return {"answer": answer(document), **document}


def advice(
    spark: Cluster, folder: Path, contest: Contest, tables: Path, findings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a replay of an explained recording advises to change.

    Returns:
        The key `what_if`, as docs/findings.schema.json has it.  Of a recording that cannot
        be replayed it says why.

    Raises:
        SweepError: the folder cannot be used.
        SparkError: Spark failed.
    """
    try:
        replays = planned(spark, recorded(tables, findings), findings, contest)
    except NothingToSimulateError as error:
        nothing = {"is_trusted": False, "why_not": str(error), "checks": [], "changes": []}
        return {"what_if": nothing}
    comparison = ranked(spark, replays, folder, anew=True)
    fidelity = comparison["fidelity"]
    failed = [check["name"] for check in fidelity["checks"] if check["is_met"] is False]
    reason = f"the replay does not reproduce what really happened ({', '.join(failed)})"
    what_if = {
        "is_trusted": fidelity["is_trusted"],
        "why_not": "" if fidelity["is_trusted"] else reason,
        "checks": fidelity["checks"],
        "seeds": comparison["seeds"],
        "confidence": comparison["confidence"],
        "tried": alternatives(comparison["strategies"]),
        "changes": comparison["changes"],
    }
    return {"what_if": what_if}


def compared_by(start: Start, contest: Contest, output: Path, *, anew: bool) -> Result:
    """Return the comparison of strategies, which is written into a folder.

    Raises:
        TrimtabError: as `run` and `what_if`.
    """
    given = contest.scenarios
    if not any(Path(each).is_dir() or each.endswith(ARCHIVES) for each in given):
        trial = compare.planned(contest, contest.command(output))
        return run(start, trial, output, anew=anew)
    if len(given) > 1:
        raise FieldError("SCENARIO...", ", ".join(given), "scenarios, or one recording")
    if contest.baseline:
        raise FieldError("--baseline", contest.baseline, "none: it is what really steered")
    # Before the time for all else is spent.
    refuse_unknown(contest.pairs, contest.settings)
    with open_recording(Path(given[0])) as recording, start() as spark:
        return what_if(spark, recording, contest, output, anew=anew)


def compared(result: Result) -> Compared:
    """Return what a comparison says, as plain values."""
    document = result.document
    if result.form is WHAT_IF:
        listed = contenders(document["recording"], document["strategies"])
        is_trusted = bool(document["fidelity"]["is_trusted"])
        return Compared(listed, is_trusted, result.page, document)
    each = (contenders(it["name"], it["strategies"]) for it in document["scenarios"])
    return Compared(tuple(chain.from_iterable(each)), None, result.page, document)
