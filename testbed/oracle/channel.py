"""Asks Pulsar's channel of bundle states about every pair of records, and keeps its answers.

`PYTHONPATH=testbed python -m oracle.channel` writes `tests/testdata/channel`: a file a release, in
which a line is a record with where it is kept, and for each record that may come behind it `1`
where the first is kept.  The questions are all there are, so if nothing has changed in the
class not a byte of the files does.
"""

from __future__ import annotations

import lzma
import subprocess
from collections.abc import Iterator
from itertools import product

import click

from oracle.java import HERE, OracleError, command
from trimtab.pulsar.channel import STATES, Kept, Record
from trimtab.pulsar.releases import release_order

FOLDER = HERE.parent.parent / "tests" / "testdata" / "channel"
#: First release that keeps records in the metadata store, too.
SINCE_STORE = "4.0.0"
RELEASES = ("3.0.0", "3.0.7", "3.3.5", "4.0.0", "4.0.8", "5.0.0-M1")
_BROKERS = (None, "a", "b")
_LAST = 2**63 - 1


def before() -> list[Record | None]:
    """Return every record that may stand first, None for none.

    An owned bundle without an owner is left out, as no broker writes one: the class then fails.
    """
    shapes = [
        Record(state, target, source, False, version)
        for state, target, source, version in product(STATES, _BROKERS, _BROKERS, (3, _LAST))
        if (target or source) and not (state == "Owned" and target is None)
    ]
    return [None, *shapes]


def after(version: int) -> list[Record | None]:
    """Return every record that may stand behind one of a version."""
    versions = (-_LAST - 1, 1) if version == _LAST else (1, 3, 4, 5)
    shapes = [
        Record(*values)
        for values in product(STATES, _BROKERS, _BROKERS, (False, True), versions)
        if values[1] or values[2]
    ]
    return [None, *shapes]


def questions(release: str) -> Iterator[tuple[Kept, Record | None, list[Record | None]]]:
    """Yield where records are kept, one that stands first and those that may stand behind it."""
    is_new = release_order(release) >= release_order(SINCE_STORE)
    for kept in (Kept.TOPIC, Kept.STORE) if is_new else (Kept.TOPIC,):
        for first in before():
            yield kept, first, after(3 if first is None else first.version)


def printed(record: Record | None) -> str:
    """Return a record as it is asked."""
    if record is None:
        return "-"
    state, target, source, is_forced, version = record
    return f"{state},{target or '-'},{source or '-'},{int(is_forced)},{version}"


def answers(release: str) -> str:
    """Return the lines of a release's file.

    Raises:
        OracleError: its class cannot be run.
    """
    rows = list(questions(release))
    asked = "".join(
        f"{kept.value} {printed(first)} {printed(second)}\n"
        for kept, first, seconds in rows
        for second in seconds
    )
    done = subprocess.run(
        command(release, "Channel", is_extensible=True),
        input=asked,
        capture_output=True,
        text=True,
        check=False,
    )
    given = done.stdout.split()
    if done.returncode != 0 or len(given) != sum(len(seconds) for *_, seconds in rows):
        raise OracleError(f"the class of {release} did not answer:\n{done.stderr}")
    lines = []
    for kept, first, seconds in rows:
        mine, given = given[: len(seconds)], given[len(seconds) :]
        lines.append(f"{kept.value} {printed(first)} {''.join(mine)}\n")
    return "".join(lines)


@click.command()
@click.argument("releases", nargs=-1)
def main(releases: tuple[str, ...]) -> None:
    """Write the answers of some releases; of all by default."""
    FOLDER.mkdir(exist_ok=True)
    for release in releases or RELEASES:
        try:
            text = answers(release)
        except OracleError as error:
            raise click.ClickException(str(error)) from None
        (FOLDER / f"{release}.txt.xz").write_bytes(lzma.compress(text.encode(), preset=9))
        click.echo(f"{release}: {len(text.splitlines())} records")


if __name__ == "__main__":
    main()
