"""The command `trimtab explain`."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from trimtab.cli.arguments import CORES, MASTER, RECORDING
from trimtab.cli.saying import complain, say

if TYPE_CHECKING:
    from pyspark import SparkContext

    from trimtab.explanation.explain import More


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
    from trimtab.ingest import open_recording
    from trimtab.live.gather.remote_metrics import Remote, with_metrics
    from trimtab.spark.session import opened_spark

    url = asked["prometheus"]
    if url is None and (asked["begin"] or asked["end"]):
        raise click.UsageError("--from and --to: found without --prometheus, expected beside it")
    remote = None if url is None else Remote(url, asked["begin"], asked["end"])
    with (
        open_recording(recording) as found,
        with_metrics(found, remote) as opened,
    ):
        folder = output or Path("explained") / opened.name
        with opened_spark(
            "trimtab", cores=asked["cores"], master=asked["master"], meanwhile=_load_the_rest
        ) as spark:
            from trimtab.explanation.explain import explain as explained

            more = _advice(spark, folder / "what-if") if what_if else None
            result = explained(spark, opened, folder, more)
    if as_json:
        click.echo(result.findings.read_text(encoding="utf-8"), nl=False)
        return
    said = result.document["headline"]
    say(f"{said['text']} {said['sting']}".strip())
    for warning in result.document["warnings"]:
        complain(f"warning: {warning}")
    say(f"Report: {result.report}")


def _load_the_rest() -> None:
    """Load what comes after the start of Spark, a second's work."""
    import_module("trimtab.explanation.explain")
    from trimtab.report import make_ready

    make_ready()


def _advice(spark: SparkContext, folder: Path) -> More:
    """Ask for what other strategies would have done; its rooms are loaded only for this."""
    from trimtab.trials.what_if.advice import advice
    from trimtab.trials.what_if.command import Question

    return partial(advice, spark, folder, Question())
