"""What a process and those that it has started take, as Linux counts it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_LOOK_EVERY_S = 0.05
#: Of /proc/<pid>/stat, behind the name: parent, times of its own, times of children that ended.
_PARENT, _TIMES = 1, slice(11, 15)


@dataclass(slots=True)
class Taken:
    """What a stretch of work took."""

    #: Processor time of all processes, those that have ended included; not of the measuring.
    cpu_s: float = 0.0
    #: The most memory that they had at one moment; pages that two share count twice.
    peak_bytes: int = 0


@contextmanager
def taken() -> Iterator[Taken]:
    """Measure what this process and those below it take while a block runs."""
    found = Taken()
    done = threading.Event()
    looking_s = 0.0

    def look() -> None:
        nonlocal looking_s
        while not done.wait(_LOOK_EVERY_S):
            found.peak_bytes = max(found.peak_bytes, resident_bytes())
        looking_s = time.thread_time()

    before = _cpu_s()
    watch = threading.Thread(target=look, daemon=True)
    watch.start()
    try:
        yield found
    finally:
        done.set()
        watch.join()
        # On a machine with many processes looking takes a tenth of a core.
        found.cpu_s = _cpu_s() - before - looking_s


@dataclass(frozen=True, slots=True)
class Shares:
    """Processor time of a Spark application so far, s."""

    #: This process.
    driver: float
    java: float
    #: Spark's Python workers, those that have ended included.
    workers: float

    def since(self, before: Shares) -> Shares:
        """Return what was taken since an earlier look."""
        return Shares(
            self.driver - before.driver, self.java - before.java, self.workers - before.workers
        )


def shares() -> Shares:
    """Share out what this process and those below it have taken: Java starts the workers."""
    java, workers = 0.0, 0.0
    for pid in _tree()[1:]:
        times = [int(ticks) / _TICKS_PER_S for ticks in _stat(pid)[_TIMES]]
        if _is_java(pid):
            java += sum(times[:2])
            # Java has waited for those that it started, and that have ended since.
            workers += sum(times[2:])
        else:
            workers += sum(times)
    return Shares(time.process_time(), java, workers)


def resident_bytes() -> int:
    """Add up what this process and all below it hold; pages that two share count twice."""
    return sum(map(_resident_bytes, _tree()))


def largest_worker_bytes() -> int:
    """Return what the largest of Spark's Python workers holds; 0 if there is none."""
    return max((_resident_bytes(pid) for pid in _tree()[1:] if not _is_java(pid)), default=0)


def _is_java(pid: int) -> bool:
    try:
        return (_PROC / str(pid) / "comm").read_text().strip() not in {"python", "python3"}
    except OSError:
        return False


def _tree() -> list[int]:
    """List this process and all below it."""
    children: dict[int, list[int]] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit() and (fields := _stat(int(folder.name))):
            children.setdefault(int(fields[_PARENT]), []).append(int(folder.name))
    tree = [os.getpid()]
    for pid in tree:
        tree += children.get(pid, [])
    return tree


def _stat(pid: int) -> list[str]:
    """Return the fields behind the name; none where the process has ended meanwhile."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _cpu_s() -> float:
    return sum(int(ticks) for pid in _tree() for ticks in _stat(pid)[_TIMES]) / _TICKS_PER_S


def _resident_bytes(pid: int) -> int:
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * _PAGE_BYTES
    except OSError:
        return 0
