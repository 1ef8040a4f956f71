"""The command `trimtab ingest`."""

from __future__ import annotations

from pathlib import Path

import click

from trimtab.cli.arguments import CORES, MASTER, RECORDING
from trimtab.cli.errors import clear_errors


@click.command()
@RECORDING
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder of tables to write.",
)
@CORES
@MASTER
def ingest(recording: Path, output: Path, cores: int, master: str | None) -> None:
    """Read a recording into Parquet tables, every line accounted for.

    \b
    Example:
      trimtab ingest recordings/threshold -o tables
    """
    from trimtab.ingest import ingest as ingested
    from trimtab.ingest import open_recording
    from trimtab.spark import opened_session

    with (
        clear_errors(),
        open_recording(recording) as opened,
        opened_session("trimtab", cores=cores, master=master) as spark,
    ):
        accounting = ingested(spark, opened, output)
    totals = accounting.totals
    classes = ("rows", "other", "continuation", "rejected")
    parts = " + ".join(f"{totals[name]} {name}" for name in classes)
    click.echo(f"{totals['files']} files, {totals['lines']} lines = {parts}")
    for unused in accounting.unused:
        click.echo(f"not used: {unused.name}: {unused.reason}", err=True)
