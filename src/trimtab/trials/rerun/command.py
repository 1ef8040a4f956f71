"""A recording → its cluster simulated again, beside what really happened.

Reads files and starts the job that reads a recording; everything else is asked of others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from trimtab.diagnose.diagnosis import diagnose
from trimtab.files.errors import TrimtabError
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import Recording
from trimtab.lab.reconstruct.cluster import NothingToSimulateError, Rebuilt
from trimtab.lab.reconstruct.evidence import Evidence
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.strategies import Strategies
from trimtab.pulsar.settings import SettingError
from trimtab.spark.runner import Here, Lent, Runner, lent, plain_faults, progress, results
from trimtab.trials.recorded_cluster import RecordedCluster, recorded, refuse_unrecorded
from trimtab.trials.rerun.comparison import Stretch, compared
from trimtab.trials.rerun.simulated_leader import FreeRun, free_run, round_pairs

# Ticks times bundles from which on it is quicker to send a cluster to workers that simulate it.
_CELLS_TO_SEND = 1_000_000
#: What of the diagnosis is told again.
_KEPT = ("recording", "release", "strategies", "brokers")


class QuestionError(TrimtabError, ValueError):
    """What is asked cannot be answered; says which option, what was found and expected."""


@dataclass(frozen=True, slots=True)
class Question:
    """How a recording is to be simulated."""

    #: When the simulated leader takes over, and up to when it is compared; blank for the
    #: recording's beginning and end.
    from_text: str = ""
    to_text: str = ""
    #: Simulations, each with a seed of its own.
    n_seeds: int = 20
    #: Picture to draw, .svg or .png; None for none.
    plot: Path | None = None

    def __post_init__(self) -> None:
        """Check that a picture can be made, before the time for all else is spent.

        Raises:
            QuestionError: it cannot.
        """
        if self.plot is None:
            return
        if self.plot.suffix not in (".svg", ".png"):
            name = self.plot.name
            raise QuestionError(f"--plot: found {name!r}, expected a name in .svg or .png")
        if not self.plot.parent.is_dir():
            raise QuestionError(f"--plot: found no folder {str(self.plot.parent)!r}")


@dataclass(frozen=True, slots=True)
class Rerun:
    """What came of it."""

    document: Mapping[str, Any]
    evidence: Evidence
    rebuilt: Rebuilt
    free: tuple[FreeRun, ...]


def reconstructed(spark: Runner, recording: Recording) -> tuple[RecordedCluster, Mapping[str, Any]]:
    """Return the rebuilt cluster of a recording, and what the diagnosis found.

    Raises:
        NothingToSimulateError: the recording does not tell enough.
        IngestError: tables cannot be written.
        SparkError: Spark failed.
    """
    with TemporaryDirectory(prefix="trimtab-") as folder:
        tables = Path(folder) / "tables"
        ingest(spark, recording, tables)
        refuse_unrecorded(tables)
        with progress(spark, f"reading {recording.name}"), plain_faults():
            document = diagnose(spark, tables, recording.cluster).findings
        return recorded(tables, document), document


@dataclass(frozen=True, slots=True)
class _Alone:
    """A seed → a simulation in which the leader is left to itself; travels to the workers."""

    rebuilt: Rebuilt
    balancer: Balancer
    from_s: float

    def __call__(self, seed: int) -> FreeRun:
        return free_run(self.rebuilt, self.balancer, self.from_s, seed)


def _of_seed(alone: Lent[_Alone], seed: int) -> FreeRun:
    """Return the simulation of a seed by what was lent to a worker."""
    return alone.value(seed)


def _left_alone(runner: Runner, alone: _Alone, n_seeds: int) -> tuple[FreeRun, ...]:
    """Return the simulations of so many seeds, on all cores where that is worth the way."""
    by = runner if alone.rebuilt.owner.size >= _CELLS_TO_SEND else Here()
    with lent(by, alone) as there, progress(by, "replaying"), plain_faults():
        return tuple(results(by, partial(_of_seed, there), range(n_seeds)))


def simulated_again(
    cluster: RecordedCluster,
    document: Mapping[str, Any],
    question: Question,
    runner: Runner | None = None,
) -> Rerun:
    """Return a rebuilt cluster, simulated, beside what happened and was diagnosed.

    Args:
        cluster: it.
        document: what was diagnosed.
        question: how it is simulated.
        runner: runs what the simulated leader does by itself; None: this process.

    Raises:
        NothingToSimulateError: who led, or the strategies, are not known.
        QuestionError: what is asked about is not in it.

    Properties:
        The same arguments give the same document.
    """
    _refuse_unsteered(cluster)
    again, evidence = cluster.rebuilt, cluster.evidence
    from_s, to_s = moments(question, again.grid.from_s, float(again.grid.end_s[-1]))
    pairs = list(round_pairs(again, cluster.balancer, evidence.rounds))
    alone = _Alone(again, cluster.balancer, from_s)
    free = _left_alone(runner or Here(), alone, question.n_seeds)
    stretch = Stretch(from_s, to_s, cluster.interval_s)
    comparison = compared(again, evidence.rounds, pairs, free, stretch)
    return Rerun({name: document[name] for name in _KEPT} | comparison, evidence, again, free)


def _refuse_unsteered(cluster: RecordedCluster) -> None:
    """Refuse a cluster of whose leader nothing is known, so that nothing can be compared."""
    if cluster.is_shedding and not cluster.evidence.rounds:
        raise NothingToSimulateError(
            "no round of a leader is known; expected the log of the broker that led, as "
            "logs/<broker>/*.log"
        )
    try:
        Strategies(cluster.balancer)
    except (LookupError, SettingError) as error:
        raise NothingToSimulateError(f"what led cannot be simulated: {error}") from None


def moments(question: Question, from_s: float, to_s: float) -> tuple[float, float]:
    """Return from when to when is asked.

    Returns:
        s from the beginning of the recording.

    Raises:
        QuestionError: a text is no time, or the times are in no order within the recording.
    """
    begin = _seconds("--from", question.from_text, from_s) if question.from_text else from_s
    end = _seconds("--to", question.to_text, from_s) if question.to_text else to_s
    if not from_s <= begin < end <= to_s:
        raise QuestionError(
            f"--from, --to: found {_iso(begin)} to {_iso(end)}, expected a stretch within "
            f"{_iso(from_s)} to {_iso(to_s)}"
        )
    return begin - from_s, end - from_s


def _seconds(option: str, text: str, from_s: float) -> float:
    """Return a time, or a time of day on the recording's first day, in UTC."""
    first = datetime.fromtimestamp(from_s, UTC)
    try:
        if "-" in text:
            moment = datetime.fromisoformat(text)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        return datetime.combine(first.date(), time.fromisoformat(text), UTC).timestamp()
    except ValueError:
        raise QuestionError(
            f"{option}: found {text!r}, expected a time such as 07:15 or {_iso(from_s)}"
        ) from None


def _iso(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
