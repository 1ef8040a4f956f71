"""Pulsar's classes and ours, asked the same on the same load, with the time of each call."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
from oracle.java import command

from bench.clusters import load
from bench.table import DifferenceError
from trimtab.pulsar.map_order import string_hash
from trimtab.pulsar.model import ClusterLoad
from trimtab.pulsar.place import placer
from trimtab.pulsar.shed import shedder

Result = TypeVar("Result")

#: What is unloaded, broker by broker: bundles in order, each with its planned destination.
Unloads = dict[str, list[tuple[str, str | None]]]


@dataclass(frozen=True, slots=True)
class Case:
    """A class with what it is asked."""

    #: Simple name of Pulsar's class.
    strategy: str
    conf: Mapping[str, Any] = field(default_factory=dict)
    #: Rounds of shedding, on the same reports, by one strategy object.
    rounds: int = 0
    #: After which no round is begun.
    seconds: float = 0.0
    #: Placements asked for after these rounds: bundles, and who may get them.
    bundles: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """Calls, one after the other."""

    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    #: What came of each call, in a form in which both sides can be compared.
    decided: list[Any] = field(default_factory=list)

    def call(self, function: Callable[[], Result]) -> Result:
        """Call, and take the time."""
        cpu, wall = time.process_time(), time.perf_counter()
        result = function()
        self.wall_s.append(time.perf_counter() - wall)
        self.cpu_s.append(time.process_time() - cpu)
        return result

    def is_to_go_on(self, case: Case, end: float) -> bool:
        """Return whether another round is to be asked; there is one at least."""
        is_enough = bool(self.wall_s) and time.perf_counter() >= end
        return len(self.wall_s) < case.rounds and not is_enough

    def medians_ms(self) -> tuple[float, float]:
        """Take wall and processor time of a call; the first half only warms up."""
        warm = len(self.wall_s) // 2
        wall, cpu = (np.median(times[warm:]) * 1e3 for times in (self.wall_s, self.cpu_s))
        return float(wall), float(cpu)


@dataclass(slots=True)
class Ours:
    """Our strategies."""

    release: str
    load: ClusterLoad = field(init=False)

    def lay_out(self, asked: Mapping[str, Any]) -> None:
        """Take a cluster; this is not measured."""
        self.load = load(asked, self.release)

    def ask(self, case: Case) -> tuple[Measured, Measured]:
        """Shed, then place."""
        conf = {key: str(value) for key, value in case.conf.items()}
        entry = shedder(case.strategy, self.release) or placer(case.strategy, self.release)
        assert entry is not None
        settings, memory = entry.settings(conf, self.release), entry.memory
        shed, memory = self._shed(case, memory, settings)
        return shed, self._place(case, memory, settings)

    def _shed(self, case: Case, memory: Any, settings: Any) -> tuple[Measured, Any]:  # noqa: ANN401  # every class has its own
        measured = Measured()
        entry = shedder(case.strategy, self.release)
        end = time.perf_counter() + case.seconds
        while entry is not None and measured.is_to_go_on(case, end):
            # Every round has averages of its own, as in a cluster.
            averages = self.load.bundle_data
            fresh = replace(self.load, bundle_data=averages and replace(averages))
            decision, memory = measured.call(partial(entry.shed, fresh, memory, settings))
            measured.decided.append(_grouped([astuple(unload) for unload in decision.unloads]))
        return measured, memory

    def _place(self, case: Case, memory: Any, settings: Any) -> Measured:  # noqa: ANN401  # every class has its own
        measured = Measured()
        entry = placer(case.strategy, self.release)
        position = {broker: i for i, broker in enumerate(self.load.brokers)}
        candidates = np.array([position[name] for name in case.candidates], dtype=np.int64)
        hashes = np.array([_signed(string_hash(name)) for name in self.load.brokers])
        for bundle in case.bundles:
            assert entry is not None
            placement, memory = measured.call(
                partial(entry.place, self.load, bundle, candidates, memory, settings)
            )
            ranks = np.arange(1, placement.best.size + 1)
            measured.decided.append(int((hashes[placement.best] * ranks).sum()))
        return measured


@dataclass(slots=True)
class Javas:
    """Pulsar's classes, in a Java of their own."""

    release: str
    running: subprocess.Popen[str] = field(init=False)
    #: Of the Java, in its own words.
    version: str = ""

    def __enter__(self) -> Javas:
        """Start it."""
        self.running = subprocess.Popen(
            command(self.release, "Bench"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self.version = self._answer({})["java"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it."""
        self.running.kill()
        self.running.wait()

    def lay_out(self, asked: Mapping[str, Any]) -> None:
        """Take a cluster; this is not measured."""
        self._answer({"load": asked})

    def ask(self, case: Case) -> tuple[Measured, Measured]:
        """Shed, then place."""
        question: dict[str, Any] = {"strategy": case.strategy, "conf": case.conf}
        question |= {"rounds": case.rounds, "seconds": case.seconds}
        if case.bundles:
            question["select"] = {"candidates": case.candidates, "bundles": case.bundles}
        answer = self._answer(question)
        shed, place = answer.get("shed", {}), answer.get("select", {})
        unloads = [_grouped(found) for found in shed.get("unloads", ())]
        return _measured(shed, unloads), _measured(place, place.get("best", []))

    def _answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        assert self.running.stdin is not None
        assert self.running.stdout is not None
        self.running.stdin.write(json.dumps(question) + "\n")
        self.running.stdin.flush()
        line = self.running.stdout.readline()
        if not line:
            raise RuntimeError("the Java side of the benchmark ended: see its message above")
        answer: dict[str, Any] = json.loads(line)
        return answer


def agreed(javas: Measured, ours: Measured) -> int:
    """Compare what both sides decided, as far as both were asked, and return how much that is.

    Raises:
        DifferenceError: something differs, or nothing could be compared.
    """
    pairs = list(zip(javas.decided, ours.decided, strict=False))
    differing = [i for i, (its, mine) in enumerate(pairs) if its != mine]
    if differing or not pairs:
        raise DifferenceError(
            f"{len(differing)} of {len(pairs)} decisions differ, the first is {differing[:1]}: "
            "times of different decisions say nothing"
        )
    return len(pairs)


def _grouped(unloads: Sequence[Sequence[Any]]) -> Unloads:
    """Lay unloads out by broker: the order between brokers means nothing."""
    found: Unloads = {}
    for source, bundle, target in unloads:
        found.setdefault(source, []).append((bundle, target))
    return found


def _measured(answer: Mapping[str, Any], decided: list[Any]) -> Measured:
    wall, cpu = ([ns / 1e9 for ns in answer.get(key, ())] for key in ("wall_ns", "cpu_ns"))
    return Measured(wall, cpu, decided)


def _signed(value: int) -> int:
    """Read 32 bits as Java's int."""
    return value - 2**32 if value >= 2**31 else value
