"""The command `trimtab ingest`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trimtab.cli.arguments import PLACE, json_option, output_option, spark_options
from trimtab.cli.catalog import catalog_option, publish_tables
from trimtab.cli.output import complain, note, say, say_as_is
from trimtab.cli.values import Finite

if TYPE_CHECKING:
    from trimtab.ingest.accounting import Accounting
    from trimtab.live.follow import Pace


@click.command()
@click.argument("recordings", metavar="RECORDING...", nargs=-1, required=True)
@output_option("Folder of tables to write.", PLACE, required=True)
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
@catalog_option
@json_option("Print the counts as JSON.")
def ingest(
    recordings: tuple[str, ...],
    output: Path,
    cores: int,
    master: str | None,
    is_followed: bool,
    until_idle: bool,
    every: float,
    rest: float,
    catalog: str | None,
    as_json: bool,
) -> None:
    """Read recordings into Parquet tables, every line accounted for.

    The folder may hold other recordings, which stay; docs/tables.md says how it is laid
    out.  Of a recording that it holds already, known by its cluster and its name, only
    what is new is parsed, and the tables become those of the recording as it is now.

    Recordings and the folder may be in a store of objects, such as S3 (docs/spark.md).
    With --catalog what the folder holds is brought into a catalog of Iceberg tables, too
    (docs/tables.md); what is there already is not written again.

    With --follow, files may grow, rotate, be truncated, appear and vanish meanwhile, and the
    command may be killed at any moment: started again, it goes on, and each line is stored
    once.  See docs/follow.md.

    Exit code 0: read; 2: wrong use, or there is nothing to read.

    \b
    Examples:
      trimtab ingest recordings/threshold -o tables
      trimtab ingest monday.tar.gz tuesday.tar.gz -o tables
      trimtab ingest /mnt/nights/* -o /mnt/tables --master spark://host:7077
      trimtab ingest s3://logs/tuesday -o s3://tables
      trimtab ingest /mnt/nights/* -o /mnt/tables --catalog lake.pulsar
      trimtab ingest /var/lib/pulsar/recording -o tables --follow
      trimtab ingest /var/lib/pulsar/recording -o tables --follow --until-idle
    """
    if until_idle and not is_followed:
        raise click.UsageError("--until-idle: found without --follow, expected beside it")
    if is_followed and len(recordings) > 1:
        raise click.UsageError(f"--follow: found {len(recordings)} recordings, expected one")
    if is_followed and catalog:
        raise click.UsageError("--catalog: found beside --follow, expected without it")
    if is_followed:
        from trimtab.files.parameters import path_of
        from trimtab.live.follow import Pace

        recording, output = path_of("RECORDING", recordings[0]), path_of("--output", output)
        pace = Pace(until_idle, every, rest)
        totals = _follow(recording, output, pace, cores=cores, master=master)
        say_as_is(json.dumps(totals)) if as_json else say(_summary(totals))
        return
    accountings = _ingested(recordings, output, cores=cores, master=master)
    if catalog:
        publish_tables([output], catalog, is_silent=as_json)
    if as_json:
        say_as_is(json.dumps([_document(each) for each in accountings], indent=1))
        return
    for accounting in accountings:
        head = f"{accounting.recording}: " if len(accountings) > 1 else ""
        say(f"{head}{_summary(accounting.totals)}")
        for fault in accounting.faults:
            note(f"{head}warning: {fault}")
        for unused in accounting.unused:
            note(f"{head}not used: {unused.name}: {unused.reason}")


def _ingested(
    recordings: Sequence[str], output: Path, *, cores: int, master: str | None
) -> list[Accounting]:
    from trimtab.files.places import place_of
    from trimtab.ingest.pipeline import ingest_all
    from trimtab.ingest.recording import open_recording
    from trimtab.spark.choice import opened_spark

    with ExitStack() as stack:
        opened = [stack.enter_context(open_recording(place_of(it))) for it in recordings]
        spark = stack.enter_context(opened_spark(cores=cores, master=master))
        return ingest_all(spark, opened, output)


def _document(accounting: Accounting) -> dict[str, object]:
    """Return the counts of a recording, and what is odd about it."""
    return {
        "recording": accounting.recording,
        **accounting.totals,
        "warnings": list(accounting.faults),
        "not_used": [{"file": each.name, "reason": each.reason} for each in accounting.unused],
    }


def _follow(
    recording: Path, output: Path, pace: Pace, *, cores: int, master: str | None
) -> dict[str, int]:
    from trimtab.live.follow import Live, follow, opened_tables, unfollowed
    from trimtab.spark.session import opened_spark

    for unused in unfollowed(recording):
        note(f"not used: {unused.name}: {unused.reason}")
    with (
        opened_tables(recording, output) as (batches, lock),
        opened_spark(cores=cores, master=master, inherited=(lock.fileno(),)) as spark,
    ):
        live = Live(batches, note)
        try:
            follow(spark, recording, batches, pace, live.stored)
        except KeyboardInterrupt:
            complain("trimtab: stopped; started again, it goes on from here")
        live.finish()
        return dict(batches.totals.sums)


def _summary(totals: Mapping[str, int]) -> str:
    classes = ("rows", "other", "continuation", "rejected")
    parts = " + ".join(f"{totals[name]} {name}" for name in classes)
    return f"{totals['files']} files, {totals['lines']} lines = {parts}"
