"""The command `trimtab compare`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TypedDict, Unpack

import click

from trimtab.cli.arguments import CORES, MASTER, RELEASE
from trimtab.cli.numbers import Finite
from trimtab.cli.telling import tell


class _Asked(TypedDict):
    """The options that say what is compared, and how it is told."""

    scenarios: tuple[str, ...]
    strategies: str
    baseline: str | None
    settings: tuple[str, ...]
    release: str | None
    seeds: int
    time_limit: float
    anew: bool
    as_json: bool


@click.command()
@click.argument("scenarios", metavar="SCENARIO...|RECORDING", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder to write into; runs that it holds are not done again.",
)
@click.option(
    "--strategies",
    metavar="A,B+C,…",
    default="",
    help="Pairs of shedder and placer, such as AvgShedder,ThresholdShedder+"
    "LeastResourceUsageWithWeight,none.  [default: all that make sense]",
)
@click.option(
    "--baseline", metavar="A+B", help="The pair that others are held against.  [default: the first]"
)
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="A key of broker.conf, for all strategies; may come again, with another value to compare.",
)
@RELEASE
@click.option(
    "--seeds", type=click.IntRange(1), default=10, show_default=True, help="Seeds of each."
)
@click.option(
    "--time-limit",
    type=Finite(0, min_open=True),
    default=600.0,
    show_default=True,
    help="Seconds that one run may take.",
)
@CORES
@MASTER
@click.option("--anew", is_flag=True, help="Throw away what the folder holds of an earlier sweep.")
@click.option("--json", "as_json", is_flag=True, help="Print comparison.json instead of a summary.")
def compare(output: Path, cores: int, master: str | None, **asked: Unpack[_Asked]) -> None:
    """Compare strategies on scenarios, or on the load of a recording: what would have happened?

    SCENARIO is the name of one that trimtab brings, or the path of a TOML file.  Every
    strategy meets the same luck, seed by seed.  Writes comparison.html (one page that
    needs no network), comparison.json and the tables of the sweep.

    What a scenario expects of a strategy is judged over all seeds; under another release
    or other settings than its own it expects nothing.

    RECORDING is a folder or an archive of one (.tar.gz, .zip), as trimtab rerun takes it.
    The strategy that really steered is replayed first, and held against what it really did;
    where the replay does not reproduce that, it says so and ranks nothing.  Then the same
    load is replayed under every strategy, with several values of a key that decides when it
    sheds; each seed has other luck, and other costs of traffic that the recording does not
    speak against.

    Exits with 1 when an expectation is not met, when not one run came to its end, or when a
    recording is not reproduced.

    \b
    Examples:
      trimtab compare S05 -o compared
      trimtab compare recordings/uniform -o what-if
      trimtab compare S01 S02 --strategies AvgShedder,none --seeds 30 -o compared
      trimtab compare S05 --strategies ThresholdShedder -o compared \\
        --set loadBalancerBrokerThresholdShedderPercentage=10 \\
        --set loadBalancerBrokerThresholdShedderPercentage=20
    """
    from trimtab.spark.session import opened_spark
    from trimtab.trials.what_if.contest import Contest, contest

    compared = Contest(
        scenarios=asked["scenarios"],
        strategies=asked["strategies"],
        baseline=asked["baseline"],
        settings=asked["settings"],
        release=asked["release"],
        seeds=asked["seeds"],
        time_limit=asked["time_limit"],
    )
    start = partial(opened_spark, "trimtab", cores=cores, master=master)
    found = contest(start, compared, output, anew=asked["anew"])
    tell(found, found.comparison if asked["as_json"] else None)
    if found.has_failed or not found.has_runs:
        sys.exit(1)
