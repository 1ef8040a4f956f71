"""The command `trimtab ingest`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trimtab.cli.arguments import output_option, spark_options
from trimtab.cli.output import complain, say
from trimtab.cli.values import Finite

if TYPE_CHECKING:
    from trimtab.live.follow import Pace


@click.command()
@click.argument(
    "recordings", metavar="RECORDING...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@output_option("Folder of tables to write.", required=True)
@spark_options
@click.option(
    "--follow",
    "is_followed",
    is_flag=True,
    help="Go on with what is added to the recording; Ctrl-C stops.",
)
@click.option(
    "--until-idle", is_flag=True, help="With --follow: stop once all that is there is read."
)
@click.option(
    "--every",
    type=Finite(0.1),
    default=5.0,
    show_default=True,
    help="With --follow: seconds between looks.",
)
@click.option(
    "--rest",
    type=Finite(0),
    default=10.0,
    show_default=True,
    help="With --follow: seconds without a write after which a file is taken to be complete.",
)
def ingest(
    recordings: tuple[Path, ...],
    output: Path,
    cores: int,
    master: str | None,
    is_followed: bool,
    until_idle: bool,
    every: float,
    rest: float,
) -> None:
    """Read recordings into Parquet tables, every line accounted for.

    The folder may hold other recordings, which stay; docs/tables.md says how it is laid
    out.  Of a recording that it holds already, known by its cluster and its name, only
    what is new is parsed, and the tables become those of the recording as it is now.

    With --follow, files may grow, rotate, be truncated, appear and vanish meanwhile, and the
    command may be killed at any moment: started again, it goes on, and each line is stored
    once.  See docs/follow.md.

    \b
    Examples:
      trimtab ingest recordings/threshold -o tables
      trimtab ingest monday.tar.gz tuesday.tar.gz -o tables
      trimtab ingest /mnt/nights/* -o /mnt/tables --master spark://host:7077
      trimtab ingest /var/lib/pulsar/recording -o tables --follow
      trimtab ingest /var/lib/pulsar/recording -o tables --follow --until-idle
    """
    if until_idle and not is_followed:
        raise click.UsageError("--until-idle: found without --follow, expected beside it")
    if is_followed and len(recordings) > 1:
        raise click.UsageError(f"--follow: found {len(recordings)} recordings, expected one")
    if is_followed:
        from trimtab.live.follow import Pace

        pace = Pace(until_idle, every, rest)
        _follow(recordings[0], output, pace, cores=cores, master=master)
    else:
        _ingest(recordings, output, cores=cores, master=master)


def _ingest(recordings: Sequence[Path], output: Path, *, cores: int, master: str | None) -> None:
    from trimtab.ingest.pipeline import ingest_all
    from trimtab.ingest.recording import open_recording
    from trimtab.spark.session import opened_spark

    with ExitStack() as stack:
        opened = [stack.enter_context(open_recording(path)) for path in recordings]
        spark = stack.enter_context(opened_spark(cores=cores, master=master))
        accountings = ingest_all(spark, opened, output)
    for accounting in accountings:
        head = f"{accounting.recording}: " if len(accountings) > 1 else ""
        say(f"{head}{_summary(accounting.totals)}")
        for fault in accounting.faults:
            complain(f"{head}warning: {fault}")
        for unused in accounting.unused:
            complain(f"{head}not used: {unused.name}: {unused.reason}")


def _follow(recording: Path, output: Path, pace: Pace, *, cores: int, master: str | None) -> None:
    from trimtab.live.follow import Live, follow, opened_tables, unfollowed
    from trimtab.spark.session import opened_spark

    for unused in unfollowed(recording):
        complain(f"not used: {unused.name}: {unused.reason}")
    with (
        opened_tables(recording, output) as (batches, lock),
        opened_spark(cores=cores, master=master, inherited=(lock.fileno(),)) as spark,
    ):
        live = Live(batches, partial(click.echo, err=True))
        try:
            follow(spark, recording, batches, pace, live.stored)
        except KeyboardInterrupt:
            click.echo("trimtab: stopped; started again, it goes on from here", err=True)
        live.finish()
        totals = batches.totals
    click.echo(_summary(totals.sums))


def _summary(totals: Mapping[str, int]) -> str:
    classes = ("rows", "other", "continuation", "rejected")
    parts = " + ".join(f"{totals[name]} {name}" for name in classes)
    return f"{totals['files']} files, {totals['lines']} lines = {parts}"
