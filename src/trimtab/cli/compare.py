"""The command `trimtab compare`."""

from __future__ import annotations

from pathlib import Path

import click

from trimtab.cli.arguments import (
    ANEW,
    RELEASE,
    json_option,
    output_option,
    seeds_option,
    spark_options,
)
from trimtab.cli.trials import ROWS_KEPT, sparked, tell
from trimtab.cli.values import Finite


@click.command()
@click.argument("scenarios", metavar="SCENARIO...|RECORDING", nargs=-1, required=True)
@output_option(ROWS_KEPT, default=Path("compared"), show_default=True)
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
@seeds_option(10)
@click.option(
    "--time-limit",
    type=Finite(0, min_open=True),
    default=600.0,
    show_default=True,
    help="Seconds that one run may take.",
)
@spark_options
@ANEW
@json_option("Print comparison.json instead of a summary.")
def compare(
    scenarios: tuple[str, ...],
    output: Path,
    strategies: str,
    baseline: str | None,
    settings: tuple[str, ...],
    release: str | None,
    seeds: int,
    time_limit: float,
    cores: int,
    master: str | None,
    anew: bool,
    as_json: bool,
) -> None:
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

    Exit code 0: compared; 1: an expectation is not met, not one run came to its end, or the
    recording is not reproduced; 2: wrong use.

    \b
    Examples:
      trimtab compare S05
      trimtab compare recordings/uniform -o what-if
      trimtab compare S01 S02 --strategies AvgShedder,none --seeds 30 -o compared
      trimtab compare S05 --strategies ThresholdShedder -o compared \\
        --set loadBalancerBrokerThresholdShedderPercentage=10 \\
        --set loadBalancerBrokerThresholdShedderPercentage=20
    """
    from trimtab.trials.compare.compare import Contest
    from trimtab.trials.what_if.command import compared_by

    contest = Contest(
        scenarios=scenarios,
        strategies=strategies,
        baseline=baseline,
        settings=settings,
        release=release,
        n_seeds=seeds,
        time_limit_s=time_limit,
    )
    tell(compared_by(sparked(cores, master), contest, output, anew=anew), as_json=as_json)
