"""The command `trimtab plan`."""

from __future__ import annotations

from pathlib import Path

import click

from trimtab.cli.arguments import FILE, output_option
from trimtab.cli.cluster import SHEDDING, ClusterOptions, cluster_options
from trimtab.cli.output import say
from trimtab.cli.values import Finite


@click.command()
@cluster_options
@click.option(
    "--moves", type=click.IntRange(1), default=3, show_default=True, help="At most so many."
)
@click.option(
    "--gain",
    type=Finite(0, min_open=True),
    default=1.0,
    show_default=True,
    help="Points that a move must take off the busier of its brokers.",
)
@click.option(
    "--tolerance",
    type=Finite(0, 100),
    default=10.0,
    show_default=True,
    help="Points by which usage may differ from what is expected.",
)
@SHEDDING
@output_option("File of the plan.", FILE, default=Path("plan.json"), show_default=True)
@click.option("--json", "is_json", is_flag=True, help="Tell it for a program.")
def plan(
    reach: ClusterOptions,
    moves: int,
    gain: float,
    tolerance: float,
    shedding: str,
    output: Path,
    is_json: bool,
) -> None:
    """Plan the few moves that bring the busiest brokers down most.

    Looks at the cluster once, changes nothing, and writes a plan for `trimtab apply`.
    Each move takes the bundle off the busiest broker that levels it best with the least
    busy one, if it costs there what its share of the traffic costs here; the table says
    where the highest and the lowest broker are expected after each.

    \b
    Examples:
      trimtab plan --admin http://broker-1:8080 --moves 3
      trimtab apply plan.json --admin http://broker-1:8080
    """
    from trimtab.live.apply import reached
    from trimtab.live.apply.files import write_plan
    from trimtab.live.apply.moves import level_plan, levelled_json, levelled_lines
    from trimtab.live.control.level import Wish

    with reached(reach.where()) as cluster:
        levelled = level_plan(cluster, Wish(moves, gain, tolerance), shedding)
    write_plan(output, levelled.plan)
    lines = [levelled_json(levelled)] if is_json else levelled_lines(levelled)
    for line in lines:
        say(line)
    click.echo(f"Plan: {output}", err=is_json)
