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

_POLL_S = 0.05
#: How long a process that was asked to end is waited for before it is killed.
STOP_S = 30.0


@dataclass(frozen=True, slots=True)
class Process:
    """A process that was started here."""

    pid: int
    #: Clock ticks from the machine's start to the process's; with the id it is unique.
    born: int

    @property
    def is_alive(self) -> bool:
        """Return whether it still runs; one that has ended and is not collected yet does not."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)
        found = _stat(self.pid)
        return found is not None and found[0] not in "ZX" and found[1] == self.born


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
    found = _stat(running.pid)
    # It is our child and not collected yet, so even one that has ended is still listed.
    assert found is not None
    # Told to be collected, so that Popen does not warn that it still runs.
    running.returncode = 0
    return Process(running.pid, found[1])


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


def _stat(pid: int) -> tuple[str, int] | None:
    """Return a process's state and birth; None if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # Behind the name, which may hold anything: state is field 3, the start time field 22.
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[19])
