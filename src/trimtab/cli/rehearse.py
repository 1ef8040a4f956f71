"""The command `trimtab rehearse`."""

from __future__ import annotations

from pathlib import Path

import click

from trimtab.cli.arguments import (
    ANEW,
    FILE,
    bar_options,
    json_option,
    output_option,
    seeds_option,
    spark_options,
)
from trimtab.cli.trials import sparked, tell


@click.command()
@click.argument("recording")
@click.argument("events", metavar="EVENT...", nargs=-1)
@output_option("Folder to write into.", required=True)
@click.option("--plan", type=FILE, help="A TOML file with events, racks and the bar.")
@click.option(
    "--rack",
    "racks",
    metavar="NAME=BROKER,…",
    multiple=True,
    help="Which brokers stand in a rack, by name or pattern; may come again for another.",
)
@bar_options
@seeds_option(20, "Courses, each with other luck and other costs of traffic.")
@spark_options
@ANEW
@json_option("Print rehearsal.json instead of a summary.")
def rehearse(
    recording: str,
    events: tuple[str, ...],
    output: Path,
    plan: Path | None,
    racks: tuple[str, ...],
    seeds: int,
    cores: int,
    master: str | None,
    anew: bool,
    as_json: bool,
    **limits: float | None,
) -> None:
    """Rehearse what is planned on the recorded load: would it be safe?

    RECORDING is a folder or an archive of one, as trimtab rerun takes it.  The real
    strategy is replayed first; where that does not reproduce what really happened,
    nothing is foretold.  Then the same night is simulated with the events in it and
    without, seed by seed with the same luck and the same costs of traffic, and where
    it breaks the bar, with what may help.  Writes rehearsal.html (one page that needs
    no network), rehearsal.json and the tables of the runs.

    \b
    An EVENT is one of
      lose broker-3              killed, and stays away; also broker-*, rack=a
      remove broker-3            stopped in good order, and stays away
      add 2                      brokers like the median one
      restart all every 10m      one after the other, each down for 1m: down 90s
      traffic shop/* x1.5 from 20:00 to 21:00
      split shop/orders/0x00000000_0x40000000
      strategy AvgShedder        from the first event on, and so:
      set KEY=VALUE
      release 4.0.8
    with a time behind it if need be: at 20:00 (UTC), at +30m.  Without any time they
    begin after a tenth of the recording.

    Exit code 0: safe; 1: not safe, or not decidable; 2: wrong use.

    \b
    Examples:
      trimtab rehearse recordings/uniform "lose 10.213.0.12 at 07:18" -o rehearsed
      trimtab rehearse night.tar.gz "restart all every 10m" "add 1" -o rehearsed
      trimtab rehearse night --plan friday.toml --peak 80 --minutes-over 5 -o rehearsed
    """
    from trimtab.trials.rehearse.bar import Limits
    from trimtab.trials.rehearse.command import Question, rehearsed_by

    question = Question(
        recording=recording,
        events=events,
        plan="" if plan is None else str(plan),
        racks=racks,
        limits=Limits(**limits),
        n_seeds=seeds,
    )
    tell(rehearsed_by(sparked(cores, master), question, output, anew=anew), as_json=as_json)
