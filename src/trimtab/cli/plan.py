"""The command `trimtab plan`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trimtab.cli.arguments import FILE, json_option, output_option, spark_options
from trimtab.cli.cluster import SHEDDING, ClusterOptions, cluster_options
from trimtab.cli.output import note, say, say_as_is
from trimtab.cli.values import Duration, Finite

if TYPE_CHECKING:
    from trimtab.lab.costs import Knowledge
    from trimtab.lab.planning import Wish
    from trimtab.trials.plan.document import Document
    from trimtab.trials.plan.recording import Ahead, RecordedCosts

_HOUR_S = 3600.0
_LEARNED = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.command()
@click.argument("recording", type=click.Path(path_type=Path), required=False)
@cluster_options
@click.option(
    "--moves", type=click.IntRange(1), default=3, show_default=True, help="At most so many."
)
@click.option(
    "--gain",
    type=Finite(0, min_open=True),
    default=1.0,
    show_default=True,
    help="Points that a move must bring the peak down.",
)
@click.option(
    "--even-if-unsure", is_flag=True, help="Also moves whose gain is within what is not known."
)
@click.option(
    "--horizon",
    type=Duration(),
    metavar="DURATION",
    help="Plan for the peaks of the hours to come, by the hours recorded: 24h.",
)
@click.option("--costs", type=_LEARNED, help="Costs learned before, by `trimtab costs --state`.")
@SHEDDING
@output_option("File of the plan.", FILE, default=Path("plan.json"), show_default=True)
@click.option("--plot", type=FILE, help="Draw how low the peak may come: .svg or .png.")
@json_option("Tell it for a program.")
@spark_options
def plan(
    recording: Path | None,
    reach: ClusterOptions,
    moves: int,
    gain: float,
    even_if_unsure: bool,
    horizon: float | None,
    costs: Path | None,
    shedding: str,
    output: Path,
    plot: Path | None,
    as_json: bool,
    cores: int,
    master: str | None,
) -> None:
    """Plan the few moves that bring the busiest brokers down most.

    Prints how low the peak may come with 1, 2, … moves, between what it lies in nine of ten
    cases, and what no plan of so many moves comes below; recommends where that curve ends,
    and plans no move whose gain is within what is not known.

    Looks at the cluster once, changes nothing, and writes a plan for `trimtab apply`.  What
    moves bring is learned from RECORDING, a recorded night of the same cluster; without it
    a bundle is taken to cost its share of the traffic.  With RECORDING alone the cluster is
    planned as it was at its end, and no plan is written.

    Exit code 0: planned, be it no move at all; 2: wrong use, or no cluster.

    \b
    Examples:
      trimtab plan --admin http://broker-1:8080 --moves 3
      trimtab plan night --admin http://broker-1:8080 --moves 8 --plot frontier.svg
      trimtab plan weeks --moves 8 --horizon 24h
      trimtab apply plan.json --admin http://broker-1:8080
    """
    from trimtab.lab.planning import Wish
    from trimtab.trials.costs.plot import checked

    checked(plot)
    hours = 0 if horizon is None else max(1, round(horizon / _HOUR_S))
    if hours and recording is None:
        raise click.UsageError(
            "--horizon: found no RECORDING, expected one, by whose hours it goes"
        )
    if costs is not None and recording is not None:
        raise click.UsageError(
            "--costs: found with RECORDING, expected one of them to learn costs of"
        )
    wish = Wish(moves, gain, only_if_sure=not even_if_unsure)
    read = None if recording is None else _read(recording, cores, master)
    if read is not None and reach.admin is None and reach.client_conf is None:
        _shown(_recorded(read, wish, hours), plot, as_json)
        return
    _shown(_live(reach, wish, _learned(read, costs, hours), shedding, output), plot, as_json)
    (note if as_json else say)(f"Plan: {output}")


@dataclass(frozen=True, slots=True)
class _Learned:
    """What was learned before, and of what a plan for hours ahead is made."""

    known: Knowledge | None
    ahead: Ahead | None = None
    hours: int = 0
    notes: tuple[str, ...] = ()


def _learned(read: RecordedCosts | None, costs: Path | None, hours: int) -> _Learned:
    """Return what was learned of a recording, or else before it."""
    from trimtab.trials.costs.state import read_state
    from trimtab.trials.plan.recording import ahead

    if read is None:
        return _Learned(None if costs is None else read_state(costs))
    to_come, note = ahead(read, hours)
    return _Learned(read.known, to_come, hours if to_come else 0, (note,) if note else ())


def _read(recording: Path, cores: int, master: str | None) -> RecordedCosts:
    """Return what a recording tells a plan."""
    from trimtab.ingest.recording import open_recording
    from trimtab.spark.choice import opened_runner
    from trimtab.trials.backtest.command import read_evidence
    from trimtab.trials.plan.recording import recorded_costs

    with (
        open_recording(recording) as opened,
        opened_runner(opened.paths, cores=cores, master=master) as spark,
    ):
        return recorded_costs(opened.name, *read_evidence(spark, opened))


def _recorded(costs: RecordedCosts, wish: Wish, hours: int) -> Document:
    from trimtab.trials.plan.document import Basis, document
    from trimtab.trials.plan.recording import ahead, recorded_plan

    to_come, note = ahead(costs, hours)
    notes = (note,) if note else ()
    basis = Basis(costs.name, costs.is_learned, hours if to_come else 0, notes)
    return document(basis, costs.snapshot, recorded_plan(costs, wish, to_come))


def _live(
    reach: ClusterOptions, wish: Wish, learned: _Learned, shedding: str, output: Path
) -> Document:
    """Plan for a live cluster, and write the plan."""
    from trimtab.live.apply import connected_cluster
    from trimtab.live.apply.files import write_plan
    from trimtab.live.apply.moves import levelled
    from trimtab.trials.plan.document import Basis, document

    with connected_cluster(reach.where()) as cluster:
        found = levelled(cluster, wish, shedding, learned.known, learned.ahead)
    write_plan(output, found.plan)
    notes = (*found.notes, *learned.notes)
    basis = Basis(found.plan.cluster, found.is_learned, learned.hours, notes)
    whole = document(basis, found.snapshot, found.planned)
    return {"cluster": whole.pop("cluster"), "plan": found.plan.digest, **whole}


def _shown(document: Document, plot: Path | None, as_json: bool) -> None:
    from trimtab.trials.plan.lines import lines
    from trimtab.trials.plan.plot import plot as drawn

    if plot is not None:
        drawn(document, plot)
    if as_json:
        say_as_is(json.dumps(document, indent=1))
        return
    for line in lines(document):
        say(line)
