"""The one real cluster that the tests of a run share, started by whoever needs it first.

And what tests ask any cluster on loopback, without our own clients: those are tested.
"""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cluster.java import ClusterError
from cluster.run import FOLDER, down, up
from cluster.state import State, load

#: Files that share a cluster, or the names that a cluster in namespaces takes of a machine.
CLUSTERS = {
    name: {f"tests/test_pulsar_{file}.py" for file in files.split()}
    for name, files in {
        "shared": "moves faults rehearse",
        "namespaces": "extensible usage costs rollout foresee",
    }.items()
}
BROKERS = 3
#: Of Pulsar; another one is tried by `make pulsar-faults`.
RELEASE = os.environ.get("PULSAR_RELEASE", "4.0.8")


def group_of(file: str) -> str:
    """Return the files that a file is to run after and never beside: their name, or its own."""
    return next((name for name, files in CLUSTERS.items() if file in files), file)


def shared_cluster() -> State:
    """Return the cluster that runs, or start one if not all of it does.

    Whoever changes it puts it back: three brokers, settings as they are in the files.
    """
    usual = State(FOLDER, release=RELEASE)
    names = {"zookeeper", "bookie", *(f"broker{i}" for i in range(1, BROKERS + 1))}
    try:
        state = load(FOLDER)
    except ClusterError:
        return up(usual, BROKERS)
    running = {name for name, each in state.processes.items() if each.is_alive}
    is_usual = replace(state, processes={}) == usual
    return state if running == names and is_usual else up(usual, BROKERS)


def stop_shared_cluster() -> None:
    """Stop it, if anybody has started it."""
    try:
        down(FOLDER)
    except ClusterError:
        return


def asked(
    address: str,
    path: str,
    method: str = "GET",
    body: object = None,
    *,
    headers: Mapping[str, str] | None = None,
    within_s: float = 10.0,
) -> Any:
    """Ask a broker's admin API; give what its JSON says, or None of an empty answer."""
    request = urllib.request.Request(
        f"{address}/admin/v2/{path}", method=method, headers=dict(headers or {})
    )
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=within_s) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def load_report(address: str, *, within_s: float = 10.0) -> dict[str, Any]:
    """Ask a broker what load it has."""
    return dict(asked(address, "broker-stats/load-report", within_s=within_s))
