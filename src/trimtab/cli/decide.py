"""The command `trimtab decide`."""

from __future__ import annotations

import sys

import click

from trimtab.cli.arguments import json_option
from trimtab.cli.output import complain, say


@click.command()
@click.argument("file", type=click.Path(allow_dash=True), default="-")
@click.option("--release", metavar="RELEASE", help="Decide as this release, whatever a line says.")
@click.option("--strategy", metavar="CLASS", help="Decide as this class, whatever a line says.")
@click.option("--explain", is_flag=True, help="Tell it as a case history, for reading.")
@json_option("With --explain: JSON all the same, with its story.")
def decide(
    file: str, release: str | None, strategy: str | None, explain: bool, as_json: bool
) -> None:
    """Decide rounds of load as Pulsar's own class would.

    FILE is JSON Lines, gzipped or not, or - for the standard input: a line is one
    sequence of rounds that one strategy object lives through.  Each gives one line of
    JSON, at once: what is unloaded and why, among whom is drawn, what is remembered.
    docs/sequences.md has the fields of both.

    A line that cannot be decided is named on the standard error and gives nothing; the
    others are decided.

    Exit code 0: all were decided; 2: wrong use, or a line could not be.

    \b
    Examples:
      trimtab decide rounds.jsonl.gz | jq .results[0].unload
      trimtab decide rounds.jsonl --release 2.10.4
      trimtab decide rounds.jsonl --explain
    """
    from trimtab.trials.decide import Question, decisions

    has_errors = False
    question = Question(release, strategy, explain, as_json)
    question.check()
    for answer in decisions(file, question):
        (complain if answer.is_error else say)(answer.text)
        has_errors = has_errors or answer.is_error
    if has_errors:
        sys.exit(2)
