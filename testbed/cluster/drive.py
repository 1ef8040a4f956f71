"""What commands that drive a cluster do: ask it, wait for it, run others beside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

from cluster.java import ClusterError
from cluster.run import FOLDER
from cluster.state import State, web

ROOT = Path(__file__).resolve().parent.parent.parent
_CALL_S = 90.0
_REDIRECTS_MAX = 4
_END_S = 120.0


@contextmanager
def beside(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a module beside; it is asked to end when the block has, and waited for."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(["src", "testbed", *sys.path])}
    with (FOLDER / f"{words[0]}.out").open("wb") as said:
        command = [sys.executable, "-m", *words]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=said, stderr=said)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def leader(state: State) -> int:
    """Return the number of the broker that leads."""
    host = get(state, 1, "brokers/leaderBroker")["serviceUrl"].split("//")[1].split(":")[0]
    return int(host.rpartition(".")[2])


def get(state: State, number: int, path: str) -> Any:  # noqa: ANN401  # whatever the answer is
    """Return what a broker's admin API answers, from its JSON."""
    url = f"{web(number, state.network)}/admin/v2/{path}"
    with urllib.request.urlopen(url, timeout=_CALL_S) as answer:
        return json.load(answer)


def put(url: str, method: str = "PUT") -> str:
    """Return why a call was refused; blank if it was not.

    Quirks:
        Whoever does not own what is called answers with who does.
    """
    for _ in range(_REDIRECTS_MAX):
        request = urllib.request.Request(url, method=method)
        try:
            urllib.request.urlopen(request, timeout=_CALL_S).close()
        except urllib.error.HTTPError as error:
            if error.code != HTTPStatus.TEMPORARY_REDIRECT:
                return str(error)
            url = error.headers["Location"]
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            return str(error)
        else:
            return ""
    return f"found no owner after {_REDIRECTS_MAX} redirections"


def until(what: str, is_so: Callable[[], bool], within_s: float = 180.0) -> None:
    """Wait until something is so.

    Raises:
        ClusterError: it is not within the time.
    """
    last = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > last:
            raise ClusterError(f"waited {within_s:.0f} s for {what}")
        time.sleep(1.0)
