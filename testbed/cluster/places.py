"""What a cluster's mode makes for its processes, notes in its state and removes again."""

from __future__ import annotations

import os

from cluster import kernel
from cluster.java import ClusterError
from cluster.kernel import Made, Step
from cluster.state import State, host, store


def make_for_store(state: State) -> None:
    """Make what the store is to run in, and the bridge that brokers hang on.

    Raises:
        ClusterError: it cannot be had here, or some of it is there already.
    """
    if state.mode == "plain":
        return
    if (obstacle := kernel.obstacle()) is not None:
        raise ClusterError(obstacle)
    bridge = kernel.bridge_steps(store(state.network))
    # Said before its route is found to be somebody's.
    for step in bridge:
        if step.makes is not None:
            kernel.require_free(step.makes)
    kernel.require_unrouted(state.network)
    _take(state, bridge)
    _group(state, "store", kernel.groups("store"))


def make_for_broker(state: State, number: int) -> None:
    """Make what a broker is to run in, unless it has run before."""
    if state.mode == "plain":
        return
    groups = kernel.groups("broker", number)
    if all(group in state.made for group in groups):
        return
    _take(state, kernel.broker_steps(number, host(number, state.network)))
    _group(state, "broker", groups)


def beginning(state: State, name: str) -> list[str]:
    """Return what the command line of a process begins with, so that it is where it should be.

    Quirks:
        A broker on one processor counts that as all there are, and its usage is percent of it.
    """
    if state.mode == "plain":
        return []
    number = name.removeprefix("broker")
    if not number.isdigit():
        return kernel.in_groups(kernel.groups("store"))
    spare = state.folder / "cgroup"
    spare.mkdir(exist_ok=True)
    inside = kernel.in_namespace(int(number), spare)
    on = [] if state.broker_processor is None else ["taskset", "-c", str(state.broker_processor)]
    return [*kernel.in_groups(kernel.groups("broker", int(number))), *on, *inside]


def settings(state: State) -> dict[str, str]:
    """Return the keys of broker.conf that differ by mode.

    Quirks:
        A network card between namespaces says that it carries 10 Gbit/s, of which a load that
        one machine can bear is nothing; of 50 Mbit/s it is something.
    """
    if state.mode == "plain":
        return {}
    return {"loadBalancerOverrideBrokerNicSpeedGbps": "0.05"}


def join_store(state: State) -> None:
    """Have this process weigh what the store does, so that brokers do not starve it."""
    if state.mode == "namespaces":
        kernel.join(kernel.groups("store"))


def require_rights(state: State) -> None:
    """See that whoever runs this may remove what was made.

    Raises:
        ClusterError: only root may.
    """
    if state.made and os.geteuid() != 0:
        raise ClusterError("root started the cluster, so only root can stop it")


def clear(state: State) -> None:
    """Remove all that was made, the last first; what cannot be removed stays noted.

    Raises:
        ClusterError: some of it stays.
    """
    while state.made:
        kernel.remove(state.made[-1])
        state.made.pop()
        state.save()


def _take(state: State, steps: list[Step]) -> None:
    for step in steps:
        if step.makes is not None:
            _note(state, step.makes)
        kernel.run(step)


def _group(state: State, kind: str, groups: list[Made]) -> None:
    for group in groups:
        _note(state, group)
        group.path.mkdir()
        kernel.weigh(group, kind)


def _note(state: State, made: Made) -> None:
    """Note what is about to be made, so that it is removed however this ends."""
    kernel.require_free(made)
    state.made.append(made)
    state.save()
