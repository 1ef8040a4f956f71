"""An explained recording → what a replay advises: the key `what_if` of its findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from trimtab.lab.reconstruct.cluster import NothingToSimulateError
from trimtab.trials.compare.compare import Contest
from trimtab.trials.recorded_cluster import recorded
from trimtab.trials.what_if.command import planned, ranked


def usual_advice(
    spark: SparkContext, folder: Path
) -> Callable[[Path, Mapping[str, Any]], dict[str, Any]]:
    """Return what adds to findings what the strategies that are usually tried would have done."""
    return partial(advice, spark, folder, Contest())


def advice(
    spark: SparkContext, folder: Path, contest: Contest, tables: Path, findings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a replay of an explained recording advises to change.

    Args:
        spark: of `trimtab.spark.session.started`.
        folder: for the tables of the sweep; what it holds of an earlier one is thrown away.
        contest: what is tried.
        tables: that ingest and diagnosis have written.
        findings: what the diagnosis found.

    Returns:
        The key `what_if`, as docs/findings.schema.json has it.  Of a recording that cannot
        be replayed it says why.

    Raises:
        SweepError: the folder cannot be used.
        SparkError: Spark failed.
    """
    try:
        replays = planned(recorded(tables, findings), findings, contest)
    except NothingToSimulateError as error:
        nothing = {"is_trusted": False, "why_not": str(error), "checks": [], "changes": []}
        return {"what_if": nothing}
    answer = ranked(spark, replays, folder, anew=True)
    fidelity = answer["fidelity"]
    failed = [check["name"] for check in fidelity["checks"] if check["is_met"] is False]
    reason = f"the replay does not reproduce what really happened ({', '.join(failed)})"
    strategies = answer["strategies"]
    what_if = {
        "is_trusted": fidelity["is_trusted"],
        "why_not": "" if fidelity["is_trusted"] else reason,
        "checks": fidelity["checks"],
        "seeds": answer["seeds"],
        "confidence": answer["confidence"],
        "tried": sum(1 + len(each["alike"]) for each in strategies) - 1 if strategies else 0,
        "changes": answer["changes"],
    }
    return {"what_if": what_if}
