"""Holds which bundles a broker publishes against the methods of Pulsar's classes that say so.

`PYTHONPATH=testbed python -m oracle.top_bundles --help`, or `make oracle-simulated`.
"""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Mapping
from random import Random

import click

from oracle.java import OracleError, command
from trimtab.pulsar.leader.top_bundles import BundleStats, top_bundles
from trimtab.pulsar.map_order import concurrent_hash_map_order

#: Bytes/s and messages/s that lie at the edge of what counts as equal, and far from it.
_THROUGHPUTS = (0.0, 1.0, 49_999.0, 50_000.0, 99_999.0, 1e5, 149_999.0, 150_000.0, 2.5e5, 9e5)
_RATES = (0.0, 24.9, 25.0, 49.9, 50.0, 75.0, 100.0, 1000.0)
_CLIENTS = (0, 1, 166, 167, 499, 500, 1000)


def drawn(dice: Random) -> tuple[int, dict[str, tuple[float, ...]]]:
    """Return how many are to be published, and what each bundle carries."""
    is_fine = dice.random() < 0.5
    stats: dict[str, tuple[float, ...]] = {}
    for i in range(dice.choice((0, 1, 2, 3, 8, 11, 30, 70))):
        name = f"t/n{dice.randrange(4)}/0x{i * 0x1000000:08x}_0x{(i + 1) * 0x1000000:08x}"
        throughput = [
            dice.uniform(0, 4e5) if is_fine else dice.choice(_THROUGHPUTS) for _ in range(2)
        ]
        rates = [dice.uniform(0, 500) if is_fine else dice.choice(_RATES) for _ in range(2)]
        stats[name] = (*throughput, *rates, *(dice.choice(_CLIENTS) for _ in range(3)))
    return dice.choice((1, 2, 5, 10, 10, 100)), stats


def published(count: int, stats: Mapping[str, tuple[float, ...]], release: str) -> list[str]:
    """Return the names of what is published, by ours."""
    names = list(concurrent_hash_map_order(stats))
    walked = [
        BundleStats(i, each[0], each[1], each[2] + each[3], int(sum(each[4:])))
        for i, each in enumerate(stats[name] for name in names)
    ]
    return [names[each.bundle] for each in top_bundles(walked, count, release)]


@click.command()
@click.option("--release", default="4.0.8", show_default=True, help="Pulsar's release.")
@click.option("--lists", default=2000, show_default=True, help="Lists of bundles.")
@click.option("--seed", help="Text from which all is drawn; new each time if not given.")
def main(release: str, lists: int, seed: str | None) -> None:
    """Compare which bundles are published with Pulsar's own classes."""
    seed = seed or secrets.token_hex(4)
    dice = Random(seed)
    asked = [drawn(dice) for _ in range(lists)]
    lines = [
        " ".join([str(count), *(",".join(map(str, (name, *each))) for name, each in stats.items())])
        for count, stats in asked
    ]
    try:
        program = command(release, "TopBundles", is_extensible=True)
    except OracleError as error:
        raise click.ClickException(str(error)) from error
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(program, input=text, stdout=subprocess.PIPE, text=True, check=True)
    answers = [line.split() for line in done.stdout.splitlines()]
    ours = [published(count, stats, release) for count, stats in asked]
    differing = [i for i in range(lists) if answers[i] != ours[i]]
    click.echo(f"Pulsar {release}, seed {seed}: {lists} lists, {len(differing)} differ")
    for i in differing[:1]:
        click.echo(f"{lines[i]}\nexpected {answers[i]}\nfound    {ours[i]}")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
