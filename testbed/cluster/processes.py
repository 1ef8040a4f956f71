"""Starts and ends processes, each known by its id and the time at which it was born.

Ids are given to others when a process has gone, so the id alone might end somebody else's.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_POLL_S = 0.05
#: How long a process that was asked to end is waited for before it is killed.
STOP_S = 30.0


class _Stat(NamedTuple):
    """What the kernel lists of a process."""

    #: One letter: Z and X are of a process whose first thread has ended.
    state: str
    n_threads: int
    #: Clock ticks from the machine's start to the process's.
    born: int


@dataclass(frozen=True, slots=True)
class Process:
    """A process that was started here."""

    pid: int
    #: Clock ticks from the machine's start to the process's; with the id it is unique.
    born: int

    @property
    def is_alive(self) -> bool:
        """Return whether any thread of it runs; one that has ended but is not collected does not.

        Quirks:
            The first thread may end before the others, which keep the ports until they have too.
        """
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)
        stat = _stat(self.pid)
        if stat is None or stat.born != self.born:
            return False
        return stat.state not in "ZX" or stat.n_threads > 1


def start(command: list[str], printed: Path) -> Process:
    """Start a process that outlives this one, and have what it prints in a file."""
    with printed.open("ab") as out:
        running = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    stat = _stat(running.pid)
    # It is our child and not collected yet, so even one that has ended is still listed.
    assert stat is not None
    # Told to be collected, so that Popen does not warn that it still runs.
    running.returncode = 0
    return Process(running.pid, stat.born)


def end(process: Process, with_signal: signal.Signals = signal.SIGTERM) -> float:
    """End a process and wait until it has gone; return the seconds that it took."""
    began = time.monotonic()
    end_all([process], with_signal)
    return time.monotonic() - began


def end_all(processes: list[Process], with_signal: signal.Signals = signal.SIGTERM) -> None:
    """End processes together, killing those that are still there after `STOP_S`."""
    for each in processes:
        _send(each, with_signal)
    last = time.monotonic() + STOP_S
    while any(each.is_alive for each in processes):
        if time.monotonic() > last:
            for each in processes:
                _send(each, signal.SIGKILL)
        time.sleep(_POLL_S)


def _send(process: Process, with_signal: signal.Signals) -> None:
    if process.is_alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, with_signal)


def _stat(pid: int) -> _Stat | None:
    """Return what the kernel lists of a process; None if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # Behind the name, which may hold anything: state is field 3, threads 20, the start time 22.
    fields = text.rpartition(")")[2].split()
    return _Stat(fields[0], int(fields[17]), int(fields[19]))
