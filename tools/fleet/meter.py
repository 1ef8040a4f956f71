"""What a command costs: the seconds that it takes, and those of all processors in its processes."""

from __future__ import annotations

import itertools
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.files.whole_files import write_whole

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
#: Seconds between two looks, and looks between two times that it is written down.
_EVERY_S, _LOOKS = 0.2, 25


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds: by the clock, and of processors."""

    wall_s: float
    cpu_s: float

    def __add__(self, other: Cost) -> Cost:
        """Return the cost of both, one after the other."""
        return Cost(self.wall_s + other.wall_s, self.cpu_s + other.cpu_s)


class Meter:
    """Adds up what this process's descendants use, of those that ended what was last seen.

    Quirks:
        What a process uses after the last look at it counts only where its parent waits for it,
        as this one does; Spark's Java does not.
    """

    def __init__(self) -> None:
        """Begin."""
        self._began = time.monotonic()
        self._first, self._ended = _used(os.getpid()), _ended_s()
        self._used: dict[tuple[int, int], float] = {}

    def look(self) -> Cost:
        """Return the cost so far."""
        self._used |= _used(os.getpid())
        before = sum(self._first.get(each, 0.0) for each in self._used)
        cpu_s = max(sum(self._used.values()) - before, _ended_s() - self._ended)
        return Cost(time.monotonic() - self._began, cpu_s)


def _ended_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _used(root: int) -> dict[tuple[int, int], float]:
    """Return processor seconds of a process's descendants, by process and time of start."""
    parents: dict[int, int] = {}
    times: dict[int, tuple[int, float]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, rest = stat.read_text(encoding="utf-8").rpartition(")")
        except OSError:
            continue
        fields = rest.split()
        number = int(stat.parent.name)
        parents[number] = int(fields[1])
        times[number] = int(fields[19]), (int(fields[11]) + int(fields[12])) * _TICK_S
    return {
        (number, start): seconds
        for number, (start, seconds) in times.items()
        if _is_below(number, root, parents)
    }


def _is_below(number: int, root: int, parents: dict[int, int]) -> bool:
    parent = parents.get(number, 0)
    return parent == root or (parent > 1 and _is_below(parent, root, parents))


class Measures:
    """What each step printed and cost, kept in a file: what was broken off goes on from there."""

    def __init__(self, path: Path, program: str) -> None:
        """Read what is known; what another program took is not known of this one."""
        self._path, self._program = path, program
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self._steps: dict[str, dict[str, Any]] = known.get(program, {})

    def run(self, name: str, step: Callable[[], str]) -> tuple[str, Cost]:
        """Return what a step prints and has cost in all; one that was done is not done again."""
        known = self._steps.get(name, {"cost": (0.0, 0.0), "output": None})
        before = Cost(*known["cost"])
        if known["output"] is not None:
            return known["output"], before
        meter, done = Meter(), threading.Event()

        def watch() -> None:
            for count in itertools.count(1):
                if done.wait(_EVERY_S):
                    return
                cost = before + meter.look()
                if count % _LOOKS == 0:
                    self._keep(name, cost, None)

        watcher = threading.Thread(target=watch)
        watcher.start()
        output = None
        try:
            output = step()
        finally:
            done.set()
            watcher.join()
            cost = before + meter.look()
            self._keep(name, cost, output)
        return output, cost

    def _keep(self, name: str, cost: Cost, output: str | None) -> None:
        self._steps[name] = {"cost": (cost.wall_s, cost.cpu_s), "output": output}
        write_whole(self._path, json.dumps({self._program: self._steps}, indent=1) + "\n")


def trimtab(folder: Path, *words: str) -> str:
    """Return what a command prints, run in a folder; a night that fails is no fault of it."""
    done = subprocess.run(
        [sys.executable, "-m", "trimtab", *words],
        cwd=folder,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode > 1:
        raise RuntimeError(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout
