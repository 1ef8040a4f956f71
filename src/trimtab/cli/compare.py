"""The command `trimtab compare`."""

from __future__ import annotations

import shlex
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
    from trimtab.trials.compare.compare import Question, planned
    from trimtab.trials.compare.compare import compare as compared

    recording = _recording(asked)
    if recording is not None:
        _on_recording(recording, asked, output, (cores, master))
        return
    question = Question(
        scenarios=asked["scenarios"],
        strategies=_pairs(asked),
        baseline=asked["baseline"],
        settings=asked["settings"],
        release=asked["release"],
        n_seeds=asked["seeds"],
        time_limit_s=asked["time_limit"],
        command=_command(asked, output),
    )
    comparing = planned(question)
    start = partial(opened_spark, "trimtab", cores=cores, master=master)
    found = compared(start, comparing, output, anew=asked["anew"])
    tell(found, found.comparison if asked["as_json"] else None)
    if found.has_failed or not found.has_runs:
        sys.exit(1)


def _recording(asked: _Asked) -> Path | None:
    """Say which recording is asked about; None if it is scenarios.

    Raises:
        FieldError: a recording stands beside something else, or a baseline is named for it.
    """
    from trimtab.files.fields import FieldError
    from trimtab.ingest.archives import ARCHIVES

    given = asked["scenarios"]
    found = [each for each in given if Path(each).is_dir() or each.endswith(ARCHIVES)]
    if not found:
        return None
    if len(given) > 1:
        raise FieldError("SCENARIO...", ", ".join(given), "scenarios, or one recording")
    if asked["baseline"]:
        raise FieldError("--baseline", asked["baseline"], "none: it is what really steered")
    return Path(given[0])


def _on_recording(
    recording: Path, asked: _Asked, output: Path, where: tuple[int, str | None]
) -> None:
    """Replay a recording, and tell what came of it."""
    from trimtab.ingest import open_recording
    from trimtab.spark.session import opened_spark
    from trimtab.trials.what_if.command import Question, what_if

    question = Question(
        strategies=_pairs(asked),
        settings=asked["settings"],
        release=asked["release"],
        n_seeds=asked["seeds"],
        time_limit_s=asked["time_limit"],
        command=_command(asked, output),
    )
    cores, master = where
    with (
        open_recording(recording) as opened,
        opened_spark("trimtab", cores=cores, master=master) as spark,
    ):
        found = what_if(spark, opened, question, output, anew=asked["anew"])
    tell(found, found.comparison if asked["as_json"] else None)
    if not (found.is_trusted and found.has_runs):
        sys.exit(1)


def _pairs(asked: _Asked) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, asked["strategies"].split(","))))


def _command(asked: _Asked, output: Path) -> str:
    """Spell the command that asks the same again, on however many cores."""
    options = {
        "--strategies": asked["strategies"],
        "--baseline": asked["baseline"] or "",
        "--release": asked["release"] or "",
        "--seeds": str(asked["seeds"]),
        "--time-limit": f"{asked['time_limit']:g}",
    }
    words = ["trimtab", "compare", *asked["scenarios"]]
    words += [word for option, value in options.items() if value for word in (option, value)]
    words += [word for setting in asked["settings"] for word in ("--set", setting)]
    return shlex.join([*words, "-o", str(output)])
