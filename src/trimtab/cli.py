"""The commands: a verb a room.  Opens files and starts Spark; decides nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from trimtab import __version__

_RECORDING = click.argument("recording", type=click.Path(path_type=Path))
_CORES = click.option(
    "--cores", type=click.IntRange(1), default=2, show_default=True, help="Tasks at a time."
)
_MASTER = click.option(
    "--master", metavar="URL", help="Any Spark master, such as spark://host:7077.  [default: local]"
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="trimtab")
def main() -> None:
    """Explain, rehearse and steer the load balancer of an Apache Pulsar cluster.

    \b
    Example:
      trimtab explain recordings/threshold -o night
    """


@main.command()
@_RECORDING
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write into.  [default: explained/NAME]",
)
@_CORES
@_MASTER
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

    with _clear_errors(), open_recording(recording) as opened:
        folder = output or Path("explained") / opened.name
        with opened_session("trimtab", cores=cores, master=master) as spark:
            result = explained(spark, opened, folder)
    if as_json:
        click.echo(result.findings.read_text(encoding="utf-8"), nl=False)
        return
    said = result.document["headline"]
    click.echo(f"{said['text']} {said['sting']}".strip())
    for warning in result.document["warnings"]:
        click.echo(f"warning: {warning}", err=True)
    click.echo(f"Report: {result.report}")


@main.command()
@click.argument("file", type=click.Path(allow_dash=True), default="-")
@click.option("--release", metavar="RELEASE", help="Decide as this release, whatever a line says.")
@click.option("--strategy", metavar="CLASS", help="Decide as this class, whatever a line says.")
@click.option("--explain", is_flag=True, help="Tell it as a case history, for reading.")
@click.option(
    "--json", "as_json", is_flag=True, help="With --explain: JSON all the same, with its story."
)
def decide(
    file: str, release: str | None, strategy: str | None, explain: bool, as_json: bool
) -> None:
    """Decide rounds of load as Pulsar's own class would.

    FILE is JSON Lines, gzipped or not, or - for the standard input: a line is one
    sequence of rounds that one strategy object lives through.  Each gives one line of
    JSON, at once: what is unloaded and why, among whom is drawn, what is remembered.
    docs/sequences.md has the fields of both.

    A line that cannot be decided is named on the standard error and gives nothing; the
    others are decided, and the exit code is 2 in the end.

    \b
    Examples:
      trimtab decide rounds.jsonl.gz | jq .results[0].unload
      trimtab decide rounds.jsonl --release 2.10.4
      trimtab decide rounds.jsonl --explain
    """
    from trimtab.decisions import Question, UnreadableError, decisions
    from trimtab.fields import FieldError

    has_errors = False
    try:
        question = Question(release, strategy, explain, as_json)
        question.check()
        for answer in decisions(file, question):
            click.echo(answer.text, err=answer.is_error)
            has_errors = has_errors or answer.is_error
    except (FieldError, UnreadableError) as error:
        click.echo(f"trimtab: {error}", err=True)
        has_errors = True
    if has_errors:
        sys.exit(2)


@main.command()
@_RECORDING
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder of tables to write.",
)
@_CORES
@_MASTER
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
        _clear_errors(),
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


@contextmanager
def _clear_errors() -> Iterator[None]:
    """Turn what a user can mend into one line and exit code 2."""
    from trimtab.explain import NothingReadableError
    from trimtab.ingest import IngestError, RecordingError
    from trimtab.spark import JavaError, SparkError

    try:
        yield
    except (IngestError, JavaError, NothingReadableError, RecordingError, SparkError) as error:
        click.echo(f"trimtab: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        click.echo("trimtab: stopped; nothing half written was left behind", err=True)
        sys.exit(130)
