"""The command `trimtab explain`."""

from __future__ import annotations

from pathlib import Path

import click

from trimtab.cli.arguments import CORES, MASTER, RECORDING
from trimtab.cli.errors import clear_errors
from trimtab.cli.saying import complain, say


@click.command()
@RECORDING
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write into.  [default: explained/NAME]",
)
@CORES
@MASTER
@click.option(
    "--json", "as_json", is_flag=True, help="Print findings.json instead of the headline."
)
def explain(
    recording: Path, output: Path | None, cores: int, master: str | None, as_json: bool
) -> None:
    """Explain what a cluster's balancer did: one page, offline.

    RECORDING is a folder, an archive of one (.tar.gz, .zip) or a single broker log.
    Writes report.html, findings.json and tables/ into the output folder.  What is absent
    from the recording is not used, and the report says which questions stay open.

    Exits with 2 when nothing at all could be read.

    \b
    Examples:
      trimtab explain recordings/threshold
      trimtab explain last-night.tar.gz -o night --cores 8
      trimtab explain pulsar-broker.log --json | jq .headline
    """
    from trimtab.explain import explain as explained
    from trimtab.ingest import open_recording
    from trimtab.spark import opened_session

    with clear_errors(), open_recording(recording) as opened:
        folder = output or Path("explained") / opened.name
        with opened_session("trimtab", cores=cores, master=master) as spark:
            result = explained(spark, opened, folder)
    if as_json:
        click.echo(result.findings.read_text(encoding="utf-8"), nl=False)
        return
    said = result.document["headline"]
    say(f"{said['text']} {said['sting']}".strip())
    for warning in result.document["warnings"]:
        complain(f"warning: {warning}")
    say(f"Report: {result.report}")
