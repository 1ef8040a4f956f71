"""The command `python -m cluster.nights`: a night that a number draws, on a real cluster, recorded.

Whether a replay is true has to be seen on nights that nobody has looked at.  A seed draws one:
which pair balances, how many brokers begin, what they carry, who joins, and who is killed and comes
back.  It is recorded from the first second on, when brokers and leader have just started.
"""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import numpy as np

from cluster import kernel
from cluster.drive import beside
from cluster.java import ClusterError
from cluster.run import FOLDER, add, begin, down, leave, stopped_on_failure, up
from cluster.state import State, store, web

#: How long a night is, s: a dozen rounds.
NIGHT_S = 780.0
_CLASSES = "org.apache.pulsar.broker.loadbalance.impl"
#: By the shedder's class: its placer's, and settings by which it acts on what a machine can bear.
PAIRS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "ThresholdShedder": (
        "LeastResourceUsageWithWeight",
        {
            "loadBalancerBrokerThresholdShedderPercentage": "8",
            "loadBalancerHistoryResourcePercentage": "0.5",
            "loadBalancerBundleUnloadMinThroughputThreshold": "0.01",
            "loadBalancerAverageResourceUsageDifferenceThresholdPercentage": "5",
        },
    ),
    "UniformLoadShedder": (
        "LeastLongTermMessageRate",
        {
            "maxUnloadPercentage": "0.4",
            "minUnloadMessage": "5",
            "minUnloadMessageThroughput": "5000",
        },
    ),
    "AvgShedder": (
        "AvgShedder",
        {
            "loadBalancerAvgShedderLowThreshold": "10",
            "loadBalancerAvgShedderHighThreshold": "30",
            "loadBalancerAvgShedderHitCountLowThreshold": "3",
            "loadBalancerAvgShedderHitCountHighThreshold": "2",
            "minUnloadMessage": "10",
            "minUnloadMessageThroughput": "10000",
        },
    ),
}
_SETTINGS = {
    # A card of which a load that one machine can bear is something.
    "loadBalancerOverrideBrokerNicSpeedGbps": "0.01",
    "loadBalancerSheddingGracePeriodMinutes": "3",
    "statsUpdateFrequencyInSecs": "15",
    "statsUpdateInitialDelayInSecs": "15",
    "defaultNumberOfNamespaceBundles": "32",
}


@dataclass(frozen=True, slots=True)
class Night:
    """Everything that is to happen."""

    seed: int
    shedder: str
    #: Brokers that are there from the beginning.
    brokers: int
    #: s from the beginning of the load; a broker more.
    joins_s: tuple[float, ...]
    #: A broker that is killed, when, and when it comes back.
    killed: int
    killed_s: float
    back_s: float
    #: Messages a second: of all topics of the steady group, and of the other one low and high.
    steady: float
    low: float
    high: float
    high_from_s: float
    high_to_s: float

    @property
    def settings(self) -> dict[str, str]:
        """Return what differs from the settings of other clusters."""
        placer, own = PAIRS[self.shedder]
        return {
            **_SETTINGS,
            **own,
            "loadBalancerLoadSheddingStrategy": f"{_CLASSES}.{self.shedder}",
            "loadBalancerLoadPlacementStrategy": f"{_CLASSES}.{placer}",
        }

    @property
    def profile(self) -> str:
        """Return what clients send."""
        swing = [
            [0.0, self.low],
            [self.high_from_s, self.low],
            [self.high_from_s + 5.0, self.high],
            [self.high_to_s, self.high],
            [self.high_to_s + 5.0, self.low],
        ]
        return (
            '[[group]]\nname = "steady"\nnamespace = "shop/steady"\nbundles = 16\ntopics = 24\n'
            f"zipf = 0.6\nmessages_per_s = [[0, {self.steady:.0f}]]\n\n"
            '[[group]]\nname = "swings"\nnamespace = "shop/swings"\nbundles = 16\ntopics = 12\n'
            f"zipf = 0.3\nmessages_per_s = {[[round(at), round(rate)] for at, rate in swing]}\n"
        )


