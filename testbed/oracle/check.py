"""Draws fresh sequences, asks Pulsar's classes and ours, and fails on any difference.

`make oracle-check`, or `PYTHONPATH=testbed python -m oracle.check --help`.
"""

from __future__ import annotations

import json
import secrets
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from oracle.agreement import Agreement, agreement, is_known
from oracle.java import OracleError, ask
from oracle.shrink import shrunk
from oracle.states import STRATEGIES, is_of_release, sequence

#: How many differing sequences of a class are looked at to find the smallest.
KEPT_MAX = 20


@dataclass
class Tally:
    """What was found of one class."""

    sequences: int = 0
    decisions: int = 0
    differing: int = 0
    seconds: float = 0.0
    #: The first few differing sequences.
    kept: list[dict[str, Any]] = field(default_factory=list)


def compared(
    release: str, sequences: Iterable[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], Agreement]]:
    """Ask the Java, decide again, and yield each sequence with how it went."""
    for answered in ask(release, sequences):
        yield answered, agreement(answered, release)


def check(release: str, strategy: str, seed: str, numbers: Iterable[int]) -> Tally:
    """Compare one class on the sequences of these numbers."""
    began, tally = time.monotonic(), Tally()
    drawn = (sequence(strategy, seed, number) for number in numbers)
    for answered, outcome in compared(release, drawn):
        tally.sequences += 1
        tally.decisions += outcome.shed + outcome.selected
        if outcome.difference is not None:
            tally.differing += 1
            if len(tally.kept) < KEPT_MAX:
                tally.kept.append(answered)
    tally.seconds = time.monotonic() - began
    return tally


def _tell(release: str, strategy: str, seed: str, tally: Tally) -> None:
    """Show the smallest difference, and how to see it again."""
    smallest = min(tally.kept, key=lambda found: len(json.dumps(found["rounds"])))
    number = smallest["id"].rpartition("/")[2]
    options = f"--release {release} --strategy {strategy} --seed {seed} --only {number}"

    def compare(candidates: Sequence[dict[str, Any]]) -> list[Agreement]:
        return [outcome for _, outcome in compared(release, candidates)]

    small, outcome = shrunk(smallest, compare)
    ((answered, _),) = compared(release, [small])
    click.echo(f"\n{strategy}: {tally.differing} sequences differ; the smallest, made smaller:")
    click.echo(json.dumps(answered))
    click.echo(f"round {outcome.round}: {outcome.difference}")
    click.echo(f"again: PYTHONPATH=testbed python -m oracle.check {options}\n")


@click.command()
@click.option("--release", default="4.0.8", show_default=True, help="Pulsar's release.")
@click.option("--sequences", default=2000, show_default=True, help="Sequences a class.")
@click.option("--seed", help="Text from which all is drawn; new each time if not given.")
@click.option(
    "--strategy", multiple=True, type=click.Choice(STRATEGIES), help="Class; all if none."
)
@click.option("--only", type=int, help="Number of the one sequence to compare.")
def main(
    release: str, sequences: int, seed: str | None, strategy: tuple[str, ...], only: int | None
) -> None:
    """Compare our strategies with Pulsar's own classes on fresh sequences."""
    seed = seed or secrets.token_hex(4)
    click.echo(f"Pulsar {release}, seed {seed}")
    numbers = range(sequences) if only is None else range(only, only + 1)
    differing = compared_sequences = 0
    for name in strategy or STRATEGIES:
        if not is_of_release(name, release):
            click.echo(f"{name:<40} not in {release}")
            continue
        if not is_known(name, release):
            raise click.ClickException(f"{name} is in {release}, and is not known to us")
        try:
            tally = check(release, name, seed, numbers)
        except OracleError as error:
            raise click.ClickException(str(error)) from error
        click.echo(
            f"{name:<40} {tally.sequences:>6} sequences {tally.decisions:>7} decisions "
            f"{tally.differing:>5} differ {tally.seconds:6.1f} s"
        )
        differing += tally.differing
        compared_sequences += tally.sequences
        if tally.kept:
            _tell(release, name, seed, tally)
    if compared_sequences == 0:
        raise click.ClickException(f"nothing was compared: no class is known of {release}")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
