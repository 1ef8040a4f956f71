"""Stories of small clusters as text files: what happens, what the leader sees, what it does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from tests.datadriven import run
from tests.simulated_worlds import bundles, machines
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.parameters import Clients, Parameters, Physics
from trimtab.lab.simulate.run import passing
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.world import Change, Event, Kind, Machines, Run, World

TESTDATA = Path(__file__).parent / "testdata" / "simulate"
FILES = sorted(TESTDATA.glob("*.txt"))
assert FILES, f"no files in {TESTDATA}"
# Nothing is noisy, so that figures can be followed.
_QUIET = Physics(group_deviation=0.0)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_story(path: Path, tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    file_regression.check(
        run(path, Story()), encoding="utf-8", fullpath=path, obtained_filename=tmp_path / path.name
    )


@dataclass(frozen=True)
class Look:
    """What the leader knows after a round."""

    time_s: float
    #: Broker → percent as reported, or None.
    reported: dict[str, float | None]
    #: Bundle → brokers that report it, samples, messages/s of the short average; left alone.
    bundles: dict[str, tuple[str, int, float, bool]]


class Story:
    """A cluster, and what becomes of it; a method is a command.

    A line of `cluster` is a broker with its bundles and their thousands of messages/s, or

        down b2
        at 5 kill b1
        from 5 to 9 a x 2
        set loadBalancerSheddingEnabled=false
    """

    def __init__(self) -> None:
        self.simulation: Simulation | None = None
        self.run: Run | None = None
        self.looks: list[Look] = []

    def cluster(
        self,
        lines: tuple[str, ...],
        *,
        minutes: str,
        shedder: str = "ThresholdShedder",
        placer: str = "LeastResourceUsageWithWeight",
        release: str = "4.0.8",
        astray: str = "0",
        unload: str = "",
        seed: str = "7",
    ) -> str:
        told = Told(lines, int(seed))
        clients = Clients(astray_share=float(astray))
        if unload:
            clients = Clients(astray_share=float(astray), unload_s=(float(unload), float(unload)))
        balancer = Balancer(None if shedder == "none" else shedder, placer, release, told.conf)
        self.short = dict(zip(told.world(float(minutes)).bundles.names, told.rates, strict=True))
        self.simulation = Simulation(
            told.world(float(minutes)), balancer, Parameters(_QUIET, clients=clients)
        )
        self.looks = []
        for _ in self._rounds(self.simulation):
            self.looks.append(self._look(self.simulation))
        return self._counts()

    def usage(self, *, minutes: str) -> str:
        assert self.run is not None
        names = self._brokers()
        rows = []
        for minute in minutes.split(","):
            at = round(float(minute) * 12)
            means = [_mean(self.run.usage[max(0, at - 12) : at, i]) for i in range(len(names))]
            rows.append(f"{minute:>4} min  " + "  ".join(map(_named, names, means)))
        return "\n".join(rows)

    def moves(self) -> str:
        assert self.run is not None
        moves, names = self.run.moves, [*self._brokers(), "nobody"]
        rows = []
        for i in range(moves.time_s.size):
            when = f"{moves.time_s[i] / 60:5.2f} min"
            how = f"round {moves.round[i]}" if moves.round[i] >= 0 else "lookup"
            who = f"{self._bundle(int(moves.bundle[i]))} {names[moves.source[i]]} > "
            sides = f"{names[moves.target[i]]}, gone {moves.outage_s[i]:.1f} s"
            fallback = ", drawn among all" if moves.is_fallback[i] else ""
            usage = f"; target {moves.target_before[i]:.0f} > {moves.target_after[i]:.0f}"
            if moves.source[i] >= 0:
                before, after = moves.source_before[i], moves.source_after[i]
                usage = f"; source {before:.0f} > {after:.0f}, {usage[2:]}"
            rows.append(f"{when} {how}: {who}{sides}{usage}{fallback}")
        return "\n".join(rows) or "none"

    def rounds(self) -> str:
        assert self.run is not None
        rounds = self.run.rounds
        return "\n".join(
            f"{rounds.time_s[i] / 60:5.2f} min, {rounds.duration_s[i]:.1f} s: "
            f"{rounds.planned[i]} planned, {rounds.moved[i]} moved"
            for i in range(rounds.time_s.size)
        )

    def leader(self, *, minutes: str, bundles: str = "") -> str:
        wanted = bundles.split(",") if bundles else []
        rows = []
        for minute in minutes.split(","):
            look = next(look for look in self.looks if look.time_s >= 60 * float(minute))
            known = "  ".join(_named(name, value) for name, value in look.reported.items())
            rows.append(f"{look.time_s / 60:5.2f} min  {known}")
            rows += [f"    {self._history(look, name)}" for name in wanted]
        return "\n".join(rows)

    def _history(self, look: Look, bundle: str) -> str:
        if bundle not in look.bundles:
            return f"{bundle} is not known"
        where, samples, rate, is_recent = look.bundles[bundle]
        recent = ", left alone" if is_recent else ""
        return f"{bundle} reported by {where}: {samples} samples, {rate:.0f} messages/s{recent}"

    def _rounds(self, simulation: Simulation) -> Iterator[None]:
        rounds = passing(simulation)
        while True:
            try:
                next(rounds)
            except StopIteration as end:
                self.run = end.value
                return
            yield

    def _look(self, simulation: Simulation) -> Look:
        leader, time_s = simulation.leader, simulation.records.rounds[-1].time_s
        load = leader.load(time_s - simulation.settings.grace_period_s)
        usage = load.resource_usage[:, [0, 3, 4]].max(axis=1).tolist()
        reported = dict(zip(load.brokers, usage, strict=True))
        names = simulation.world.machines.names
        where: dict[str, list[str]] = {}
        for bundle, broker in zip(load.bundles, load.bundle_broker.tolist(), strict=True):
            where.setdefault(bundle, []).append(load.brokers[broker].partition(":")[0])
        known, short = leader.averages.bundles.is_known, leader.averages.short
        recent = leader.unloaded_s >= time_s - simulation.settings.grace_period_s
        return Look(
            time_s,
            {name: reported.get(name) for name in names},
            {
                self._bundle(i): (
                    " and ".join(where.get(simulation.world.bundles.names[i], ["nobody"])),
                    int(short.samples[i]),
                    float(short.rate_in[i]),
                    bool(recent[i]),
                )
                for i in np.flatnonzero(known).tolist()
            },
        )

    def _brokers(self) -> list[str]:
        assert self.run is not None
        return [name.partition(":")[0] for name in self.run.world.machines.names]

    def _bundle(self, at: int) -> str:
        assert self.simulation is not None
        name = self.simulation.world.bundles.names[at]
        if name in self.short:
            return self.short[name]
        parent = next(p for p, halves in self.simulation.halves.items() if at in halves)
        return f"{self._bundle(parent)}{1 + self.simulation.halves[parent].index(at)}"

    def _counts(self) -> str:
        assert self.run is not None
        return "\n".join(f"{what}: {count}" for what, count in self.run.counts.items())


class Told:
    """A cluster as it is told, line by line."""

    def __init__(self, lines: tuple[str, ...], seed: int) -> None:
        self.seed = seed
        self.conf: dict[str, str] = {}
        self.brokers: dict[str, bool] = {}
        #: Names of bundles, in order → thousands of messages/s.
        self.thousands: dict[str, float] = {}
        self.owners: list[int] = []
        self.told: list[tuple[str, ...]] = []
        for line in lines:
            self._take(line)
        self.rates = list(self.thousands)

    def world(self, minutes: float) -> World:
        changes, events = [], []
        for words in self.told:
            if words[0] == "at":
                events.append(self._event(words))
            else:
                changes.append(self._change(words))
        rate = 1000.0 * np.array(list(self.thousands.values()))
        return World(
            machines=self._machines(),
            bundles=bundles(np.array(self.owners), rate, entries_limit=np.full(rate.size, 1e9)),
            changes=tuple(changes),
            events=tuple(events),
            duration_s=60.0 * minutes,
            event_s=0.0,
            seed=self.seed,
        )

    def _machines(self) -> Machines:
        up = list(self.brokers.values())
        assert up == sorted(up, reverse=True), "brokers that are down stand last"
        return machines(len(up), sum(up))

    def _take(self, line: str) -> None:
        words = tuple(line.split())
        if words[0] == "set":
            key, _, value = words[1].partition("=")
            self.conf[key] = value
        elif words[0] in ("at", "from"):
            self.told.append(words)
        elif words[0] == "down":
            self.brokers[words[1]] = False
        else:
            self.brokers[words[0]] = True
            for name, thousands in _shares(words[1:]):
                self.thousands[name] = thousands
                self.owners.append(len(self.brokers) - 1)

    def _event(self, words: tuple[str, ...]) -> Event:
        _, minute, kind, *rest = words
        value = float(rest.pop()) if rest and re.fullmatch(r"[\d.+-]+", rest[-1]) else 0.0
        known = list(self.rates if kind == "split" else self.brokers)
        return Event(60.0 * float(minute), Kind(kind), tuple(map(known.index, rest)), value)

    def _change(self, words: tuple[str, ...]) -> Change:
        _, begin, _, end, names, _, factor = words
        at = np.array([self.rates.index(name) for name in names.split(",")])
        times = 60.0 * float(begin), 60.0 * float(end)
        return Change(at, *times, factor_in=float(factor), factor_out=float(factor))


def _shares(words: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    for word in words:
        name, _, thousands = word.partition("=")
        first, dots, last = name.partition("..")
        if dots:
            # a1..a9=5 are nine alike.
            stem = first.rstrip("0123456789")
            for i in range(int(first[len(stem) :]), int(last[len(stem) :]) + 1):
                yield f"{stem}{i}", float(thousands)
        else:
            yield name, float(thousands)


def _mean(values: np.ndarray) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def _named(name: str, value: float | None) -> str:
    shown = "  -" if value is None else f"{value:3.0f}"
    return f"{name.partition(':')[0]} {shown}"
