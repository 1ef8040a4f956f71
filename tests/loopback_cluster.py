"""The one real cluster that the tests of a run share, started by whoever needs it first."""

from __future__ import annotations

from dataclasses import replace

from cluster.java import ClusterError
from cluster.run import FOLDER, down, up
from cluster.state import State, load

BROKERS = 3


def shared_cluster() -> State:
    """Return the cluster that runs, or start one if not all of it does.

    Whoever changes it puts it back: three brokers, settings as they are in the files.
    """
    names = {"zookeeper", "bookie", *(f"broker{i}" for i in range(1, BROKERS + 1))}
    try:
        state = load(FOLDER)
    except ClusterError:
        return up(State(FOLDER), BROKERS)
    running = {name for name, each in state.processes.items() if each.is_alive}
    is_usual = replace(state, processes={}) == State(FOLDER)
    return state if running == names and is_usual else up(State(FOLDER), BROKERS)


def stop_shared_cluster() -> None:
    """Stop it, if anybody has started it."""
    try:
        down(FOLDER)
    except ClusterError:
        return
