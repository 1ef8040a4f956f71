"""An explained recording → what a replay advises: the key `what_if` of its findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from trimtab.lab.reconstruct.cluster import NothingToSimulateError
from trimtab.trials.recorded_cluster import recorded
from trimtab.trials.what_if.command import Question, answered, posed


def usual_advice(
    spark: SparkContext, folder: Path
) -> Callable[[Path, Mapping[str, Any]], dict[str, Any]]:
    """Return what adds to findings what the strategies that are usually tried would have done."""
    return partial(advice, spark, folder, Question())


def advice(
    spark: SparkContext,
    folder: Path,
    question: Question,
    tables: Path,
    findings: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what a replay of an explained recording advises to change.

    Args:
        spark: of `trimtab.spark.session.started`.
        folder: for the tables of the sweep; what it holds of an earlier one is thrown away.
        question: what is tried.
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
        trial = posed(recorded(tables, findings), findings, question)
    except NothingToSimulateError as error:
        nothing = {"is_trusted": False, "why_not": str(error), "checks": [], "changes": []}
        return {"what_if": nothing}
    answer = answered(spark, trial, folder, anew=True)
    return {"what_if": _advice(answer)}


def _advice(answer: Mapping[str, Any]) -> dict[str, Any]:
    fidelity = answer["fidelity"]
    failed = [check["name"] for check in fidelity["checks"] if check["is_met"] is False]
    reason = f"the replay does not reproduce what really happened ({', '.join(failed)})"
    strategies = answer["strategies"]
    return {
        "is_trusted": fidelity["is_trusted"],
        "why_not": "" if fidelity["is_trusted"] else reason,
        "checks": fidelity["checks"],
        "seeds": answer["seeds"],
        "confidence": answer["confidence"],
        "tried": sum(1 + len(each["alike"]) for each in strategies) - 1 if strategies else 0,
        "changes": answer["changes"],
    }
