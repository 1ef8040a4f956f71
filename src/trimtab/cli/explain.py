"""The command `trimtab explain`."""

from __future__ import annotations

from pathlib import Path

import click

import trimtab
from trimtab.cli.arguments import json_option, output_option, spark_options
from trimtab.cli.output import note, say, say_as_is


@click.command()
@click.argument("recording", type=click.Path(path_type=Path), required=False)
@output_option("Folder to write into.  [default: explained/NAME]")
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
@json_option("Print findings.json instead of the headline.")
@click.option(
    "--what-if",
    is_flag=True,
    help="Replay the load under other strategies, and say which settings are better.",
)
def explain(
    recording: Path | None,
    output: Path | None,
    cores: int,
    master: str | None,
    prometheus: str | None,
    loki: str | None,
    elasticsearch: str | None,
    opensearch: str | None,
    victorialogs: str | None,
    selector: str | None,
    index: str | None,
    begin: str | None,
    end: str | None,
    as_json: bool,
    what_if: bool,
) -> None:
    """Explain what a cluster's balancer did: one page, offline.

    RECORDING is a folder, an archive of one (.tar.gz, .zip) or a single log: a broker's own,
    or what kubectl, Loki, Elasticsearch and others give of them (docs/log-shapes.md).
    Writes report.html, findings.json and tables/ into the output folder.  What is absent
    from the recording is not used, and the report says which questions stay open.

    A store of logs, with its --selector, stands for RECORDING or adds to it; what it answers
    is kept in the output folder.  Who asks stands in variables (docs/stores.md), such as
    LOKI_USERNAME and LOKI_PASSWORD, or ELASTICSEARCH_API_KEY_FILE.

    Exit code 0: explained; 2: wrong use, or nothing at all could be read.

    \b
    Examples:
      trimtab explain recordings/threshold
      trimtab explain last-night.tar.gz -o night --cores 8
      trimtab explain recordings/uniform --what-if
      trimtab explain pulsar-broker.log --json | jq .headline
      trimtab explain logs --prometheus http://prometheus:9090
      trimtab explain --loki http://loki:3100 --selector '{app="pulsar"}' \\
          --from 2026-11-21T22:00:00Z --to 2026-11-22T06:00:00Z
    """
    from trimtab.spark.choice import ended_spark

    if recording is None and not (loki or elasticsearch or opensearch or victorialogs):
        raise click.UsageError("Missing argument 'RECORDING', or a store such as --loki.")
    with ended_spark():
        result = trimtab.explain(
            recording,
            output=output,
            cores=cores,
            master=master,
            prometheus=prometheus,
            loki=loki,
            elasticsearch=elasticsearch,
            opensearch=opensearch,
            victorialogs=victorialogs,
            selector=selector,
            index=index,
            begin=begin,
            end=end,
            what_if=what_if,
        )
    if as_json:
        findings = result.report.with_name("findings.json")
        say_as_is(findings.read_text(encoding="utf-8"))
        return
    say(result.headline)
    for warning in result.warnings:
        note(f"warning: {warning}")
    say(f"Report: {result.report}")
