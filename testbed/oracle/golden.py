"""Asks a release's classes what the vectors of the tests ask, and packs what they answer.

`make vectors`, or `PYTHONPATH=testbed python -m oracle.golden --help`.  If nothing has changed
in the classes and in what asks them, not a byte of `tests/golden` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from oracle.java import OracleError, ask
from oracle.record import asked_again, repeatable, write
from tests.golden_vectors import (
    FULL,
    GOLDEN,
    SUFFIX,
    packed_lines,
    recorded_classes,
    whole_vectors,
)

#: The class whose log lines a test reads; those of others are left out.
_LOGGED = "ThresholdShedder"
# What stands with a vector and is no answer of the class.
_NOTES = ("ties",)


def answered_again(release: str, vectors: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Ask the classes of a release what vectors ask, and keep the notes on these."""
    notes: list[dict[str, Any]] = []

    def questions() -> Iterator[dict[str, Any]]:
        for vector in vectors:
            notes.append({key: vector[key] for key in _NOTES if key in vector})
            yield asked_again(vector)

    for answered in map(repeatable, ask(release, questions())):
        yield notes.pop(0) | answered


def packed(vector: Mapping[str, Any], full: Mapping[str, Any] | None) -> dict[str, Any]:
    """Take from a whole vector what tests do not read.

    The order of bundles is left out where the note says that no ties hang on it.

    Args:
        vector: with its input and its answers.
        full: the same vector of the release that has the input; None if it is that one.

    Returns:
        A line of a file of vectors, from which `whole_vectors` restores the vector.
    """
    unread = {"sorted", "ties"}  # the one follows from the scores, the other is noted once
    if vector["strategy"] != _LOGGED:
        unread.add("logs")
    if not vector.get("ties", True):
        unread.add("bundle_order")
    expect = [_without(unread, answer) for answer in vector["expect"]]
    whole = {**vector, "expect": expect}
    if full is None:
        return whole
    # NaN is not equal to NaN, but its text is.
    kept = {key: v for key, v in whole.items() if repr(v) != repr(full.get(key))}
    if "conf_ignored" in full and "conf_ignored" not in whole:
        kept["conf_ignored"] = []
    if rounds := kept.pop("rounds", None):
        pairs = zip(rounds, full["rounds"], strict=True)
        kept["changed"] = [_changed(asked, given) for asked, given in pairs]
    kept.pop("version")
    return {"id": vector["id"], **kept, "expect": expect}


def _changed(asked: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a round is not as it was given in another release; None is not there."""
    changed = {key: v for key, v in asked.items() if repr(v) != repr(given.get(key))}
    return changed | {key: None for key in given if key not in asked}


def _without(unread: set[str], answer: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in answer.items() if key not in unread}
    if "select" in kept:
        kept["select"] = [_without(unread, selection) for selection in kept["select"]]
    return kept


def _pack(strategy: str, release: str, vectors: Iterable[Mapping[str, Any]]) -> int:
    """Write the file of a class in a release, all of it or none."""
    fulls = {} if release == FULL else {v["id"]: v for v in whole_vectors(strategy, FULL)}
    lines = [packed(vector, fulls[vector["id"]] if fulls else None) for vector in vectors]
    return write(GOLDEN / f"{strategy}-{release}{SUFFIX}", lines)


@click.command()
@click.option("--release", multiple=True, help="Pulsar's release; all if none.")
@click.option("--strategy", multiple=True, help="Class; all if none.")
@click.option(
    "--recorded",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What `make oracle` wrote of one class and release, to be packed instead.",
)
def main(release: tuple[str, ...], strategy: tuple[str, ...], recorded: Path | None) -> None:
    """Write the vectors of the tests anew."""
    if recorded is not None:
        if len(release) != 1 or len(strategy) != 1:
            raise click.UsageError("--recorded is of one class: name it, and its release")
        wanted: Iterable[tuple[str, str]] = [(strategy[0], release[0])]
    else:
        # The release that has the input comes first, the others refer to it.
        wanted = sorted(recorded_classes(), key=lambda of: (of[0], of[1] != FULL, of[1]))
    for name, version in wanted:
        if (release and version not in release) or (strategy and name not in strategy):
            continue
        try:
            vectors = answered_again(version, whole_vectors(name, version))
            count = _pack(name, version, packed_lines(recorded) if recorded else vectors)
        except OracleError as error:
            raise click.ClickException(str(error)) from error
        click.echo(f"{name:<40} {version:<10} {count:>6} vectors")


if __name__ == "__main__":
    main()
