"""The command `trimtab ingest`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from trimtab.cli.arguments import CORES, MASTER
from trimtab.cli.errors import clear_errors


@click.command()
@click.argument(
    "recordings", metavar="RECORDING...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder of tables to write.",
)
@CORES
@MASTER
def ingest(recordings: tuple[Path, ...], output: Path, cores: int, master: str | None) -> None:
    """Read recordings into Parquet tables, every line accounted for.

    The folder may hold other recordings, which stay; docs/tables.md says how it is laid
    out.  Of a recording that it holds already, known by its cluster and its name, only
    what is new is parsed, and the tables become those of the recording as it is now.

    \b
    Examples:
      trimtab ingest recordings/threshold -o tables
      trimtab ingest monday.tar.gz tuesday.tar.gz -o tables
      trimtab ingest /mnt/nights/* -o /mnt/tables --master spark://host:7077
    """
    from trimtab.ingest import ingest_all, open_recording
    from trimtab.spark import opened_session

    with clear_errors(), ExitStack() as stack:
        opened = [stack.enter_context(open_recording(path)) for path in recordings]
        spark = stack.enter_context(opened_session("trimtab", cores=cores, master=master))
        accountings = ingest_all(spark, opened, output)
    for accounting in accountings:
        head = f"{accounting.recording}: " if len(accountings) > 1 else ""
        totals = accounting.totals
        classes = ("rows", "other", "continuation", "rejected")
        parts = " + ".join(f"{totals[name]} {name}" for name in classes)
        click.echo(f"{head}{totals['files']} files, {totals['lines']} lines = {parts}")
        for unused in accounting.unused:
            click.echo(f"{head}not used: {unused.name}: {unused.reason}", err=True)
