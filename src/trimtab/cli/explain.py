"""The command `trimtab explain`."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict, Unpack

import click

import trimtab
from trimtab.cli.arguments import CORES, MASTER, RECORDING
from trimtab.cli.saying import complain, say


class _Asked(TypedDict):
    """The options that say what it runs on, and where metrics are taken from."""

    cores: int
    master: str | None
    prometheus: str | None
    begin: str | None
    end: str | None


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
    "--prometheus", metavar="URL", help="Prometheus to ask where the recording has no metrics."
)
@click.option(
    "--from", "begin", metavar="TIME", help="With --prometheus.  [default: recording.toml's]"
)
@click.option("--to", "end", metavar="TIME", help="With --prometheus.  [default: recording.toml's]")
@click.option(
    "--json", "as_json", is_flag=True, help="Print findings.json instead of the headline."
)
@click.option(
    "--what-if",
    is_flag=True,
    help="Replay the load under other strategies, and say which settings are better.",
)
def explain(
    recording: Path, output: Path | None, as_json: bool, what_if: bool, **asked: Unpack[_Asked]
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
      trimtab explain recordings/uniform --what-if
      trimtab explain pulsar-broker.log --json | jq .headline
      trimtab explain logs --prometheus http://prometheus:9090 \\
          --from 2026-11-21T22:00:00Z --to 2026-11-22T06:00:00Z
    """
    from trimtab.spark.session import ended_spark

    if asked["prometheus"] is None and (asked["begin"] or asked["end"]):
        raise click.UsageError("--from and --to: found without --prometheus, expected beside it")
    with ended_spark():
        result = trimtab.explain(recording, output=output, what_if=what_if, **asked)
    if as_json:
        findings = result.report.with_name("findings.json")
        click.echo(findings.read_text(encoding="utf-8"), nl=False)
        return
    say(result.headline)
    for warning in result.warnings:
        complain(f"warning: {warning}")
    say(f"Report: {result.report}")
