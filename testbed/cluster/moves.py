"""The command `python -m cluster.moves`: moves of known bundles between real brokers, recorded.

A cluster of six brokers, each with a group of its own, is loaded and recorded; every two minutes
three bundles are moved, and then back, while the load is steady and while it varies, and while
brokers are restarted, slowed and disturbed.  The brokers have one processor and share it with
nobody.  What comes out is a recording like any other, with the schedule beside it.  Nobody sheds.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import click
import numpy as np

from cluster import kernel
from cluster.drive import beside, get, leader, put, until
from cluster.java import ClusterError
from cluster.run import FOLDER, begin, down, leave, stopped_on_failure, up
from cluster.schedule import BROKERS, SLOT_S, WARM_S, Schedule, Slot, schedule
from cluster.state import State, broker_id, web

#: A bundle is moved if it gets and gives so many messages a second in all.
LEAST_PER_S = 60.0
# Messages a second of all topics, and between what they vary; s from one change to the next.
_RATE, _BETWEEN, _EVERY_S = 1000.0, (500.0, 1500.0), 200.0
_TOPICS, _BUNDLES = 24, 12
# Shares of a core: what a slowed broker may have, and what a neighbour takes.
_QUOTA, _NEIGHBOUR = 0.25, 0.2
_PERIOD_US = 100_000
#: Brokers look at their usage as often, s: what is averaged a minute long is six of their windows.
WINDOW_S = 10
# Burns a share of a core, in steps of a tenth of a second.
_BURNS = (
    "import sys, time\n"
    "share = float(sys.argv[1])\n"
    "while True:\n"
    "    end = time.monotonic() + 0.1 * share\n"
    "    while time.monotonic() < end:\n"
    "        pass\n"
    "    time.sleep(0.1 * (1 - share))\n"
)


def profile(plan: Schedule) -> str:
    """Return the load: one rate for half of the time, then another every few minutes."""
    random = np.random.default_rng([plan.seed, 5])
    points, at_s = [(0.0, _RATE), (plan.varies_from_s, _RATE)], plan.varies_from_s
    while at_s < plan.end_s:
        points.append((at_s + 10.0, float(random.uniform(*_BETWEEN))))
        at_s += _EVERY_S
        points.append((at_s, points[-1][1]))
    listed = ", ".join(f"[{second:.0f}, {rate:.0f}]" for second, rate in points)
    return (
        f'[[group]]\nnamespace = "shop/moved"\nbundles = {_BUNDLES}\ntopics = {_TOPICS}\n'
        f"bytes = 512\nzipf = 0.5\nmessages_per_s = [{listed}]\n"
    )


@dataclass
class Recorder:
    """A running cluster, and what is done to it by a schedule."""

    state: State
    out: Path
    began_s: float = 0.0
    #: Moves of the slot before, which go back: bundle, from, to.
    last: list[tuple[str, int, int]] = field(default_factory=list)
    quotas: list[Path] = field(default_factory=list)
    neighbours: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def follow(self, plan: Schedule) -> None:
        """Do everything when it is due."""
        for slot in plan.slots:
            if slot.what:
                self._wait(slot.at_s - SLOT_S)
                self._disturb(slot)
            self._wait(slot.at_s)
            self._move(slot)
        self._wait(plan.end_s)

    def undo(self) -> None:
        """Let brokers have what they had."""
        for file in self.quotas:
            with suppress(OSError):
                file.write_text(_unlimited(file), encoding="utf-8")
        for each in self.neighbours:
            each.kill()
            each.wait()
        self.quotas, self.neighbours = [], []

    def _wait(self, at_s: float) -> None:
        time.sleep(max(0.0, self.began_s + at_s - time.monotonic()))

    def _disturb(self, slot: Slot) -> None:
        number = slot.broker
        if slot.what == "undo":
            self.undo()
            self.state.acted("undone")
            return
        broker = broker_id(number, self.state.network)
        if slot.what == "restart":
            leave(self.state, number, signal.SIGTERM)
            begin(self.state, number)
            return
        groups = kernel.groups("broker", number)
        if slot.what == "slow":
            self.quotas += [file for group in groups if (file := _limited(group.path))]
        else:
            joins = [*kernel.in_groups(groups), sys.executable, "-c", _BURNS, str(_NEIGHBOUR)]
            self.neighbours.append(subprocess.Popen(joins, stdin=subprocess.DEVNULL))
        self.state.acted(f"broker_{slot.what}", broker=broker)

    def _move(self, slot: Slot) -> None:
        """Move what is to move at once; what cannot be moved is noted as that."""
        moves = [(bundle, to, source) for bundle, source, to in self.last]
        if not slot.is_return:
            moves = [
                each
                for source, to, pick in slot.moves
                if (each := self._chosen(source, to, pick) or self._chosen(to, source, pick))
            ]
        self.last = []
        for bundle, source, to in moves:
            if bundle not in _bundles(self.state, source):
                self._note(slot, bundle, source, to, "it was elsewhere")
                continue
            path = f"namespaces/{quote(bundle)}/unload"
            destination = broker_id(to, self.state.network)
            where = f"{path}?destinationBroker={quote(destination, safe=':')}"
            said = put(f"{web(leader(self.state), self.state.network)}/admin/v2/{where}")
            self._note(slot, bundle, source, to, said)
            if not said:
                self.last.append((bundle, source, to))

    def _chosen(self, source: int, to: int, pick: float) -> tuple[str, int, int] | None:
        """Return a bundle of a broker that is large enough, chosen by the schedule's number."""
        rates = _bundles(self.state, source)
        able = sorted(name for name, rate in rates.items() if rate >= LEAST_PER_S)
        return (able[int(pick * len(able))], source, to) if able else None

    def _note(self, slot: Slot, bundle: str, source: int, to: int, refusal: str) -> None:
        ends = [broker_id(each, self.state.network) for each in (source, to)]
        row = {
            "time": time.time(),
            "slot": slot.number,
            "is_held_out": slot.is_held_out,
            "bundle": bundle,
            "source": ends[0],
            "destination": ends[1],
            "refusal": refusal,
        }
        with (self.out / "moves.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        if not refusal:
            self.state.acted("unload", bundle=bundle, broker=ends[0], destination=ends[1])


def record(out: Path, plan: Schedule, processor: int | None) -> None:
    """Record a schedule into a folder that is not there yet, and stop all that was started.

    Args:
        out: the folder.
        plan: the schedule.
        processor: the one that brokers have; all else runs on the others.

    Raises:
        ClusterError: the cluster does not come up, or the recording ends early.
    """
    out.mkdir(parents=True)
    (out / "schedule.json").write_text(json.dumps(plan.document(), indent=1), encoding="utf-8")
    load = out / "load.toml"
    load.write_text(profile(plan), encoding="utf-8")
    settings = {
        "loadBalancerSheddingEnabled": "false",
        "loadBalancerHostUsageCheckIntervalMinutes": str(WINDOW_S),
    }
    state = State(FOLDER, mode="namespaces", settings=settings, is_sampled_quickly=True)
    if processor is not None:
        state.broker_processor = processor
        os.sched_setaffinity(0, os.sched_getaffinity(0) - {processor})
    with stopped_on_failure(FOLDER):
        state = up(state, BROKERS)
        recorder = Recorder(state, out)
        try:
            with beside("cluster.load", str(load), "--for", str(plan.end_s + 600.0)):
                recorder.began_s = time.monotonic()
                until("all topics", lambda: _topics(state) >= _TOPICS)
                with beside("trimtab", *_gather(state, out)) as gathering:
                    recorder.follow(plan)
                    if gathering.poll() is not None:
                        raise ClusterError("the recording ended early: see gather.log")
        finally:
            recorder.undo()
        for name in ("actions.jsonl", "load.jsonl"):
            shutil.copy(FOLDER / name, out / "night" / name)
        down(FOLDER)


def _gather(state: State, out: Path) -> list[str]:
    every = f"{WINDOW_S}s"
    asked = ("--every", every, "--metrics-every", every, "--for", "24h")
    return ["gather", "--admin", web(1, state.network), *asked, "-o", str(out / "night")]


def _limited(group: Path) -> Path | None:
    """Slow a group down; return the file that says so, None if the group is not of CPU."""
    quota = str(int(_QUOTA * _PERIOD_US))
    for name, words in (("cpu.cfs_quota_us", quota), ("cpu.max", f"{quota} {_PERIOD_US}")):
        if (group / name).exists():
            (group / name).write_text(words, encoding="utf-8")
            return group / name
    return None


def _unlimited(file: Path) -> str:
    return "-1" if file.name == "cpu.cfs_quota_us" else f"max {_PERIOD_US}"


def _bundles(state: State, number: int) -> dict[str, float]:
    """Return the messages/s, in and out, of each bundle that a broker says it has."""
    stats = get(state, number, "broker-stats/load-report")["lastStats"]
    return {name: each["msgRateIn"] + each["msgRateOut"] for name, each in stats.items()}


def _topics(state: State) -> int:
    reports = [get(state, i + 1, "broker-stats/load-report") for i in range(BROKERS)]
    return sum(report["numTopics"] for report in reports)


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--moves", type=click.IntRange(6), default=72, show_default=True, help="How many.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the schedule.")
@click.option("--warm", type=float, default=WARM_S, show_default=True, help="s before the first.")
@click.option("--processor", type=click.IntRange(0), help="Brokers have it for themselves.")
@click.option("--dry-run", is_flag=True, help="Print the schedule, and start nothing.")
def main(  # noqa: PLR0913  # a command: one an option
    out: Path, moves: int, seed: int, warm: float, processor: int | None, *, dry_run: bool
) -> None:
    """Record moves of known bundles on a real cluster into the folder OUT.

    72 moves take 70 minutes of a processor with nothing else to do.

    \b
    Examples:
      python -m cluster.moves build/moves --processor 0
      python -m cluster.moves build/moves --moves 6 --warm 60
    """
    plan = schedule(seed, moves, warm)
    if dry_run:
        click.echo(json.dumps(plan.document(), indent=1))
        return
    if (obstacle := kernel.obstacle()) is not None:
        raise click.ClickException(f"no namespaces and groups for brokers: {obstacle}")
    if out.exists():
        raise click.ClickException(f"{out}: found something there, expected nothing")
    click.echo(f"until {time.strftime('%H:%M', time.localtime(time.time() + plan.end_s))}")
    try:
        record(out, plan, processor)
    except ClusterError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"recorded: {out / 'night'}")


if __name__ == "__main__":
    main()
