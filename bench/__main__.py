"""`make bench`: every benchmark, or those that are asked for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import click
from oracle.java import OracleError

from bench.first_answer import first_answer
from bench.foresee_round import foresee_round
from bench.ingest import ingest
from bench.lost_rack import lost_rack
from bench.night import LARGE, Size, night
from bench.page import PAGE, write
from bench.rehearsal import rehearsal
from bench.report import report
from bench.simulation import simulation
from bench.strategies import strategies
from bench.sweep import sweep
from bench.table import DifferenceError, Table
from bench.talkative_night import talkative_night
from bench.watch_browser import watch_browser
from bench.watch_page import watch_page
from bench.week import WEEK, week
from bench.zookeeper import zookeeper

#: Name of the file and of its function → that; the page has them in this order.
BENCHMARKS: Mapping[str, Callable[[], Table]] = {
    "first_answer": first_answer,
    "strategies": strategies,
    "lost_rack": lost_rack,
    "simulation": simulation,
    "sweep": sweep,
    "foresee_round": foresee_round,
    "zookeeper": zookeeper,
    "night": night,
    "talkative_night": talkative_night,
    "week": week,
    "rehearsal": rehearsal,
    "ingest": ingest,
    "report": report,
    "watch_page": watch_page,
    "watch_browser": watch_browser,
}


@click.command()
@click.option(
    "--only", multiple=True, type=click.Choice(list(BENCHMARKS)), help="A benchmark; all if none."
)
@click.option("--brokers", default=LARGE.brokers, help="Brokers of the nights and of the week.")
@click.option("--hours", default=LARGE.hours, help="Hours of the nights.")
@click.option("--days", default=WEEK.hours / 24.0, help="Days of the week.")
@click.option(
    "--recorded",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="What `bench.week.record_week` wrote of so many brokers and days; else it is written.",
)
def main(
    only: tuple[str, ...], brokers: int, hours: float, days: float, recorded: Path | None
) -> None:
    """Measure, and put the figures on record in docs/performance.md.

    A large night needs some 10 GB, and a week some 40; with TMPDIR=/dev/shm no disk is waited for.
    """
    titles = [_title(name) for name in BENCHMARKS]
    asked = Size(brokers, brokers * LARGE.bundles // LARGE.brokers, hours)
    nights = {
        "night": partial(night, asked),
        "talkative_night": partial(talkative_night, asked),
        "week": partial(week, replace(asked, hours=24.0 * days), recorded),
    }
    benchmarks: dict[str, Callable[[], Table]] = {**BENCHMARKS, **nights}
    for name in only or BENCHMARKS:
        began = time.monotonic()
        try:
            table = benchmarks[name]()
        except (DifferenceError, OracleError) as error:
            raise click.ClickException(f"{name}: {error}") from error
        write(_title(name), table, titles)
        click.echo(f"{_title(name)}, {time.monotonic() - began:.0f} s\n\n{table.markdown()}")
    click.echo(f"→ {PAGE.name}")


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


if __name__ == "__main__":
    sys.exit(main())
