"""The command `trimtab explain`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

import trimtab
from trimtab.cli.arguments import PLACE, json_option, output_option, spark_options
from trimtab.cli.catalog import catalog_option, publish_tables
from trimtab.cli.output import note, say, say_as_is

if TYPE_CHECKING:
    from trimtab.explanation.fleet.command import Fleet

_STORES = ("loki", "elasticsearch", "opensearch", "victorialogs")
#: Options that are words of Python's own, by their parameters.
_OPTIONS = {"begin": "--from", "end": "--to"}


@click.command()
@click.argument("recordings", metavar="[RECORDING]...", nargs=-1)
@output_option("Folder to write into.  [default: explained/NAME; of several explained]", PLACE)
@spark_options
@click.option(
    "--prometheus", metavar="URL", help="Prometheus to ask where the recording has no metrics."
)
@click.option("--loki", metavar="URL", help="Loki to ask for logs.")
@click.option("--elasticsearch", metavar="URL", help="Elasticsearch to ask for logs.")
@click.option("--opensearch", metavar="URL", help="OpenSearch to ask for logs.")
@click.option("--victorialogs", metavar="URL", help="VictoriaLogs to ask for logs.")
@click.option("--selector", metavar="QUERY", help="Which of its lines, in the store's language.")
@click.option("--index", metavar="PATTERN", help="Which of its indexes.  [default: *]")
@click.option(
    "--from", "begin", metavar="TIME", help="Whoever is asked.  [default: the recording's]"
)
@click.option("--to", "end", metavar="TIME", help="Whoever is asked.  [default: the recording's]")
@catalog_option
@json_option("Print findings.json, or of several their rows, instead of the headline.")
@click.option(
    "--what-if",
    is_flag=True,
    help="Replay the load under other strategies, and say which settings are better.",
)
def explain(
    recordings: tuple[str, ...],
    output: Path | None,
    cores: int,
    master: str | None,
    catalog: str | None,
    as_json: bool,
    what_if: bool,
    **others: str | None,
) -> None:
    """Explain what a cluster's balancer did: one page, offline.

    RECORDING is a folder, an archive of one (.tar.gz, .zip) or a single log: a broker's own,
    or what kubectl, Loki, Elasticsearch and others give of them (docs/log-shapes.md).
    Writes report.html, findings.json and tables/ into the output folder.  What is absent
    from the recording is not used, and the report says which questions stay open.

    Recordings and the output folder may be in a store of objects, such as S3 (docs/spark.md).
    With --catalog the tables are brought into a catalog of Iceberg tables, too (docs/tables.md).

    Several, folders of them, or a pattern in quotes: each is explained by itself, at most
    --cores at a time, into CLUSTER/NIGHT of the output folder, where nights.parquet and
    nights.jsonl have a row a night, of one that failed why.  A night whose bytes are those
    of its row is not explained again.  trimtab trends goes on from there.

    A store of logs, with its --selector, stands for RECORDING or adds to it; what it answers
    is kept in the output folder.  Who asks stands in variables (docs/stores.md), such as
    LOKI_USERNAME and LOKI_PASSWORD, or ELASTICSEARCH_API_KEY_FILE.

    Exit code 0: explained; 1: of several, some could not be; 2: wrong use, or nothing read.

    \b
    Examples:
      trimtab explain recordings/threshold
      trimtab explain last-night.tar.gz -o night --cores 8
      trimtab explain 'logs/*/2026-11-*/' -o fleet --cores 8
      trimtab explain s3://logs/tuesday -o s3://explained/tuesday
      trimtab explain recordings/uniform --what-if
      trimtab explain pulsar-broker.log --json | jq .headline
      trimtab explain logs --prometheus http://prometheus:9090
      trimtab explain --loki http://loki:3100 --selector '{app="pulsar"}' \\
          --from 2026-11-21T22:00:00Z --to 2026-11-22T06:00:00Z
    """
    from trimtab.spark.choice import ended_spark

    if not recordings and not any(others[name] for name in _STORES):
        raise click.UsageError("Missing argument 'RECORDING', or a store such as --loki.")
    if recordings and _are_several(recordings):
        _refuse_for_several({"what_if": what_if, **others})
        fleet = _explain_fleet(recordings, output or Path("explained"), cores, master)
        _say_fleet(fleet, catalog, as_json=as_json)
        sys.exit(1 if fleet.failed else 0)
    with ended_spark():
        result = trimtab.explain(
            recordings[0] if recordings else None,
            output=output,
            cores=cores,
            master=master,
            what_if=what_if,
            **others,
        )
    if catalog:
        publish_tables([result.report.with_name("tables")], catalog, is_silent=as_json)
    if as_json:
        say_as_is(result.report.with_name("findings.json").read_text(encoding="utf-8"))
        return
    say(result.headline)
    for warning in result.warnings:
        note(f"warning: {warning}")
    say(f"Report: {result.report}")


def _are_several(recordings: tuple[str, ...]) -> bool:
    from trimtab.explanation.fleet.nights import are_several

    return are_several(recordings)


def _refuse_for_several(options: Mapping[str, object]) -> None:
    for name, value in options.items():
        if value:
            option = _OPTIONS.get(name, f"--{name.replace('_', '-')}")
            raise click.UsageError(f"{option}: found several recordings, expected one")


def _explain_fleet(
    recordings: tuple[str, ...], output: Path, cores: int, master: str | None
) -> Fleet:
    from trimtab.explanation.fleet.command import Start, explain_fleet
    from trimtab.spark.choice import ended_spark
    from trimtab.trials.regret.document import regret

    with ended_spark():
        return explain_fleet(recordings, output, Start(cores, master), [regret])


def _say_fleet(fleet: Fleet, catalog: str | None, *, as_json: bool) -> None:
    """Say what became of several recordings, and bring their tables into a catalog."""
    if as_json:
        say_as_is(fleet.lines.read_text(encoding="utf-8"))
    else:
        say(fleet.headline)
    for row in fleet.failed:
        note(f"not explained: {row['recording']}: {row['error']}")
    if not as_json:
        say(f"Nights: {fleet.table}")
    if catalog:
        publish_tables(fleet.tables, catalog, is_silent=as_json)
