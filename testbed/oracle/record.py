"""Writes down what Pulsar's classes of a release answer: vectors that tests can read.

`make oracle`, or `PYTHONPATH=testbed python -m oracle.record --help`.
"""

from __future__ import annotations

import io
import json
import lzma
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from oracle.java import BUILD, OracleError, ask, defaults
from oracle.states import STRATEGIES, is_of_release, sequence
from tests.golden_vectors import SUFFIX, packed_lines
from trimtab.pulsar.place import placer

#: Where vectors go.
VECTORS = BUILD / "vectors"

_ASKED = ("id", "strategy", "role", "tags", "conf", "rounds")


def asked_again(vector: Mapping[str, Any]) -> dict[str, Any]:
    """Take a recorded vector back to its question."""
    selections = [s for answer in vector.get("expect", ()) for s in answer.get("select", ())]
    has_logs = any("logs" in answer for answer in [*vector.get("expect", ()), *selections])
    question = {key: vector[key] for key in _ASKED if key in vector}
    return question | {"want_logs": True} if has_logs or vector.get("want_logs") else question


def forgets_draws(answered: Mapping[str, Any]) -> bool:
    """Return whether the class, of its release, does not take for a plan what it drew."""
    entry = placer(answered.get("strategy", ""), answered.get("version", "4.0.8"))
    return entry is not None and not entry.remembers_draws


def repeatable(answered: dict[str, Any]) -> dict[str, Any]:
    """Leave out what another run would answer differently: whatever was drawn by chance.

    Properties:
        Two runs of a release write the same bytes.
    """
    forgets = forgets_draws(answered)
    is_drawn = False
    for answer in answered["expect"]:
        selections = answer.get("select", [])
        for number, selection in enumerate(selections):
            if is_drawn:
                # What was drawn became the plan, so that the next placement is chance too.
                selections[number] = {"after_random": True}
            was_drawn = bool(selection.pop("drawn", None))
            is_drawn = is_drawn or (was_drawn and not forgets)
    answered.pop("want_logs", None)
    return answered


def write(path: Path, vectors: Iterable[dict[str, Any]]) -> int:
    """Write vectors, one a line, and return how many; the file is there when all are."""
    count = 0
    partial = path.with_name(f"{path.name}.partial")
    with (
        lzma.open(partial, "wb", preset=9 | lzma.PRESET_EXTREME) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as lines,
    ):
        for vector in vectors:
            lines.write(json.dumps(vector, separators=(",", ":")) + "\n")
            count += 1
    partial.replace(path)
    return count


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Read the questions of a packed file of sequences or whole vectors."""
    yield from map(asked_again, packed_lines(path))


@click.command()
@click.option("--release", default="4.0.8", show_default=True, help="Pulsar's release.")
@click.option("--sequences", default=300, show_default=True, help="Sequences a class.")
@click.option("--seed", default="trimtab", show_default=True, help="Text from which all is drawn.")
@click.option(
    "--strategy", multiple=True, type=click.Choice(STRATEGIES), help="Class; all if none."
)
@click.option(
    "--questions",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Vectors of one class to be asked again, instead of drawn sequences.",
)
def main(
    release: str,
    sequences: int,
    seed: str,
    strategy: tuple[str, ...],
    questions: Path | None,
) -> None:
    """Record what the classes of a release answer."""
    if questions is not None and len(strategy) != 1:
        raise click.UsageError("--questions are of one class: name it with --strategy")
    try:
        VECTORS.mkdir(parents=True, exist_ok=True)
        known = json.dumps(defaults(release), indent=1) + "\n"
        (VECTORS / f"defaults-{release}.json").write_text(known, encoding="utf-8")
        for name in strategy or STRATEGIES:
            if not is_of_release(name, release):
                click.echo(f"{name:<40} not in {release}")
                continue
            drawn = (sequence(name, seed, number) for number in range(sequences))
            asked = drawn if questions is None else read(questions)
            path = VECTORS / f"{name}-{release}{SUFFIX}"
            count = write(path, map(repeatable, ask(release, asked)))
            click.echo(f"{name:<40} {count:>6} sequences → {path}")
    except OracleError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
