"""Commands beside a test that drives a real cluster, and waiting for what comes of them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parent.parent
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(["src", "testbed", *sys.path])}
#: The leader's round comes once a minute; the machine may be busy.
WAIT_S = 240.0
#: A command that waits for no round.
COMMAND_S = 120.0
#: A client of Pulsar may be held up so long by brokers that are gone.
END_S = 60.0


@contextmanager
def running(
    *words: str, stdout: int | None = subprocess.PIPE, stderr: int | None = subprocess.STDOUT
) -> Iterator[subprocess.Popen[str]]:
    """Run Python with these words beside; it has ended when the block has.

    Unless it has by itself it is asked to, and killed if it takes too long.
    """
    with subprocess.Popen(
        [sys.executable, *words], cwd=ROOT, env=ENVIRONMENT, stdout=stdout, stderr=stderr, text=True
    ) as process:
        try:
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        # Not `wait`: what it still has to say may be more than a pipe holds.
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=END_S)
    finally:
        process.kill()


def trimtab(*words: str, within_s: float | None = COMMAND_S) -> subprocess.CompletedProcess[str]:
    """Run a command of ours to its end."""
    return subprocess.run(
        [sys.executable, "-m", "trimtab", *words],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=within_s,
    )


def wait_until(
    what: str,
    is_so: Callable[[], bool],
    *,
    within_s: float = WAIT_S,
    every_s: float = 0.5,
    instead: Callable[[], object] = lambda: "in vain",
) -> None:
    """Wait for it; who waits in vain is told what there is instead."""
    last = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < last, f"waited {within_s:.0f} s for {what}: {instead()}"
        time.sleep(every_s)