def drawn(seed: int) -> Night:
    """Return the night of a seed."""
    random = np.random.default_rng([seed, 13])
    brokers = int(random.integers(2, 4))
    killed_s = float(random.uniform(380.0, 500.0))
    joins_s = sorted(random.uniform(60.0, 340.0, 4 - brokers).tolist())
    return Night(
        seed=seed,
        shedder=list(PAIRS)[seed % len(PAIRS)],
        brokers=brokers,
        joins_s=tuple(joins_s),
        killed=int(random.integers(1, brokers + 1)),
        killed_s=killed_s,
        back_s=killed_s + float(random.uniform(30.0, 90.0)),
        steady=float(random.uniform(200.0, 350.0)),
        low=float(random.uniform(10.0, 40.0)),
        high=float(random.uniform(100.0, 250.0)),
        high_from_s=float(random.uniform(100.0, 300.0)),
        high_to_s=float(random.uniform(560.0, 680.0)),
    )


def record(out: Path, night: Night) -> None:
    """Record a night into a folder that is not there yet, and stop all that was started.

    Raises:
        ClusterError: the cluster does not come up, or the recording ends early.
    """
    out.mkdir(parents=True)
    (out / "drawn.json").write_text(json.dumps(asdict(night), indent=1), encoding="utf-8")
    load = out / "load.toml"
    load.write_text(night.profile, encoding="utf-8")
    state = State(FOLDER, mode="namespaces", settings=night.settings)
    with stopped_on_failure(FOLDER):
        state = up(state, night.brokers)
        with beside("trimtab", *_gather(state, out)) as gathering:
            with beside("cluster.load", str(load), "--for", str(2 * NIGHT_S)):
                began_s = time.monotonic()
                for at_s, act in _acts(state, night):
                    time.sleep(max(0.0, began_s + at_s - time.monotonic()))
                    act()
            if gathering.poll() is not None:
                raise ClusterError("the recording ended early: see trimtab.out")
        for name in ("actions.jsonl", "load.jsonl"):
            shutil.copy(FOLDER / name, out / "night" / name)
        down(FOLDER)


def _acts(state: State, night: Night) -> list[tuple[float, Callable[[], object]]]:
    """Return what is done and when, s from the beginning of the load, in order."""
    acts: list[tuple[float, Callable[[], object]]] = [
        (at_s, lambda: add(state)) for at_s in night.joins_s
    ]
    acts.append((night.killed_s, lambda: leave(state, night.killed, signal.SIGKILL)))
    acts.append((night.back_s, lambda: begin(state, night.killed)))
    acts.append((NIGHT_S, lambda: None))
    return sorted(acts, key=lambda act: act[0])


def _gather(state: State, out: Path) -> list[str]:
    folder = state.folder
    return [
        *("gather", "--admin", web(1, state.network), "--metadata", f"zk://{store(state.network)}"),
        *("--logs", str(folder / "logs"), "--zookeeper-data", str(folder / "zookeeper")),
        *("--every", "15s", "--metrics-every", "1m", "--for", "2h", "-o", str(out / "night")),
    ]


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--seed", type=click.IntRange(0), required=True, help="Of the night.")
@click.option("--dry-run", is_flag=True, help="Print the night, and start nothing.")
def main(out: Path, seed: int, *, dry_run: bool) -> None:
    """Record a night of a quarter of an hour into the folder OUT, as root.

    \b
    Examples:
      python -m cluster.nights build/night-7 --seed 7
    """
    night = drawn(seed)
    if dry_run:
        click.echo(json.dumps(asdict(night), indent=1))
        return
    if (obstacle := kernel.obstacle()) is not None:
        raise click.ClickException(f"no namespaces and groups for brokers: {obstacle}")
    if out.exists():
        raise click.ClickException(f"{out}: found something there, expected nothing")
    try:
        record(out, night)
    except ClusterError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"recorded: {out / 'night'}")


if __name__ == "__main__":
    main()
